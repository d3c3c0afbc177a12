"""Cases about stores of files: names that must not meet, and writes that are cut short."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from context_chef.errors import StoreError
from context_chef.persistence import FileSystemBackend, SQLiteBackend, StorageBackend, Store
from tests.cases.notation import case

ELSEWHERE = """
import json, sys
from context_chef.persistence import FileSystemBackend, SQLiteBackend, Store

kind, place, keys = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
view = Store((FileSystemBackend if kind == "files" else SQLiteBackend)(place)).namespace("notes")
entries = {key: view.get_sync(key) for key in keys}
listed = sorted(entry.path for entry in view.list_sync())
print(json.dumps([{k: e and e.content for k, e in entries.items()}, listed]))
"""

BROKEN_OFF = """
import resource, sys
from context_chef.persistence import FileSystemBackend, Store

view = Store(FileSystemBackend(sys.argv[1])).namespace("notes")
resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500))
view.put_sync("a", "NEW" * 1000)
"""


def in_a_new_process(kind: str, place: Path, keys: list[str]) -> tuple[dict[str, str], list[str]]:
    """What another process reads under these keys, and what it lists."""
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, kind, str(place), json.dumps(keys)],
        capture_output=True,
        text=True,
        check=True,
    )
    read, listed = json.loads(done.stdout)
    return read, listed


def opened(kind: str, place: Path) -> StorageBackend:
    return FileSystemBackend(place) if kind == "files" else SQLiteBackend(place)


@pytest.mark.parametrize("kind", ["files", "sqlite"])
def test_br_075_keys_that_look_alike_as_file_names_stay_apart(kind: str, tmp_path: Path) -> None:
    keys = case("BR-075")["input"]["keys"]
    place = tmp_path / "store"
    view = Store(opened(kind, place)).namespace("notes")
    for key in keys:
        view.put_sync(key, key)

    read, listed = in_a_new_process(kind, place, keys)

    assert read == {key: key for key in keys}
    assert listed == sorted(keys)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_br_078_a_write_that_fails_half_way_leaves_the_old_text(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "store"
    view = Store(FileSystemBackend(place)).namespace("notes")
    view.put_sync("a", "OLD")

    def fail(*arguments: object, **options: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(os, step, fail)
        with pytest.raises(StoreError, match="Input/output error"):
            view.put_sync("a", "NEW" * 1000)

    assert in_a_new_process("files", place, ["a"]) == ({"a": "OLD"}, ["a"])


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files there")
def test_br_078_a_write_that_breaks_off_after_some_bytes_leaves_the_old_text(
    tmp_path: Path,
) -> None:
    place = tmp_path / "store"
    Store(FileSystemBackend(place)).namespace("notes").put_sync("a", "OLD")

    done = subprocess.run(
        [sys.executable, "-c", BROKEN_OFF, str(place)], capture_output=True, text=True
    )

    assert "File too large" in done.stderr
    assert in_a_new_process("files", place, ["a"]) == ({"a": "OLD"}, ["a"])
