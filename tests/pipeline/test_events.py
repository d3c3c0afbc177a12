"""Observers watch: isolated from each other, and nothing that they do changes a compile."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import (
    CancelToken,
    CompileDone,
    CompileStarted,
    ContextChef,
    FoldDropped,
    MemoryChanged,
    Message,
    OverflowConfig,
    SettingsError,
    reset,
)
from context_chef.events import Compressed, CompressEnded, CompressStarted, Emitter, log_line
from context_chef.testing import MovableClock, RecordingObserver


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, msg: object, *args: object) -> None:
        self.lines.append(str(msg) % args if args else str(msg))


async def test_a_failing_observer_is_logged_and_the_rest_are_told() -> None:
    log, told = Log(), []
    chef = ContextChef(logger=log).append({"role": "user", "content": "q"})

    def fail(event: object) -> None:
        raise RuntimeError("boom")

    chef.on("compile:start", fail)
    chef.on(CompileStarted, told.append)

    await chef.compile()

    assert len(told) == 1
    assert "compile:start" in log.lines[0]
    assert "boom" in log.lines[0]


async def test_the_same_observer_counts_once_and_off_may_be_called_twice() -> None:
    told: list[object] = []
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.on(CompileStarted, told.append)
    off = chef.on(CompileStarted, told.append)

    await chef.compile()
    off()
    chef.off(CompileStarted, told.append)
    await chef.compile()

    assert len(told) == 1


async def test_observers_that_come_or_go_count_from_the_next_event_on() -> None:
    """W-EVT-1."""
    emitter, told = Emitter(Log()), []

    def late(event: object) -> None:
        told.append("late")

    def victim(event: object) -> None:
        told.append("victim")

    def first(event: object) -> None:
        told.append("first")
        emitter.on("compress:end", late)
        emitter.off("compress:end", victim)

    emitter.on("compress:end", first)
    emitter.on("compress:end", victim)
    await emitter.emit(CompressEnded(compressed=False))
    assert told == ["first", "victim"]

    await emitter.emit(CompressEnded(compressed=False))
    assert told[2:] == ["first", "late"]


async def test_an_observer_of_two_arguments_gets_the_token() -> None:
    token, seen = CancelToken(), []
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.on("compile:start", lambda event, signal: seen.append(signal))

    await chef.compile(signal=token)

    assert seen == [token]


async def test_an_observer_of_the_payload_has_a_copy() -> None:
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.on(CompileDone, lambda event: event.payload["messages"].clear())

    assert (await chef.compile())["messages"]


def test_an_unknown_event_says_the_nearest_right_one() -> None:
    with pytest.raises(SettingsError, match="`compile:start`"):
        ContextChef().on("compile:star", print)


async def test_the_events_of_a_compile_come_in_order() -> None:
    order: list[str] = []
    chef = ContextChef(store=memory_store(), memory={}).append({"role": "user", "content": "q"})
    for topic in ("compile:start", "compress:end", "memory:expired", "memory:changed",
                  "compile:done"):  # fmt: skip
        chef.on(topic, lambda event: order.append(event.topic))
    await chef.get_memory().set("k", "v", ttl=1)
    order.clear()

    await chef.compile()
    await chef.compile()

    plain = ["compile:start", "compress:end", "compile:done"]
    expiring = [*plain[:2], "memory:expired", "memory:changed", "compile:done"]
    assert order == [*plain, *expiring]


async def test_a_dropped_fold_is_told() -> None:
    told: list[FoldDropped] = []
    chef = ContextChef(
        janitor={"context_window": 100, "trigger_ratio": 0.5, "tokenizer": characters},
        overflow={"strategy": keep_last(1)},
    )
    chef.on(FoldDropped, told.append)
    history = [{"role": "user", "content": "x" * 60}, {"role": "user", "content": "y"}]
    await chef.set_history(history).compile()
    history[0] = {"role": "user", "content": "edited"}

    await chef.set_history(history).compile()

    assert [(event.end, event.changed_at) for event in told] == [(1, 0)]
    assert len(chef.window) == 2


async def test_every_event_of_an_overflowing_compile_says_what_happened() -> None:
    """The order and the payloads of the contract, with everything happening in one compile."""
    seen = RecordingObserver()
    chef = ContextChef(
        janitor={"context_window": 60_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow=OverflowConfig(strategy=reset(), archive="vfs"),
        store=memory_store(), memory={}, clock=MovableClock(1).milliseconds,
    )  # fmt: skip
    chef.set_system_prompt("Rules.")
    await chef.get_memory().set("k", "v", ttl=1)
    await chef.append(Message.user("q")).compile("openai")
    history = [Message.user("x" * 2_000), Message.assistant("y" * 2_000), Message.user("z")]
    chef.set_history(history)
    seen.watch(chef)

    await chef.compile("openai")

    assert [topic for topic in seen.topics if topic != "repair"] == [
        "compile:start", "compress:start", "offload:created", "compress", "compress:end",
        "memory:expired", "memory:changed", "compile:done",
    ]  # fmt: skip
    by_topic = {event.topic: event for event in seen.events}
    start: Any = by_topic["compile:start"]
    assert (start.history, start.system_prompt[0].text) == (tuple(history), "Rules.")
    compressing: Any = by_topic["compress:start"]
    assert (compressing.history_length, compressing.limit) == (3, 3_000)
    assert compressing.current_tokens > 3_000
    compressed: Any = by_topic["compress"]
    assert compressed.truncated_count == len(compressed.compressed_messages) > 0
    assert isinstance(compressed.summary, Message)
    uri: Any = by_topic["offload:created"]
    assert await chef.resolve_recall(uri.uri) is not None
    ended: Any = by_topic["compress:end"]
    assert ended.compressed is True
    changed: Any = by_topic["memory:changed"]
    assert (changed.type, changed.key, changed.old_value) == ("expire", "k", "v")
    expired: Any = by_topic["memory:expired"]
    assert expired.entry.key == "k"
    done: Any = by_topic["compile:done"]
    assert "messages" in done.payload


async def test_a_blocked_tool_and_a_broken_invariant_are_told() -> None:
    seen = RecordingObserver()
    chef = ContextChef(pipeline_checks=True)
    chef.append(Message.user("q", pinned=True)).append(Message.user("r"))
    seen.watch(chef)
    chef.get_pruner().set_blocked_tools(["rm"])
    chef.use("after-assemble", lambda messages: messages[1:])

    await chef.check_tool_call({"name": "rm"})
    await chef.compile("openai")

    told = {event.topic: event for event in seen.events}
    blocked: Any = told["pruner:tool-blocked"]
    broken: Any = told["pipeline:invariant"]
    assert blocked.name == "rm"
    assert broken.phase
    assert broken.message


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (CompressStarted(history_length=3, current_tokens=120.0, limit=99.5),
         "compress:start history_length=3 current_tokens=120 limit=99.5"),
        (Compressed(summary=Message.user("se\ncret"), truncated_count=1,
                    compressed_messages=(Message.user("secret"),)),
         "compress summary=<user of 7 characters> truncated_count=1 compressed_messages=<1 items>"),
        (MemoryChanged(type="set", key='a "b"\n', value="secret"),
         'memory:changed type="set" key="a \\"b\\"\\n" value=<6 characters> old_value=none'),
        (CompileDone(payload={"messages": ["secret"]}), "compile:done payload=<1 items>"),
        (CompressEnded(compressed=True), "compress:end compressed=true"),
    ],
)  # fmt: skip
def test_an_event_is_one_line_that_repeats_nothing_that_was_said(event: Any, line: str) -> None:
    assert log_line(event) == line
    assert "secret" not in line


def memory_store() -> Any:
    from context_chef import InMemoryBackend

    return InMemoryBackend()


def characters(messages: Any) -> int:
    return sum(len(message.text) for message in messages)


def keep_last(count: int) -> Any:
    from tests.parity.script import KeepLast

    return KeepLast(count)
