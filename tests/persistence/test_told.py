"""What a model is told when the store cannot: the reason, and never a place on the host."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from pathlib import Path
from typing import NoReturn

import pytest
from filelock import FileLock

from context_chef import ContextChef
from context_chef.persistence import FileSystemBackend, SQLiteBackend, StorageBackend, StoredEntry
from context_chef.persistence.directories import Directory

ENTRY = StoredEntry(content="x", meta={"createdAt": 1, "updatedAt": 2})


def ask(backend: StorageBackend, command: str, path: str = "notes/a") -> str:
    chef = ContextChef(store=backend, tools="unified")
    arguments = {"command": command, "path": path, "file_text": "y"}
    return chef.handle_tool_sync({"name": "context", "arguments": arguments})


@pytest.mark.parametrize("command", ["view", "create", "delete"])
def test_a_link_is_refused_without_saying_where(
    tmp_path: Path, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    backend = FileSystemBackend(tmp_path / "store")
    backend.write("notes", "ok", ENTRY)
    os.symlink(tmp_path, tmp_path / "store/notes/a")

    with caplog.at_level(logging.WARNING, "context_chef"):
        answer = ask(backend, command)

    assert answer.startswith("Error: context://notes/a: a link is in that place")
    assert str(tmp_path) not in answer
    assert str(tmp_path) in caplog.text


def test_a_busy_folder_is_worth_another_try(tmp_path: Path) -> None:
    backend = FileSystemBackend(tmp_path, lock_timeout=0)
    backend.write("notes", "ok", ENTRY)

    with FileLock(tmp_path / "notes/.lock"):
        answer = ask(backend, "create")

    assert "busy" in answer
    assert "try again" in answer
    assert str(tmp_path) not in answer


def test_a_busy_database_is_worth_another_try(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db", busy_timeout=0)
    backend.write("notes", "ok", ENTRY)
    other = sqlite3.connect(backend.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    answer = ask(backend, "create")

    other.close()
    assert "busy" in answer
    assert "try again" in answer
    assert str(tmp_path) not in answer


@pytest.mark.parametrize(
    ("code", "told"),
    [(errno.ENOSPC, "no room left"), (errno.EFBIG, "no room left"), (errno.EROFS, "read only")],
)
def test_a_disk_that_takes_nothing_is_named_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, told: str
) -> None:
    def fail(self: Directory, name: str, data: bytes, **options: object) -> NoReturn:
        raise OSError(code, os.strerror(code), str(self.path / name))

    monkeypatch.setattr(Directory, "write", fail)

    answer = ask(FileSystemBackend(tmp_path), "create")

    assert told in answer
    assert str(tmp_path) not in answer


def test_a_full_database_is_named_as_such(tmp_path: Path) -> None:
    backend = SQLiteBackend(tmp_path / "store.db")
    backend.write("notes", "ok", ENTRY)
    with backend._reading() as db:  # pyright: ignore[reportPrivateUsage] - no other way to fill it
        assert db is not None
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute(f"PRAGMA max_page_count = {pages}")
    chef = ContextChef(store=backend, tools="unified")
    arguments = {"command": "create", "path": "notes/a", "file_text": "y" * 100_000}

    answer = chef.handle_tool_sync({"name": "context", "arguments": arguments})

    assert "no room left" in answer
    assert str(tmp_path) not in answer


def test_a_read_only_store_says_so(tmp_path: Path) -> None:
    SQLiteBackend(tmp_path / "store.db").write("notes", "ok", ENTRY)

    answer = ask(SQLiteBackend(tmp_path / "store.db", read_only=True), "create")

    assert "read only" in answer
    assert str(tmp_path) not in answer
