"""What holds for every history: valid for the checker, stable, deterministic, nothing touched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.sendable import Mender, make_sendable
from context_chef.errors import UnsendableError
from context_chef.ir.blocks import Provider, Text
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row, read_message
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.provider_requests import (
    MODELS,
    TARGETS,
    body_of,
    needs_checker,
    problems,
    sendable,
)
from tests.histories import any_history, damaged_histories, histories, tool_lists

History = tuple[Message, ...]
targets = st.sampled_from(TARGETS)
slow = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)


@needs_checker
@pytest.mark.parametrize("target", TARGETS)
@given(history=any_history, tools=tool_lists, data=st.data())
@slow
def test_no_history_makes_a_request_that_is_refused(
    target: Provider, history: History, tools: list[ToolDefinition], data: st.DataObject
) -> None:
    model = data.draw(st.sampled_from(MODELS[target]))

    body = body_of(history, target, model, tools=tools)

    assert problems(target, body, model) == []


@given(history=any_history, target=targets, data=st.data())
@slow
def test_a_second_run_changes_nothing(
    history: History, target: Provider, data: st.DataObject
) -> None:
    model = data.draw(st.sampled_from(MODELS[target]))

    once = sendable(history, target, model).messages

    assert sendable(once, target, model) == (once, ())


@given(history=any_history, target=targets)
@slow
def test_calls_and_results_stand_together(history: History, target: Provider) -> None:
    waiting: Counter[str] = Counter()
    for message in sendable(history, target).messages:
        if message.role == "tool":
            assert waiting[message.tool_call_id or ""] > 0
            waiting[message.tool_call_id or ""] -= 1
        elif message.role == "user":
            assert not +waiting
        elif message.role == "assistant":
            waiting.update(call.id for call in message.tool_calls)
    assert not +waiting


@given(history=any_history, target=targets)
@slow
def test_the_callers_messages_are_not_changed(history: History, target: Provider) -> None:
    before = msgspec.json.encode(history)

    sendable(history, target)

    assert msgspec.json.encode(history) == before


@given(history=histories(system=True), target=targets)
@slow
def test_a_good_history_needs_no_repair_but_of_reasoning(
    history: History, target: Provider
) -> None:
    bare = tuple(message.replace(content=tuple(_plain(message))) for message in history)

    model = "gemini-2.5-pro" if target == "gemini" else None  # one that wants no signatures

    messages, repairs = sendable(bare, target, model)

    assert repairs == ()
    assert all(a is b for a, b in zip(messages, bare, strict=True))


def _plain(message: Message) -> list[object]:
    return [
        block for block in message.content if type(block).__name__ in ("Text", "Media", "ToolCall")
    ]


@given(history=any_history, target=targets, data=st.data())
@slow
def test_growing_does_not_change_how_the_past_was_mended(
    history: History, target: Provider, data: st.DataObject
) -> None:
    """Up to a message of the user's behind which no call waits."""
    model = data.draw(st.sampled_from(MODELS[target]))
    more = data.draw(damaged_histories(max_turns=2))
    settled = (*_answered(history, target, model), Message.user("and then?"))
    longer = (*settled, *(message for message in more if message.role != "tool"))

    short = sendable(settled, target, model).messages
    full = sendable(longer, target, model).messages

    assert full[: len(short)] == short


def _answered(history: History, target: Provider, model: str | None) -> History:
    """A history that is damaged in every way but for calls that still wait."""
    waiting: set[str] = set()
    kept: list[Message] = []
    for message in history:
        if message.role == "assistant":
            waiting |= {call.id for call in message.tool_calls}
        elif message.role == "tool":
            waiting.discard(message.tool_call_id or "")
        kept.append(message)
    answers = [Message.tool("late", tool_call_id=identifier) for identifier in sorted(waiting)]
    return (*kept, *answers)


@given(history=any_history, target=targets, data=st.data())
@settings(slow, max_examples=150)
def test_what_was_mended_before_does_not_show(
    history: History, target: Provider, data: st.DataObject
) -> None:
    """A `Mender` answers as the function does, whatever it saw before."""
    model = data.draw(st.sampled_from(MODELS[target]))
    profile = profile_for(model, target)
    mender = Mender()
    cuts = data.draw(st.lists(st.integers(1, len(history)), max_size=4))
    edited = [*history]
    place = data.draw(st.integers(0, len(history) - 1))
    edited[place] = Message.user("something else")
    seen: list[History] = [*(history[:cut] for cut in cuts), tuple(edited), history]

    for messages in seen:
        if data.draw(st.booleans()):
            messages = (*messages, Message.user("tail"))
        alone = make_sendable(messages, target=target, profile=profile)
        assert mender.make_sendable(messages, target=target, profile=profile) == alone


@given(history=any_history, target=targets)
@slow
def test_equal_histories_are_mended_equally(history: History, target: Provider) -> None:
    """Cached by identity or not: copies give the same."""
    copies = tuple(read_message(flat_row(message)) for message in history)

    assert sendable(copies, target) == sendable(history, target)


@example([])
@given(st.lists(st.sampled_from(["user", "system"]), max_size=3))
def test_only_nothing_at_all_is_unsendable(roles: list[str]) -> None:
    messages = [Message(role=role, content=(Text(text=" "),)) for role in roles]  # type: ignore[arg-type]  # a role's name

    for target in TARGETS:
        if messages:
            assert sendable(messages, target).messages
        else:
            with pytest.raises(UnsendableError):
                sendable(messages, target)


_SCRIPT = """
from tests.adaptation.provider_requests import TARGETS, sendable
from context_chef.ir.blocks import ToolCall
from context_chef.ir.message import Message
ids = ["", "", "Run:7", "é", "x" * 99, "dup", "dup"]
calls = [ToolCall(id=id, name="a b", arguments="{}") for id in ids]
history = [Message.user("q"), Message.assistant(tool_calls=calls), Message.user("")]
for target in TARGETS:
    for message in sendable(history, target).messages:
        print([(c.id, c.name) for c in message.tool_calls], message.tool_call_id, message.text)
"""


def test_every_process_mends_the_same_way() -> None:
    root = Path(__file__).resolve().parents[2]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }

    assert len(outputs) == 1
