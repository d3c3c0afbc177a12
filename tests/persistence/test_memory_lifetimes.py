"""Lifetimes: in turns and in time, across restarts, and gone for everybody when they are over."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from context_chef.errors import InputError
from context_chef.persistence import FileSystemBackend, InMemoryBackend, SQLiteBackend
from context_chef.persistence.memory_turns import TURNS_NAMESPACE
from context_chef.retrieval import ContextHost, dispatch_context_tool
from tests.persistence.memory_doubles import START, Clock, Log, compiled, memory


async def test_a_lifetime_of_n_turns_is_n_compiles() -> None:
    facts = memory()
    await facts.set("one", "v", ttl=1)
    await facts.set("two", "v", ttl={"turns": 2})
    await facts.set("zero", "v", ttl=0)
    await facts.set("ever", "v")

    shown = [await compiled(facts) for _ in range(3)]

    assert shown == [("one", "two", "ever"), ("two", "ever"), ("ever",)]


@pytest.mark.parametrize("ttl", [{"ms": 5}, timedelta(milliseconds=5)])
async def test_a_lifetime_in_time_ends_at_its_last_millisecond(ttl: Any) -> None:
    clock = Clock()
    facts = memory(clock=clock)
    await facts.set("k", "v", ttl=ttl)

    clock.now += 4
    assert await facts.get("k") == "v"
    clock.now += 1
    assert await facts.get("k") is None
    assert await facts.sweep_expired() == ["k"]


async def test_none_clears_a_lifetime_and_a_new_one_replaces_the_other_kind() -> None:
    facts = memory(default_ttl=7)
    await facts.set("k", "1", ttl=2)

    assert (await facts.set("k", "2", ttl={"ms": 5})).expires_at_turn is None
    cleared = await facts.set("k", "3", ttl=None)
    assert (cleared.expires_at, cleared.expires_at_turn) == (None, None)
    assert (await facts.set("k", "4")).expires_at_turn == 7


async def test_without_a_lifetime_given_the_old_one_stays() -> None:
    facts = memory()
    await facts.set("k", "1", ttl=2)

    assert (await facts.set("k", "2")).expires_at_turn == 2


@pytest.mark.parametrize(
    "ttl", [-1, True, 1.5, "3", {"turns": 1, "ms": 2}, {"days": 1}, {}, timedelta(seconds=-1)]
)
async def test_what_is_no_lifetime_is_refused_before_anything_is_stored(ttl: Any) -> None:
    facts = memory()

    with pytest.raises(InputError, match=r"\$\.ttl"):
        await facts.set("k", "v", ttl=ttl)
    assert await facts.get("k") is None


@pytest.mark.parametrize("kind", ["memory", "files", "sqlite"])
async def test_turns_go_on_after_a_restart(kind: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A process that starts anew must not give every entry its whole life again."""
    kept = InMemoryBackend()

    def backend() -> Any:
        if kind == "files":
            return FileSystemBackend(tmp_path)
        return SQLiteBackend(tmp_path / "db") if kind == "sqlite" else kept

    first = memory(backend())
    for _ in range(5):
        await compiled(first)
    await first.set("k", "v", ttl=3)
    assert await compiled(first) == ("k",)
    assert await compiled(memory(backend())) == ("k",)
    assert await compiled(memory(backend())) == ("k",)

    assert await compiled(memory(backend())) == ()


async def test_two_sessions_on_one_store_count_the_same_turns() -> None:
    """A session that compiled a hundred times must not kill what another just wrote."""
    shared = InMemoryBackend()
    busy, fresh = memory(shared), memory(shared)
    for _ in range(100):
        await compiled(busy)
    await fresh.set("k", "v", ttl=2)

    assert await compiled(busy) == ("k",)
    assert await compiled(fresh) == ("k",)
    assert await compiled(busy) == ()


async def test_nothing_is_written_down_while_no_entry_lives_by_turns() -> None:
    backend = InMemoryBackend()
    facts = memory(backend)
    await facts.set("k", "v", ttl=1)
    await compiled(facts)
    assert backend.read_all(TURNS_NAMESPACE) != {}

    await compiled(facts)

    assert backend.read_all(TURNS_NAMESPACE) == {}
    assert facts.turn_count == 2


async def test_a_store_that_cannot_keep_the_count_leaves_it_in_the_process() -> None:
    class MemoryOnly(InMemoryBackend):
        def write(self, ns: str, path: str, entry: Any) -> None:
            if ns != "memory":
                raise RuntimeError("one namespace only")
            super().write(ns, path, entry)

        compare_and_swap = None  # type: ignore[assignment]

    log = Log()
    facts = memory(MemoryOnly(), log=log)
    await facts.set("k", "v", ttl=2)

    assert [await compiled(facts) for _ in range(3)] == [("k",), ("k",), ()]
    assert len(log.warnings) == 1
    assert "survive a restart" in log.warnings[0]


async def test_an_aborted_compile_spends_no_turn_and_expires_nothing() -> None:
    facts = memory()
    await facts.set("k", "v", ttl=1)
    await facts.set("gone", "v", ttl=0)

    for _ in range(5):
        artifacts = await facts.compile_artifacts()
        assert artifacts.injected_keys == ("k",)
        assert artifacts.expired_keys == ("gone",)

    assert facts.turn_count == 0
    assert len(await facts.get_all(include_expired=True)) == 2


async def test_an_entry_rewritten_between_compile_and_commit_stays() -> None:
    facts = memory()
    await facts.set("k", "old", ttl=0)
    artifacts = await facts.compile_artifacts()
    await facts.set("k", "new", ttl=None)

    assert await facts.commit(artifacts) == ()
    assert await facts.get("k") == "new"


async def test_an_expired_hook_that_raises_leaves_the_entry_and_the_turn() -> None:
    def fail(entry: object) -> None:
        raise RuntimeError("hook down")

    facts = memory(on_memory_expired=fail)
    await facts.set("k", "v", ttl=0)

    with pytest.raises(RuntimeError, match="hook down"):
        await compiled(facts)
    assert await facts.get("k", include_expired=True) == "v"
    assert facts.turn_count == 0


@pytest.mark.parametrize("by", ["turns", "time"])
async def test_what_has_expired_is_absent_for_everybody(by: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """BR-094: by API, address, list, search, compile, and after a restart, without any sweep."""
    from context_chef.persistence import Offloader, Store

    clock = Clock()
    store = Store(FileSystemBackend(tmp_path, clock=clock), clock=clock)
    facts = memory(store, clock=clock)
    await facts.set("k", "lapsed text", ttl=1 if by == "turns" else {"ms": 1000})
    await compiled(facts)
    clock.now += 1000

    for reader in (facts, memory(Store(FileSystemBackend(tmp_path), clock=clock), clock=clock)):
        host = ContextHost(store=store, offloader=Offloader(store), memory=reader)

        async def tool(command: str, path: str, host: ContextHost = host, **more: str) -> str:
            arguments = {"command": command, "path": path, **more}
            return await dispatch_context_tool(host, {"name": "context", "arguments": arguments})

        assert await reader.get("k") is None
        assert await reader.get_all() == []
        assert "does not exist" in await tool("view", "memory/k")
        assert "is empty" in await tool("view", "memory/")
        assert "No matches" in await tool("search", "memory/", query="lapsed")
        assert (await reader.compile_artifacts()).entries == ()


async def test_a_key_whose_entry_has_expired_is_free_again() -> None:
    log = Log()
    facts = memory(log=log)
    await facts.set("k", "old", ttl=0)

    made = await facts.create_memory("k", "new")

    assert made is not None
    assert made.update_count == 1
    assert made.created_at == START
    assert [event.topic for event in log.events] == [
        "memory:changed",
        "memory:expired",
        "memory:changed",
        "memory:changed",
    ]
