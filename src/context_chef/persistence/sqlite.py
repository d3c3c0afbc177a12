"""SQLiteBackend: one file, full-text search, many threads and processes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from context_chef.errors import CorruptStoreError, SettingsError, StoreError, shown
from context_chef.persistence.backend import (
    Clock,
    ListedEntry,
    ReadEntries,
    SearchHit,
    StoredEntry,
    appended,
    check_entries,
    stored_form,
    system_clock,
)
from context_chef.persistence.connections import Connections
from context_chef.persistence.given import (
    check_names,
    check_search,
    check_seconds,
    check_text,
    file_path,
)
from context_chef.persistence.layouts import dump_json, listed_meta, load_meta
from context_chef.persistence.ranking import rank
from context_chef.persistence.schema import has_search_index, rebuild_search_index
from context_chef.persistence.text_index import (
    TextIndex,
    after_prefix,
    column_text,
    path_in_column,
)
from context_chef.prompts.store_faults import DAMAGED

_INDEX_AFTER: Final = 256
"""So many writes are indexed at once, unless a search comes first."""
_INDEX_WAIT: Final = 0.5
"""Seconds a search waits for others before it looks through what is not indexed by itself."""
_FEW: Final = 2_000
"""So many entries are all ranked anew when some of them are not indexed."""


class SQLiteBackend:
    """Keeps every entry as one row of a SQLite file that threads and processes may share.

    A write is in the file, forced to the disk, when it returns. Listings are in code-point order of
    the path. `search` ranks by BM25 and sees every write before it. The file appears with the first
    write, readable by its owner only. `busy_timeout` is how many seconds a change waits for other
    processes before it raises StoreError. A file or folder that this process may not write can be
    read and searched; with `read_only` nothing is written even where it may be.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock = system_clock,
        busy_timeout: float = 30.0,
        read_only: bool = False,
    ) -> None:
        named = file_path(path)
        if named in ("", ":memory:"):
            raise SettingsError(
                f"`path` must name a file, not {shown(named)}; "
                "use `InMemoryBackend` for entries that need not last."
            )
        check_seconds(busy_timeout, "busy_timeout")
        self.path = Path(named).absolute()
        self._clock = clock
        self._index = TextIndex()
        self._connections = Connections(self.path, busy_timeout=busy_timeout, read_only=read_only)
        self._reading = self._connections.reading
        self._index_wait = min(busy_timeout, _INDEX_WAIT)
        self._unindexed = 0

    def read(self, ns: str, path: str) -> StoredEntry | None:
        """The entry, as a copy of the caller's own, or None where there is none.

        Raises CorruptStoreError or another StoreError.
        """
        check_names(ns, path)
        with self._reading() as db:
            return None if db is None else self._read(db, ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        """Put the entry there, in place of what was there, all of it or nothing.

        Raises CorruptStoreError or another StoreError.
        """
        check_names(ns, path)
        entry = stored_form(entry)
        with self._changing() as db:
            self._put(db, ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        """Remove the entry. True when there was one.

        Raises CorruptStoreError or another StoreError.
        """
        check_names(ns, path)
        if not self.exists(ns, path):
            return False  # which needs no lock, and no right to write
        with self._connections.changing(create=False) as db:
            return db is not None and self._remove(db, ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        """Path and meta of every readable entry below `prefix`, always in the same order."""
        check_names(ns, prefix, what="prefix")
        return [
            ListedEntry(path=path, meta=listed_meta(entry))
            for path, entry in self.read_all(ns, prefix).items()
        ]

    def read_all(self, ns: str, prefix: str = "") -> ReadEntries:
        """Path to entry of everything below `prefix`, in the order of `list`; copies."""
        check_names(ns, prefix, what="prefix")
        with self._reading() as db:
            if db is None:
                return ReadEntries()
            rows = self._rows(db, ns, prefix).fetchall()
        return self._readable(ns, prefix, rows)

    def exists(self, ns: str, path: str) -> bool:
        """Whether an entry is stored under exactly this path, without reading it."""
        check_names(ns, path)
        with self._reading() as db:
            return db is not None and self._row(db, ns, path) is not None

    def append(self, ns: str, path: str, content: str) -> None:
        """Add text at the end of the entry, creating it when absent; no concurrent one is lost."""
        check_text(content, "content")
        check_names(ns, path)
        with self._changing() as db:
            before = self._read(db, ns, path)
            self._put(db, ns, path, appended(before, content, self._clock()))

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        """Put `new` there (None: delete) only if what is there equals `expected` (None: absent).

        Answers whether it was done. Nothing changes when it was not.
        """
        check_names(ns, path)
        new = None if new is None else stored_form(new)
        with self._changing() as db:
            current = self._read(db, ns, path)
            if current != expected:
                return False
            if new is not None:
                self._put(db, ns, path, new)
            elif current is not None:
                self._remove(db, ns, path)
            return True

    def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        """Path to entry of the whole namespace, in its order; copies."""
        check_names(ns)
        return self.read_all(ns)

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        """A row that is damaged is left where it is unless `data` has its path."""
        check_names(ns)
        check_entries(data)
        fresh = {path: stored_form(entry) for path, entry in data.items()}
        with self._changing() as db:
            known = self._readable(ns, "", self._rows(db, ns, "").fetchall())
            for path in known:
                if path not in fresh:
                    self._remove(db, ns, path)
            for path, entry in fresh.items():
                if path not in known:
                    self._remove(db, ns, path)
                self._put(db, ns, path, entry)

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """Entries that match `query`, best first: at most `limit`, after `offset` others."""
        check_names(ns)
        check_search(query, prefix, limit, offset)
        self._catch_up()
        with self._reading() as db:
            if db is None:
                return []
            if has_search_index(db):
                if not self._index.behind(db):
                    return self._indexed(db, ns, query, prefix, limit, offset)
                count = "SELECT count(*) FROM (SELECT 1 FROM entries WHERE ns = ? LIMIT ?)"
                (entries,) = db.execute(count, (column_text(ns), _FEW + 1)).fetchone()
                if entries > _FEW:
                    return self._partly_indexed(db, ns, query, prefix, limit, offset)
            rows = self._rows(db, ns, "").fetchall()
        known = self._readable(ns, "", rows)
        return rank(known, query, prefix=prefix, limit=limit, offset=offset)

    def namespaces(self) -> Sequence[str]:
        """The namespaces that hold an entry, in code-point order."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute("SELECT DISTINCT ns FROM entries ORDER BY ns")
            return [path_in_column(ns) for (ns,) in rows if isinstance(ns, str)]

    def faults(self) -> Iterator[str]:
        """What is wrong with the file, one sentence each. Changes nothing."""
        with self._reading(quietly=True) as db:
            if db is None:
                return
            rows = [row[0] for row in db.execute("PRAGMA integrity_check(20)")]
            found = [f"{self.path}: {row}" for row in rows if row != "ok"]
            entries = db.execute("SELECT ns, path, content, meta FROM entries ORDER BY ns, path")
            for ns, path, content, meta in entries:
                if not isinstance(ns, str) or not isinstance(path, str):
                    found.append(
                        f"{self.path}: a row has no readable name: {shown(ns)}, {shown(path)}."
                    )
                    continue
                try:
                    self._entry(path_in_column(ns), path_in_column(path), content, meta)
                except CorruptStoreError as error:
                    found.append(str(error))
        yield from found

    def rebuild_index(self) -> None:
        """Make the search index anew from the entries."""
        with self._connections.changing(create=False) as db:
            if db is not None:
                rebuild_search_index(db)
        self._unindexed = 1
        self._catch_up()

    def close(self) -> None:
        """Close the connections that are idle. The backend can be used again."""
        self._connections.close()

    # Rows

    def _row(self, db: sqlite3.Connection, ns: str, path: str) -> tuple[int, str, str] | None:
        return db.execute(
            "SELECT id, content, meta FROM entries WHERE ns = ? AND path = ?",
            (column_text(ns), column_text(path)),
        ).fetchone()

    def _read(self, db: sqlite3.Connection, ns: str, path: str) -> StoredEntry | None:
        row = self._row(db, ns, path)
        return None if row is None else self._entry(ns, path, row[1], row[2])

    def _entry(self, ns: str, path: str, content: object, meta: object) -> StoredEntry:
        known = load_meta(meta)
        if known is None or not isinstance(content, str):
            raise CorruptStoreError(
                f"{shown(path)} in namespace {shown(ns)} of {shown(str(self.path))} is damaged: "
                "its row holds no "
                "entry. Delete it, or restore the file.",
                told=DAMAGED,
            )
        return StoredEntry(content=content, meta=known)

    def _put(self, db: sqlite3.Connection, ns: str, path: str, entry: StoredEntry) -> None:
        meta = dump_json(entry.meta).decode()
        row = self._row(db, ns, path)
        if row is None:
            made = db.execute(
                "INSERT INTO entries (ns, path, content, meta) VALUES (?, ?, ?, ?)",
                (column_text(ns), column_text(path), entry.content, meta),
            ).lastrowid
            self._index.changed(db, cast("int", made))
            self._unindexed += 1
            return
        # What cannot be read may still be worth something to somebody.
        self._entry(ns, path, row[1], row[2])
        if row[1] != entry.content:
            self._index.forget(db, row[0], row[1])
            self._index.changed(db, row[0])
            self._unindexed += 1
        db.execute(
            "UPDATE entries SET content = ?, meta = ? WHERE id = ?", (entry.content, meta, row[0])
        )

    def _remove(self, db: sqlite3.Connection, ns: str, path: str) -> bool:
        row = self._row(db, ns, path)
        if row is None:
            return False
        self._index.forget(db, row[0], row[1])
        db.execute("DELETE FROM entries WHERE id = ?", (row[0],))
        return True

    def _rows(self, db: sqlite3.Connection, ns: str, prefix: str) -> sqlite3.Cursor:
        bounds = column_text(prefix)
        return db.execute(
            "SELECT path, content, meta FROM entries "
            "WHERE ns = ? AND path >= ? AND path <= ? ORDER BY path",
            (column_text(ns), bounds, after_prefix(bounds)),
        )

    def _readable(self, ns: str, prefix: str, rows: Sequence[Any]) -> ReadEntries:
        entries = ReadEntries()
        for name, content, meta in rows:
            path = path_in_column(name) if isinstance(name, str) else None
            if path is not None and path.startswith(prefix):
                try:
                    entries[path] = self._entry(ns, path, content, meta)
                except CorruptStoreError as error:
                    entries.damaged[path] = str(error)
        return entries

    # Search

    def _indexed(
        self, db: sqlite3.Connection, ns: str, query: str, prefix: str, limit: int, offset: int
    ) -> list[SearchHit]:
        hits = self._index.search(
            db, column_text(ns), query, prefix=column_text(prefix), limit=limit, offset=offset
        )
        return [msgspec.structs.replace(hit, path=path_in_column(hit.path)) for hit in hits]

    def _partly_indexed(
        self, db: sqlite3.Connection, ns: str, query: str, prefix: str, limit: int, offset: int
    ) -> list[SearchHit]:
        """What is indexed, and what is not ranked by itself, in one order."""
        rows = db.execute(
            "SELECT e.path, e.content, e.meta FROM pending JOIN entries e ON e.id = pending.entry "
            "WHERE e.ns = ?",
            (column_text(ns),),
        ).fetchall()
        limit, offset = max(limit, 0), max(offset, 0)
        hits = self._indexed(db, ns, query, prefix, limit + offset, 0)
        waiting = self._readable(ns, prefix, rows)
        hits += rank(waiting, query, prefix=prefix, limit=limit + offset)
        hits.sort(key=lambda hit: (-(hit.score or 0.0), hit.path))
        return hits[offset : offset + limit]

    def _catch_up(self) -> None:
        """Index what was written since the last time, by this process or another.

        Others may be writing, or this process may not: then it waits for another time.
        """
        with self._reading() as db:
            if db is None or not has_search_index(db) or not self._index.behind(db):
                return
        more = True
        try:
            while more:
                with self._connections.changing(create=False, wait=self._index_wait) as db:
                    more = db is not None and (
                        self._index.catch_up(db, _INDEX_AFTER) == _INDEX_AFTER
                    )
        except CorruptStoreError:
            raise
        except StoreError:
            return
        self._unindexed = 0

    @contextmanager
    def _changing(self) -> Generator[sqlite3.Connection]:
        with self._connections.changing() as db:
            assert db is not None, "asked to be made"
            yield db
        if self._unindexed >= _INDEX_AFTER:
            # What was asked for is done and stays done; the next search indexes what this cannot.
            with suppress(StoreError):
                self._catch_up()
