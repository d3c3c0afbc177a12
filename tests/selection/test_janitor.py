"""The janitor: when it asks, what it publishes, and what a failure leaves behind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from context_chef import Message, summarize
from context_chef.bridge import run_sync
from context_chef.errors import SettingsError, WindowFullError
from context_chef.events import Compressed, Event
from context_chef.ir.blocks import ToolCall
from context_chef.selection import HandoffConfig, Janitor, JanitorConfig, OverflowConfig
from context_chef.testing.doubles import (
    CharacterTokenizer,
    HeldModel,
    MovableClock,
    RecordingLogger,
    ScriptedModel,
    characters,
    numbered_windows,
)

TALK = (Message.user("q" * 600), Message.assistant("a" * 300), Message.user("go on"))


def janitor_of(overflow: OverflowConfig | None = None, **config: Any) -> Janitor:
    clock = config.pop("clock", MovableClock())
    logger = config.pop("logger", RecordingLogger())
    config = {"context_window": 1_000, "tokenizer": characters, **config}
    return Janitor(
        JanitorConfig(**config),
        overflow,
        clock=clock,
        logger=logger,
        new_window_id=numbered_windows(),
    )


def test_history_overflows_strictly_above_the_trigger() -> None:
    janitor = janitor_of(compression_model=ScriptedModel("S"))

    at_it = run_sync(janitor.overflow([Message.user("q" * 400), Message.user("a" * 300)]))
    above = run_sync(janitor.overflow([Message.user("q" * 400), Message.user("a" * 301)]))

    assert (at_it.changed, above.changed) == (False, True)
    assert janitor.lineage.previous == "w1"


def test_the_output_reserve_and_the_overhead_take_room() -> None:
    janitor = janitor_of(reserve_output=200)

    budget = janitor.read_budget(TALK, overhead=50)

    assert (budget.limit, budget.trigger) == (800, 560)
    assert (budget.current, budget.remaining) == (955, -395)


def test_an_infinite_window_never_overflows() -> None:
    janitor = Janitor(JanitorConfig(tokenizer=characters))

    budget = janitor.read_budget(TALK)

    assert budget.remaining == float("inf")
    assert run_sync(janitor.overflow(TALK)).reason == "within_budget"


def test_nothing_changes_until_the_turn_is_published() -> None:
    janitor = janitor_of(compression_model=ScriptedModel("S"))
    janitor.report_usage(900)
    before = json.dumps(janitor.snapshot_state())

    turn = run_sync(janitor.begin(TALK))

    assert turn.result.changed
    state = janitor.snapshot_state()
    assert list(state.pop("paid").values()) == ["S"]  # it is paid for, published or not
    assert json.dumps(state) == before
    turn.publish()
    assert "paid" not in janitor.snapshot_state()
    assert janitor.lineage == turn.lineage
    assert janitor.snapshot_state()["external_token_usage"] is None


def test_a_reset_meanwhile_wins_over_publishing() -> None:
    janitor = janitor_of(compression_model=ScriptedModel("S"))
    turn = run_sync(janitor.begin(TALK))

    janitor.reset()
    turn.publish()

    assert janitor.lineage.previous is None


def test_a_report_that_came_meanwhile_is_kept() -> None:
    janitor = janitor_of()
    janitor.report_usage(100)
    turn = run_sync(janitor.begin([Message.user("hi")]))

    janitor.report_usage(555)
    turn.publish()

    assert janitor.snapshot_state()["external_token_usage"] == 555


def test_a_summary_that_was_not_published_is_not_paid_again() -> None:
    model = ScriptedModel("S")
    janitor = janitor_of(compression_model=model)

    run_sync(janitor.begin(TALK))
    result = run_sync(janitor.overflow(TALK))

    assert (result.summary, len(model.calls)) == ("S", 1)


async def test_a_cancelled_summary_is_finished_and_used() -> None:
    model = HeldModel("S")
    janitor = janitor_of(compression_model=model)
    task = asyncio.create_task(janitor.overflow(TALK))
    await asyncio.sleep(0.01)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await model.release()
    result = await janitor.overflow(TALK)

    assert (result.summary, len(model.calls)) == ("S", 1)
    assert janitor.breaker.failures == 0


def test_a_hook_does_not_cancel_a_pass_that_a_report_asked_for() -> None:
    janitor = janitor_of(
        tokenizer=None,
        compression_model=ScriptedModel("S"),
        on_before_compress=lambda history, info: history,
    )
    janitor.report_usage(900)

    result = run_sync(janitor.overflow([Message.user("a"), Message.user("b"), Message.user("c")]))

    assert result.changed


def test_a_hook_cannot_empty_the_window() -> None:
    log = RecordingLogger()
    janitor = janitor_of(
        compression_model=ScriptedModel("S"),
        on_before_compress=lambda history, info: [],
        logger=log,
    )

    result = run_sync(janitor.overflow(TALK))

    assert result.history[-1] == TALK[-1]
    assert any("answered an empty history" in warning for warning in log.warnings)


def test_a_failing_sink_does_not_suppress_the_event() -> None:
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    def sink(*arguments: object) -> None:
        raise RuntimeError("sink")

    janitor = janitor_of(compression_model=ScriptedModel("S"), on_compress=sink)
    run_sync(janitor.overflow(TALK, emit=emit))

    assert [type(event) for event in events][-1] is Compressed


def test_three_failures_rest_and_a_cool_down_tries_again() -> None:
    clock, model = MovableClock(), ScriptedModel(RuntimeError("down"))
    janitor = janitor_of(compression_model=model, clock=clock, breaker_cooldown_seconds=60)
    for _ in range(3):
        run_sync(janitor.overflow(TALK))

    resting = run_sync(janitor.overflow(TALK))
    clock.move(61)
    run_sync(janitor.overflow(TALK))
    resting_again = run_sync(janitor.overflow(TALK))

    assert (resting.reason, resting_again.reason) == ("breaker_open", "breaker_open")
    assert len(model.calls) == 4


def test_a_request_is_an_attempt_even_while_overflow_rests() -> None:
    model = ScriptedModel(RuntimeError("1"), RuntimeError("2"), RuntimeError("3"), "S")
    janitor = janitor_of(compression_model=model)
    for _ in range(3):
        run_sync(janitor.overflow(TALK))

    result = run_sync(janitor.overflow(TALK, forced=True))

    assert result.summary == "S"
    assert not janitor.breaker.open


def test_overhead_alone_over_the_trigger_is_said_and_not_summarised() -> None:
    log, model = RecordingLogger(), ScriptedModel("S")
    janitor = janitor_of(
        context_window=4_000,
        tokenizer=CharacterTokenizer(),
        compression_model=model,
        logger=log,
    )

    result = run_sync(janitor.overflow([Message.user("hi"), Message.user("next")], overhead=3_600))

    assert (result.reason, model.calls) == ("overhead_over_trigger", [])
    assert "Trim tools or system prompt" in log.warnings[-1]


def test_a_huge_tool_result_is_clipped_with_its_pair_intact() -> None:
    stored: list[Any] = []

    def archive(span: Any) -> str:
        stored.append(span)
        return "shelf://1"

    call = ToolCall(id="c1", name="grep", arguments="{}")
    history = (
        Message.user("task"),
        Message.assistant("", tool_calls=[call]),
        Message.tool("abc " * 40_000, tool_call_id="c1"),
        Message.assistant("ok"),
        Message.user("go on"),
    )

    def model(messages: Any) -> str:
        assert characters(messages) <= 8_000
        return "S"

    janitor = janitor_of(
        OverflowConfig(archive=archive), context_window=8_000, compression_model=model
    )
    result = run_sync(janitor.overflow(history))

    assert characters(result.history) <= 8_000
    said = "\n".join(message.text for message in result.history)
    assert "go on" in said
    assert "shelf://1" in said
    assert any(history[2] in span for span in stored)


def test_only_a_huge_last_result_is_clipped_and_the_task_stays() -> None:
    call = ToolCall(id="c1", name="cat", arguments="{}")
    task = Message.user("task")
    history = (
        task,
        Message.assistant("", tool_calls=[call]),
        Message.tool("y " * 3_000, tool_call_id="c1"),
    )

    result = run_sync(janitor_of(context_window=800).overflow(history))

    assert result.history[0] == task
    assert result.history[1] == history[1]
    assert "characters left out" in result.history[2].text
    assert (result.clipped, result.reason) == (1, "clipped")


def test_refusing_says_what_takes_the_room() -> None:
    janitor = janitor_of(OverflowConfig(oversize="refuse"), context_window=100)

    with pytest.raises(WindowFullError, match="tools, system prompt and tail 50, other messages"):
        run_sync(janitor.overflow([Message.user("x" * 200)], overhead=50))


def test_a_caller_who_keeps_the_history_is_skipped_once() -> None:
    model = ScriptedModel("S")
    janitor = janitor_of(OverflowConfig(keep="caller"), compression_model=model)

    outcomes = [run_sync(janitor.overflow(TALK)).changed for _ in range(3)]

    assert outcomes == [True, False, True]


def test_reported_usage_calibrates_later_counts() -> None:
    janitor = Janitor(JanitorConfig(context_window=10_000, tokenizer=CharacterTokenizer()))
    history = [Message.user("x" * 996)]
    run_sync(janitor.overflow(history))

    janitor.report_usage(1_500)
    run_sync(janitor.overflow(history))

    assert janitor.read_budget(history).current == 1_500


@pytest.mark.parametrize("tokens", [-1, float("nan"), "12", None, True])
def test_a_report_that_is_no_figure_is_refused(tokens: Any) -> None:
    with pytest.raises(SettingsError, match="number of tokens"):
        janitor_of().report_usage(tokens)


def test_the_handoff_band_is_inclusive_and_ends_at_the_trigger() -> None:
    janitor = janitor_of(OverflowConfig(handoff=HandoffConfig(budget_tokens=100)))
    due = [
        janitor.handoff_due(janitor.read_budget([Message.user("x" * size)]))
        for size in (599, 600, 700, 701)
    ]

    assert due == [False, True, True, False]
    assert "100" in janitor.handoff_notice(99.5)


def test_a_snapshot_brings_everything_back() -> None:
    janitor = janitor_of(
        OverflowConfig(strategy=summarize(compression_model=ScriptedModel("S"))),
    )
    janitor.report_usage(12)
    state = json.loads(json.dumps(janitor.snapshot_state()))

    run_sync(janitor.overflow(TALK))
    janitor.restore_state(state)

    assert janitor.snapshot_state() == state


def test_camel_case_snapshots_are_read() -> None:
    janitor = janitor_of()

    janitor.restore_state(
        {
            "externalTokenUsage": 7,
            "suppressNextCompression": True,
            "consecutiveFailures": 2,
            "window": {"first": "a", "current": "b", "previous": "a"},
        }
    )

    state = janitor.snapshot_state()
    assert (state["external_token_usage"], state["consecutive_failures"]) == (7, 2)
    assert state["window"]["current"] == "b"
