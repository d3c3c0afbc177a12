"""The order in which memory is shown, kept on a backend that has another order of its own.

A store in memory lists entries as they were first written, one on disk by their paths. A snapshot
that goes from one to the other would show the same entries in another order, and so other bytes.
Restoring writes each entry's place down where the backend's own order differs; entries written
later come behind them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from context_chef.persistence.backend import StoredEntry

PLACE: Final = "place"


def in_shown_order(entries: Mapping[str, StoredEntry]) -> Mapping[str, StoredEntry]:
    """The entries by their place, those without one last and as they are."""
    if not any(PLACE in entry.meta for entry in entries.values()):
        return entries
    return dict(sorted(entries.items(), key=lambda item: _place(item[1])))


def with_places(entries: Mapping[str, StoredEntry]) -> dict[str, StoredEntry]:
    """The entries with their order written down."""
    return {
        path: StoredEntry(content=entry.content, meta={**entry.meta, PLACE: number})
        for number, (path, entry) in enumerate(entries.items())
    }


def without_places(entries: Mapping[str, StoredEntry]) -> dict[str, StoredEntry]:
    """The entries as they were before their order was written down."""
    return {
        path: StoredEntry(
            content=entry.content,
            meta={key: value for key, value in entry.meta.items() if key != PLACE},
        )
        for path, entry in entries.items()
    }


def _place(entry: StoredEntry) -> float:
    place = entry.meta.get(PLACE)
    if isinstance(place, bool) or not isinstance(place, (int, float)) or math.isnan(place):
        return math.inf
    return place
