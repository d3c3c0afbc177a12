"""`make_sendable`: each fault that would cost a session, and what becomes of it on each target."""

from __future__ import annotations

import re
from typing import Any

import pytest

from context_chef.adaptation.sendable import (
    Mender,
    drop_bound_thinking,
    make_sendable,
    thinking_mode,
)
from context_chef.adaptation.thinking_binding import SKIP_SIGNATURE
from context_chef.errors import UnsendableError
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    Inline,
    Media,
    Opaque,
    Provider,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.message import Message
from context_chef.ir.repair import CONVERSATION_CONTINUES, MISSING_RESULT
from context_chef.prompts.repair import EMPTY_USER_MESSAGE, PLEASE_CONTINUE
from tests.adaptation.provider_requests import TARGETS, sendable
from tests.histories import PNG

NEW_CLAUDE, OLD_CLAUDE = "claude-opus-5-5", "claude-sonnet-4-5"
Q = Message.user("q")


def call(*ids: str, name: str = "run", said: str = "") -> Message:
    calls = [ToolCall(id=id, name=name, arguments="{}") for id in ids]
    return Message.assistant(said, tool_calls=calls)


def result(id: str, text: str = "r") -> Message:
    return Message.tool(text, tool_call_id=id)


def rules(history: list[Message], target: str = "anthropic", model: str | None = None) -> list[str]:
    return [repair.rule for repair in sendable(history, target, model).repairs]  # type: ignore[arg-type]  # a target's name


# Pairing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_fine_stays_the_same_object(target: str) -> None:
    history = [Q, call("a", "b"), result("a"), result("b"), Message.assistant("ok"), Q]

    model = "gemini-2.5-pro" if target == "gemini" else None  # one that wants no signatures

    mended = sendable(history, target, model)  # type: ignore[arg-type]  # a target's name

    assert mended.repairs == ()
    assert all(a is b for a, b in zip(mended.messages, history, strict=True))


@pytest.mark.parametrize("target", TARGETS)
def test_an_interrupted_round_is_completed_in_front_of_the_users_words(target: str) -> None:
    history = [Q, call("a", "b", "c", said="on it"), result("a", "done one"), Message.user("stop")]

    mended = sendable(history, target).messages  # type: ignore[arg-type]  # a target's name

    assert mended[1].text == "on it"
    assert [m.text for m in mended[2:]] == ["done one", MISSING_RESULT, MISSING_RESULT, "stop"]
    assert [m.is_error for m in mended[2:5]] == [False, True, True]


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_stands_between_a_call_and_its_result(target: str) -> None:
    history = [
        Q,
        call("a"),
        Message.system("note", positional=True),
        Message.user("hm"),
        result("a"),
    ]

    mended = sendable(history, target).messages  # type: ignore[arg-type]  # a target's name

    assert [m.role for m in mended] == ["user", "assistant", "tool", "system", "user"]


def test_answers_in_a_row_are_one_turn_where_neighbours_are_merged() -> None:
    history = [Q, call("a"), call("b"), result("b", "B"), result("a", "A"), Q]

    merged = sendable(history, "anthropic").messages
    apart = sendable(history, "openai").messages

    assert [m.text for m in merged] == ["q", "", "", "A", "B", "q"]
    assert [m.text for m in apart] == ["q", "", "A", "", "B", "q"]


def test_what_the_provider_stored_needs_no_call_here() -> None:
    history = [result("stored"), Message.user("go on")]

    mended = make_sendable(history, target="openai-responses", stateful=True)

    assert mended.messages == tuple(history)
    assert mended.repairs == ()


def test_repairs_name_the_rule_of_the_target_and_the_place() -> None:
    repairs = sendable([Q, result("zz")], "openai").repairs

    assert [(r.rule, r.where) for r in repairs] == [("openai/tool-reply-orphan", "messages[1]")]


# Ids -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["anthropic", "openai-responses"])
def test_an_id_that_comes_again_is_renamed_on_both_sides(target: str) -> None:
    history = [Q, call("x-0"), result("x-0", "r1"), Q, call("x-0"), result("x-0", "r2"), Q]

    mended = sendable(history, target).messages  # type: ignore[arg-type]  # a target's name

    assert mended[1] is history[1]
    fresh = mended[4].tool_calls[0].id
    assert fresh != "x-0"
    assert (mended[5].tool_call_id, mended[5].text) == (fresh, "r2")


def test_chat_takes_the_same_id_in_another_turn() -> None:
    history = [Q, call("shell:0"), result("shell:0"), Q, call("shell:0"), result("shell:0"), Q]

    assert sendable(history, "openai").repairs == ()


def test_anthropic_ids_are_cleaned_and_stay_different() -> None:
    ids = ["Run:7", "Run.7", "functions.plan:2", "call_1|fc_1", "x" * 90, "fine-1"]
    history = [Q, call(*ids), *[result(id, id) for id in ids], Q]

    mended = sendable(history, "anthropic").messages
    fresh = [c.id for c in mended[1].tool_calls]

    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", id) for id in fresh)
    assert len(set(fresh)) == len(ids)
    assert fresh[-1] == "fine-1"
    assert [m.tool_call_id for m in mended[2:8]] == fresh
    assert [m.text for m in mended[2:8]] == ids


@pytest.mark.parametrize(("target", "limit"), [("openai", 40), ("openai-responses", 64)])
def test_ids_fit_the_targets_limit(target: str, limit: int) -> None:
    history = [Q, call("x" * limit), result("x" * limit), Q, call("y" * 90), result("y" * 90), Q]

    mended = sendable(history, target).messages  # type: ignore[arg-type]  # a target's name

    assert mended[1] is history[1]
    assert len(mended[4].tool_calls[0].id) <= limit
    assert mended[5].tool_call_id == mended[4].tool_calls[0].id


@pytest.mark.parametrize("target", ["anthropic", "openai", "openai-responses"])
def test_empty_ids_become_different_ones(target: str) -> None:
    calls = [ToolCall(id="", name="f", arguments='{"n":1}'), ToolCall(id="", name="g")]
    history = [Q, Message.assistant(tool_calls=calls), result("", "one"), result("", "two"), Q]

    mended = sendable(history, target).messages  # type: ignore[arg-type]  # a target's name
    f, g = mended[1].tool_calls

    assert f.id
    assert g.id
    assert f.id != g.id
    assert [(m.tool_call_id, m.text) for m in mended[2:4]] == [(f.id, "one"), (g.id, "two")]


def test_a_made_id_does_not_depend_on_what_came_before() -> None:
    tail = [Q, call("Run:7"), result("Run:7"), Q]

    alone = sendable(tail, "anthropic").messages[1]
    later = sendable([Q, call("other"), result("other"), *tail], "anthropic").messages[4]

    assert alone.tool_calls[0].id == later.tool_calls[0].id


# Blanks ----------------------------------------------------------------------------------------


def test_anthropic_gets_no_blank_text() -> None:
    history = [
        Message.user("hi"),
        Message.assistant(" \n", tool_calls=[ToolCall(id="t1", name="f")]),
        result("t1"),
        Message.assistant("\n\n"),
        Message.user("next"),
    ]

    mended = sendable(history, "anthropic").messages

    assert [m.role for m in mended] == ["user", "assistant", "tool", "user"]
    assert mended[1].content == (ToolCall(id="t1", name="f"),)


@pytest.mark.parametrize("target", ["openai", "openai-responses", "gemini"])
def test_an_empty_text_beside_another_goes(target: Any) -> None:
    mended = sendable([Message.user([Text(text=""), Text(text="said")])], target)

    assert mended.messages == (Message.user([Text(text="said")]),)
    assert [repair.rule for repair in mended.repairs] == [
        "gemini/part-data" if target == "gemini" else "blank-text"
    ]


def test_a_mark_on_a_blank_moves_to_its_neighbour() -> None:
    image = Media(kind="image", source=Inline(data=PNG), media_type="image/png")
    mark = CacheBreakpoint(ttl="1h")

    after = sendable([Message.user([image, Text(text="", cache=mark)])], "anthropic").messages
    before = sendable([Message.user([Text(text="", cache=mark), image])], "anthropic").messages

    assert after[0].content == before[0].content
    assert after[0].content[0].cache == mark


def test_an_empty_user_message_says_so_where_its_turn_counts() -> None:
    history = [Q, Message.assistant("a"), Message.user(""), Message.assistant("b"), Q]

    assert sendable(history, "anthropic").messages[2].text == EMPTY_USER_MESSAGE


def test_an_empty_user_message_goes_next_to_another() -> None:
    history = [Q, Message.user("  "), Message.assistant("a"), Q]

    assert [m.text for m in sendable(history, "anthropic").messages] == ["q", "a", "q"]


def test_calls_and_reasoning_belong_to_the_assistant() -> None:
    history = [Message.user([Text(text="q"), ToolCall(id="a", name="f"), Thinking(text="t")])]

    assert sendable(history, "anthropic").messages == (Q,)
    assert rules(history) == ["anthropic/block-role"]


# Reasoning -------------------------------------------------------------------------------------


def thought(signature: str | None, origin: str | None = "anthropic") -> Thinking:
    return Thinking(text="hm", signature=signature, origin=origin)  # type: ignore[arg-type]  # a provider's name


@pytest.mark.parametrize("signature", ["", None])
def test_unsigned_thinking_goes_and_the_words_stay(signature: str | None) -> None:
    history = [Q, Message.assistant([thought(signature), Text(text="partial")]), Q]

    assert sendable(history, "anthropic").messages[1].content == (Text(text="partial"),)
    assert rules(history) == ["anthropic/thinking-signature"]


def test_thinking_of_others_is_left_to_the_writer() -> None:
    answer = Message.assistant([thought("R0VN", "gemini"), Text(text="answer")])

    assert sendable([Q, answer, Q], "anthropic").messages[1] is answer


def test_thinking_with_nothing_after_it_goes() -> None:
    history = [Q, Message.assistant([Text(text="a"), thought("s"), RedactedThinking(data="d")]), Q]

    assert sendable(history, "anthropic").messages[1].content == (Text(text="a"),)
    assert rules(history) == ["anthropic/thinking-last"]


def test_a_message_of_nothing_but_lost_thinking_goes_too() -> None:
    assert sendable([Q, Message.assistant([thought("")]), Q], "anthropic").messages == (Q, Q)


def test_a_tool_loop_without_thinking_cannot_go_on_with_manual_thinking() -> None:
    history = [Q, call("a"), result("a"), call("b"), result("b")]

    with pytest.raises(UnsendableError, match="adaptive"):
        make_sendable(history, target="anthropic", thinking="enabled")


def test_a_tool_loop_that_began_with_thinking_can() -> None:
    opening = Message.assistant([thought("s"), ToolCall(id="a", name="f")])
    history = [Q, opening, result("a"), call("b"), result("b")]

    mended = make_sendable(history, target="anthropic", thinking="enabled")

    assert mended.messages == tuple(history)


def test_thinking_bound_to_a_changed_past_goes() -> None:
    early, late = (Message.assistant([thought("s"), Text(text=said)]) for said in "ab")

    messages, repairs = drop_bound_thinking([Q, early, Q, late], 2)

    assert messages[1] is early
    assert messages[3].content == (Text(text="b"),)
    assert [(r.rule, r.where) for r in repairs] == [("anthropic/preserved-thinking", "messages[3]")]


def test_gemini_3_gets_the_documented_stand_in_on_the_first_call_of_a_step() -> None:
    history = [Q, call("a", "b"), result("a"), result("b"), call("c"), result("c")]

    mended = sendable(history, "gemini", "gemini-3.8-flash").messages

    signatures = [c.signature for m in mended for c in m.tool_calls]
    assert signatures == [SKIP_SIGNATURE, None, SKIP_SIGNATURE]


def test_gemini_signatures_stay_as_they_are() -> None:
    calls = [ToolCall(id="a", name="f", signature="QUJD"), ToolCall(id="b", name="f")]
    history = [Q, Message.assistant(tool_calls=calls), result("a"), result("b")]

    assert sendable(history, "gemini", "gemini-3.8-flash") == (tuple(history), ())


def test_a_model_that_nobody_knows_may_be_one_that_wants_signatures() -> None:
    history = [Q, call("a"), result("a")]

    assert sendable(history, "gemini").messages[1].tool_calls[0].signature == SKIP_SIGNATURE


def test_older_gemini_models_get_no_stand_in() -> None:
    history = [Q, call("a"), result("a")]

    assert sendable(history, "gemini", "gemini-2.5-pro").messages == tuple(history)


# Beginning and end -----------------------------------------------------------------------------


def test_gemini_hears_the_user_first() -> None:
    mended = sendable([call("a"), result("a"), Message.assistant("mid"), Q], "gemini").messages

    assert (mended[0].role, mended[0].text) == ("user", CONVERSATION_CONTINUES)


@pytest.mark.parametrize(
    ("target", "model"),
    [("anthropic", NEW_CLAUDE), ("anthropic", None), ("gemini", "gemini-3.8-flash")],
)
def test_a_finished_answer_at_the_end_stays_and_the_user_asks_to_go_on(
    target: str, model: str | None
) -> None:
    answer = Message.assistant("finished")

    mended = sendable([Q, answer], target, model).messages  # type: ignore[arg-type]  # a target's name

    assert mended[1] is answer
    assert (mended[2].role, mended[2].text) == ("user", PLEASE_CONTINUE)


def test_models_that_go_on_from_an_answer_get_it_without_blanks_and_thinking() -> None:
    answer = Message.assistant([thought("s"), Text(text="It is \n")])

    mended = sendable([Q, answer], "anthropic", OLD_CLAUDE).messages

    assert mended[1].content == (Text(text="It is"),)


def test_the_guardrails_own_prefill_is_left_to_the_writer() -> None:
    history = [Q, Message.assistant("{", prefill=True)]

    assert sendable(history, "anthropic", NEW_CLAUDE).messages == tuple(history)


def test_a_paused_turn_goes_back_as_it_is() -> None:
    value = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}}
    history = [Q, Message.assistant([Opaque(provider="anthropic", value=value)])]

    assert sendable(history, "anthropic", NEW_CLAUDE).messages == tuple(history)


@pytest.mark.parametrize("target", ["anthropic", "gemini", "openai-responses"])
def test_a_system_prompt_alone_gets_a_conversation(target: str) -> None:
    mended = sendable([Message.system("s")], target).messages  # type: ignore[arg-type]  # a target's name

    assert [m.role for m in mended] == ["system", "user"]


@pytest.mark.parametrize("target", TARGETS)
def test_without_any_message_there_is_no_request(target: str) -> None:
    with pytest.raises(UnsendableError, match="no message at all"):
        sendable([], target)  # type: ignore[arg-type]  # a target's name


# Provider blocks, names, media -----------------------------------------------------------------


def server(kind: str, **fields: object) -> Opaque:
    return Opaque(provider="anthropic", value={"type": kind, **fields})


def test_a_server_tools_result_goes_without_its_use() -> None:
    blocks: list[Block] = [server("web_search_tool_result", tool_use_id="x", content=[])]
    history = [Q, Message.assistant([*blocks, Text(text="a")]), Q]

    assert sendable(history, "anthropic").messages[1].content == (Text(text="a"),)


def test_a_server_tool_use_without_a_result_goes_once_the_turn_is_over() -> None:
    use = server("server_tool_use", id="x", name="web_search", input={})
    history = [Q, Message.assistant([use, Text(text="a")]), Q]

    assert sendable(history, "anthropic").messages[1].content == (Text(text="a"),)


def test_a_signed_summary_in_the_middle_is_told_as_text() -> None:
    summary = server("compaction", content="Earlier: X.", signature="s")
    history = [Q, Message.assistant([summary, Text(text="a")]), Q]

    told, said = sendable(history, "anthropic").messages[1].content

    assert isinstance(told, Text)
    assert told.text.endswith("Earlier: X.")
    assert said == Text(text="a")


def test_tools_are_called_by_the_name_on_the_list() -> None:
    history = [Q, call("a", name="Log file"), Message.tool("r", tool_call_id="a", name="Log file")]

    mended = make_sendable(history, target="openai", names={"Log file": "Log_file_1"}).messages

    assert mended[1].tool_calls[0].name == mended[2].name == "Log_file_1"


@pytest.mark.parametrize("data", ["", "!!!", "PHN2Zy8+"])
def test_an_image_that_is_none_becomes_a_visible_note(data: str) -> None:
    image = Media(kind="image", source=Inline(data=data), media_type="image/png")

    (message,) = sendable([Message.user(image)], "anthropic").messages

    (note,) = message.content
    assert isinstance(note, Text)
    assert "image" in note.text


def test_the_thinking_mode_is_read_off_a_requests_other_keys() -> None:
    assert thinking_mode({"thinking": {"type": "enabled", "budget_tokens": 1024}}) == "enabled"
    assert thinking_mode({}) is None


def test_an_instruction_inside_a_turn_of_calls_waits_for_the_results() -> None:
    note = Message.system("note", positional=True)
    history = [Q, call("a"), note, Message.assistant(""), result("a"), Q]

    mended = sendable(history, "anthropic")

    assert [m.role for m in mended.messages] == ["user", "assistant", "tool", "system", "user"]
    assert sendable(list(mended.messages), "anthropic").repairs == ()


def test_a_server_tool_has_one_result() -> None:
    use = server("server_tool_use", id="x", name="web_search", input={})
    answer = server("web_search_tool_result", tool_use_id="x", content=[])
    once = Message.assistant([use, answer, Text(text="a")])

    mended = sendable([Q, once, Q, Message.assistant([answer, Text(text="b")]), Q], "anthropic")

    assert mended.messages[1] is once
    assert mended.messages[3].content == (Text(text="b"),)


def test_a_summary_after_words_is_no_pause() -> None:
    summary = Message.assistant([server("compaction", content="Earlier: X.")])

    paused = sendable([Q, summary], "anthropic", NEW_CLAUDE).messages
    finished = sendable([Q, Message.assistant("a"), summary], "anthropic", NEW_CLAUDE).messages

    assert paused == (Q, summary)
    assert finished[-1].text == PLEASE_CONTINUE


@pytest.mark.parametrize("target", TARGETS)
def test_behind_a_call_that_nothing_answers_only_what_is_new_is_mended(target: Provider) -> None:
    mender = Mender()
    first = _interrupted()

    before = mender.make_sendable(first, target=target).messages
    after = mender.make_sendable([*first, Message.user("and now?")], target=target).messages

    assert all(one is other for one, other in zip(before, after, strict=False))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("identifier", ["interrupted", ""])
def test_a_result_that_comes_late_is_moved_to_its_call_in_what_was_mended(
    target: Provider, identifier: str
) -> None:
    mender = Mender()
    asked = _interrupted()[:3]
    mender.make_sendable(asked, target=target)
    late = [*asked, Message.tool("here it is", tool_call_id=identifier), Message.user("so?")]

    mended = mender.make_sendable(late, target=target).messages

    assert mended == make_sendable(late, target=target).messages
    assert [message.text for message in mended if message.role == "tool"] == ["here it is"]


def _interrupted() -> list[Message]:
    """A conversation whose first call was interrupted, and what was said since."""
    history = [
        Message.user("look"),
        Message.assistant(tool_calls=[ToolCall(id="interrupted", name="look", arguments="{}")]),
        Message.user("wait, first this"),
    ]
    for number in range(4):
        call = ToolCall(id=f"call_{number}", name="look", arguments="{}")
        history += [
            Message.assistant(tool_calls=[call]),
            Message.tool("found", tool_call_id=call.id),
            Message.user("go on"),
        ]
    return history


def test_blanks_are_cut_off_what_is_last_once_what_stood_behind_it_has_gone() -> None:
    """The message behind it holds nothing but thinking, which a turn that goes on may not hold."""
    history = [
        Q,
        Message.assistant("Once "),
        Message(
            role="assistant", content=(Thinking(text="hm", signature="s", origin="anthropic"),)
        ),
    ]

    messages = sendable(history, "anthropic", OLD_CLAUDE).messages

    assert [message.text for message in messages] == ["q", "Once"]
