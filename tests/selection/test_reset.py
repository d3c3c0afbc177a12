"""`reset()`: a fresh window, and what has to be answered in it."""

from __future__ import annotations

from context_chef import Message, reset
from context_chef.bridge import run_sync
from context_chef.ir.blocks import ToolCall
from context_chef.testing.doubles import overflow_input


def test_what_has_to_be_answered_stays() -> None:
    call = ToolCall(id="c1", name="new_context", arguments="{}")
    exchange = (
        Message.user("start over, please"),
        Message.assistant("", tool_calls=[call]),
        Message.tool("a new window starts", tool_call_id="c1"),
    )
    old = (Message.user("q" * 600), Message.assistant("a" * 300))

    result = run_sync(reset().apply(overflow_input((*old, *exchange), forced=True)))

    assert result.history[1:] == exchange
    assert result.evicted == old


def test_without_an_open_turn_only_pins_stay() -> None:
    rule = Message.user("rule", pinned=True)
    history = (rule, Message.user("q"), Message.assistant("answered"))

    result = run_sync(reset("FRESH").apply(overflow_input(history)))

    assert result.history[1:] == (rule,)
    assert "FRESH" in result.history[0].text


def test_the_default_notice_names_the_window_that_was_closed() -> None:
    result = run_sync(reset().apply(overflow_input([Message.user("q"), Message.assistant("a")])))

    assert "window w1 was closed" in (result.summary or "")


def test_everything_may_be_asked_to_go() -> None:
    window = overflow_input([Message.user("q"), Message.user("open")])

    result = run_sync(reset("N", keep_open_turn=False).apply(window))

    assert len(result.history) == 1


def test_a_window_of_pins_is_left_alone() -> None:
    window = overflow_input([Message.user("rule", pinned=True)])

    assert run_sync(reset().apply(window)).reason == "only_pinned"
