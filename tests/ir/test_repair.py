"""`ensure_valid_history`: what a damaged history becomes, and what stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings

from context_chef.ir.blocks import Opaque, RedactedThinking, Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.repair import (
    CONVERSATION_CONTINUES,
    MISSING_RESULT,
    ensure_valid_history,
    without_reasoning,
)
from tests.histories import any_history, damaged_histories, histories


def call(*ids: str, name: str = "run") -> Message:
    return Message.assistant(tool_calls=[ToolCall(id=id, name=name, arguments="{}") for id in ids])


def result(id: str | None, text: str = "r", **fields: object) -> Message:
    return Message(role="tool", content=(Text(text=text),), tool_call_id=id, **fields)  # type: ignore[arg-type]  # test shorthand


def rules(messages: Sequence[Message]) -> list[str]:
    return [repair.rule for repair in ensure_valid_history(messages).repairs]


def mended(*messages: Message) -> list[Message]:
    return list(ensure_valid_history(messages).messages)


def test_an_empty_history_stays_empty() -> None:
    assert ensure_valid_history([]) == ((), ())


def test_a_valid_history_comes_back_with_the_same_objects_and_no_repairs() -> None:
    history = [Message.user("q"), call("1", "2"), result("1"), result("2"), Message.assistant("a")]

    messages, repairs = ensure_valid_history(history)

    assert all(a is b for a, b in zip(messages, history, strict=True))
    assert repairs == ()


def test_a_result_that_nobody_asked_for_goes_and_is_quoted() -> None:
    _, repairs = ensure_valid_history([Message.user("q"), result("zz", "x" * 100)])

    assert [repair.rule for repair in repairs] == ["tool-result-orphan"]
    assert repairs[0].where == "messages[1]"
    assert "x" * 60 + "…" in repairs[0].message
    assert "x" * 61 not in repairs[0].message


def test_a_missing_result_becomes_a_note_that_is_marked_as_an_error() -> None:
    user, calling, note, following = mended(Message.user("q"), call("1"), Message.user("next"))

    assert (user.text, following.text) == ("q", "next")
    assert calling.tool_calls[0].id == note.tool_call_id == "1"
    assert note.text == MISSING_RESULT
    assert note.is_error
    assert note.name == "run"


def test_a_call_without_a_name_gets_a_note_without_a_name() -> None:
    assert mended(Message.user("q"), call("1", name=""))[-1].name is None


def test_a_late_result_moves_back_behind_its_call() -> None:
    late = result("1", "late")

    messages = mended(Message.user("q"), call("1"), Message.user("hm"), late)

    assert messages[2] is late
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert rules([Message.user("q"), call("1"), Message.user("hm"), late]) == ["tool-result-order"]


def test_results_stand_in_call_order() -> None:
    history = [Message.user("q"), call("1", "2", "3"), result("3"), result("1"), result("2")]

    assert [message.tool_call_id for message in mended(*history)[2:]] == ["1", "2", "3"]


def test_a_note_stands_at_its_place_among_the_real_results() -> None:
    messages = mended(Message.user("q"), call("1", "2"), result("2", "two"))

    assert [message.text for message in messages[2:]] == [MISSING_RESULT, "two"]


def test_of_two_results_for_one_call_the_first_stays() -> None:
    history = [Message.user("q"), call("1"), result("1", "a"), result("1", "b")]

    assert [message.text for message in mended(*history)[2:]] == ["a"]
    assert rules(history) == ["tool-result-duplicate"]


def test_an_id_may_come_again_in_a_later_turn() -> None:
    history = [
        Message.user("q"), call("x"), result("x", "one"), Message.assistant("ok"),
        Message.user("again"), call("x"), result("x", "two"),
    ]  # fmt: skip

    assert ensure_valid_history(history) == (tuple(history), ())


def test_empty_ids_pair_in_order() -> None:
    history = [Message.user("q"), call("", ""), result("", "one"), result("", "two")]

    assert ensure_valid_history(history) == (tuple(history), ())


def test_a_result_without_an_id_answers_the_open_call_of_its_name() -> None:
    calling = Message.assistant(tool_calls=[ToolCall(id="1", name="f"), ToolCall(id="2", name="g")])

    messages = mended(
        Message.user("q"), calling, result(None, "of g", name="g"), result("1", "of f")
    )

    assert [(m.tool_call_id, m.text) for m in messages[2:]] == [("1", "of f"), ("2", "of g")]


def test_a_result_that_names_its_call_has_it_before_one_that_names_none() -> None:
    unnamed, named = result(None, "whose?"), result("2", "second")

    out = mended(Message.user("q"), call("1", "2"), result("1"), unnamed, named)

    assert [m.text for m in out if m.tool_call_id == "2"] == ["second"]


def test_a_result_without_an_id_and_without_a_call_is_left_alone() -> None:
    history = [Message.user("q"), result("")]

    assert ensure_valid_history(history) == (tuple(history), ())


def test_a_result_in_front_of_its_call_answers_nothing() -> None:
    history = [Message.user("q"), result("1"), call("1")]

    assert rules(history) == ["tool-result-orphan", "tool-result-missing"]


def test_a_system_message_between_call_and_result_may_stay() -> None:
    history = [Message.user("q"), call("1"), Message.system("note"), result("1")]

    assert ensure_valid_history(history) == (tuple(history), ())


def test_system_messages_follow_the_results_when_the_stretch_is_rebuilt() -> None:
    history = [Message.user("q"), call("1", "2"), Message.system("note"), result("2")]

    assert [m.role for m in mended(*history)] == ["user", "assistant", "tool", "tool", "system"]


def test_the_user_opens_the_conversation() -> None:
    system, opening, answer = mended(Message.system("s"), Message.assistant("hi"))

    assert (system.role, opening.role, answer.role) == ("system", "user", "assistant")
    assert opening.text == CONVERSATION_CONTINUES


def test_when_nothing_is_left_a_user_message_remains() -> None:
    assert [m.text for m in mended(result("zz"))] == [CONVERSATION_CONTINUES]


def test_a_system_prompt_alone_is_left_alone() -> None:
    assert mended(Message.system("s")) == [Message.system("s")]


@given(any_history)
@settings(max_examples=150)
def test_a_second_run_changes_nothing(history: tuple[Message, ...]) -> None:
    once = ensure_valid_history(history).messages

    assert ensure_valid_history(once) == (once, ())


@given(histories())
@settings(max_examples=80)
def test_a_good_history_is_never_touched(history: tuple[Message, ...]) -> None:
    messages, repairs = ensure_valid_history(history)

    assert repairs == ()
    assert all(a is b for a, b in zip(messages, history, strict=True))


@given(damaged_histories())
@settings(max_examples=150)
def test_every_call_is_answered_once_and_right_behind_itself(history: tuple[Message, ...]) -> None:
    messages = ensure_valid_history(history).messages

    for index, message in enumerate(messages):
        ids = [call.id for call in message.tool_calls] if message.role == "assistant" else []
        following = [m for m in messages[index + 1 :] if m.role != "system"][: len(ids)]
        assert [m.tool_call_id or "" for m in following] == ids
        assert all(m.role == "tool" for m in following)


@given(damaged_histories())
@settings(max_examples=100)
def test_nobody_but_results_is_ever_lost(history: tuple[Message, ...]) -> None:
    kept = {id(message) for message in ensure_valid_history(history).messages}

    assert all(id(message) in kept for message in history if message.role != "tool")


def test_reasoning_can_be_taken_away_together_with_the_ids_that_would_ask_for_it() -> None:
    calling = ToolCall(
        id="call_1", name="f", native={"openai-responses": {"id": "fc_1", "status": "completed"}}
    )
    message = Message.assistant(
        (
            Thinking(text="t", signature="s", origin="anthropic"),
            RedactedThinking(data="d"),
            Opaque(provider="openai-responses", value={"type": "reasoning", "id": "rs_1"}),
            Text(text="said"),
            calling,
        )
    )

    said, bare = without_reasoning(message).content

    assert said == Text(text="said")
    assert bare == ToolCall(
        id="call_1", name="f", native={"openai-responses": {"status": "completed"}}
    )


def test_without_reasoning_to_take_away_the_message_is_the_same_object() -> None:
    message = Message.assistant("plain")

    assert without_reasoning(message) is message
