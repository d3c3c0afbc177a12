"""SQLiteBackend where it may only read, or cannot write just now."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from context_chef.errors import StoreError
from context_chef.persistence import SQLiteBackend, StoredEntry, schema, sqlite
from context_chef.persistence.schema import APPLICATION_ID, MIGRATIONS

ENTRY = StoredEntry(content="an old apricot", meta={"createdAt": 1, "updatedAt": 2})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with one entry that is indexed and one that is not yet."""
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "a", ENTRY)
    backend.search("notes", "apricot")
    backend.write("notes", "b", StoredEntry(content="a late apricot"))
    backend.close()
    return backend.path


def forbid_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a folder that is read-only, which cannot be had when the tests run as root."""
    connect = schema._connect  # pyright: ignore[reportPrivateUsage] - where SQLite begins

    def refuse(path: Path, options: str, busy_timeout: float) -> sqlite3.Connection:
        if "immutable" in options:
            return connect(path, options, busy_timeout)
        error = sqlite3.OperationalError("unable to open database file")
        error.sqlite_errorname = "SQLITE_CANTOPEN"
        raise error

    monkeypatch.setattr(schema, "_connect", refuse)


def test_a_folder_that_may_not_be_written_is_read_and_searched(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_writing(monkeypatch)
    backend = SQLiteBackend(file)

    assert backend.read("notes", "a") == ENTRY
    assert backend.exists("notes", "b")
    assert [listed.path for listed in backend.list("notes")] == ["a", "b"]
    assert {hit.path for hit in backend.search("notes", "apricot")} == {"a", "b"}
    assert backend.namespaces() == ["notes"]
    assert list(backend.faults()) == []
    assert backend.delete("notes", "absent") is False
    with pytest.raises(StoreError, match=r"store\.db.*may write"):
        backend.write("notes", "c", ENTRY)


def test_what_stands_in_a_side_file_only_is_not_passed_over(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(f"{file}-wal").write_bytes(b"not yet in the file")
    forbid_writing(monkeypatch)

    with pytest.raises(StoreError, match=r"store\.db"):
        SQLiteBackend(file).read("notes", "a")


def test_read_only_writes_nothing_whatever_is_asked(file: Path) -> None:
    before = file.read_bytes()
    backend = SQLiteBackend(file, read_only=True)

    assert backend.read("notes", "a") == ENTRY
    assert {hit.path for hit in backend.search("notes", "apricot")} == {"a", "b"}
    assert list(backend.faults()) == []
    with pytest.raises(StoreError, match="`read_only`"):
        backend.write("notes", "c", ENTRY)
    backend.close()

    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["store.db"]


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_read_only_and_faults_leave_an_older_version_as_it_is(tmp_path: Path, version: int) -> None:
    file = tmp_path / "store.db"
    old = sqlite3.connect(file, isolation_level=None)
    for step in MIGRATIONS[:version]:
        step(old)
    if version:
        old.execute(
            "INSERT INTO entries (ns, path, content, meta) "
            "VALUES ('notes', 'a', 'an old apricot', '{}')"
        )
    old.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    old.execute(f"PRAGMA user_version = {version}")
    old.close()
    before = file.read_bytes()

    found = [hit.path for hit in SQLiteBackend(file, read_only=True).search("notes", "apricot")]

    assert found == (["a"] if version else [])
    assert list(SQLiteBackend(file).faults()) == []
    assert file.read_bytes() == before


def test_an_empty_file_is_no_store_yet_and_stays_empty(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    file.touch()
    backend = SQLiteBackend(file)

    assert backend.read("notes", "a") is None
    assert backend.list("notes") == []
    assert backend.search("notes", "x") == []
    assert backend.delete("notes", "a") is False
    assert list(backend.faults()) == []
    assert file.stat().st_size == 0
    backend.write("notes", "a", ENTRY)
    assert backend.read("notes", "a") == ENTRY


@pytest.mark.parametrize("few", [2_000, 0])
def test_a_search_needs_nobody_to_stop_writing(
    file: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(sqlite, "_FEW", few)
    backend = SQLiteBackend(file, busy_timeout=0.05)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    hits = backend.search("notes", "apricot")

    assert {hit.path for hit in hits} == {"a", "b"}
    assert [hit.path for hit in backend.search("notes", "apricot", limit=1, offset=1)] == [
        hits[1].path
    ]
    assert [hit.path for hit in backend.search("notes", "apricot", prefix="b")] == ["b"]
    other.execute("ROLLBACK")
    other.close()
