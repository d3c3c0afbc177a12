"""The SQLite file: opening it, its versions, and the way from each to the next."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from context_chef.errors import StoreError, shown
from context_chef.persistence.text_index import ENTRIES, INDEX, INDEX_TABLES, INDEX_VERSION

APPLICATION_ID: Final = 0x43_68_65_66
"""Tells our files from those of others: `Chef` in ASCII."""


def open_database(path: Path, *, busy_timeout: float) -> Database:
    """Open the file, making or migrating it when necessary.

    Raises StoreError for a file of a newer version or of another program, sqlite3.Error for the
    rest.
    """
    _make_private(path)
    db = _connect(path, "mode=rw", busy_timeout)
    try:
        _refuse_foreign(db, path)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA cache_size = -16000")
        _use_wal(db, busy_timeout)
        if not _is_current(db):
            _migrate(db, path)
    except BaseException:
        db.close()
        raise
    return db


def _use_wal(db: sqlite3.Connection, busy_timeout: float) -> None:
    """Switch the journal's mode once. SQLite does not wait here for others that open the file."""
    until = time.monotonic() + busy_timeout
    while True:
        try:
            if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = (getattr(error, "sqlite_errorname", "") or "").startswith("SQLITE_BUSY")
            if not busy or time.monotonic() >= until:
                raise
        time.sleep(0.005)


def open_to_read(path: Path, *, busy_timeout: float) -> Database | None:
    """Open a file that is there, writing nothing; None when it holds no entries yet.

    Where not even SQLite's side files can be made, as in a folder that is read-only, the file is
    taken for one that nobody changes, so the connection must not be kept. Raises what
    `open_database` raises.
    """
    forbidden: sqlite3.OperationalError | None = None
    # A connection that might write is the only one that clears SQLite's side files away again.
    for options in ("mode=rw", "mode=ro"):
        try:
            return _reader(path, options, busy_timeout)
        except sqlite3.OperationalError as error:
            if not is_forbidden(error):
                raise
            forbidden = error
    # Without the side file, what is in there only would be missed.
    if _size(Path(f"{path}-wal")):
        raise forbidden
    return _reader(path, "mode=ro&immutable=1", busy_timeout)


def _reader(path: Path, options: str, busy_timeout: float) -> Database | None:
    db = _connect(path, options, busy_timeout)
    try:
        db.execute("PRAGMA query_only = ON")
        _refuse_foreign(db, path)
        if db.execute("PRAGMA user_version").fetchone()[0]:
            return db
    except BaseException:
        db.close()
        raise
    db.close()
    return None


def is_forbidden(error: sqlite3.Error) -> bool:
    """Whether this is about a file or folder that may not be written, or not be opened."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM"))


def is_empty(path: Path) -> bool:
    """Whether there is no file yet, or one that nothing was written to."""
    return not _size(path) and not _size(Path(f"{path}-wal"))


def has_search_index(db: sqlite3.Connection) -> bool:
    """Whether the search index is there, in the form that is known here."""
    return _is_current(db)


def rebuild_search_index(db: sqlite3.Connection) -> None:
    """Throw the search index away; every entry waits to be indexed again."""
    for table in INDEX_TABLES:
        db.execute(f"DROP TABLE IF EXISTS {table}")
    for statement in INDEX:
        db.execute(statement)
    db.execute("UPDATE settings SET index_version = ?", (INDEX_VERSION,))


def _first(db: sqlite3.Connection) -> None:
    """Version 1: the entries."""
    _run(db, ENTRIES)


def _second(db: sqlite3.Connection) -> None:
    """Version 2: the search index, which has a version of its own."""
    db.execute("CREATE TABLE settings (index_version INTEGER NOT NULL)")
    db.execute("INSERT INTO settings VALUES (0)")


MIGRATIONS: Final[Sequence[Callable[[sqlite3.Connection], None]]] = (_first, _second)
"""What makes each version of the file out of the one before it. Never changed, only added to."""


def _is_current(db: sqlite3.Connection) -> bool:
    ours = db.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if not ours or version != len(MIGRATIONS):
        return False
    return db.execute("SELECT index_version FROM settings").fetchone()[0] == INDEX_VERSION


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    """One transaction, so that a crash on the way leaves the file as it was."""
    db.execute("BEGIN IMMEDIATE")
    try:
        # Looked at again, because another process may have migrated it meanwhile.
        _refuse_foreign(db, path)
        version = db.execute("PRAGMA user_version").fetchone()[0]
        for step in MIGRATIONS[version:]:
            step(db)
        (indexed,) = db.execute("SELECT index_version FROM settings").fetchone()
        if indexed < INDEX_VERSION:
            rebuild_search_index(db)
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")
        raise


def _refuse_foreign(db: sqlite3.Connection, path: Path) -> None:
    # The owner is asked last: another process may be making the file right now, and what it makes
    # appears all at once, so that whoever sees any of it sees the owner afterwards.
    tables = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    owner = db.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID and (owner or version or tables):
        raise StoreError(
            f"{shown(str(path))} is a SQLite file of another program; give `path` a file of its "
            "own."
        )
    newer = version > len(MIGRATIONS)
    if version == len(MIGRATIONS):
        (indexed,) = db.execute("SELECT index_version FROM settings").fetchone()
        newer = indexed > INDEX_VERSION
    if newer:
        raise StoreError(
            f"{shown(str(path))} was written by a newer version of context-chef (its format is "
            f"{version}, this one knows up to {len(MIGRATIONS)}); upgrade context-chef, or use "
            "another file."
        )


def _make_private(path: Path) -> None:
    """SQLite gives its side files the permissions of the file, so that one is made first."""
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _connect(path: Path, options: str, busy_timeout: float) -> Database:
    db = sqlite3.connect(
        f"{path.as_uri()}?{options}",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
        factory=Database,
    )
    db.text_factory = _text
    db.file = _identity(path)
    return db


class Database(sqlite3.Connection):
    """A connection that knows which file it was opened on, whatever has the name later."""

    file: tuple[int, int] | None = None

    def is_of(self, path: Path) -> bool:
        """Whether the file of that name is still the one that was opened."""
        return self.file == _identity(path)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _text(raw: bytes) -> str | bytes:
    """One damaged value must not keep all others from being read."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def _run(db: sqlite3.Connection, statements: Sequence[str]) -> None:
    for statement in statements:
        db.execute(statement)
