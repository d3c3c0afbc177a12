"""What is cut because the summariser is down comes back to it once it works."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from context_chef import (
    ChefSnapshot,
    ContextChef,
    InMemoryBackend,
    Message,
    Payload,
    background,
    chain,
    clear,
    reset,
    summarize,
)
from context_chef.testing.doubles import (
    HeldModel,
    RecordingLogger,
    RecordingObserver,
    ScriptedModel,
    characters,
)

# Room for 3,000 characters, with the trigger at 2,100.
WINDOW = {"context_window": 3_000, "tokenizer": characters, "breaker_cooldown_seconds": 60}


class Model:
    def __init__(self) -> None:
        self.down = True
        self.shown: list[str] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        self.shown.append(" ".join(message.text for message in messages[:-1]))
        if self.down:
            raise RuntimeError("the model is down")
        return "<summary>What was said before.</summary>"


def said(first: int, last: int) -> list[Message]:
    rows: list[Message] = []
    for number in range(first, last):
        rows.append(Message.user(f"<q{number}> " + "x" * 400))
        rows.append(Message.assistant(f"<a{number}> fine"))
    return [*rows, Message.user("And now?")]


def chef_with(strategy: Any, **settings: Any) -> ContextChef:
    return ContextChef(
        janitor={**WINDOW, **settings},
        overflow={"strategy": strategy, "archive": "vfs"},
        store=InMemoryBackend(),
        logger=RecordingLogger(),
        clock=lambda: 1_000,
    )


def size(payload: Payload) -> int:
    return sum(len(message["content"]) for message in payload["messages"])


def test_the_span_is_summarised_whole_once_the_model_works_again() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model)).set_history(said(0, 10))

    cut = chef.compile_sync("openai")
    assert size(cut) <= 3_000
    assert "<q0>" not in str(cut)
    model.down = False
    model.shown.clear()
    chef.compile_sync("openai")

    assert all(f"<q{number}>" in " ".join(model.shown) for number in range(6))
    assert "What was said before." in chef.window[0].text
    assert not any(fold.provisional for fold in chef.snapshot_sync().transcript.folds)


def test_the_cut_stands_still_while_the_model_is_down() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model)).set_history(said(0, 10))
    told = RecordingObserver()
    chef.on("compress", told)

    first = chef.compile_sync("openai")
    window = chef.window_id
    chef.extend([Message.assistant("Done."), Message.user("More?")])
    second = chef.compile_sync("openai")
    third = chef.compile_sync("openai")

    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"] == third["messages"]
    assert chef.window_id == window
    assert len(told.events) == 1


def test_the_failure_and_the_cut_are_diagnostics_with_the_right_reason() -> None:
    chef = chef_with(summarize(compression_model=Model())).set_history(said(0, 10))

    report = chef.compile_sync("openai").report

    found = {d.code for d in report.diagnostics}
    out = [span for span in report.spans if span.place == "out"]
    assert {"overflow-failed", "history-cut"} <= found
    assert {span.reason for span in out} == {"window full: dropped"}
    assert all(span.uri for span in out)


def test_the_breaker_opens_although_the_cut_made_it_fit() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model)).set_history(said(0, 10))

    for _ in range(6):
        chef.compile_sync("openai")

    assert len(model.shown) == 3


def test_a_snapshot_carries_a_cut_as_what_it_is() -> None:
    model = Model()
    chef = chef_with(summarize(compression_model=model)).set_history(said(0, 10))
    cut = chef.compile_sync("openai")
    other = chef_with(summarize(compression_model=model))

    other.restore_sync(ChefSnapshot.from_json(chef.snapshot_sync().to_json()))

    assert other.compile_sync("openai")["messages"] == cut["messages"]
    model.down = False
    other.compile_sync("openai")
    assert "What was said before." in other.window[0].text


async def test_a_background_job_lands_on_what_stood_before_the_cut() -> None:
    model = HeldModel("<summary>All of it.</summary>")
    chef = chef_with(background(summarize(compression_model=model))).set_history(said(0, 10))

    cut = await chef.compile("openai")
    assert size(cut) <= 3_000
    await model.release()
    await chef.compile("openai")
    await asyncio.sleep(0)

    assert "All of it." in chef.window[0].text
    assert len(model.calls) == 1


def test_what_another_step_did_stands_and_only_the_cut_is_for_now() -> None:
    model = Model()
    calls: list[Message] = []
    for number in range(5):
        call = {"id": f"c{number}", "type": "function"}
        call["function"] = {"name": "look", "arguments": "{}"}  # type: ignore[assignment]  # JSON
        calls += [
            Message.user("go"),
            *ContextChef()
            .set_history(
                [
                    {"role": "user", "content": "q"},
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": f"c{number}", "content": "z" * 300},
                ]
            )
            .history[1:],
        ]
    strategy = chain(clear(keep_recent=1, min_gain=0), summarize(compression_model=model))
    chef = chef_with(strategy).set_history([*calls, *said(0, 8)])

    chef.compile_sync("openai")

    assert [fold.provisional for fold in chef.snapshot_sync().transcript.folds] == [False, True]


def test_what_the_strategy_declined_is_cut_for_good() -> None:
    chef = chef_with(reset()).set_history([Message.user("One. " + "x" * 5_000)])

    report = chef.compile_sync("openai").report

    assert [fold.provisional for fold in chef.snapshot_sync().transcript.folds] == [False]
    assert [s.reason for s in report.spans if s.place == "out"] == ["window full: shortened"]


def test_a_veto_holds_the_strategy_back_for_now() -> None:
    model = Model()
    model.down = False
    chef = chef_with(summarize(compression_model=model)).set_history(said(0, 10))
    off = chef.use("before-overflow", lambda context: False)
    chef.compile_sync("openai")

    off()
    chef.compile_sync("openai")

    assert "What was said before." in chef.window[0].text


def test_a_tail_that_makes_a_second_cut_needed_does_not_bring_an_older_cut_back() -> None:
    """The older cut stands for the first messages of the history, not of what was cut since."""
    chef = chef_with(summarize(compression_model=Model())).set_history(said(0, 10))
    chef.compile_sync("openai")
    chef.extend([Message.assistant("Like this."), Message.user("<last> " + "y" * 2_300)])
    chef.set_dynamic_state(None, {"plan": "z" * 900})

    payload = chef.compile_sync("openai")

    assert "<last>" in str(payload["messages"])
    assert size(payload) <= 3_000


def test_a_caller_who_keeps_the_whole_history_is_not_cut_for_ever() -> None:
    """The pass behind a landed one is skipped; the cut that this leads to skips no other."""
    model = ScriptedModel("<summary>S</summary>")
    chef = ContextChef(
        janitor={"context_window": 2_000, "tokenizer": characters},
        overflow={"strategy": summarize(compression_model=model), "keep": "caller"},
    )
    chef.set_history([Message.user("q" * 1_500), Message.assistant("a" * 1_500), Message.user("?")])

    for _ in range(5):
        chef.compile_sync()

    assert len(model.calls) >= 3
