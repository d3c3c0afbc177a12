"""A request for a new window is fulfilled, waits, or is dropped with word of it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from context_chef import (
    ContextChef,
    InvariantBroken,
    Message,
    OverflowInput,
    OverflowResult,
    Payload,
    background,
    chain,
    clear,
    reset,
    server,
    summarize,
)
from context_chef.testing.doubles import (
    HeldModel,
    RecordingLogger,
    RecordingObserver,
    ScriptedModel,
)

ROWS = [
    Message.user("Build a shelf."),
    Message.assistant("How wide?"),
    Message.user("80 cm."),
    Message.assistant("Then three boards."),
    Message.user("And screws?"),
]


class Declines:
    name = "declines"

    def apply(self, input: OverflowInput) -> OverflowResult:
        return input.unchanged(self.name, "not today")


def down(messages: Sequence[Message]) -> str:
    raise RuntimeError("the model is down")


def asked(strategy: Any, **settings: Any) -> tuple[ContextChef, RecordingObserver]:
    janitor = {"context_window": 100_000, **settings}
    chef = ContextChef(
        janitor=janitor, overflow={"strategy": strategy}, logger=RecordingLogger()
    ).set_history(ROWS)
    observer = RecordingObserver()
    chef.on("pipeline:invariant", observer)
    return chef.request_new_context(), observer


def codes(payload: Payload) -> list[str]:
    return [d.code for d in payload.report.diagnostics if d.code.startswith("new-context")]


@pytest.mark.parametrize(
    "strategy",
    [
        pytest.param(clear(), id="nothing to clear"),
        pytest.param(chain(clear(), server()), id="a chain that can do nothing"),
        pytest.param(server(), id="a server strategy elsewhere"),
        pytest.param(Declines(), id="a strategy of one's own"),
    ],
)
def test_a_request_that_changes_nothing_is_dropped_with_word_of_it(strategy: Any) -> None:
    chef, told = asked(strategy)

    payload = chef.compile_sync()

    assert codes(payload) == ["new-context-dropped"]
    assert [type(event) for event in told.events] == [InvariantBroken]
    assert any("new window was dropped" in text for text in chef._parts.logger.warnings)  # type: ignore[attr-defined]  # the recording one
    assert not chef.new_context_requested


@pytest.mark.parametrize(
    "answer",
    [RuntimeError("the model is down"), " ", "<summary>cut off", "x" * 5000],
    ids=["down", "blank", "cut off", "too long"],
)
def test_a_request_waits_while_the_model_fails_and_is_dropped_with_word_of_it(answer: Any) -> None:
    chef, told = asked(summarize(compression_model=ScriptedModel(answer)))

    found = [codes(chef.compile_sync()) for _ in range(4)]

    assert found == [["new-context-waits"], ["new-context-waits"], ["new-context-dropped"], []]
    assert len(told.events) == 3
    assert not chef.new_context_requested


def test_a_request_that_waited_is_fulfilled_once_the_model_works() -> None:
    answers = iter([RuntimeError("down"), "<summary>A shelf, 80 cm.</summary>"])

    def model(messages: Sequence[Message]) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    chef, _ = asked(summarize(compression_model=model))
    before = chef.window_id

    chef.compile_sync()
    assert chef.new_context_requested
    chef.compile_sync()

    assert not chef.new_context_requested
    assert chef.window_id != before
    assert "80 cm" in chef.window[0].text


def test_a_new_request_is_a_new_attempt_although_overflow_rests() -> None:
    calls: list[int] = []

    def model(messages: Sequence[Message]) -> str:
        calls.append(len(messages))
        raise RuntimeError("down")

    chef, _ = asked(summarize(compression_model=model))
    for _ in range(4):
        chef.compile_sync()
    chef.request_new_context()

    assert codes(chef.compile_sync()) == ["new-context-dropped"]
    assert len(calls) == 4


async def test_a_request_waits_for_the_job_that_works_on_it() -> None:
    model = HeldModel("<summary>A shelf.</summary>")
    chef, told = asked(background(summarize(compression_model=model)))

    started = await chef.compile()
    working = await chef.compile()
    assert codes(started) == codes(working) == []
    assert chef.new_context_requested
    await model.release()
    await chef.compile()

    assert not chef.new_context_requested
    assert "A shelf." in chef.window[0].text
    assert told.events == []


async def test_a_job_that_keeps_failing_ends_with_the_request_dropped() -> None:
    async def model(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0)
        raise RuntimeError("down")

    chef, _ = asked(background(summarize(compression_model=model)))
    found: list[str] = []
    for _ in range(8):
        payload = await chef.compile()
        found += codes(payload)
        await asyncio.sleep(0.001)

    assert found == ["new-context-dropped"]
    assert not chef.new_context_requested


async def test_what_failed_between_compiles_is_in_the_next_report() -> None:
    async def model(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0)
        raise RuntimeError("out of credit")

    chef, _ = asked(background(summarize(compression_model=model)))
    await chef.compile()
    for _ in range(5):
        await asyncio.sleep(0)

    report = (await chef.compile()).report

    assert any("out of credit" in d.message for d in report.diagnostics)


def test_a_vetoed_request_is_in_the_report_too() -> None:
    chef, _ = asked(reset())
    chef.use("before-overflow", lambda context: False)

    assert codes(chef.compile_sync()) == ["new-context-dropped"]


def test_a_request_with_nothing_to_close_is_only_noted() -> None:
    chef, told = asked(summarize(compression_model=down))
    chef.set_history([Message.user("hello")])

    payload = chef.compile_sync()

    assert codes(payload) == ["new-context-dropped"]
    assert told.events == []
