"""Overflow inside a compile: landed passes stay, are paid for once, and are accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from context_chef import (
    Compressed,
    ContextChef,
    InMemoryBackend,
    Message,
    ToolCall,
    anchored,
    chain,
    reset,
    summarize,
)
from tests.parity.script import KeepLast
from tests.pipeline.test_events import characters

# Overflows at 1,000 characters, and leaves room enough for the library's own wording.
WINDOW = {"context_window": 10_000, "trigger_ratio": 0.1, "tokenizer": characters}


class Model:
    def __init__(self) -> None:
        self.calls: list[Sequence[Message]] = []

    def __call__(self, messages: Sequence[Message]) -> str:
        self.calls.append(messages)
        return f"<summary>sum {len(self.calls)}</summary>"


def history(turns: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number in range(turns):
        rows.append({"role": "user", "content": f"question {number} " + "x" * 300})
        rows.append({"role": "assistant", "content": f"answer {number}"})
    return [*rows, {"role": "user", "content": "now?"}]


def test_a_landed_pass_stays_and_is_paid_for_once() -> None:
    """W-OVF-1: the same transcript gives the same window, whether set anew or not."""
    model = Model()
    chef = ContextChef(janitor={**WINDOW, "compression_model": model}).set_history(history(4))

    first = chef.compile_sync()
    again = chef.compile_sync()
    whole = chef.set_history(history(4)).compile_sync()

    assert len(model.calls) == 1
    assert first.to_json() == again.to_json() == whole.to_json()
    assert len(chef.history) == 9
    assert len(chef.window) < 9


def test_feeding_the_window_back_is_understood() -> None:
    model = Model()
    chef = ContextChef(janitor={**WINDOW, "compression_model": model}).set_history(history(4))
    chef.compile_sync()

    chef.set_history([*chef.window, Message.assistant("fine"), Message.user("more")])
    chef.compile_sync()

    assert len(model.calls) == 1
    assert len(chef.history) == 11


def test_an_edit_inside_what_was_folded_brings_the_messages_back() -> None:
    model = Model()
    chef = ContextChef(janitor={**WINDOW, "compression_model": model}).set_history(history(4))
    chef.compile_sync()
    rows = history(4)
    rows[0]["content"] = "edited question " + "x" * 300

    chef.set_history(rows)
    assert len(chef.window) == 9
    chef.compile_sync()

    assert len(model.calls) == 2


def test_the_caller_may_keep_the_history() -> None:
    chef = ContextChef(janitor=WINDOW, overflow={"strategy": KeepLast(1), "keep": "caller"})
    chef.set_history(history(4))

    counts = [len(chef.compile_sync()["messages"]) for _ in range(3)]

    assert counts == [1, 9, 1]
    assert chef.window == chef.history


def test_what_left_is_in_the_report_with_its_address() -> None:
    chef = ContextChef(
        janitor={**WINDOW, "compression_model": Model()},
        overflow={"archive": "vfs"},
        store=InMemoryBackend(),
    ).set_history(history(4))

    report = chef.compile_sync().report
    out = [span for span in report.spans if span.place == "out"]

    assert out
    assert all(span.uri and span.uri.startswith("context://vfs/") for span in out)
    assert {span.source for span in out} <= {f"history[{n}]" for n in range(9)}
    stored = chef.resolve_recall_sync(out[0].uri or "", format="text")
    assert stored is not None
    assert "question 0" in stored


def test_no_handoff_notice_once_the_window_is_over() -> None:
    """W-HAND-1."""
    chef = ContextChef(
        janitor={**WINDOW, "compression_model": Model()},
        overflow={"handoff": {"budget_tokens": 10, "prompt": "left {n_remaining}"}},
    )
    chef.set_history([{"role": "user", "content": "y" * 995}])
    inside = chef.compile_sync()
    chef.set_history(history(4))
    over = chef.compile_sync()

    assert "left 5" in str(inside)
    assert "left" not in str(over)


def test_one_notice_for_each_window() -> None:
    chef = ContextChef(
        janitor=WINDOW,
        overflow={"handoff": {"budget_tokens": 10, "prompt": "left {n_remaining}"}},
    ).set_history([{"role": "user", "content": "y" * 995}])

    said = ["left" in str(chef.compile_sync()) for _ in range(3)]

    assert said == [True, False, False]


def test_a_requested_window_lands_once_and_stays() -> None:
    chef = ContextChef(overflow={"strategy": KeepLast(1)}).set_history(history(2))
    before = chef.window_id

    chef.request_new_context()
    counts = [len(chef.compile_sync()["messages"]) for _ in range(2)]

    assert counts == [1, 1]
    assert chef.window_id != before
    assert not chef.new_context_requested


def test_the_turn_that_has_to_be_answered_is_never_dropped() -> None:
    chef = ContextChef(janitor=WINDOW, overflow={"strategy": chain(summarize(), reset())})
    chef.set_history(history(4))

    payload = chef.compile_sync()

    assert payload["messages"][-1]["content"] == "now?"


def test_a_landed_pass_is_told_with_its_span() -> None:
    told: list[Compressed] = []
    chef = ContextChef(janitor={**WINDOW, "compression_model": Model()}).set_history(history(4))
    chef.on(Compressed, told.append)

    chef.compile_sync()

    assert told[0].truncated_count == len(told[0].compressed_messages) > 0
    assert "sum 1" in told[0].summary.text


def test_transformed_results_keep_their_original_in_the_transcript() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    seen: list[Any] = []

    def shout(text: str, info: Any) -> str:
        seen.append((text, info.tool_name, info.tool_call_id))
        return text.upper()

    chef = ContextChef(transform_tool_result=shout).set_history(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "quiet"},
        ]
    )

    first = chef.compile_sync()
    chef.compile_sync()

    assert first["messages"][-1]["content"] == "QUIET"
    assert chef.history[-1].text == "quiet"
    assert seen == [("quiet", "f", "c")]


def test_large_outputs_leave_a_marker_at_compile_when_asked_to() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chef = ContextChef(vfs={"automatic": True, "threshold": 500, "tail_chars": 100}).set_history(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "line\n" * 500},
        ]
    )

    payload = chef.compile_sync()

    assert "context://vfs/" in payload["messages"][-1]["content"]
    assert len(payload["messages"][-1]["content"]) < 1500
    assert len(chef.history[-1].text) == 2500
    assert payload.to_json() == chef.compile_sync().to_json()


def test_compressed_says_what_the_strategy_did_not_what_a_hook_did() -> None:
    """A hook that makes the history fit is no pass: nothing was compressed."""
    told: list[bool] = []

    def keep_the_end(messages: Sequence[Message], info: Any) -> Sequence[Message]:
        return messages[-1:]

    chef = ContextChef(janitor={**WINDOW, "on_before_compress": keep_the_end})
    chef.set_history(history(4)).on("compress:end", lambda event: told.append(event.compressed))

    payload = chef.compile_sync()

    assert told == [False]
    assert len(payload["messages"]) == 1


def test_a_retry_is_given_what_a_hook_made_fit_too() -> None:
    chef = ContextChef(
        janitor={**WINDOW, "on_before_compress": lambda messages, info: messages[-1:]}
    )
    chef.set_history(history(4))

    first = chef.compile_sync()

    assert chef.compile_sync().to_json() == first.to_json()


def test_a_rewind_to_the_end_of_a_fold_brings_back_what_has_to_be_answered() -> None:
    chef = ContextChef(janitor={**WINDOW, "compression_model": Model()}).set_history(history(8))
    chef.compile_sync()
    end = chef.snapshot_sync().transcript.folds[-1].end

    for last in range(end - 1, end + 2):
        payload = chef.fork_sync().set_history(history(8)[:last]).compile_sync()
        assert payload["messages"][-1]["content"] == history(8)[last - 1]["content"]


@pytest.mark.parametrize(
    ("strategy", "ratio"),
    [(summarize, 0.8), (summarize, 0.3), (anchored, 0.8), (anchored, 0.3)],
)
def test_a_rewind_leaves_no_request_to_a_summary(strategy: Any, ratio: float) -> None:
    made = strategy(compression_model=Model(), preserve_ratio=ratio)
    chef = ContextChef(janitor=WINDOW, overflow={"strategy": made}).set_history(history(8))
    chef.compile_sync()
    end = chef.snapshot_sync().transcript.folds[-1].end
    assert history(8)[end]["role"] == "assistant", "its request is summarised"

    for last in range(end - 2, len(history(8)) + 1):
        said = history(8)[:last]
        payload = chef.fork_sync().set_history(said).compile_sync()
        asked = [row["content"] for row in said if row["role"] == "user"][-1]
        assert asked in [message["content"] for message in payload["messages"]]


def test_a_rewind_behind_a_live_request_pays_for_nothing() -> None:
    model = Model()
    chef = ContextChef(janitor={**WINDOW, "compression_model": model}).set_history(history(8))
    before = chef.compile_sync()["messages"]
    end = chef.snapshot_sync().transcript.folds[-1].end

    again = chef.set_history(history(8)[: end + 2]).compile_sync()["messages"]

    assert again == before[: len(again)]
    assert len(model.calls) == 1


def test_a_rewind_while_tools_work_on_a_request_keeps_the_fold_that_has_it() -> None:
    model = Model()
    rows: list[Message] = [Message.user("mend the fence")]
    for number in range(8):
        call = ToolCall(id=f"c{number}", name="look", arguments="{}")
        rows.append(Message.assistant("", tool_calls=[call]))
        rows.append(Message.tool("x" * 300, tool_call_id=call.id, name="look"))
    chef = ContextChef(janitor={**WINDOW, "compression_model": model}).set_history(rows)
    before = chef.compile_sync()["messages"]
    assert len(model.calls) == 1

    again = chef.set_history(rows[:-2]).compile_sync()["messages"]

    assert again == before[:-2]
    assert "mend the fence" in str(again)
    assert len(model.calls) == 1
