"""`context-chef store`, from the outside: what it prints and answers."""

from __future__ import annotations

import argparse
import io
import json
import sqlite3
from pathlib import Path

import pytest

from context_chef.cli.store import add_store_commands, open_store
from context_chef.errors import ContextChefError, StoreError
from context_chef.persistence import (
    FileSystemBackend,
    NamespaceView,
    SQLiteBackend,
    Store,
    StoredEntry,
)


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    add_store_commands(parser.add_subparsers(required=True))
    options = parser.parse_args(["store", *arguments])
    return options.func(options)


@pytest.fixture(params=["folder", "file.db"])
def place(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return str(tmp_path / request.param)


def put(place: str, address: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text(content, "utf-8", newline="")
    assert run("put", address, str(tmp_path / "source.txt"), "--store", place) == 0


def test_what_is_put_is_listed_found_and_printed_exactly(
    place: str, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    put(place, "notes/plan é", "first\r\nERR_CONN_RESET\n", tmp_path)
    put(place, "context://vfs/out.txt", "nothing", tmp_path)
    capfdbinary.readouterr()

    assert run("cat", "notes/plan é", "--store", place) == 0
    assert capfdbinary.readouterr().out == b"first\r\nERR_CONN_RESET\n"
    assert run("ls", "--store", place, "--json") == 0
    listed = json.loads(capfdbinary.readouterr().out)
    assert [row["address"] for row in listed] == ["context://notes/plan é", "context://vfs/out.txt"]
    assert run("search", "conn reset", "--store", place, "--json") == 0
    assert [hit["address"] for hit in json.loads(capfdbinary.readouterr().out)] == [
        "context://notes/plan é"
    ]


def test_stdin_is_stored_and_new_refuses_to_replace(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Stdin:
        buffer = io.BytesIO(b"from a pipe")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert run("put", "notes/a", "--store", place) == 0

    assert run("put", "notes/a", "--new", "--store", place) == 1
    assert "there already" in capsys.readouterr().err


def test_rm_deletes_and_says_what_was_not_there(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(place, "notes/a", "x", tmp_path)

    assert run("rm", "notes/a", "notes/b", "--store", place) == 1

    said = capsys.readouterr()
    assert "Deleted context://notes/a" in said.out
    assert "context://notes/b" in said.err


def test_gc_evicts_by_its_caps_and_a_dry_run_changes_nothing(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in "abc":
        put(place, f"notes/{name}", "x" * 10, tmp_path)

    assert run("gc", "--max-files", "1", "--dry-run", "--store", place) == 0
    assert run("ls", "--store", place) == 0
    assert "3 entries" in capsys.readouterr().out
    assert run("gc", "--max-bytes", "0.01k", "--store", place, "--json") == 0
    evicted = json.loads(capsys.readouterr().out)["evicted"]
    assert [row["address"] for row in evicted] == ["context://notes/a", "context://notes/b"]


def test_verify_reports_what_is_damaged_or_orphaned_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "store"
    Store(FileSystemBackend(root)).namespace("notes").put_sync("good", "x")
    outside = tmp_path / "outside"
    outside.write_text("x", "utf-8")
    (root / "notes" / "bad").write_text('{"content":', "utf-8")
    (root / "notes" / ".tmp_0123456789abcdef").write_text("half", "utf-8")
    (root / "notes" / "link").symlink_to(outside)
    (root / "vfs").mkdir()
    (root / "vfs" / "vfs_0123456789abcdef.txt").write_text("not what its name says", "utf-8")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert run("verify", "--store", str(root)) == 1

    said = capsys.readouterr().out
    for name in ("bad", ".tmp_0123456789abcdef", "link", "vfs_0123456789abcdef.txt"):
        assert name in said
    assert "good" not in said
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


def test_gc_removes_what_killed_writers_left(tmp_path: Path) -> None:
    root = tmp_path / "store"
    Store(FileSystemBackend(root)).namespace("notes").put_sync("dir/good", "x")
    leftover = root / "notes" / "dir" / ".tmp_0123456789abcdef"
    leftover.write_text("half", "utf-8")

    assert run("gc", "--store", str(root)) == 0

    assert not leftover.exists()
    assert run("verify", "--store", str(root)) == 0


def test_a_store_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        run("ls", "--store", str(tmp_path / "nowhere"))
    assert list(tmp_path.iterdir()) == []


def test_mistakes_are_explained(tmp_path: Path) -> None:
    Store(SQLiteBackend(tmp_path / "a.db")).namespace("notes").put_sync("a", "x")
    for arguments in (["cat", "notes/../x"], ["cat", "notes"], ["put", "notes/b", "/no/such/file"]):
        with pytest.raises(ContextChefError):
            run(*arguments, "--store", str(tmp_path / "a.db"))


def test_a_flat_directory_of_offloaded_output_is_recognised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vfs_2cf24dba5fb0a30e.txt").write_text("hello", "utf-8")

    assert run("ls", "--store", str(tmp_path), "--json") == 0

    (row,) = json.loads(capsys.readouterr().out)
    assert row["address"] == "context://vfs/vfs_2cf24dba5fb0a30e.txt"
    assert run("verify", "--store", str(tmp_path)) == 0


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE theirs (x)")
    other.commit()
    other.close()
    before = (tmp_path / "other.db").read_bytes()

    with pytest.raises(StoreError, match="another program"):
        run("ls", "--store", str(tmp_path / "other.db"))

    assert (tmp_path / "other.db").read_bytes() == before


def test_verify_says_that_an_empty_file_is_empty_and_leaves_it_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "store.db").touch()

    assert run("verify", "--store", str(tmp_path / "store.db")) == 1
    assert "is empty" in capsys.readouterr().out
    assert run("ls", "--store", str(tmp_path / "store.db")) == 0
    assert (tmp_path / "store.db").stat().st_size == 0


def test_looking_into_a_database_leaves_every_byte(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "a", StoredEntry(content="apricot"))
    backend.close()
    before = (tmp_path / "store.db").read_bytes()

    for command in (("ls",), ("cat", "notes/a"), ("search", "apricot"), ("verify",)):
        assert run(*command, "--store", str(tmp_path / "store.db")) == 0

    assert (tmp_path / "store.db").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["store.db"]


def test_new_does_not_replace_what_somebody_else_made_just_now(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    put(place, "notes/a", "theirs", tmp_path)
    (tmp_path / "source.txt").write_text("ours")

    # Whoever looks first sees nothing, as if the entry came between looking and writing.
    def nothing(self: NamespaceView, path: str) -> None:
        return None

    monkeypatch.setattr(NamespaceView, "get_sync", nothing)

    answer = run("put", "--new", "notes/a", str(tmp_path / "source.txt"), "--store", place)

    assert answer == 1
    entry = open_store(place).backend.read("notes", "a")
    assert isinstance(entry, StoredEntry)
    assert entry.content == "theirs"


@pytest.mark.parametrize("folder", ["vfs_backup", "archive_2024"])
def test_a_namespace_that_is_named_like_an_offloaded_file_changes_no_layout(
    tmp_path: Path, folder: str
) -> None:
    backend = FileSystemBackend(tmp_path)
    backend.write("vfs", "vfs_1.txt", StoredEntry(content="offloaded"))
    backend.write(folder, "b", StoredEntry(content="x"))

    store = open_store(str(tmp_path))

    assert [listed.path for listed in store.namespace("vfs").list_sync()] == ["vfs_1.txt"]


def test_a_stray_file_hides_no_folder_of_its_namespace(tmp_path: Path) -> None:
    FileSystemBackend(tmp_path).write("vfs", "vfs_1.txt", StoredEntry(content="offloaded"))
    (tmp_path / "vfs_notes.txt").write_text("somebody's")
    (tmp_path / "archive_1.json").write_text("[]")

    store = open_store(str(tmp_path))

    assert [listed.path for listed in store.namespace("vfs").list_sync()] == ["vfs_1.txt"]
    assert [listed.path for listed in store.namespace("archive").list_sync()] == ["archive_1.json"]
