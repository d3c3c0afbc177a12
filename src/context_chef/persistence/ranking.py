"""RankedEntries: the search index of backends that keep none on disk."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from context_chef.persistence.backend import (
    SearchHit,
    StoredEntry,
    check_entries,
    copy_meta,
    sendable,
)
from context_chef.persistence.forks import SQLITE
from context_chef.persistence.given import check_search
from context_chef.persistence.text_index import (
    ENTRIES,
    INDEX,
    TextIndex,
    column_text,
    path_in_column,
)

_BATCH = 1_000


class RankedEntries:
    """Ranks the entries of one namespace exactly as `SQLiteBackend` does, without a file.

    It is told what changed and indexes that at the next search. Safe between threads, but not to
    be carried over a fork.
    """

    def __init__(self) -> None:
        with SQLITE.inside():
            self._db = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
            weakref.finalize(self, _close, self._db, os.getpid())
            for statement in (*ENTRIES, *INDEX):
                self._db.execute(statement)
        self._index = TextIndex()
        self._entries: dict[str, StoredEntry] = {}
        self._lock = threading.RLock()

    def close(self) -> None:
        """Free the index."""
        with SQLITE.inside(), self._lock:
            self._db.close()

    def refresh(self, entries: Mapping[str, StoredEntry]) -> None:
        """Make these the entries; those that are the same as before cost nothing."""
        with SQLITE.inside(), self._lock:
            gone = [path for path in self._entries if path not in entries]
            changed = [
                (path, entry)
                for path, entry in entries.items()
                if self._entries.get(path) is not entry
            ]
            self._db.execute("BEGIN")
            for path in gone:
                self._take_out(path)
            for path, entry in changed:
                self._take_in(path, entry)
            self._db.execute("COMMIT")

    def change(self, path: str, entry: StoredEntry | None) -> None:
        """Note what an entry is now, or that it is gone."""
        with SQLITE.inside(), self._lock:
            if entry is None:
                self._take_out(path)
            else:
                self._take_in(path, entry)

    def search(
        self, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """The best hits among the paths that begin with `prefix`."""
        with SQLITE.inside(), self._lock:
            while self._index.behind(self._db):
                self._db.execute("BEGIN")
                self._index.catch_up(self._db, _BATCH)
                self._db.execute("COMMIT")
            hits = self._index.search(
                self._db, "", query, prefix=column_text(prefix), limit=limit, offset=offset
            )
            return [self._as_stored(hit) for hit in hits]

    def _as_stored(self, hit: SearchHit) -> SearchHit:
        path = path_in_column(hit.path)
        return msgspec.structs.replace(hit, path=path, meta=copy_meta(self._entries[path].meta))

    def _take_in(self, path: str, entry: StoredEntry) -> None:
        known = self._entries.get(path)
        self._entries[path] = entry
        content = sendable(entry.content)
        if known is not None and sendable(known.content) == content:
            return
        self._take_out_row(path)
        row = self._db.execute(
            "INSERT INTO entries (ns, path, content, meta) VALUES ('', ?, ?, '{}')",
            (column_text(path), content),
        ).lastrowid
        self._index.changed(self._db, cast("int", row))

    def _take_out(self, path: str) -> None:
        if self._entries.pop(path, None) is not None:
            self._take_out_row(path)

    def _take_out_row(self, path: str) -> None:
        row = self._db.execute(
            "SELECT id, content FROM entries WHERE ns = '' AND path = ?", (column_text(path),)
        ).fetchone()
        if row is not None:
            self._index.forget(self._db, *row)
            self._db.execute("DELETE FROM entries WHERE id = ?", (row[0],))


def _close(db: sqlite3.Connection, owner: int) -> None:
    """Not in a child made by a fork: there a thread that is gone may hold the connection's lock."""
    if os.getpid() == owner:
        with SQLITE.inside():
            db.close()


def rank(
    entries: Mapping[str, StoredEntry],
    query: str,
    *,
    prefix: str = "",
    limit: int = 20,
    offset: int = 0,
) -> Sequence[SearchHit]:
    """Search entries that were read anyway, as a backend that searches would."""
    check_entries(entries)
    check_search(query, prefix, limit, offset)
    ranked = RankedEntries()
    try:
        ranked.refresh(entries)
        return ranked.search(query, prefix=prefix, limit=limit, offset=offset)
    finally:
        ranked.close()
