"""Stopping a compile: the chef is as it was, whether by asyncio or by a token."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from context_chef import CancelToken, CompileAborted, ContextChef, InMemoryBackend, SettingsError
from tests.parity.script import KeepLast
from tests.pipeline.test_events import characters


def chef(**settings: Any) -> ContextChef:
    return ContextChef(**settings).set_history(
        [{"role": "user", "content": "x" * 60}, {"role": "user", "content": "q"}]
    )


@pytest.mark.parametrize("slot", ["before-overflow", "after-overflow", "before-assemble",
                                  "after-assemble"])  # fmt: skip
async def test_a_token_stops_the_compile_at_the_next_stage(slot: str) -> None:
    one, token, done = chef(), CancelToken(), []
    one.on("compile:done", done.append)
    one.use(slot, lambda context: token.cancel())

    with pytest.raises(CompileAborted):
        await one.compile(signal=token)
    assert done == []


@pytest.mark.parametrize("slot", ["before-adapt", "after-adapt"])
async def test_after_the_window_is_assembled_a_token_comes_too_late(slot: str) -> None:
    one, token = chef(), CancelToken()
    one.use(slot, lambda context: token.cancel())

    assert await one.compile(signal=token)


async def test_the_tokens_own_reason_is_raised() -> None:
    token = CancelToken()
    token.cancel(TimeoutError("too slow"))

    with pytest.raises(TimeoutError, match="too slow"):
        await chef().compile(signal=token)


@pytest.mark.parametrize("event", [threading.Event(), asyncio.Event()])
async def test_an_event_is_a_token(event: Any) -> None:
    one = chef()
    one.use("before-assemble", lambda context: event.set())

    with pytest.raises(CompileAborted):
        await one.compile(signal=event)


def test_what_is_no_token_is_refused_at_once() -> None:
    with pytest.raises(SettingsError, match="CancelToken"):
        chef().compile(signal="stop")


async def test_a_late_cancel_spends_no_memory_turn() -> None:
    """W-ABORT-1."""
    one, token = chef(store=InMemoryBackend(), memory={}), CancelToken()
    await one.get_memory().set("k", "v", ttl=1)
    off = one.use("after-assemble", lambda messages: token.cancel())

    with pytest.raises(CompileAborted):
        await one.compile(signal=token)
    off()

    assert (await one.compile()).meta.injected_memory_keys == ("k",)
    assert (await one.compile()).meta.memory_expired_keys == ("k",)


async def test_a_cancelled_pass_leaves_transcript_window_and_lineage_alone() -> None:
    one = chef(
        janitor={"context_window": 100, "trigger_ratio": 0.5, "tokenizer": characters},
        overflow={"strategy": KeepLast(1)},
    )
    before = (one.history, one.window, one.window_id)
    token = CancelToken()
    off = one.use("after-overflow", lambda context: token.cancel())

    with pytest.raises(CompileAborted):
        await one.compile(signal=token)
    off()

    assert (one.history, one.window, one.window_id) == before
    await one.compile()
    assert len(one.window) == 1


@pytest.mark.parametrize("where", ["before-assemble", "after-adapt", "summariser"])
async def test_an_asyncio_cancel_reaches_the_caller_within_a_second(where: str) -> None:
    async def sleep(*args: object) -> str:
        await asyncio.sleep(10)
        return "<summary>never</summary>"

    window = {"context_window": 10_000, "trigger_ratio": 0.005, "tokenizer": characters}
    summarised = where == "summariser"
    one = chef(janitor={**window, "compression_model": sleep}) if summarised else chef()
    if where != "summariser":
        one.use(where, sleep)
    before = (one.history, one.window, one.window_id)

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(one.compile(), 0.05)

    assert (one.history, one.window, one.window_id) == before


async def test_an_error_leaves_the_chef_as_it_was() -> None:
    one = chef(
        janitor={"context_window": 100, "trigger_ratio": 0.5, "tokenizer": characters},
        overflow={"strategy": KeepLast(1)},
    ).request_new_context()
    before = await one.snapshot()

    def fail(context: object) -> None:
        raise RuntimeError("late")

    off = one.use("after-adapt", fail)
    with pytest.raises(RuntimeError):
        await one.compile()
    off()

    after = await one.snapshot()
    assert after.transcript == before.transcript
    assert after.janitor == before.janitor
    assert after.new_context_requested
