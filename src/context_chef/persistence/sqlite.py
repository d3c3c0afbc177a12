"""SQLiteBackend: one file, full-text search, many threads and processes."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, cast

import msgspec

from context_chef.errors import CorruptStoreError, SettingsError, StoreError
from context_chef.persistence.backend import (
    Clock,
    ListedEntry,
    SearchHit,
    StoredEntry,
    appended,
    stored_form,
    system_clock,
)
from context_chef.persistence.layouts import Unreadable, dump_json, listed_meta, load_json
from context_chef.persistence.schema import open_database, rebuild_search_index
from context_chef.persistence.text_index import (
    TextIndex,
    after_prefix,
    column_text,
    path_in_column,
)

_INDEX_AFTER: Final = 256
"""So many writes are indexed at once, unless a search comes first."""
_IDLE_CONNECTIONS: Final = 8


class SQLiteBackend:
    """Keeps every entry as one row of a SQLite file that threads and processes may share.

    A write is in the file, forced to the disk, when it returns. Listings are in code-point order of
    the path. `search` ranks by BM25 and sees every write before it. The file appears with the first
    write, readable by its owner only. `busy_timeout` is how many seconds a change waits for other
    processes before it raises StoreError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        clock: Clock = system_clock,
        busy_timeout: float = 30.0,
    ) -> None:
        if os.fspath(path) in ("", ":memory:"):
            raise SettingsError(
                f"`path` must name a file, not {os.fspath(path)!r}; "
                "use `InMemoryBackend` for entries that need not last."
            )
        if not busy_timeout >= 0:
            raise SettingsError(f"`busy_timeout` must not be negative, but is {busy_timeout!r}.")
        self.path = Path(path).absolute()
        self._clock = clock
        self._busy_timeout = busy_timeout
        self._index = TextIndex()
        self._guard = threading.Lock()
        self._idle: list[sqlite3.Connection] = []
        self._owner = os.getpid()
        self._abandoned: list[sqlite3.Connection] = []
        self._unindexed = 0
        weakref.finalize(self, _close_own, self._idle, self._owner)

    def read(self, ns: str, path: str) -> StoredEntry | None:
        with self._reading() as db:
            return None if db is None else self._read(db, ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        entry = stored_form(entry)
        with self._changing() as db:
            self._put(db, ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        with self._changing_if_there() as db:
            return db is not None and self._remove(db, ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return [
            ListedEntry(path=path, meta=listed_meta(entry))
            for path, entry in self.read_all(ns, prefix).items()
        ]

    def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
        with self._reading() as db:
            if db is None:
                return {}
            bounds = column_text(prefix)
            rows = db.execute(
                "SELECT path, content, meta FROM entries "
                "WHERE ns = ? AND path >= ? AND path <= ? ORDER BY path",
                (column_text(ns), bounds, after_prefix(bounds)),
            )
            found = {path_in_column(path): (content, meta) for path, content, meta in rows}
        entries: dict[str, StoredEntry] = {}
        for path, (content, meta) in found.items():
            with suppress(CorruptStoreError):
                if path.startswith(prefix):
                    entries[path] = self._entry(ns, path, content, meta)
        return entries

    def exists(self, ns: str, path: str) -> bool:
        with self._reading() as db:
            return db is not None and self._row(db, ns, path) is not None

    def append(self, ns: str, path: str, content: str) -> None:
        with self._changing() as db:
            before = self._read(db, ns, path)
            self._put(db, ns, path, appended(before, content, self._clock()))

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
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
        return self.read_all(ns)

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        fresh = {path: stored_form(entry) for path, entry in data.items()}
        with self._changing() as db:
            gone = db.execute("SELECT path FROM entries WHERE ns = ?", (column_text(ns),))
            for (path,) in gone.fetchall():
                if path_in_column(path) not in fresh:
                    self._remove(db, ns, path_in_column(path))
            for path, entry in fresh.items():
                self._put(db, ns, path, entry)

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        self._catch_up()
        with self._reading() as db:
            if db is None:
                return []
            hits = self._index.search(
                db,
                column_text(ns),
                query,
                prefix=column_text(prefix),
                limit=limit,
                offset=offset,
            )
        return [
            msgspec.structs.replace(hit, path=path_in_column(hit.path), meta=hit.meta)
            for hit in hits
        ]

    def namespaces(self) -> Sequence[str]:
        """The namespaces that hold an entry, in code-point order."""
        with self._reading() as db:
            if db is None:
                return []
            rows = db.execute("SELECT DISTINCT ns FROM entries ORDER BY ns")
            return [path_in_column(ns) for (ns,) in rows]

    def faults(self) -> Iterator[str]:
        """What is wrong with the file, one sentence each. Changes nothing."""
        with self._reading() as db:
            if db is None:
                return
            rows = [row[0] for row in db.execute("PRAGMA integrity_check(20)")]
            yield from (f"{self.path}: {row}" for row in rows if row != "ok")
            entries = db.execute("SELECT ns, path, content, meta FROM entries ORDER BY ns, path")
            for ns, path, content, meta in entries:
                try:
                    self._entry(path_in_column(ns), path_in_column(path), content, meta)
                except CorruptStoreError as error:
                    yield str(error)

    def rebuild_index(self) -> None:
        """Make the search index anew from the entries."""
        with self._changing_if_there() as db:
            if db is not None:
                rebuild_search_index(db)
        self._unindexed = 1
        self._catch_up()

    def close(self) -> None:
        """Close the connections that are idle. The backend can be used again."""
        with self._guard:
            idle = self._idle[:]
            self._idle.clear()
        for db in idle:
            db.close()

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
        try:
            known = load_json(meta.encode()) if isinstance(meta, str) else None
        except Unreadable:
            known = None
        if not isinstance(known, dict) or not isinstance(content, str):
            raise CorruptStoreError(
                f"{path!r} in namespace {ns!r} of {str(self.path)!r} is damaged: its row holds no "
                "entry. Delete it, or restore the file."
            )
        return StoredEntry(content=content, meta=cast("dict[str, Any]", known))

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

    def _catch_up(self) -> None:
        """Index what was written since the last time, by this process or another."""
        with self._reading() as db:
            if db is None or not self._index.behind(db):
                return
        more = True
        while more:
            with self._changing(index=False) as db:
                more = self._index.catch_up(db, _INDEX_AFTER) == _INDEX_AFTER
        self._unindexed = 0

    # Connections and transactions

    @contextmanager
    def _reading(self) -> Generator[sqlite3.Connection | None]:
        """One consistent view of the file; None while there is no file."""
        with self._connection(create=False) as db:
            if db is None:
                yield None
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                db.execute("ROLLBACK")

    @contextmanager
    def _changing(self, *, index: bool = True) -> Generator[sqlite3.Connection]:
        """All of it or nothing, and nobody else changes anything meanwhile."""
        with self._connection(create=True) as db:
            assert db is not None, "asked to be made"
            with _transaction(db):
                yield db
        if index and self._unindexed >= _INDEX_AFTER:
            # What was asked for is done and stays done; the next search indexes what this cannot.
            with suppress(StoreError):
                self._catch_up()

    @contextmanager
    def _changing_if_there(self) -> Generator[sqlite3.Connection | None]:
        """The same, but no file is made for it."""
        with self._connection(create=False) as db:
            if db is None:
                yield None
                return
            with _transaction(db):
                yield db

    @contextmanager
    def _connection(self, *, create: bool) -> Generator[sqlite3.Connection | None]:
        db: sqlite3.Connection | None = None
        healthy = False
        try:
            db = self._take(create=create)
            yield db
            healthy = True
        except sqlite3.Error as error:
            raise self._explained(error) from error
        except Exception:
            healthy = True
            raise
        finally:
            if db is not None:
                self._give_back(db, healthy=healthy)

    def _take(self, *, create: bool) -> sqlite3.Connection | None:
        with self._guard:
            if self._owner != os.getpid():
                # Connections must not cross a fork, not even to be closed.
                self._abandoned += self._idle
                self._idle.clear()
                self._owner = os.getpid()
            if self._idle:
                return self._idle.pop()
        if not create and not self.path.exists():
            return None
        return open_database(self.path, busy_timeout=self._busy_timeout)

    def _give_back(self, db: sqlite3.Connection, *, healthy: bool) -> None:
        with self._guard:
            if healthy and not db.in_transaction and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(db)
                return
        db.close()

    def _explained(self, error: sqlite3.Error) -> StoreError:
        return explained(error, self.path, self._busy_timeout)


def _close_own(connections: list[sqlite3.Connection], owner: int) -> None:
    """Close what a backend leaves behind, unless it was inherited by a fork."""
    if os.getpid() == owner:
        for db in connections:
            db.close()


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def explained(error: sqlite3.Error, path: Path, busy_timeout: float) -> StoreError:
    """The same error as one of ours, naming the file."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreError(
            f"{str(path)!r} stayed locked by another process for {busy_timeout:g} seconds; "
            "try again, or raise `busy_timeout`."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptStoreError(
            f"{str(path)!r} is damaged or no SQLite file ({error}); restore it from a copy."
        )
    return StoreError(f"{str(path)!r} could not be used: {error}.")
