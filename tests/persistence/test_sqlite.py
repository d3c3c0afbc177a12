"""SQLiteBackend: one file, and clear words when something is wrong with it."""

from __future__ import annotations

import sqlite3
import stat
import threading
from pathlib import Path

import pytest

from context_chef.errors import CorruptStoreError, SettingsError, StoreError
from context_chef.persistence import SQLiteBackend, StoredEntry
from context_chef.persistence.connections import Connections
from context_chef.persistence.schema import APPLICATION_ID, MIGRATIONS

ENTRY = StoredEntry(content="x", meta={"createdAt": 1, "updatedAt": 2})


def test_nothing_is_made_before_the_first_write(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "dir" / "store.db")
    assert backend.read("notes", "a") is None
    assert backend.list("notes") == []
    assert backend.delete("notes", "a") is False
    assert backend.search("notes", "x") == []

    assert list(tmp_path.iterdir()) == []
    backend.write("notes", "a", ENTRY)
    assert stat.S_IMODE((tmp_path / "dir" / "store.db").stat().st_mode) == 0o600


def test_listings_are_in_code_point_order(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    for path in ("b", "a/x", "é", "a-b", "10", "B"):
        backend.write("notes", path, ENTRY)

    assert [entry.path for entry in backend.list("notes")] == ["10", "B", "a-b", "a/x", "b", "é"]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_text("these are the notes of somebody " * 50)
    backend = SQLiteBackend(tmp_path / "store.db")

    with pytest.raises(CorruptStoreError, match=r"store\.db.*damaged"):
        backend.write("notes", "a", ENTRY)
    assert (tmp_path / "store.db").read_text().startswith("these are")


def test_damaged_pages_are_reported_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "store.db"
    backend = SQLiteBackend(file)
    for number in range(200):
        backend.write("notes", f"e{number}", StoredEntry(content="y" * 500))
    backend.close()
    data = bytearray(file.read_bytes())
    for at in range(4096, len(data) - 4096, 4096):
        data[at : at + 200] = b"\xff" * 200
    file.write_bytes(bytes(data))

    with pytest.raises(CorruptStoreError, match=r"store\.db"):
        SQLiteBackend(file).read_all("notes")


def test_a_file_of_a_newer_version_or_another_program_is_refused(tmp_path: Path) -> None:
    newer = sqlite3.connect(tmp_path / "newer.db")
    newer.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    newer.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    newer.close()
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.close()

    with pytest.raises(StoreError, match=r"newer\.db.*newer version.*upgrade"):
        SQLiteBackend(tmp_path / "newer.db").write("notes", "a", ENTRY)
    with pytest.raises(StoreError, match=r"other\.db.*another program"):
        SQLiteBackend(tmp_path / "other.db").write("notes", "a", ENTRY)


@pytest.mark.parametrize("version", range(len(MIGRATIONS)))
def test_a_file_of_an_older_version_is_migrated_and_searchable(
    tmp_path: Path, version: int
) -> None:
    old = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
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
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "b", StoredEntry(content="a new apricot"))

    found = [hit.path for hit in backend.search("notes", "apricot")]

    assert sorted(found) == (["a", "b"] if version else ["b"])


def test_a_search_index_of_an_older_version_is_built_anew(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "a", StoredEntry(content="apricot"))
    assert len(backend.search("notes", "apricot")) == 1
    backend.close()
    db = sqlite3.connect(tmp_path / "store.db")
    db.execute("UPDATE settings SET index_version = 0")
    db.commit()
    db.close()

    assert len(SQLiteBackend(tmp_path / "store.db").search("notes", "apricot")) == 1


def test_a_database_that_stays_busy_is_named_with_the_way_out(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db", busy_timeout=0.05)
    backend.write("notes", "a", ENTRY)
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="busy_timeout"):
        backend.write("notes", "a", StoredEntry(content="y"))
    assert backend.read("notes", "a") == ENTRY
    other.execute("ROLLBACK")
    other.close()
    backend.write("notes", "a", StoredEntry(content="y"))


def test_a_damaged_row_is_neither_absent_nor_in_the_way(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "a", ENTRY)
    backend.write("notes", "b", ENTRY)
    db = sqlite3.connect(tmp_path / "store.db")
    db.execute("UPDATE entries SET meta = '{' WHERE path = 'a'")
    db.commit()
    db.close()

    with pytest.raises(CorruptStoreError, match=r"'a'.*store\.db"):
        backend.read("notes", "a")
    assert [entry.path for entry in backend.list("notes")] == ["b"]
    assert [fault for fault in backend.faults() if "'a'" in fault]


def test_many_threads_share_one_backend(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")

    def work(number: int) -> None:
        for turn in range(10):
            backend.write("notes", f"{number}/{turn}", StoredEntry(content=f"text {number}"))
            backend.search("notes", "text")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(backend.list("notes")) == 60
    assert len(backend.search("notes", "text", limit=100)) == 60


def test_many_writes_are_indexed_on_the_way(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    for number in range(300):
        backend.write("notes", f"e{number}", StoredEntry(content=f"word{number}"))
    db = sqlite3.connect(tmp_path / "store.db")

    assert db.execute("SELECT count(*) FROM pending").fetchone()[0] < 256
    assert backend.search("notes", "word299")[0].path == "e299"
    db.close()


def test_odd_half_characters_in_a_path_are_kept(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    paths = ["a\ud800", "a\ufffd\x00d800", "a\ufffd", "a\x00"]
    for path in paths:
        backend.write("notes", path, StoredEntry(content="same"))

    assert sorted(entry.path for entry in backend.list("notes")) == sorted(paths)
    assert sorted(hit.path for hit in backend.search("notes", "same")) == sorted(paths)


@pytest.mark.parametrize("path", ["", ":memory:"])
def test_a_path_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(SettingsError, match="InMemoryBackend"):
        SQLiteBackend(path)


def _put_back(copy: Path, file: Path) -> None:
    for side in ("-wal", "-shm"):
        Path(f"{file}{side}").unlink(missing_ok=True)
    copy.replace(file)


def _entry(text: str) -> StoredEntry:
    return StoredEntry(content=text, meta={"createdAt": 1, "updatedAt": 2})


def test_a_file_that_was_removed_is_made_anew_by_the_next_write(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "a", ENTRY)
    for path in tmp_path.iterdir():
        path.unlink()

    assert backend.read("notes", "a") is None
    backend.write("notes", "b", ENTRY)

    assert [entry.path for entry in SQLiteBackend(tmp_path / "store.db").list("notes")] == ["b"]


def test_a_file_that_was_put_back_from_a_copy_is_the_one_that_is_used(tmp_path: Path) -> None:
    file, copy = tmp_path / "store.db", tmp_path / "copy.db"
    backend, kept = SQLiteBackend(file), SQLiteBackend(copy)
    backend.write("notes", "a", _entry("broken"))
    kept.write("notes", "a", _entry("good"))
    kept.close()
    _put_back(copy, file)

    backend.write("notes", "b", _entry("more"))
    backend.close()

    again = [SQLiteBackend(file).read("notes", path) for path in "ab"]
    assert [entry and entry.content for entry in again] == ["good", "more"]


def test_a_change_that_went_with_the_old_file_is_not_acknowledged(tmp_path: Path) -> None:
    file, copy = tmp_path / "store.db", tmp_path / "copy.db"
    backend, kept = SQLiteBackend(file), SQLiteBackend(copy)
    backend.write("notes", "a", ENTRY)
    kept.write("notes", "a", ENTRY)
    kept.close()
    connections = Connections(file, busy_timeout=1, read_only=False)

    with pytest.raises(StoreError, match="removed or replaced"), connections.changing():
        _put_back(copy, file)
