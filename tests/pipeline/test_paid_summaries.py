"""What a summariser was paid for is not paid for again, whatever happens behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from context_chef import ContextChef, Message, anchored, background, summarize
from context_chef.testing.doubles import HeldModel, RecordingLogger, characters

NEW = [Message.assistant("Noted."), Message.user("<late> " + "z" * 2_500)]


def said(count: int) -> list[Message]:
    rows: list[Message] = []
    for number in range(count):
        rows.append(Message.user(f"<q{number}> " + "x" * 900))
        rows.append(Message.assistant(f"<a{number}> fine"))
    return [*rows, Message.user("And now?")]


class Model:
    """Answers, but for the calls that are to fail."""

    def __init__(self, *failing: int) -> None:
        self.failing = failing
        self.shown: list[str] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        self.shown.append(" ".join(message.text for message in messages[:-1]))
        if len(self.shown) in self.failing:
            raise RuntimeError("the model is down")
        return f"<summary>part {len(self.shown)}</summary>"

    def times(self, mark: str) -> int:
        """In how many calls a message was shown."""
        return sum(mark in shown for shown in self.shown)


def chef_with(strategy: Any, window: int = 16_000) -> ContextChef:
    return ContextChef(
        janitor={"context_window": window, "tokenizer": characters},
        overflow={"strategy": strategy},
        logger=RecordingLogger(),
    )


@pytest.mark.parametrize("make", [summarize, anchored])
def test_a_part_that_fails_late_does_not_cost_the_earlier_ones_again(make: Any) -> None:
    model = Model(3)
    chef = chef_with(make(compression_model=model, compression_window=9_000, preserve_ratio=0.1))
    chef.set_history(said(16))

    chef.compile_sync("openai")
    assert len(model.shown) == 3
    chef.extend(NEW)
    chef.compile_sync("openai")

    assert [model.times(f"<q{number}>") for number in range(4)] == [1, 1, 1, 1]
    assert chef.window[0].text.count("part") == 1


def test_a_summary_behind_which_the_compile_failed_is_taken_up_by_the_next() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model, preserve_ratio=0.3)).set_history(said(14))

    def fail(context: Any) -> None:
        raise ValueError("a handler")

    off = chef.use("before-adapt", fail)
    with pytest.raises(ValueError, match="a handler"):
        chef.compile_sync("openai")
    off()
    chef.extend(NEW)
    chef.compile_sync("openai")

    assert [model.times(f"<q{number}>") for number in range(14)] == [1] * 14
    assert "part 2" in chef.window[0].text


async def test_an_answer_that_came_after_the_cancellation_is_taken_up_by_a_grown_history() -> None:
    model = HeldModel("<summary>the old part</summary>", "<summary>all of it</summary>")
    chef = chef_with(summarize(compression_model=model, preserve_ratio=0.3)).set_history(said(14))
    task = asyncio.ensure_future(chef.compile("openai"))
    for _ in range(5):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.release()

    chef.extend(NEW)
    compiling = asyncio.ensure_future(chef.compile("openai"))
    for _ in range(5):
        await asyncio.sleep(0)
    await model.release()
    await compiling

    assert len(model.calls) == 2
    assert "the old part" in model.calls[1][0].text
    assert "<q0>" not in str(model.calls[1])


def test_parts_of_a_summary_that_was_not_accepted_are_asked_for_anew() -> None:
    model = Model()
    verdicts = iter([False, True])
    strategy = summarize(
        compression_model=model,
        compression_window=9_000,
        validate_compression=lambda summary, check: next(verdicts),
    )
    chef = chef_with(strategy).set_history(said(16))

    chef.compile_sync("openai")
    first = len(model.shown)
    chef.compile_sync("openai")

    assert len(model.shown) == 2 * first


def test_another_fold_does_not_throw_away_what_was_paid_for() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model, preserve_ratio=0.3)).set_history(said(14))
    failing = [True]

    def fail(context: Any) -> None:
        if failing[0]:
            raise ValueError("a handler")

    chef.use("before-adapt", fail)
    with pytest.raises(ValueError, match="a handler"):
        chef.compile_sync("openai")
    failing[0] = False
    other = [Message.user("<other> " + "y" * 12_000), Message.assistant("ok"), Message.user("?")]
    chef.set_history(other).compile_sync("openai")
    chef.set_history(said(14)).compile_sync("openai")

    assert model.times("<q0>") == 1


async def test_parts_that_a_background_job_paid_for_are_kept_for_the_next_job() -> None:
    model = Model(3)

    async def asked(messages: Sequence[Message]) -> str:
        await asyncio.sleep(0)
        return model(messages)

    chef = chef_with(background(summarize(compression_model=asked, compression_window=9_000)))
    chef.set_history(said(16))
    for _ in range(4):
        await chef.compile("openai")
        for _ in range(40):
            await asyncio.sleep(0)

    assert model.times("<q0>") == 1
    assert "part" in chef.window[0].text
