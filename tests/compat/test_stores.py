"""Stores of earlier versions read the files of those versions, and stay inside."""

from __future__ import annotations

import asyncio
import json
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, compat
from context_chef.compat import RenamedWarning
from context_chef.errors import AddressError, AsyncRequiredError, StoreCapabilityError
from context_chef.persistence import NamespaceView, StoredEntry

ENTRY = {"value": "ts", "createdAt": 1, "updatedAt": 2, "updateCount": 3}


@pytest.fixture(autouse=True)
def _old_names_are_used_here() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenamedWarning)
        yield


@pytest.mark.parametrize(
    ("use", "successor"),
    [
        (lambda _: compat.InMemoryStore(), "InMemoryBackend"),
        (compat.VFSMemoryStore, "FileSystemBackend"),
        (compat.FileSystemAdapter, "FileSystemBackend"),
        (lambda _: compat.from_memory_store(compat.InMemoryStore()), "Store"),
        (lambda place: compat.from_vfs_adapter(compat.FileSystemAdapter(place)), "Store"),
    ],
)
def test_every_old_name_warns_where_it_is_used_and_names_its_successor(
    tmp_path: Path, use: Any, successor: str
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            use(tmp_path)

    mine = [warning for warning in seen if successor in str(warning.message)]
    assert {warning.category for warning in mine} == {RenamedWarning}
    assert {warning.filename for warning in mine} == {__file__}
    assert len({(warning.lineno, str(warning.message)) for warning in mine}) == len(mine)


def test_a_flat_store_in_memory_keeps_order_and_shares_nothing() -> None:
    store = compat.InMemoryStore()
    for key in ("zeta", "10", "a"):
        store.set(key, ENTRY)
    snapshot = store.snapshot()
    store.delete("zeta")
    snapshot["a"]["value"] = "changed"

    assert store.keys() == ["10", "a"]
    assert store.get("a") == ENTRY
    store.restore(snapshot)
    assert store.keys() == ["zeta", "10", "a"]


def test_the_memory_directory_of_earlier_versions_is_written_as_they_did(tmp_path: Path) -> None:
    store = compat.VFSMemoryStore(tmp_path / "mem")
    store.set("lang", {"value": "ts", "description": "d", "createdAt": 5})
    store.set("ключ/?", {"value": "v", "createdAt": 5})
    store.set("a", {"value": "x"})
    store.delete("a")

    assert {file.name: file.read_text("utf-8") for file in (tmp_path / "mem").glob("[!.]*")} == {
        "0LrQu9GO0YcvPw.mem": '{"value":"v","createdAt":5}',
        "_index.json": '["ключ/?","lang"]',
        "bGFuZw.mem": '{"value":"ts","description":"d","createdAt":5}',
    }
    assert store.keys() == ["ключ/?", "lang"]


def test_the_memory_directory_of_earlier_versions_is_read(tmp_path: Path) -> None:
    (tmp_path / "bGFuZw.mem").write_text('{"value":"ts","updateCount":1}', "utf-8")
    (tmp_path / "YmFk.mem").write_text('{"value":5}', "utf-8")
    (tmp_path / "bGFuZw==.mem").write_text('{"value":"not ours"}', "utf-8")
    (tmp_path / "note.txt").write_text("not ours", "utf-8")
    store = compat.VFSMemoryStore(tmp_path)

    assert store.keys() == ["lang"]
    assert store.get("lang") == {"value": "ts", "updateCount": 1}
    assert store.get("bad") is None
    assert sorted(json.loads((tmp_path / "_index.json").read_text("utf-8"))) == ["bad", "lang"]


def test_the_file_adapter_stays_in_its_directory(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret", "utf-8")
    adapter = compat.FileSystemAdapter(tmp_path / "vfs")
    (tmp_path / "vfs" / "link.txt").symlink_to(tmp_path / "outside.txt")

    for name in (
        "../outside.txt",
        str(tmp_path / "outside.txt"),
        "a/../../outside.txt",
        "link.txt",
    ):
        assert adapter.read(name) is None
        with pytest.raises(AddressError):
            adapter.write(name, "planted")
    assert (tmp_path / "outside.txt").read_text("utf-8") == "secret"


def test_the_file_adapter_reads_and_lists_what_earlier_versions_wrote(tmp_path: Path) -> None:
    for name in ("vfs_b.txt", "vfs_a.txt", "other.txt", ".tmp_1_vfs_c.txt"):
        (tmp_path / name).write_text(name, "utf-8")
    adapter = compat.FileSystemAdapter(tmp_path)

    assert adapter.list() == ["vfs_a.txt", "vfs_b.txt"]
    assert adapter.read("other.txt") == "other.txt"
    adapter.delete("vfs_a.txt")
    adapter.delete("vfs_a.txt")
    assert adapter.list() == ["vfs_b.txt"]


def test_a_wrapped_flat_store_keeps_other_namespaces_out_of_memory() -> None:
    legacy = compat.InMemoryStore()
    store = compat.from_memory_store(legacy)
    memory, notes = store.namespace("memory"), store.namespace("notes")
    notes.put_sync("plan", "a note")
    memory.put_sync("lang", "ts", {"updateCount": 1})
    memory.put_sync("context://notes/plan", "a strange key")

    assert memory.get_sync("plan") is None
    assert list(memory.entries_sync()) == ["lang", "context://notes/plan"]
    assert _content(notes, "plan") == "a note"
    assert [listed.path for listed in notes.list_sync()] == ["plan"]
    assert legacy.get("lang")["updateCount"] == 1  # type: ignore[index] - it is there


def test_restoring_memory_through_a_wrapper_leaves_the_notes_alone() -> None:
    store = compat.from_memory_store(compat.InMemoryStore())
    memory, notes = store.namespace("memory"), store.namespace("notes")
    memory.put_sync("a", "1")
    notes.put_sync("plan", "kept")
    snapshot = memory.snapshot_sync()
    memory.put_sync("b", "2")

    assert snapshot is not None
    assert memory.restore_sync(snapshot)
    assert list(memory.entries_sync()) == ["a"]
    assert _content(notes, "plan") == "kept"


class AsyncStore:
    def __init__(self) -> None:
        self.rows: dict[str, Mapping[str, Any]] = {}

    async def get(self, key: str) -> Mapping[str, Any] | None:
        await asyncio.sleep(0)
        return self.rows.get(key)

    async def set(self, key: str, entry: Mapping[str, Any]) -> None:
        await asyncio.sleep(0)
        self.rows[key] = entry

    async def delete(self, key: str) -> bool:
        return self.rows.pop(key, None) is not None

    async def keys(self) -> list[str]:
        await asyncio.sleep(0)
        return list(self.rows)


async def test_an_async_flat_store_can_be_wrapped_too() -> None:
    view = compat.from_memory_store(AsyncStore()).namespace("memory")
    await view.put("a", "1")
    await view.put("b", "2")

    assert [listed.path for listed in await view.list()] == ["a", "b"]
    assert (await view.entries())["b"].content == "2"
    assert await view.snapshot() is None
    with pytest.raises(AsyncRequiredError):
        view.get_sync("a")


class ReadWrite:
    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def write(self, name: str, content: str) -> None:
        self.files[name] = content

    def read(self, name: str) -> str | None:
        return self.files.get(name)


def test_a_wrapped_adapter_tells_the_truth_about_what_it_cannot() -> None:
    view = compat.from_vfs_adapter(ReadWrite(), clock=lambda: 7).namespace("vfs")
    view.put_sync("f.txt", "body", {"lost": True})

    assert view.get_sync("f.txt") == StoredEntry(
        content="body", meta={"createdAt": 7, "updatedAt": 7, "bytes": 4}
    )
    assert [name for name in ("read", "write", "list", "search") if view.supports(name)] == [
        "read",
        "write",
    ]
    for call in (view.list_sync, lambda: view.delete_sync("f.txt"), view.reconcile_sync):
        with pytest.raises(StoreCapabilityError):
            call()
    with pytest.raises(StoreCapabilityError, match="list, delete"):
        view.cleanup_sync()


def _content(view: NamespaceView, path: str) -> str | None:
    entry = view.get_sync(path)
    return None if entry is None else entry.content


@pytest.mark.parametrize("key", ["../x", "/etc/x", "a/../../x", "a//b", "..", "C:\\x"])
def test_a_flat_store_of_files_takes_every_key_and_stays_inside(tmp_path: Path, key: str) -> None:
    place = tmp_path / "inner" / "memory"
    store = compat.VFSMemoryStore(place)

    store.set(key, ENTRY)

    assert store.keys() == [key]
    assert store.get(key) == ENTRY
    assert compat.VFSMemoryStore(place).snapshot() == {key: ENTRY}
    assert {file.parent for file in tmp_path.rglob("*") if file.is_file()} == {place}
    assert store.delete(key)
    assert store.get(key) is None


def test_an_odd_entry_of_a_wrapped_store_never_fails_a_compile_and_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    flat = compat.VFSMemoryStore(tmp_path)
    flat.set("good", ENTRY)
    flat.set("../x", {**ENTRY, "value": "climbs"})
    chef = ContextChef(store=compat.from_memory_store(flat), memory={}, tools="unified")
    chef.set_history([{"role": "user", "content": "hi"}])

    for _ in range(2):
        body = str(chef.compile_sync("openai"))
        assert "ts" in body
        assert "climbs" not in body
    listing = {"name": "context", "arguments": {"command": "view", "path": "memory"}}
    assert "context://memory/good" in chef.handle_tool_sync(listing)
    memory = chef.get_memory()
    snapshot = memory.snapshot_sync()
    assert snapshot is not None
    assert memory.restore_sync(snapshot)
    assert sorted(flat.keys()) == ["../x", "good"]
    assert [record.getMessage() for record in caplog.records if "'../x'" in record.getMessage()]
