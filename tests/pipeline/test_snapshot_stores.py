"""Snapshots and what is stored: memory, notes and offloaded output, over backends."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from context_chef import (
    ChefSnapshot,
    ContextChef,
    FileSystemBackend,
    InMemoryBackend,
    InputError,
    Message,
    SettingsError,
    SQLiteBackend,
)
from context_chef.testing import FourMethodsBackend, RecordingLogger

CLOCK = lambda: 1_700_000_000_000  # noqa: E731  # a clock that stands


def make(store: Any = None, **settings: Any) -> ContextChef:
    return ContextChef(store=store or InMemoryBackend(), memory={}, clock=CLOCK, **settings)


def backends(folder: Path) -> list[Any]:
    return [
        InMemoryBackend(),
        SQLiteBackend(folder / "a.db"),
        FileSystemBackend(folder / "files"),
        FourMethodsBackend(),
    ]


async def test_memory_goes_from_backend_to_backend_in_its_order(tmp_path: Path) -> None:
    """W-SNAP-2 and W-SNAP-3."""
    chef = make().append(Message.user("q"))
    for key in ("10", "9", "b", "a", "1"):
        await chef.get_memory().set(key, f"value {key}", ttl={"turns": 9})
    await chef.compile("openai")
    snapshot = ChefSnapshot.from_json((await chef.snapshot()).to_json())
    expected = (await chef.compile("openai")).to_json()

    for backend in backends(tmp_path):
        other = await make(backend).restore(snapshot)
        again = ChefSnapshot.from_json((await other.snapshot()).to_json())

        assert (await other.compile("openai")).to_json() == expected, backend
        assert again.memory == snapshot.memory, backend


async def test_notes_and_offloaded_output_go_along_when_asked_for(tmp_path: Path) -> None:
    chef = make(tools="unified")
    await chef.get_store().namespace("notes").put("plan.md", "first")
    marked = await chef.offload("x" * 20_000)
    snapshot = await chef.snapshot(include=["notes", "vfs"])
    uri = next(iter(await chef.get_offloader().view.entries()))
    await chef.get_store().namespace("notes").put("plan.md", "changed")
    await chef.get_store().namespace("notes").put("later.md", "later")

    await chef.restore(snapshot)
    other = await make(SQLiteBackend(tmp_path / "b.db"), tools="unified").restore(
        ChefSnapshot.from_json(snapshot.to_json())
    )

    for restored in (chef, other):
        notes = await restored.get_store().namespace("notes").entries()
        assert {path: entry.content for path, entry in notes.items()} == {"plan.md": "first"}
        stored = await restored.get_offloader().view.get(uri)
        assert stored is not None
        assert stored.content == "x" * 20_000
        assert await restored.offload("x" * 20_000) == marked


async def test_what_was_not_asked_for_stays_as_it_is() -> None:
    chef = make()
    snapshot = await chef.snapshot()
    await chef.get_store().namespace("notes").put("plan.md", "later")

    await chef.restore(snapshot)

    assert await chef.get_store().namespace("notes").get("plan.md") is not None


@pytest.mark.parametrize("include", ["notes", ["memory"], ["../up"]])
async def test_only_namespaces_can_be_asked_for(include: Any) -> None:
    with pytest.raises((SettingsError, InputError, ValueError)):
        await make().snapshot(include=include)


async def test_entries_without_a_memory_to_go_to_are_told() -> None:
    chef = make()
    await chef.get_memory().set("k", "v")
    logger = RecordingLogger()

    await ContextChef(logger=logger).restore(await chef.snapshot())

    assert "1 memory entries" in logger.warnings[0]


async def test_a_restore_that_fails_changes_nothing() -> None:
    class Broken(InMemoryBackend):
        def restore(self, ns: str, data: Any) -> None:
            raise OSError("the disk is full")

    chef = make(Broken()).append(Message.user("mine")).register_tools([{"name": "mine"}])
    chef.activate_skill({"name": "mine", "instructions": "MINE"})
    before = (await chef.compile("openai")).to_json()
    other = make().append(Message.user("theirs")).register_tools([{"name": "theirs"}])
    await other.get_memory().set("k", "v")

    with pytest.raises(OSError, match="full"):
        await chef.restore(await other.snapshot())

    assert (await chef.compile("openai")).to_json() == before


async def test_br_123_bytes_in_state_are_refused_by_name() -> None:
    chef = make()

    with pytest.raises(InputError, match=r"\$\.doc"):
        chef.set_dynamic_state(None, {"doc": b"%PDF-1.4\x00\xff"})


async def test_br_123_bytes_beside_a_message_fail_before_anything_is_written() -> None:
    chef = make().append({"role": "user", "content": "q", "cache_id": b"\x00\xff"})
    snapshot = await chef.snapshot()

    with pytest.raises(InputError, match=r"\$\.transcript\.items\[0\]\.extra\.cache_id.*'bytes'"):
        snapshot.to_json()
    assert (await make().restore(snapshot)).history == chef.history


async def test_br_124_what_is_edited_later_does_not_reach_a_snapshot() -> None:
    content: list[Any] = [{"type": "text", "text": "a"}]
    arguments = {"n": [1]}
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "q", "pinned": True},
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
        {"role": "user", "content": "next"},
    ]
    chef = make().set_history(rows)
    await chef.get_memory().set("k", "then")
    notes = chef.get_store().namespace("notes")
    await notes.put("plan.md", "then")
    snapshot = await chef.snapshot(include=["notes"])
    data = snapshot.to_json()
    expected = (await chef.compile("openai")).to_json()

    content.append({"type": "text", "text": "later"})
    arguments["n"].append(2)
    await chef.get_memory().set("k", "later")
    await notes.put("plan.md", "later")
    await chef.restore(snapshot)

    assert snapshot.to_json() == data
    assert (await chef.compile("openai")).to_json() == expected
    stored = await notes.get("plan.md")
    assert stored is not None
    assert stored.content == "then"


async def test_a_snapshot_cannot_be_changed_from_outside() -> None:
    snapshot = await make().register_tools([{"name": "f"}]).snapshot()
    before = snapshot.to_json()

    with pytest.raises(TypeError):
        snapshot.tools["flat_tools"] = []  # type: ignore[index]
    with pytest.raises(TypeError):
        snapshot.tools["flat_tools"].append({})
    assert copy.deepcopy(snapshot).to_json() == before
