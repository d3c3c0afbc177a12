"""`background()`: a job lands when it still applies."""

from __future__ import annotations

import asyncio

from context_chef import Message, OverflowInput, OverflowResult, background, reset, summarize
from context_chef.bridge import run_sync
from context_chef.selection import Janitor, JanitorConfig, OverflowConfig, OverflowStrategy
from context_chef.testing.doubles import HeldModel, RecordingLogger, ScriptedModel, characters

TALK = (
    Message.user("q" * 300),
    Message.assistant("old fact"),
    Message.user("w" * 600),
    Message.user("go on"),
)


def janitor_with(strategy: OverflowStrategy) -> Janitor:
    return Janitor(
        JanitorConfig(context_window=1_000, tokenizer=characters),
        OverflowConfig(strategy=strategy),
        logger=RecordingLogger(),
    )


async def test_a_finished_job_lands_within_budget_and_keeps_what_came_since() -> None:
    model = HeldModel("S")
    janitor = janitor_with(background(summarize(compression_model=model, preserve_ratio=0.1)))
    await janitor.overflow(TALK)
    await model.release()
    since = Message.assistant("news")

    result = await janitor.overflow((*TALK, since))

    assert result.summary == "S"
    assert result.history[1:] == (TALK[-1], since)


async def test_an_edit_inside_the_span_makes_the_job_stale() -> None:
    model = HeldModel("S")
    janitor = janitor_with(background(summarize(compression_model=model, preserve_ratio=0.1)))
    await janitor.overflow(TALK)
    await model.release()

    result = await janitor.overflow((TALK[0], Message.assistant("new fact"), *TALK[2:]))

    assert not result.changed
    await model.release()


async def test_a_landing_that_was_not_published_lands_again() -> None:
    model = HeldModel("S")
    janitor = janitor_with(background(summarize(compression_model=model, preserve_ratio=0.1)))
    await janitor.overflow(TALK)
    await model.release()

    await janitor.begin(TALK)
    result = await janitor.overflow(TALK)

    assert (result.summary, len(model.calls)) == ("S", 1)


async def test_a_crash_in_the_job_counts_when_it_happens() -> None:
    class Crashing:
        name = "crashing"

        async def apply(self, input: OverflowInput) -> OverflowResult:
            await asyncio.sleep(0)
            raise RuntimeError("boom")

    janitor = janitor_with(background(Crashing()))
    await janitor.overflow(TALK)
    for _ in range(5):
        await asyncio.sleep(0)

    assert janitor.breaker.failures == 1


def test_a_sync_call_does_the_work_at_once() -> None:
    janitor = janitor_with(background(summarize(compression_model=ScriptedModel("S"))))

    assert run_sync(janitor.overflow(TALK)).summary == "S"


async def test_restoring_gives_the_job_up() -> None:
    model = HeldModel("S")
    janitor = janitor_with(background(summarize(compression_model=model)))
    state = janitor.snapshot_state()
    await janitor.overflow(TALK)

    janitor.restore_state(state)
    await model.release()

    assert (await janitor.overflow([Message.user("hi")])).reason == "within_budget"


async def test_reset_can_run_in_the_background() -> None:
    janitor = janitor_with(background(reset("N")))
    await janitor.overflow(TALK)

    result = await janitor.overflow(TALK)

    assert result.strategy == "background(reset)"
