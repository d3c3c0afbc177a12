"""What hosts hand back to memory, judged where it comes in: entries, snapshots, choices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, cast

from context_chef.errors import InputError, shown
from context_chef.persistence.memory_entry import MemoryEntry


def check_given(value: object, kind: type, name: str) -> None:
    """Refuse, with InputError, what is not of the kind that memory gives out itself."""
    if not isinstance(value, kind):
        raise InputError(
            f"`{name}` is a {kind.__name__}, as memory gives one out, not {shown(value)}.",
            path=f"$.{name}",
        )


def checked_entries(given: object) -> list[MemoryEntry]:
    """The entries in a list. InputError for anything else."""
    entries = _entries_in(given)
    if isinstance(entries, list):
        return entries
    raise InputError(f"`entries` are memory entries, not {shown(entries.wrong)}.", path="$.entries")


def checked_choice(chosen: object) -> list[MemoryEntry]:
    """What a selector answered, each entry once: the same one twice would be two facts."""
    entries = _entries_in(chosen)
    if isinstance(entries, list):
        return list({entry.key: entry for entry in entries}.values())
    raise InputError(
        f"memory's `selector` must answer memory entries, some of those it was given, not "
        f"{shown(entries.wrong)}.",
        path="$.selector",
    )


class _Wrong(NamedTuple):
    wrong: object


def _entries_in(given: object) -> list[MemoryEntry] | _Wrong:
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        return _Wrong(given)
    items = list(cast("Iterable[object]", given))
    for item in items:
        if not isinstance(item, MemoryEntry):
            return _Wrong(item)
    return cast("list[MemoryEntry]", items)
