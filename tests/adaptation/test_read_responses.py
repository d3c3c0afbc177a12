"""Responses in: what the model produced between two turns is one message, item for item."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.openai_responses import to_openai_responses
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.errors import InputError
from context_chef.ir.blocks import CacheBreakpoint, FileId, Media, Opaque, Text, ToolCall, Url
from tests.histories import PNG

USER = {"role": "user", "content": "q"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "c1",
    "name": "f",
    "arguments": "{}",
    "status": "completed",
}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "r"}
ANSWER = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "a", "annotations": [], "logprobs": []}],
}


def roles(items: object, **options: Any) -> list[str]:
    return [message.role for message in from_openai_responses(items, **options).history]


def test_what_the_model_produced_in_one_go_is_one_message_with_ordered_blocks() -> None:
    [_, said] = from_openai_responses([USER, REASONING, ANSWER, CALL]).history

    reasoning, text, call = said.content
    assert isinstance(reasoning, Opaque)
    assert reasoning.value == REASONING
    assert isinstance(text, Text)
    assert text.text == "a"
    assert isinstance(call, ToolCall)
    assert (call.id, call.name, call.arguments) == ("c1", "f", "{}")


def test_answers_of_tools_end_the_message() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "c2"}
    output = {**OUTPUT, "call_id": "c2"}

    assert roles([USER, CALL, OUTPUT, second, output]) == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert roles([USER, CALL, second, OUTPUT, output]) == ["user", "assistant", "tool", "tool"]


def test_instructions_and_leading_system_items_are_the_system() -> None:
    items = [{"role": "developer", "content": "d"}, USER, {"role": "system", "content": "later"}]

    conversation = from_openai_responses(items, "INS")

    assert [message.text for message in conversation.system] == ["INS", "d"]
    assert conversation.history[-1].positional
    assert to_openai_responses(conversation) == {"instructions": "INS", "input": items}


def test_a_string_is_what_the_user_said() -> None:
    body = {"model": "gpt-5.1", "input": "hello", "instructions": "be kind"}

    conversation = from_openai_responses(body)

    assert [message.text for message in conversation.messages] == ["be kind", "hello"]
    assert to_openai_responses(conversation) == body
    assert from_openai_responses("hello").history == conversation.history


@pytest.mark.parametrize(
    "items",
    [
        [USER],
        [{"type": "message", **USER}],
        [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}],
        [{"role": "user", "content": [{"type": "input_text", "text": t} for t in "ab"]}],
        [USER, ANSWER],
        [USER, {"role": "assistant", "content": "a"}],
        [USER, {"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
        [USER, {**ANSWER, "phase": "commentary"}, {**ANSWER, "id": "msg_2"}],
        [USER, {"role": "assistant", "content": ""}],
        [USER, {**ANSWER, "content": []}],
        [USER, {**ANSWER, "content": [{"type": "refusal", "refusal": "no"}]}],
        [USER, REASONING, CALL, OUTPUT, REASONING | {"id": "rs_2"}, ANSWER],
        [USER, REASONING],
        [USER, CALL, {**OUTPUT, "output": [{"type": "input_text", "text": "r"}]}],
        [USER, CALL, {**OUTPUT, "status": "completed", "id": "fco_1"}],
        [USER, {**CALL, "namespace": "crm"}, OUTPUT],
        [USER, {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
         {"type": "custom_tool_call_output", "call_id": "c1", "output": "x"}],
        [USER, {"type": "web_search_call", "id": "ws_1", "action": {}}, ANSWER],
        [USER, {"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}],
        [USER, {"type": "computer_call", "id": "cu_1", "call_id": "c1", "action": {}},
         {"type": "computer_call_output", "call_id": "c1", "output": {"image_url": "x"}}],
        [USER, {"type": "tool_search_call", "call_id": "t1", "execution": "client"},
         {"type": "function_call_output", "call_id": "t1", "output": "found"}],
        [{"type": "additional_tools", "role": "developer", "tools": []}, USER],
        [USER, {"type": "compaction", "id": "cmp_1", "encrypted_content": "E"}, USER],
        [{"type": "item_reference", "id": "msg_9"}, USER],
        [{"id": "msg_9"}, USER],
        [USER, {"type": "something_new", "z": 1, "a": 2}],
    ],
)  # fmt: skip
def test_items_are_written_back_as_they_were_in_their_order(items: list[Any]) -> None:
    assert to_openai_responses(from_openai_responses(items)) == {"input": items}


def test_items_that_we_do_not_model_keep_the_order_of_their_keys() -> None:
    item = {"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "E", "a": 1}

    written = to_openai_responses(from_openai_responses([USER, item, ANSWER]))

    assert list(written["input"][1]) == list(item)


def test_parts_become_blocks() -> None:
    parts = [
        {"type": "input_text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "high"},
        {"type": "input_image", "file_id": "file-1"},
        {"type": "input_file", "file_url": "https://e.test/a.pdf"},
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=",
         "filename": "a.pdf"},
        {"type": "input_file", "file_id": "file-2"},
        {"type": "input_odd", "x": 1},
    ]  # fmt: skip

    items = [{"role": "user", "content": parts}]
    conversation = from_openai_responses(items)

    text, image, uploaded, linked, pdf, file, odd = conversation.history[0].content
    assert text.cache == CacheBreakpoint()
    assert isinstance(image, Media)
    assert image.native["openai-responses"] == {"detail": "high"}
    assert isinstance(uploaded, Media)
    assert uploaded.source == FileId(file_id="file-1", provider="openai-responses")
    assert isinstance(linked, Media)
    assert linked.source == Url(url="https://e.test/a.pdf")
    assert isinstance(pdf, Media)
    assert pdf.media_type == "application/pdf"
    assert isinstance(file, Media)
    assert isinstance(odd, Opaque)
    assert to_openai_responses(conversation) == {"input": items}


def test_a_call_without_arguments_has_none() -> None:
    [_, said] = from_openai_responses(
        [USER, {"type": "function_call", "call_id": "1", "name": "f"}]
    ).history

    assert said.tool_calls[0].arguments == "{}"


def test_what_is_no_item_is_skipped_and_named() -> None:
    conversation = from_openai_responses([None, USER, {"x": 1}, 7])

    assert [message.text for message in conversation.history] == ["q"]
    assert [(d.code, d.where) for d in conversation.diagnostics] == [
        ("item-skipped", "$[0]"),
        ("item-skipped", "$[2]"),
        ("item-skipped", "$[3]"),
    ]


def test_an_unknown_role_is_read_as_the_users_and_named() -> None:
    conversation = from_openai_responses([{"role": "critic", "content": "hm"}])

    assert conversation.history[0].role == "user"
    assert [note.code for note in conversation.diagnostics] == ["role-unknown"]
    assert to_openai_responses(conversation) == {"input": [{"role": "critic", "content": "hm"}]}


def test_mending_takes_the_last_of_several_answers() -> None:
    items = [USER, CALL, OUTPUT, {**OUTPUT, "output": "later"}, {**OUTPUT, "call_id": "zz"}]

    history = from_openai_responses(items, repair=True).history

    assert [message.role for message in history] == ["user", "assistant", "tool"]
    assert history[2].text == "later"


def test_a_request_without_input_leans_on_what_is_stored() -> None:
    for body in (
        {"model": "gpt-5.1", "previous_response_id": "resp_1"},
        {"model": "gpt-5.1", "previous_response_id": "resp_1", "input": []},
        {"model": "gpt-5.1", "input": "x", "tools": [], "instructions": ""},
    ):
        assert to_openai_responses(from_openai_responses(body)) == body


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([{"role": "user", "content": 7}], r"\$\[0\]\.content"),
        ([{"type": "message", "content": "x"}], r"\$\[0\]\.role"),
        ({"input": [{"role": "user", "content": [7]}]}, r"\$\.input\[0\]\.content\[0\]"),
        ([{"type": "function_call", "call_id": 7, "name": "f"}], r"\$\[0\]\.call_id"),
        ([{"type": "function_call", "name": "f", "arguments": 7}], r"\$\[0\]\.arguments"),
        ([{"type": "function_call_output", "call_id": "1", "output": 7}], r"\$\[0\]\.output"),
        ({"role": "user", "content": "x"}, "wrap a single"),
        ({"input": 7}, r"\$\.input"),
        (7, "list"),
    ],
)
def test_what_cannot_be_read_is_named(value: Any, path: str) -> None:
    with pytest.raises(InputError, match=path):
        from_openai_responses(value)


def test_a_part_that_does_not_say_what_it_is_keeps_its_words() -> None:
    """As frameworks nest messages by mistake: refused when sent, and meant to be read."""
    parts = [{"role": "system", "content": "hi"}, {"text": "there"}]

    read = from_openai_responses({"input": [{"role": "user", "content": parts}]})

    assert "".join(message.text for message in read.history) == "hi\nthere"
    assert [note.code for note in read.diagnostics] == ["part-untyped"] * len(parts)
    assert [note.where for note in read.diagnostics] == [
        "$.input[0].content[0]",
        "$.input[0].content[1]",
    ]
