"""Which entries have outlived their time, and taking them out with everybody told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_chef.errors import AsyncRequiredError
from context_chef.events import MemoryChanged
from context_chef.persistence.backend import Clock, StoredEntry
from context_chef.persistence.memory_entry import MemoryEntry, read_entry
from context_chef.persistence.memory_hooks import MemoryHooks
from context_chef.persistence.memory_turns import TurnCounter
from context_chef.persistence.namespace import NamespaceView


class Lifetimes:
    """Judges entries by the clock and by the turn counter."""

    def __init__(
        self, view: NamespaceView, turns: TurnCounter, clock: Clock, hooks: MemoryHooks
    ) -> None:
        self._view = view
        self._turns = turns
        self._clock = clock
        self._hooks = hooks

    async def over(self, entry: MemoryEntry) -> bool:
        """Whether the entry's lifetime is over."""
        turn = 0 if entry.expires_at_turn is None else await self._turns.load()
        return entry.expired(now=self._clock(), turn=turn)

    async def split(
        self, entries: Sequence[MemoryEntry]
    ) -> tuple[list[MemoryEntry], list[MemoryEntry]]:
        """Those that live and those that do not, each in the order given."""
        turn = await self._turns.load() if live_by_turns(entries) else 0
        now = self._clock()
        live: list[MemoryEntry] = []
        expired: list[MemoryEntry] = []
        for entry in entries:
            (expired if entry.expired(now=now, turn=turn) else live).append(entry)
        return live, expired

    async def expire(
        self, entry: MemoryEntry, *, on_store_error: Callable[[Exception], object] | None = None
    ) -> bool:
        """Hook, event, deletion, then the notice of it. False when it was rewritten meanwhile.

        False as well when the store cannot delete it, where `on_store_error` takes the error.
        """
        await self._hooks.expires(entry)
        gone = False

        def change(before: StoredEntry | None) -> StoredEntry | None:
            nonlocal gone
            gone = before is not None and read_entry(entry.key, before)[0] == entry
            return None if gone else before

        try:
            await self._view.update(entry.key, change)
        except AsyncRequiredError:
            raise
        except Exception as error:
            if on_store_error is None:
                raise
            on_store_error(error)
            return False
        if gone:
            await self._hooks.changed(
                MemoryChanged(type="expire", key=entry.key, value=None, old_value=entry.value)
            )
        return gone


def live_by_turns(entries: Sequence[MemoryEntry]) -> bool:
    """Whether the turn counter matters to one of them."""
    return any(entry.expires_at_turn is not None for entry in entries)
