"""Ranking of entries by what they say, shared by the backends that keep no index of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from context_chef.persistence.backend import SearchHit, StoredEntry


class RankedEntries:
    """A search index over entries, kept up to date by telling it what changed."""

    def __init__(self) -> None:
        self._entries: dict[str, StoredEntry] = {}

    def refresh(self, entries: Mapping[str, StoredEntry]) -> None:
        self._entries = dict(entries)

    def change(self, path: str, entry: StoredEntry | None) -> None:
        if entry is None:
            self._entries.pop(path, None)
        else:
            self._entries[path] = entry

    def search(
        self, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        found = [
            SearchHit(path=path, meta=dict(entry.meta), snippet=entry.content[:200])
            for path, entry in self._entries.items()
            if path.startswith(prefix) and query.casefold() in entry.content.casefold()
        ]
        return found[offset : offset + limit]
