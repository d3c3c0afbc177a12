"""Connections: one SQLite file for many threads, through forks, and where it may be read only."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from context_chef.errors import CorruptStoreError, StoreError, shown
from context_chef.persistence.forks import SQLITE, PerProcess
from context_chef.persistence.schema import (
    Database,
    is_empty,
    is_forbidden,
    open_database,
    open_to_read,
)
from context_chef.prompts.store_faults import BUSY, DAMAGED, DISK, FULL, READ_ONLY

_IDLE_CONNECTIONS: Final = 8


class Connections:
    """Opens the file when somebody needs it and keeps a few connections for the next.

    Every sqlite3 error comes out as a StoreError that names the file. With `read_only` nothing is
    ever written, not even a newer form of the file.
    """

    def __init__(self, path: Path, *, busy_timeout: float, read_only: bool) -> None:
        self._path = path
        self._busy_timeout = busy_timeout
        self._read_only = read_only
        self._idle: PerProcess[_Idle] = PerProcess(_Idle)
        SQLITE.add(self)

    @contextmanager
    def reading(self, *, quietly: bool = False) -> Generator[sqlite3.Connection | None]:
        """One consistent view of the file; None while nothing was written.

        `quietly` leaves even a file of an older version as it is.
        """
        with self._explaining(), SQLITE.inside():
            kept = None if quietly or self._read_only else self._take()
            db = kept if kept is not None else self._open_to_read()
            if db is None:
                yield None
                return
            with self._lent(db, keep=kept is not None):
                db.execute("BEGIN")
                try:
                    yield db
                finally:
                    db.execute("ROLLBACK")

    @contextmanager
    def changing(
        self, *, create: bool = True, wait: float | None = None
    ) -> Generator[sqlite3.Connection | None]:
        """All of it or nothing, and nobody else changes anything meanwhile.

        None when the file is not there and is not to be made. `wait` replaces the longest time to
        wait for others.
        """
        with self._explaining(), SQLITE.inside():
            if not create and is_empty(self._path):
                yield None
                return
            if self._read_only:
                raise StoreError(
                    f"{shown(str(self._path))} was opened with `read_only`, so nothing can be "
                    "changed; "
                    "leave that out.",
                    told=READ_ONLY,
                )
            db = self._kept()
            if db is None:
                db = self._open()
            with self._lent(db, keep=True):
                if wait is not None:
                    _be_patient(db, wait)
                try:
                    with _transaction(db):
                        yield db
                    if not db.is_of(self._path):
                        raise StoreError(
                            f"{shown(str(self._path))} was removed or replaced while it was being "
                            "changed, and the change went with the old file; do it again.",
                            told=DISK,
                        )
                finally:
                    if wait is not None:
                        _be_patient(db, self._busy_timeout)

    def close(self) -> None:
        """Close the connections that are idle."""
        self._idle.get().close()

    def _take(self) -> Database | None:
        """A connection that may also write; None when there is nothing, or nothing to write to."""
        db = self._kept()
        if db is not None or is_empty(self._path):
            return db
        try:
            return self._open()
        except sqlite3.OperationalError as error:
            if not is_forbidden(error):
                raise
        except OSError:
            pass  # the folder may not be written; whether the file can be read is seen next
        return None

    def _kept(self) -> Database | None:
        """A connection that waits, of the file that has the name now."""
        idle = self._idle.get()
        while (db := idle.take()) is not None:
            if db.is_of(self._path):
                return db
            db.close()  # SQLite knows as well that the file has moved, and leaves the new one alone
        return None

    def _open(self) -> Database:
        return open_database(self._path, busy_timeout=self._busy_timeout)

    def _open_to_read(self) -> Database | None:
        if is_empty(self._path):
            return None
        return open_to_read(self._path, busy_timeout=self._busy_timeout)

    @contextmanager
    def _lent(self, db: Database, *, keep: bool) -> Generator[None]:
        idle = self._idle.get()
        healthy = False
        try:
            yield
            healthy = True
        except sqlite3.Error:
            raise
        except Exception:
            healthy = True
            raise
        finally:
            if self._idle.get() is not idle:
                idle.abandoned.append(db)  # a fork came between: it is the parent's
            elif not (keep and healthy and idle.give_back(db)):
                db.close()

    @contextmanager
    def _explaining(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise explained(error, self._path, self._busy_timeout) from error
        except OSError as error:
            raise StoreError(
                f"{shown(str(self._path))} could not be used: {error}.", told=error.strerror
            ) from error


class _Idle:
    """The connections of one process that wait for their next use."""

    def __init__(self) -> None:
        self.abandoned: list[Database] = []
        """Not this process's any more; kept, because even closing them would do harm."""
        self._guard = threading.Lock()
        self._connections: list[Database] = []
        weakref.finalize(self, _close_own, self._connections, os.getpid())

    def take(self) -> Database | None:
        with self._guard:
            return self._connections.pop() if self._connections else None

    def give_back(self, db: Database) -> bool:
        """False when there are enough, or this one is in no state to be used again."""
        with self._guard:
            kept = not db.in_transaction and len(self._connections) < _IDLE_CONNECTIONS
            if kept:
                self._connections.append(db)
            return kept

    def close(self) -> None:
        with self._guard:
            idle = self._connections[:]
            self._connections.clear()
        for db in idle:
            db.close()


def _close_own(connections: list[Database], owner: int) -> None:
    """Close what is left behind, unless it was inherited by a fork."""
    if os.getpid() == owner:
        for db in connections:
            db.close()


def _be_patient(db: sqlite3.Connection, seconds: float) -> None:
    db.execute(f"PRAGMA busy_timeout = {min(int(seconds * 1000), 2**31 - 1)}")


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
            f"{shown(str(path))} stayed locked by another process for {busy_timeout:g} seconds; "
            "try again, or raise `busy_timeout`.",
            told=BUSY,
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return CorruptStoreError(
            f"{shown(str(path))} is damaged or no SQLite file ({error}); restore it from a copy.",
            told=DAMAGED,
        )
    if name.startswith("SQLITE_FULL"):
        return StoreError(
            f"{shown(str(path))} has no room left: {error}; free some space.", told=FULL
        )
    if is_forbidden(error):
        return StoreError(
            f"{shown(str(path))} could not be opened or changed: {error}. Changes need a file "
            "and a "
            "folder that this process may write, reading needs a file that it may read.",
            told=READ_ONLY,
        )
    told = DISK if name.startswith("SQLITE_IOERR") else None
    return StoreError(f"{shown(str(path))} could not be used: {error}.", told=told)
