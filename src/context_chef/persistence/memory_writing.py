"""Changing what memory holds: one entry at a time, losing no other change, lifetimes and all."""

from __future__ import annotations

from typing import NamedTuple

from context_chef.errors import InputError, shown
from context_chef.persistence.backend import Clock, StoredEntry
from context_chef.persistence.given import check_text, is_cap
from context_chef.persistence.memory_entry import (
    TTL,
    UNSET,
    MemoryEntry,
    Unset,
    check_key,
    check_ttl,
    counts_turns,
    lifetime_bounds,
    read_entry,
    same_entry,
    written_entry,
)
from context_chef.persistence.memory_lifetimes import Lifetimes
from context_chef.persistence.memory_turns import TurnCounter
from context_chef.persistence.namespace import NamespaceView


class Written(NamedTuple):
    """What a write found and what it left behind."""

    before: StoredEntry | None
    after: StoredEntry
    key: str


class MemoryWriter:
    """Writes and removes entries without asking anybody. Who is told is the caller's business."""

    def __init__(
        self,
        view: NamespaceView,
        turns: TurnCounter,
        lifetimes: Lifetimes,
        clock: Clock,
        *,
        default_ttl: TTL,
    ) -> None:
        self._view = view
        self._turns = turns
        self._lifetimes = lifetimes
        self._clock = clock
        self._default_ttl = default_ttl

    async def write(
        self,
        key: str,
        value: str,
        *,
        ttl: TTL | Unset = UNSET,
        importance: float | None = None,
        description: str | None = None,
        expected: str | Unset | None = UNSET,
    ) -> Written | None:
        """Old and new entry. None when there was not the `expected` value, or not nothing."""
        check_key(key)
        check_text(value, "value")
        if description is not None:
            check_text(description, "description")
        if importance is not None and not (is_cap(importance) and abs(importance) < 1e300):
            raise InputError(
                f"`importance` is a number or None, not {shown(importance)}.", path="$.importance"
            )
        if not isinstance(ttl, Unset):
            check_ttl(ttl)
        elif self._default_ttl is not None:
            ttl = self._default_ttl
        turn = await self._turns.begin() if _by_turn(ttl) else 0
        await self._clear_expired(key)
        seen: list[StoredEntry | None] = []

        def change(before: StoredEntry | None) -> StoredEntry | None:
            if not isinstance(expected, Unset) and expected != (before and before.content):
                seen.clear()
                return before
            seen[:] = [before]
            now = self._clock()
            bounds = None if isinstance(ttl, Unset) else lifetime_bounds(ttl, now=now, turn=turn)
            return written_entry(
                before,
                value,
                now=now,
                description=description,
                importance=importance,
                bounds=bounds,
            )

        after = await self._view.update(key, change)
        if not seen or after is None:
            return None
        return Written(seen[0], after, key)

    async def remove(self, key: str, expected: MemoryEntry | None) -> StoredEntry | None:
        """Take a live entry out, or only the expected one; None when there was none."""
        await self._clear_expired(key)
        gone: list[StoredEntry | None] = [None]

        def change(before: StoredEntry | None) -> StoredEntry | None:
            other = expected is not None and (
                before is None or not same_entry(expected, read_entry(key, before)[0])
            )
            gone[0] = None if other else before
            return before if other else None

        await self._view.update(key, change)
        return gone[0]

    async def _clear_expired(self, key: str) -> None:
        """An entry whose lifetime is over goes first, with its notices: a write starts afresh."""
        stored = await self._view.get(key)
        if stored is None:
            return
        entry, _ = read_entry(key, stored)
        if await self._lifetimes.over(entry):
            await self._lifetimes.expire(entry)


def _by_turn(ttl: TTL | Unset) -> bool:
    return not isinstance(ttl, Unset) and counts_turns(ttl)
