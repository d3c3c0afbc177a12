"""`MemoryEntry`, how it lies in a store, and how long it lives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, TypeAlias

import msgspec

from context_chef.errors import AddressError, InputError, shown
from context_chef.persistence.address import check_path
from context_chef.persistence.backend import StoredEntry

TTL: TypeAlias = int | Mapping[str, int] | timedelta | None
"""A lifetime: a number of turns, `{"turns": n}`, `{"ms": n}`, a timedelta, or None for ever."""


class MemoryEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A remembered fact. Times are milliseconds since the epoch; `expires_at_turn` counts turns."""

    key: str
    value: str
    description: str | None = None
    created_at: int = 0
    updated_at: int = 0
    update_count: int = 0
    importance: float | None = None
    expires_at: int | None = None
    expires_at_turn: int | None = None

    def expired(self, *, now: int, turn: int) -> bool:
        """Whether its lifetime is over at that time and in that turn."""
        by_time = self.expires_at is not None and now >= self.expires_at
        by_turn = self.expires_at_turn is not None and turn >= self.expires_at_turn
        return by_time or by_turn


class Unset:
    """No value was given, which is not the same as None."""


UNSET: Final = Unset()

_BOUNDS: Final = ("expiresAt", "expiresAtTurn")


def read_entry(key: str, stored: StoredEntry) -> tuple[MemoryEntry, tuple[str, ...]]:
    """The entry, and the names of metadata that made no sense and were taken as absent.

    Somebody else may have written it, so anything may be missing or wrong.
    """
    meta = stored.meta
    wrong: list[str] = []

    def number(name: str) -> float | None:
        value = meta.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            wrong.append(name)
            return None
        if isinstance(value, float) and not math.isfinite(value):
            wrong.append(name)
            return None
        return value

    def whole(name: str) -> int | None:
        value = number(name)
        return None if value is None else math.ceil(value)

    description = meta.get("description")
    if description is not None and not isinstance(description, str):
        wrong.append("description")
        description = None
    created = whole("createdAt")
    updated = whole("updatedAt")
    entry = MemoryEntry(
        key=key,
        value=stored.content,
        description=description,
        created_at=created if created is not None else (updated or 0),
        updated_at=updated if updated is not None else (created or 0),
        update_count=whole("updateCount") or 0,
        importance=number("importance"),
        expires_at=whole("expiresAt"),
        expires_at_turn=whole("expiresAtTurn"),
    )
    return entry, tuple(wrong)


def same_entry(one: MemoryEntry, other: MemoryEntry) -> bool:
    """Whether nobody wrote in between. Times are left out: not every backend keeps them."""
    return (
        one.value == other.value
        and one.description == other.description
        and one.update_count == other.update_count
    )


def written_entry(
    before: StoredEntry | None,
    value: str,
    *,
    now: int,
    description: str | None,
    importance: float | None,
    bounds: Mapping[str, int] | None,
) -> StoredEntry:
    """What to store. `bounds` replaces every bound the entry had; None leaves them alone."""
    meta: dict[str, Any] = {}
    if before is None:
        if description is not None:
            meta["description"] = description
        meta |= {"createdAt": now, "updatedAt": now, "updateCount": 1}
    else:
        count = read_entry("", before)[0].update_count
        meta |= before.meta
        if description is not None:
            meta["description"] = description
        meta |= {"updatedAt": now, "updateCount": count + 1}
        if "bytes" in meta:
            del meta["bytes"]  # the size of the old value
    if importance is not None:
        meta["importance"] = importance
    if bounds is not None:
        meta = {name: item for name, item in meta.items() if name not in _BOUNDS} | dict(bounds)
    return StoredEntry(content=value, meta=meta)


def lifetime_bounds(ttl: TTL, *, now: int, turn: int) -> dict[str, int]:
    """The metadata that a lifetime puts on an entry; empty for None, which means for ever."""
    if ttl is None:
        return {}
    if isinstance(ttl, timedelta):
        return {"expiresAt": now + _count(ttl // timedelta(milliseconds=1), ttl)}
    if isinstance(ttl, Mapping):
        match list(ttl.items()):
            case [("turns", turns)]:
                return {"expiresAtTurn": turn + _count(turns, ttl)}
            case [("ms", milliseconds)]:
                return {"expiresAt": now + _count(milliseconds, ttl)}
            case _:
                raise _no_ttl(ttl)
    return {"expiresAtTurn": turn + _count(ttl, ttl)}


def check_ttl(ttl: TTL) -> None:
    """Refuse, with InputError, what is no lifetime."""
    lifetime_bounds(ttl, now=0, turn=0)


def counts_turns(ttl: TTL) -> bool:
    """Whether that lifetime is measured in turns."""
    return "expiresAtTurn" in lifetime_bounds(ttl, now=0, turn=0)


def check_key(key: object) -> None:
    """Refuse, with AddressError, what cannot be a memory key."""
    check_path(key, "memory")
    if not key or not isinstance(key, str):
        raise AddressError("A memory key cannot be empty; name what the fact is about.")
    if key.endswith("/"):
        raise AddressError(
            f"{shown(key)} cannot be a memory key: a trailing slash names a directory. "
            f"Use {shown(key.rstrip('/'))}."
        )


def _count(value: object, ttl: object) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _no_ttl(ttl)
    return value


def _no_ttl(ttl: object) -> InputError:
    return InputError(
        f"{shown(ttl)} is no lifetime; give a number of turns (0 or more), {{'turns': n}}, "
        "{'ms': n}, a timedelta, or None for ever.",
        path="$.ttl",
    )
