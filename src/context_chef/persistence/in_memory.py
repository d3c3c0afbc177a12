"""InMemoryBackend: everything in this process, in the order in which it was first written."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from context_chef.persistence.backend import (
    Clock,
    ListedEntry,
    SearchHit,
    StoredEntry,
    appended,
    byte_length,
    check_entries,
    copy_entry,
    stored_form,
    system_clock,
)
from context_chef.persistence.forks import PerProcess
from context_chef.persistence.given import check_names, check_search, check_text

if TYPE_CHECKING:
    from context_chef.persistence.ranking import RankedEntries


class InMemoryBackend:
    """Keeps everything in this process, for as long as the object lives.

    A rewrite keeps an entry's place; deleting and writing again moves it to the end. What goes in
    and comes out is copied, so nobody shares an entry with the store. Safe between threads.
    """

    def __init__(self, *, clock: Clock = system_clock) -> None:
        self._clock = clock
        self._namespaces: dict[str, dict[str, StoredEntry]] = {}
        self._ranked: PerProcess[dict[str, RankedEntries]] = PerProcess(dict)
        self._locks = PerProcess(threading.RLock)

    def read(self, ns: str, path: str) -> StoredEntry | None:
        """The entry, as a copy of the caller's own, or None where there is none."""
        check_names(ns, path)
        entry = self._namespaces.get(ns, {}).get(path)
        return None if entry is None else copy_entry(entry)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        """Put the entry there, in place of what was there, all of it or nothing."""
        check_names(ns, path)
        self._put(ns, path, stored_form(entry))

    def delete(self, ns: str, path: str) -> bool:
        """Remove the entry. True when there was one."""
        check_names(ns, path)
        with self._locks.get():
            if self._namespaces.get(ns, {}).pop(path, None) is None:
                return False
            self._changed(ns, path)
            return True

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        """Path and meta of every readable entry below `prefix`, always in the same order."""
        check_names(ns, prefix, what="prefix")
        return [
            ListedEntry(
                path=path, meta={"bytes": byte_length(entry.content), **copy_entry(entry).meta}
            )
            for path, entry in self._items(ns, prefix)
        ]

    def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
        """Path to entry of everything below `prefix`, in the order of `list`; copies."""
        check_names(ns, prefix, what="prefix")
        return {path: copy_entry(entry) for path, entry in self._items(ns, prefix)}

    def exists(self, ns: str, path: str) -> bool:
        """Whether an entry is stored under exactly this path, without reading it."""
        check_names(ns, path)
        return path in self._namespaces.get(ns, {})

    def append(self, ns: str, path: str, content: str) -> None:
        """Add text at the end of the entry, creating it when absent; no concurrent one is lost."""
        check_text(content, "content")
        check_names(ns, path)
        with self._locks.get():
            before = self._namespaces.get(ns, {}).get(path)
            self._put(ns, path, appended(before, content, self._clock()))

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        """Put `new` there (None: delete) only if what is there equals `expected` (None: absent).

        Answers whether it was done. Nothing changes when it was not.
        """
        new = None if new is None else stored_form(new)
        check_names(ns, path)
        with self._locks.get():
            if self._namespaces.get(ns, {}).get(path) != expected:
                return False
            if new is not None:
                self._put(ns, path, new)
            elif expected is not None:
                self.delete(ns, path)
            return True

    def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        """Path to entry of the whole namespace, in its order; copies."""
        return self.read_all(ns)

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        """Put `data` in place of the whole namespace, in its order, or nothing on failure."""
        check_names(ns)
        check_entries(data)
        fresh = {path: stored_form(entry) for path, entry in data.items()}
        with self._locks.get():
            self._namespaces[ns] = fresh
            self._ranked.get().pop(ns, None)

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """Entries that match `query`, best first: at most `limit`, after `offset` others."""
        check_names(ns)
        check_search(query, prefix, limit, offset)
        with self._locks.get():
            ranked = self._ranked.get().get(ns)
            if ranked is None:
                # The words of many scripts and SQLite, for those who search.
                from context_chef.persistence.ranking import RankedEntries

                ranked = self._ranked.get()[ns] = RankedEntries()
                ranked.refresh(dict(self._namespaces.get(ns, {})))
        return ranked.search(query, prefix=prefix, limit=limit, offset=offset)

    def _put(self, ns: str, path: str, entry: StoredEntry) -> None:
        with self._locks.get():
            self._namespaces.setdefault(ns, {})[path] = entry
            self._changed(ns, path)

    def _changed(self, ns: str, path: str) -> None:
        if ranked := self._ranked.get().get(ns):
            ranked.change(path, self._namespaces.get(ns, {}).get(path))

    def _items(self, ns: str, prefix: str) -> Sequence[tuple[str, StoredEntry]]:
        with self._locks.get():
            entries = self._namespaces.get(ns, {})
            return [item for item in entries.items() if item[0].startswith(prefix)]
