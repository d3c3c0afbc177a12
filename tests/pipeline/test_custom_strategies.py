"""A strategy of one's own: what it answers is read, mended and reported, never taken on trust."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from context_chef import (
    CancelToken,
    ContextChef,
    InMemoryBackend,
    Message,
    OverflowInput,
    OverflowResult,
    Payload,
    SettingsError,
    ToolCall,
    background,
    chain,
    reset,
)
from context_chef.testing.doubles import RecordingLogger, characters

CALL = ToolCall(id="call_1", name="look", arguments="{}")
ROWS = [
    Message.user("First question " + "x" * 500),
    Message.assistant("An answer " + "y" * 500),
    Message.user("Never delete anything.", pinned=True),
    Message.assistant("", tool_calls=[CALL]),
    Message.tool("nothing there", tool_call_id="call_1", name="look"),
    Message.assistant("I see."),
    Message.user("And now?"),
]


class Own:
    """Answers what a function makes of the input's history."""

    name = "own"

    def __init__(self, make: Callable[[tuple[Message, ...]], Any]) -> None:
        self.make = make

    def apply(self, input: OverflowInput) -> Any:
        made = self.make(input.history)
        if type(made) is not dict:
            return made
        return OverflowResult(
            strategy=self.name, window_id=input.window.current, changed=True, **made
        )


def compiled(make: Callable[[tuple[Message, ...]], Any], **overflow: Any) -> Payload:
    chef = ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow={"strategy": Own(make), "archive": "vfs", **overflow},
        store=InMemoryBackend(),
        logger=RecordingLogger(),
    ).set_history(ROWS)
    return chef.compile_sync("openai")


def texts(payload: Payload) -> list[str]:
    return [message["content"] for message in payload["messages"]]


def rules(payload: Payload) -> set[str]:
    return {repair.rule for repair in payload.report.repairs if "overflow" in repair.rule}


def test_the_turn_that_waits_for_an_answer_is_put_back() -> None:
    payload = compiled(lambda history: {"history": (Message.user("All gone."),)})

    assert texts(payload) == ["All gone.", "Never delete anything.", "And now?"]
    assert {"overflow-open-turn", "overflow-pins"} <= rules(payload)


def test_a_tool_exchange_that_is_being_worked_on_is_put_back_with_its_request() -> None:
    chef = ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow={"strategy": Own(lambda history: {"history": (Message.user("Gone."),)})},
        logger=RecordingLogger(),
    ).set_history([*ROWS[:3], *ROWS[6:], *ROWS[3:5]])

    roles = [message["role"] for message in chef.compile_sync("openai")["messages"]]

    assert roles == ["user", "user", "user", "assistant", "tool"]


def test_a_strategy_that_was_told_to_let_go_of_it_may() -> None:
    chef = ContextChef(overflow={"strategy": reset(keep_open_turn=False)}, logger=RecordingLogger())
    chef.set_history(ROWS[:2] + ROWS[6:]).request_new_context()

    assert "And now?" not in str(chef.compile_sync("openai"))


def test_parted_pairs_are_a_repair_of_the_report() -> None:
    payload = compiled(lambda history: {"history": (*history[:1], history[4], history[6])})

    assert "overflow-pairs" in rules(payload)
    tools = [m for m in payload["messages"] if m["role"] == "tool"]
    assert [m["tool_call_id"] for m in tools] == ["call_1"]


def test_results_in_front_of_their_call_are_a_repair_of_the_report() -> None:
    payload = compiled(
        lambda history: {"history": (history[4], history[3], *history[5:]), "span": history[:2]}
    )

    roles = [message["role"] for message in payload["messages"]]
    assert roles.index("assistant") < roles.index("tool")
    assert "overflow-pairs" in rules(payload)


def test_what_left_without_a_word_is_archived_and_reported() -> None:
    payload = compiled(lambda history: {"history": history[2:]})

    out = [span for span in payload.report.spans if span.place == "out"]
    assert [span.source for span in out] == ["history[0]", "history[1]"]
    assert all(span.uri for span in out)
    assert "overflow-span" in rules(payload)


def test_plain_dicts_are_messages_too_and_equal_ones_are_what_they_are_equal_to() -> None:
    def make(history: Sequence[Message]) -> Any:
        kept = [{"role": "user", "content": "Earlier: a question."}]
        kept += [{"role": m.role, "content": m.text} for m in history[5:]]
        return {"history": kept, "evicted": history[:2], "span": history[:2]}

    payload = compiled(make)

    assert texts(payload)[-2:] == ["I see.", "And now?"]
    assert "overflow-open-turn" not in rules(payload)
    assert "Earlier: a question." in texts(payload)


@pytest.mark.parametrize(
    "answer",
    [
        7,
        None,
        [Message.user("a list")],
        {"history": 7},
        {"history": (1, 2)},
        {"history": "text"},
        {"history": (Message.user("x"),), "span": [None]},
        {"history": (Message.user("x"),), "summary": 5},
    ],
    ids=lambda answer: json.dumps(answer, default=repr)[:40],
)
def test_what_is_no_answer_is_refused_with_the_strategy_and_the_value(answer: Any) -> None:
    with pytest.raises(SettingsError, match="The strategy 'own' answered"):
        compiled(lambda history: answer)


def no_share(history: Sequence[Message]) -> Any:
    raise ZeroDivisionError("no share")


def notes(payload: Payload) -> dict[str, str]:
    return {note.code: note.message for note in payload.report.diagnostics}


@pytest.mark.parametrize("wrap", [lambda own: own, background, chain])
def test_a_strategy_that_raises_has_failed_and_history_is_made_to_fit(wrap: Any) -> None:
    chef = ContextChef(
        janitor={"context_window": 1_000, "tokenizer": characters},
        overflow={"strategy": wrap(Own(no_share)), "archive": "vfs"},
        store=InMemoryBackend(),
        logger=RecordingLogger(),
    ).set_history(ROWS)

    payloads = [chef.compile_sync("openai") for _ in range(4)]

    for payload in payloads:
        assert "And now?" in texts(payload)
        assert sum(map(len, filter(None, texts(payload)))) <= 1_000
    said = notes(payloads[0])["overflow-failed"]
    assert "'own' raised ZeroDivisionError('no share') at test_custom_strategies.py:" in said
    assert "3 of 3" in notes(payloads[2])["overflow-failed"]
    assert "overflow-failed" not in notes(payloads[3])
    assert "breaker_cooldown_seconds" in notes(payloads[3])["overflow-rests"]


def test_a_chain_goes_on_behind_a_step_that_raised() -> None:
    chef = ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow={"strategy": chain(Own(no_share), reset())},
        logger=RecordingLogger(),
    ).set_history(ROWS)

    payload = chef.compile_sync("openai")

    assert "overflow-failed" in notes(payload)
    assert "First question" not in str(payload["messages"])


async def test_an_answer_that_is_none_is_a_failure_of_the_job_in_the_background() -> None:
    chef = ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow={"strategy": background(Own(lambda history: 7))},
        logger=RecordingLogger(),
    ).set_history(ROWS)

    await chef.compile("openai")
    await asyncio.sleep(0)
    payload = await chef.compile("openai")

    assert "'own' answered 7" in notes(payload)["overflow-failed"]


def test_a_strategy_stops_for_the_reason_that_the_caller_gave() -> None:
    token = CancelToken()

    def stop(history: Sequence[Message]) -> Any:
        token.cancel(KeyError("the user left"))
        assert token.reason is not None
        raise token.reason

    chef = ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.05, "tokenizer": characters},
        overflow={"strategy": Own(stop)},
    ).set_history(ROWS)

    with pytest.raises(KeyError, match="the user left"):
        chef.compile_sync("openai", signal=token)


def test_settings_that_a_strategy_finds_wrong_fail_the_compile() -> None:
    def wrong(history: Sequence[Message]) -> Any:
        raise SettingsError("`share` is missing.")

    with pytest.raises(SettingsError, match="`share` is missing"):
        compiled(wrong)


def test_an_archive_that_fails_is_a_diagnostic() -> None:
    def archive(messages: Sequence[Message]) -> str:
        raise OSError("disk full")

    payload = compiled(lambda history: {"history": history[2:]}, archive=archive)

    found = {d.code: d.message for d in payload.report.diagnostics}
    assert "disk full" in found["archive-failed"]
