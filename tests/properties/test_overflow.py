"""What holds for every history, every strategy and every summariser that may fail."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.bridge import run_sync
from context_chef.errors import WindowFullError
from context_chef.ir.blocks import Text, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.repair import ensure_valid_history
from context_chef.ir.turns import pinned_indexes
from context_chef.selection import (
    Janitor,
    JanitorConfig,
    OverflowConfig,
    OverflowStrategy,
    anchored,
    background,
    chain,
    clear,
    reset,
    summarize,
)
from context_chef.testing.doubles import characters, numbered_windows

WINDOW = 2_000

words = st.builds(
    lambda seed, length: (f"{seed} " * length)[:length],
    st.sampled_from(["alpha", "βeta", "データ", "/srv/app/main.py", "{'k': 1}"]),
    st.one_of(st.integers(1, 60), st.integers(1, 60), st.integers(1, 900), st.integers(1, 5_000)),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Valid conversations: questions, answers, rounds of one or several calls, some pinned."""
    messages: list[Message] = [Message.user(draw(words))]
    number = 0
    for _ in range(draw(st.integers(0, 12))):
        kind = draw(st.sampled_from(["user", "assistant", "round", "round", "system"]))
        pinned = draw(st.integers(0, 9)) == 0
        text = draw(words)
        if pinned:
            text = text[:40]
        if kind == "round":
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                calls.append(ToolCall(id=f"call_{number}", name="run", arguments='{"n":1}'))
            messages.append(Message.assistant("", tool_calls=calls, pinned=pinned))
            messages += [
                Message.tool(text if not pinned else text[:40], tool_call_id=call.id, name="run")
                for call in calls
            ]
        elif kind == "system":
            messages.append(Message.system(text[:40]))
        else:
            messages.append(Message(role=kind, content=(Text(text=text),), pinned=pinned))
    return tuple(messages)


def failing(messages: Sequence[Message]) -> str:
    raise RuntimeError("the model is down")


def quoting(messages: Sequence[Message]) -> str:
    """A summariser that talks too much and quotes our own framing."""
    return f"<summary>{' '.join(m.text for m in messages)[:600]}</summary>"


models: st.SearchStrategy[Callable[..., Any] | None] = st.sampled_from(
    [lambda messages: "short summary", lambda messages: "", failing, quoting, None]
)


@st.composite
def overflow_strategies(draw: st.DrawFn, depth: int = 0) -> OverflowStrategy:
    kinds = ["summarize", "anchored", "reset", "clear", "greedy"]
    kind = draw(st.sampled_from(kinds if depth else [*kinds, "chain", "background"]))
    if kind == "summarize":
        return summarize(
            compression_model=draw(models), preserve_ratio=draw(st.sampled_from([0.2, 0.8]))
        )
    if kind == "anchored":
        return anchored(compression_model=draw(models), preserve_ratio=0.3)
    if kind == "reset":
        return reset(keep_open_turn=draw(st.booleans()))
    if kind == "clear":
        return clear(keep_recent=draw(st.integers(1, 3)), min_gain=0.0)
    if kind == "greedy":
        return Greedy()
    if kind == "background":
        return background(draw(overflow_strategies(depth=1)))
    return chain(*draw(st.lists(overflow_strategies(depth=1), min_size=1, max_size=3)))


class Greedy:
    """A custom strategy that keeps the last message and cares for nothing."""

    name = "greedy"

    async def apply(self, input: Any) -> Any:
        from context_chef.ir.window import OverflowResult

        return OverflowResult(
            history=input.history[-1:],
            evicted=input.history[:-1],
            span=input.history[:-1],
            strategy=self.name,
            window_id=input.window.current,
            changed=len(input.history) > 1,
        )


class Shelf:
    """An archive that can be looked into."""

    def __init__(self) -> None:
        self.spans: list[tuple[Message, ...]] = []

    def __call__(self, span: Sequence[Message]) -> str:
        self.spans.append(tuple(span))
        return f"shelf://{len(self.spans)}"

    def holds(self, message: Message) -> bool:
        return any(message in span for span in self.spans)


def janitor_with(strategy: OverflowStrategy, shelf: Shelf | None = None) -> Janitor:
    return Janitor(
        JanitorConfig(context_window=WINDOW, tokenizer=characters),
        OverflowConfig(strategy=strategy, archive=shelf),
        new_window_id=numbered_windows(),
    )


@settings(max_examples=80, deadline=None)
@given(histories(), overflow_strategies(), st.booleans())
def test_whatever_overflows_fits_is_whole_and_loses_nothing(
    history: tuple[Message, ...], strategy: OverflowStrategy, forced: bool
) -> None:
    shelf = Shelf()
    janitor = janitor_with(strategy, shelf)

    try:
        result = run_sync(janitor.overflow(history, forced=forced))
    except WindowFullError:
        return  # pins may be larger than the window; the error for that has its own test

    assert characters(result.history) <= WINDOW
    rules = [r.rule for r in ensure_valid_history(result.history).repairs]
    assert [rule for rule in rules if rule.startswith("tool-result")] == []
    pins = [history[index] for index in sorted(pinned_indexes(history))]
    places = [result.history.index(pin) for pin in pins]
    assert places == sorted(places) or len(set(map(id, pins))) != len(pins)
    kept = result.history
    for message in history:
        assert message in kept or shelf.holds(message)


@settings(max_examples=50, deadline=None)
@given(histories(), overflow_strategies())
def test_equal_sessions_have_equal_windows(
    history: tuple[Message, ...], strategy: OverflowStrategy
) -> None:
    outcomes = []
    for _ in range(2):
        try:
            result = run_sync(janitor_with(strategy, Shelf()).overflow(history))
            outcomes.append((result.history, result.reason))
        except WindowFullError as error:
            outcomes.append((str(error), None))

    assert outcomes[0] == outcomes[1]


@settings(max_examples=50, deadline=None)
@given(histories(), overflow_strategies(), st.booleans())
def test_a_pass_that_is_not_published_changes_nothing(
    history: tuple[Message, ...], strategy: OverflowStrategy, reported: bool
) -> None:
    """But for what was paid for, which waits for the pass that it can go into."""
    janitor = janitor_with(strategy)
    if reported:
        janitor.report_usage(5_000)
    before = janitor.snapshot_state()

    with suppress(WindowFullError):
        run_sync(janitor.begin(history))

    after = {name: value for name, value in janitor.snapshot_state().items() if name != "paid"}
    assert json.dumps(after) == json.dumps(before)


@settings(max_examples=40, deadline=None)
@given(st.lists(histories(), min_size=2, max_size=5), overflow_strategies())
def test_a_growing_window_fits_every_time_and_holds_one_summary(
    parts: list[tuple[Message, ...]], strategy: OverflowStrategy
) -> None:
    janitor = janitor_with(strategy, Shelf())
    window: tuple[Message, ...] = ()
    for number, part in enumerate(parts):
        renamed = tuple(_renamed(message, number) for message in part)
        try:
            window = run_sync(janitor.overflow((*window, *renamed))).history
        except WindowFullError:
            return
        assert characters(window) <= WINDOW
        framing = "continues an earlier one that ran out of room"
        assert sum(framing in message.text for message in window) <= 1
        assert sum(message.text.count(framing) for message in window) <= 1


def _renamed(message: Message, number: int) -> Message:
    """The same message with call ids of its own, as a session would have them."""
    if message.role == "tool":
        return message.replace(tool_call_id=f"{message.tool_call_id}_{number}")
    content = tuple(
        ToolCall(id=f"{block.id}_{number}", name=block.name, arguments=block.arguments)
        if isinstance(block, ToolCall)
        else block
        for block in message.content
    )
    return message.replace(content=content)


@pytest.mark.parametrize("oversize", ["clip", "refuse"])
def test_pins_that_do_not_fit_are_one_clear_error(oversize: Any) -> None:
    janitor = Janitor(
        JanitorConfig(context_window=WINDOW, tokenizer=characters),
        OverflowConfig(oversize=oversize),
    )

    with pytest.raises(WindowFullError, match=r"pinned messages 3000") as caught:
        run_sync(janitor.overflow([Message.user("x" * 3_000, pinned=True), Message.user("go")]))

    assert caught.value.parts["pinned messages"] == 3_000
