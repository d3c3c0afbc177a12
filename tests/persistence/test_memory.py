"""Memory: what is stored, who may store it, what is told about it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef
from context_chef.errors import AddressError, CorruptStoreError, InputError, SettingsError
from context_chef.events import MemoryChanged, MemoryExpired
from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    ListedEntry,
    Memory,
    MemoryConfig,
    MemoryEntry,
    SQLiteBackend,
    StoredEntry,
)
from tests.persistence.memory_doubles import START, Clock, Log, compiled, memory


async def test_a_rewrite_counts_up_and_keeps_what_was_not_given() -> None:
    clock = Clock()
    facts = memory(clock=clock)
    await facts.set("lang", "py", description="main language", importance=2)
    clock.now += 10

    entry = await facts.set("lang", "python")

    assert entry == MemoryEntry(
        key="lang",
        value="python",
        description="main language",
        created_at=START,
        updated_at=START + 10,
        update_count=2,
        importance=2,
    )


async def test_a_rewrite_keeps_its_place() -> None:
    facts = memory()
    for key in ("zeta", "10", "2", "__proto__"):
        await facts.set(key, key)

    await facts.set("zeta", "again")

    assert await compiled(facts) == ("zeta", "10", "2", "__proto__")


async def test_creating_what_exists_is_refused_unless_overwriting_was_asked_for() -> None:
    facts = memory()
    await facts.set("k", "first")

    assert await facts.create_memory("k", "second") is None
    assert await facts.try_create("k", "second") == "exists"
    assert await facts.get("k") == "first"
    overwritten = await facts.create_memory("k", "third", overwrite=True)
    assert overwritten is not None
    assert overwritten.update_count == 2


async def test_of_two_creates_at_once_one_wins() -> None:
    facts = memory()

    made = await asyncio.gather(*(facts.try_create("k", str(n)) for n in range(8)))

    assert sum(isinstance(answer, MemoryEntry) for answer in made) == 1
    assert made.count("exists") == 7


async def test_edits_at_once_are_all_kept() -> None:
    """Each edit is made on what is there when it is made, not on what was there when asked."""

    class Slow(InMemoryBackend):
        async def read(self, ns: str, path: str) -> StoredEntry | None:  # type: ignore[override]
            await asyncio.sleep(0)
            return super().read(ns, path)

    facts = memory(Slow())
    await facts.set("log", "")

    await asyncio.gather(
        *(facts.try_edit("log", lambda old, n=n: old + f"[{n}]") for n in range(20))
    )

    value = await facts.get("log")
    assert value is not None
    assert sorted(value[1:-1].split("][")) == sorted(str(n) for n in range(20))


async def test_validated_methods_take_allowed_keys_only() -> None:
    facts = memory(allowed_keys=["a"])
    await facts.set("b", "set by the host")

    assert await facts.create_memory("c", "v") is None
    assert await facts.update_memory("b", "v") is None
    assert await facts.delete_memory("b") is False
    assert await facts.create_memory("a", "v") is not None


async def test_an_empty_list_of_allowed_keys_allows_none() -> None:
    assert await memory(allowed_keys=[]).create_memory("a", "v") is None


async def test_a_veto_keeps_the_change_from_happening_and_is_told_old_and_new() -> None:
    asked: list[tuple[str, str | None, str | None]] = []

    async def veto(key: str, value: str | None, old_value: str | None) -> bool:
        asked.append((key, value, old_value))
        return value == "good"

    log = Log()
    facts = memory(log=log, on_memory_update=veto)

    assert await facts.create_memory("k", "bad") is None
    assert await facts.create_memory("k", "good") is not None
    assert await facts.update_memory("k", "bad") is None
    assert await facts.delete_memory("k") is False
    assert asked == [
        ("k", "bad", None),
        ("k", "good", None),
        ("k", "bad", "good"),
        ("k", None, "good"),
    ]
    assert [type(event) for event in log.events] == [MemoryChanged]


async def test_changes_are_told_with_old_and_new_value() -> None:
    log = Log()
    facts = memory(log=log)

    await facts.set("k", "1")
    await facts.set("k", "2")
    await facts.delete("k")
    await facts.delete("k")

    assert log.events == [
        MemoryChanged(type="set", key="k", value="1", old_value=None),
        MemoryChanged(type="set", key="k", value="2", old_value="1"),
        MemoryChanged(type="delete", key="k", value=None, old_value="2"),
    ]


async def test_a_hook_that_raises_after_a_change_reaches_the_caller_or_the_log() -> None:
    def fail(change: MemoryChanged) -> None:
        raise RuntimeError("hook down")

    log = Log()
    facts = memory(log=log, on_memory_changed=fail)

    with pytest.raises(RuntimeError, match="hook down"):
        await facts.set("k", "stored all the same")
    await facts.set("k", "again", hook_errors="log")

    assert await facts.get("k") == "again"
    assert "hook down" in log.warnings[0]


@pytest.mark.parametrize("key", ["", "dir/", "../out", "a/../../out", 5])
async def test_what_cannot_be_a_key_is_refused(key: str) -> None:
    with pytest.raises(AddressError):
        await memory().set(key, "v")


async def test_a_value_is_text() -> None:
    with pytest.raises(InputError, match=r"\$\.value"):
        await memory().set("k", 5)  # type: ignore[arg-type]


def test_settings_are_judged_when_they_are_made() -> None:
    for wrong in (
        {"memory_placement": "middle"},
        {"allowed_keys": "abc"},
        {"allowed_keys": ["ok", ""]},
        {"default_ttl": -1},
        {"default_ttl": {"weeks": 2}},
        {"selector": "newest"},
    ):
        with pytest.raises(SettingsError):
            MemoryConfig(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=r"`memory` needs a store"):
        Memory()


async def test_the_selector_picks_and_orders_what_is_shown() -> None:
    async def newest(entries: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
        return sorted(entries, key=lambda entry: -entry.updated_at)[:2]

    clock = Clock()
    facts = memory(clock=clock, selector=newest)
    for key in "abc":
        clock.now += 1
        await facts.set(key, key)

    assert await compiled(facts) == ("c", "b")
    assert len(await facts.get_all()) == 3


async def test_a_selector_that_raises_fails_the_compile_and_spends_no_turn() -> None:
    def fail(entries: Sequence[MemoryEntry]) -> Sequence[MemoryEntry]:
        raise RuntimeError("selector down")

    facts = memory(selector=fail)

    with pytest.raises(RuntimeError, match="selector down"):
        await compiled(facts)
    assert facts.turn_count == 0


# ── What others left in the store ─────────────────────────────────────────────────────────────


async def test_an_entry_of_somebody_else_is_shown_and_starts_counting() -> None:
    facts = memory()
    await facts.view.put("f", "V")

    assert (await facts.get_all())[0].update_count == 0
    assert (await facts.set("f", "W")).update_count == 1


async def test_metadata_that_makes_no_sense_is_taken_as_absent_and_warned_about_once() -> None:
    log = Log()
    facts = memory(log=log)
    bad = {
        "createdAt": "yesterday",
        "updatedAt": float("nan"),
        "updateCount": True,
        "description": 7,
        "expiresAt": [],
    }
    await facts.view.put("odd", "still here", bad)
    await facts.view.put("huge", "far away", {"createdAt": 10**40, "updatedAt": -(10**40)})

    assert await compiled(facts) == ("odd", "huge")
    assert await compiled(facts) == ("odd", "huge")
    assert "unknown" in await facts.to_xml()
    assert [warning for warning in log.warnings if "'odd'" in warning] != []
    assert len(log.warnings) == 1


async def test_damaged_files_never_fail_a_compile(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-081: an empty file, half a file, and a very deep one beside three good entries."""
    facts = memory(FileSystemBackend(tmp_path))
    for key in ("a", "b", "c"):
        await facts.set(key, key)
    (tmp_path / "memory" / "empty").write_bytes(b"")
    (tmp_path / "memory" / "half").write_bytes(b'{"content":')
    (tmp_path / "memory" / "deep").write_bytes(b"[" * 100_000)
    deep = b'{"content":"x","meta":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_001
    (tmp_path / "memory" / "deep-meta").write_bytes(deep)

    assert await compiled(facts) == ("a", "b", "c")
    assert [hit.path for hit in await facts.view.search("a")] == ["a"]
    assert [listed.path for listed in await facts.view.list()] == ["a", "b", "c"]


@pytest.mark.parametrize("levels", [100, 400, 900, 2_000, 50_000])
async def test_metadata_of_any_depth_never_fails_a_compile(tmp_path: Path, levels: int) -> None:
    facts = memory(FileSystemBackend(tmp_path))
    await facts.set("good", "v")
    deep = b'{"content":"x","meta":' + b'{"a":' * levels + b"1" + b"}" * (levels + 1)
    (tmp_path / "memory" / "odd").write_bytes(deep)

    assert "good" in await compiled(facts)


async def test_where_all_cannot_be_read_at_once_the_rest_is_still_shown() -> None:
    class Odd(InMemoryBackend):
        def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
            raise ValueError("one of them is odd")

        def read(self, ns: str, path: str) -> StoredEntry | None:
            if path == "odd":
                raise ValueError("it is odd")
            return super().read(ns, path)

    log, backend = Log(), Odd()
    backend.write("memory", "odd", StoredEntry(content="x"))
    facts = memory(backend, log=log)
    await facts.set("good", "v")

    assert await compiled(facts) == ("good",)
    assert len(log.warnings) == 2


@pytest.mark.parametrize("answer", [None, 5, "text", ["a key"], [None]])
async def test_a_selector_that_answers_something_else_is_named(answer: object) -> None:
    facts = memory(selector=lambda entries: answer)
    await facts.set("k", "v")

    with pytest.raises(InputError, match="`selector` must answer memory entries"):
        await facts.compile_artifacts()


async def test_a_selector_that_raises_is_named() -> None:
    def fail(entries: object) -> list[MemoryEntry]:
        raise KeyError("theirs")

    facts = memory(selector=fail)

    with pytest.raises(KeyError) as caught:
        await facts.compile_artifacts()
    assert "`selector`" in caught.value.__notes__[0]


async def test_an_entry_that_cannot_be_read_is_left_out_with_a_warning() -> None:
    class Broken(InMemoryBackend):
        read_all = None  # type: ignore[assignment]

        def read(self, ns: str, path: str) -> StoredEntry | None:
            if path == "bad":
                raise OSError("disk")
            return super().read(ns, path)

    log = Log()
    facts = memory(Broken(), log=log)
    await facts.set("good", "v")
    facts.store.backend.write("memory", "bad", StoredEntry(content="x"))

    assert await compiled(facts) == ("good",)
    assert "'bad'" in log.warnings[0]


async def test_only_changed_entries_are_read_again() -> None:
    """Where a backend reads one by one, a listing that says nothing new costs no read."""
    reads: list[str] = []

    class OneByOne:
        def __init__(self) -> None:
            self.inner = InMemoryBackend()

        def read(self, ns: str, path: str) -> StoredEntry | None:
            reads.append(path)
            return self.inner.read(ns, path)

        def write(self, ns: str, path: str, entry: StoredEntry) -> None:
            self.inner.write(ns, path, entry)

        def delete(self, ns: str, path: str) -> bool:
            return self.inner.delete(ns, path)

        def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
            return self.inner.list(ns, prefix)

    clock = Clock()
    facts = memory(OneByOne(), clock=clock)
    await facts.set("a", "1")
    await facts.set("b", "1")
    clock.now += 10_000
    await compiled(facts)
    await facts.set("b", "2")
    reads.clear()

    artifacts = await facts.compile_artifacts()

    assert [entry.value for entry in artifacts.entries] == ["1", "2"]
    assert reads == ["b"]


# ── Snapshots, twins, backends ────────────────────────────────────────────────────────────────


async def test_a_snapshot_brings_entries_back_in_their_order_without_notices() -> None:
    log = Log()
    facts = memory(log=log)
    for key in ("b", "10", "2", "__proto__"):
        await facts.set(key, key)
    await compiled(facts)
    snapshot = await facts.snapshot()
    assert snapshot is not None
    await facts.delete("b")
    await facts.set("new", "n")
    log.events.clear()

    await facts.restore(snapshot)

    assert await compiled(facts) == ("b", "10", "2", "__proto__")
    assert facts.turn_count == 2
    assert log.events == []


async def test_every_backend_compiles_to_the_same_block(tmp_path) -> None:  # type: ignore[no-untyped-def]
    blocks: set[str] = set()
    for backend in (
        InMemoryBackend(),
        FileSystemBackend(tmp_path / "files"),
        SQLiteBackend(tmp_path / "db.sqlite"),
    ):
        facts = memory(backend)
        for key in ("a", "b/c", "ü"):
            await facts.set(key, f"value of {key}\n<b>", description="d")
        blocks.add((await facts.compile_artifacts()).block)

    assert len(blocks) == 1


def test_the_sync_twins_do_the_same() -> None:
    facts = memory(on_memory_update=lambda key, value, old: True)
    facts.set_sync("k", "1", ttl=1)

    artifacts = facts.compile_artifacts_sync()
    assert artifacts.injected_keys == ("k",)
    assert facts.commit_sync(artifacts) == ()
    assert facts.update_memory_sync("k", "2") is None  # its one turn is over
    assert facts.create_memory_sync("k", "3") is not None
    assert facts.get_sync("k") == "3"
    assert facts.delete_memory_sync("k") is True


async def test_expiry_is_told_before_the_entry_goes_and_the_change_after() -> None:
    log = Log()
    facts = memory(log=log, on_memory_expired=lambda entry: log.warnings.append(entry.key))
    await facts.set("k", "v", ttl=0)
    log.events.clear()

    await compiled(facts)

    assert log.warnings == ["k"]
    assert [type(event) for event in log.events] == [MemoryExpired, MemoryChanged]
    assert log.events[1] == MemoryChanged(type="expire", key="k", value=None, old_value="v")


async def test_a_damaged_entry_can_still_be_forgotten(tmp_path) -> None:  # type: ignore[no-untyped-def]
    facts = memory(FileSystemBackend(tmp_path))
    await facts.set("k", "v")
    (tmp_path / "memory" / "k").write_bytes(b"{")

    with pytest.raises(CorruptStoreError):
        await facts.get("k")
    assert await facts.delete("k") is True
    assert await facts.get("k") is None


async def test_an_emoji_in_two_halves_is_put_together(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-070, and BR-066 for a half without its other half."""
    for backend in (InMemoryBackend(), FileSystemBackend(tmp_path), SQLiteBackend(tmp_path / "d")):
        facts = memory(backend)
        await facts.set("pair", "x\ud83d\ude00y")
        await facts.set("half", "ok \ud83d end")

        assert await facts.get("pair") == "x😀y"
        assert await facts.get("half") == "ok \ufffd end"
        (await facts.compile_artifacts()).block.encode()


@pytest.mark.parametrize("kind", [FileSystemBackend, SQLiteBackend])
async def test_a_damaged_entry_is_named_in_the_report_and_in_one_warning(
    kind: type, tmp_path: Path
) -> None:
    store = kind(tmp_path / "store")
    chef = ContextChef(store=store, memory={}, logger=(log := Log()))
    await chef.get_memory().set("good", "v")
    await chef.get_memory().set("bad", "v")
    if kind is FileSystemBackend:
        (tmp_path / "store" / "memory" / "bad").write_bytes(b'{"content":')
    else:
        with closing(sqlite3.connect(tmp_path / "store")) as db:
            db.execute("UPDATE entries SET meta = 'no json' WHERE path = 'bad'")
            db.commit()

    for _ in range(2):
        payload = await chef.compile("openai")
        assert [(d.code, d.where) for d in payload.report.diagnostics] == [
            ("memory-unreadable", "memory['bad']")
        ]
        assert payload.meta.injected_memory_keys == ("good",)
    assert len([warning for warning in log.warnings if "'bad'" in warning]) == 1


async def test_an_entry_that_somebody_made_a_link_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"content":"theirs","meta":{}}')
    facts = memory(FileSystemBackend(tmp_path / "store"))
    await facts.set("good", "v")
    (tmp_path / "store" / "memory" / "link").symlink_to(tmp_path / "secret")

    artifacts = await facts.compile_artifacts()

    assert artifacts.injected_keys == ("good",)
    assert [failure.key for failure in artifacts.failures] == ["link"]


async def test_memory_that_cannot_be_reached_never_fails_a_compile(tmp_path: Path) -> None:
    """A link in place of the whole folder is not followed, and costs the memory block only."""
    (tmp_path / "elsewhere").mkdir()
    chef = ContextChef(
        store=FileSystemBackend(tmp_path / "store"), memory={}, logger=(log := Log())
    )
    chef.set_history([{"role": "user", "content": "hi"}])
    await chef.get_memory().set("k", "v", ttl=3)
    await chef.compile("openai")
    folder = tmp_path / "store" / "memory"
    folder.rename(tmp_path / "kept")
    folder.symlink_to(tmp_path / "elsewhere")

    for _ in range(2):
        payload = await chef.compile("openai")
        assert [d.code for d in payload.report.diagnostics] == ["memory-unreadable"]
        assert "link" in payload.report.diagnostics[0].message
        assert payload.meta.injected_memory_keys == ()
    assert len([warning for warning in log.warnings if "cannot be read" in warning]) == 1

    folder.unlink()
    (tmp_path / "kept").rename(folder)
    assert (
        await chef.compile("openai")
    ).meta.injected_memory_keys == ()  # its three turns are over
    assert [warning for warning in log.warnings if "survive" in warning] == []


async def test_an_expired_entry_that_cannot_be_deleted_never_fails_a_compile() -> None:
    class ReadOnly(InMemoryBackend):
        broken = False

        def write(self, ns: str, path: str, entry: StoredEntry) -> None:
            if self.broken:
                raise OSError("read-only")
            super().write(ns, path, entry)

        def compare_and_swap(self, ns: str, path: str, expected: Any, new: Any) -> bool:
            if self.broken:
                raise OSError("read-only")
            return super().compare_and_swap(ns, path, expected, new)

    log, backend = Log(), ReadOnly()
    facts = memory(backend, log=log)
    await facts.set("short", "v", ttl=1)
    await facts.set("long", "v", ttl=4)
    backend.broken = True

    assert [await compiled(facts) for _ in range(3)] == [("short", "long"), ("long",), ("long",)]
    backend.broken = False
    assert [await compiled(facts) for _ in range(2)] == [("long",), ()]
    assert len(log.warnings) == 2  # the entry that stays, and the count
