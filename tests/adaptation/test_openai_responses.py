"""Responses out: ordered items, and no id that asks for what is not there."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.adapter import Adapted, AdaptRequest, WireAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter, to_openai_responses
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.ir.blocks import (
    CacheBreakpoint,
    Inline,
    Media,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.message import Message
from context_chef.prompts.adaptation import compaction_text, failed_result, thinking_as_text
from context_chef.prompts.guardrails import prefill_enforcement
from tests.adaptation.test_openai_chat import IMAGE, READ
from tests.adaptation.test_read_responses import ANSWER, CALL, OUTPUT, REASONING, USER
from tests.histories import PNG


def write(*messages: Message, **options: Any) -> dict[str, Any]:
    return OpenAIResponsesAdapter(**options).compile(messages)


def adapt(*messages: Message, model: str | None = None) -> Adapted:
    profile = profile_for(model, "openai-responses")
    return OpenAIResponsesAdapter().adapt(AdaptRequest(messages=messages, profile=profile))


def read(*items: Any) -> tuple[Message, ...]:
    return from_openai_responses(list(items)).messages


def said(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def ids(body: dict[str, Any]) -> list[str | None]:
    return [item.get("id") for item in body["input"]]


def test_it_is_a_wire_adapter() -> None:
    assert isinstance(OpenAIResponsesAdapter(), WireAdapter)


# Messages ----------------------------------------------------------------------------------------


def test_the_system_prompt_is_the_instructions_and_positional_messages_stay() -> None:
    body = write(
        Message.system("one"),
        Message.system("two"),
        Message.user("q"),
        Message.system("note", positional=True),
    )

    assert body == {
        "instructions": "one\n\ntwo",
        "input": [said("user", "q"), said("system", "note")],
    }


def test_a_developer_stays_a_developer() -> None:
    rows = [{"role": "user", "content": "q"}, {"role": "developer", "content": "d"}]

    body = write(*from_openai(rows).messages)

    assert body["input"][1]["role"] == "developer"


def test_a_generated_tail_is_a_part_of_its_own() -> None:
    body = write(Message.user((Text(text="hi"), Text(text="tail", source="memory"))))

    assert [part["text"] for part in body["input"][0]["content"]] == ["hi", "tail"]


def test_a_string_input_becomes_a_list_when_something_joins_it() -> None:
    [message] = from_openai_responses("x").history
    longer = message.replace(content=(*message.content, Text(text="tail", source="memory")))

    assert to_openai_responses([message])["input"] == "x"
    assert [part["text"] for part in to_openai_responses([longer])["input"][0]["content"]] == [
        "x",
        "tail",
    ]


def test_blocks_keep_their_order_as_items() -> None:
    second = ToolCall(id="c2", name="list", arguments="{}")

    body = write(Message.assistant((Text(text="a"), READ, Text(text="b"), Text(text="c"), second)))

    assert [item["type"] for item in body["input"]] == [
        "message",
        "function_call",
        "message",
        "function_call",
    ]
    assert [part["text"] for part in body["input"][2]["content"]] == ["b", "c"]


def test_results_hold_images_and_say_that_they_failed() -> None:
    body = write(
        Message.assistant(tool_calls=[READ]),
        Message.tool((Text(text="see"), IMAGE), tool_call_id="c1", is_error=True),
    )

    text, image = body["input"][1]["output"]
    assert text == {"type": "input_text", "text": failed_result("see")}
    assert image == {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}


def test_an_instruction_with_an_image_keeps_it() -> None:
    body = write(Message.system((Text(text="s"), IMAGE)), Message.user("q"))

    assert "instructions" not in body
    assert [part["type"] for part in body["input"][0]["content"]] == ["input_text", "input_image"]


@pytest.mark.parametrize(
    ("media", "part"),
    [
        (
            Media(kind="document", source=Url(url="https://e.test/a.pdf"), filename="a.pdf"),
            {"type": "input_file", "file_url": "https://e.test/a.pdf"},
        ),
        (
            Media(kind="document", source=Inline(data="JVBERi0="), media_type="application/pdf"),
            {
                "type": "input_file",
                "file_data": "data:application/pdf;base64,JVBERi0=",
                "filename": "document.pdf",
            },
        ),
    ],
)
def test_files_are_spelled_as_the_api_wants_them(media: Media, part: dict[str, Any]) -> None:
    """A name beside an address is refused: the two exclude each other."""
    assert write(Message.user(media))["input"][0]["content"] == [part]


@pytest.mark.parametrize(
    "media",
    [
        Media(kind="image", source=Inline(data="PHN2Zz4="), media_type="image/svg+xml"),
        Media(kind="image", source=Url(url="gs://bucket/a.png")),
        Media(kind="audio", source=Inline(data="UklGRg=="), media_type="audio/wav"),
        Media(kind="video", source=Url(url="https://e.test/v.mp4")),
    ],
)
def test_what_the_api_does_not_take_is_a_visible_note(media: Media) -> None:
    adapted = adapt(Message.user(media))

    [part] = adapted.body["input"][0]["content"]
    assert part["type"] == "input_text"
    assert media.kind in part["text"]
    assert [note.code for note in adapted.diagnostics] == ["media-dropped"]


def test_detail_comes_along_from_chat_completions() -> None:
    part = {"type": "image_url", "image_url": {"url": "https://e.test/a.png", "detail": "low"}}

    body = write(*from_openai([{"role": "user", "content": [part]}]).messages)

    assert body["input"][0]["content"] == [
        {"type": "input_image", "image_url": "https://e.test/a.png", "detail": "low"}
    ]


def test_custom_calls_come_along_from_chat_completions() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}
    rows = [
        {"role": "assistant", "content": None, "tool_calls": [custom]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]

    assert write(*from_openai(rows).messages)["input"] == [
        {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "x"},
    ]


# Prefill and other providers' words --------------------------------------------------------------


def opening(text: str = "<out>") -> Message:
    return Message.assistant(text, prefill=True)


def test_an_opening_becomes_an_instruction_behind_what_the_user_said() -> None:
    rule = prefill_enforcement("<out>")

    body = write(Message.user((Text(text="look"), IMAGE)), Message.assistant("a"), opening())

    assert body["input"][0]["content"][-1] == {"type": "input_text", "text": rule}
    assert len(body["input"]) == 2
    assert write(Message.system("s"), opening()) == {
        "instructions": f"s\n\n{rule}",
        "input": [],
    }


def test_a_request_of_only_an_opening_still_has_input() -> None:
    assert adapt(opening()).body == {"input": [said("user", prefill_enforcement("<out>"))]}


def test_a_summary_of_the_provider_stays_readable() -> None:
    block = Opaque(provider="anthropic", value={"type": "compaction", "content": "long ago"})

    [item] = write(Message.assistant((block, Text(text="a"))))["input"]

    assert [part["text"] for part in item["content"]] == [compaction_text("long ago"), "a"]


def test_reasoning_of_others_is_text_when_asked_for_and_named_otherwise() -> None:
    message = Message.assistant(
        (Thinking(text="hm", origin="anthropic"), RedactedThinking(data="X"), Text(text="a"))
    )

    [item] = write(message, preserve_thinking_as_text=True)["input"]
    adapted = adapt(message)

    assert [part["text"] for part in item["content"]] == [thinking_as_text("hm"), "a"]
    assert adapted.body["input"] == [said("assistant", "a")]
    assert [note.code for note in adapted.diagnostics] == ["thinking-dropped"] * 2


# Ids ---------------------------------------------------------------------------------------------


def test_reasoning_and_what_it_led_to_keep_their_ids() -> None:
    adapted = adapt(*read(USER, REASONING, CALL, OUTPUT, ANSWER))

    assert adapted.body["input"] == [USER, REASONING, CALL, OUTPUT, ANSWER]
    assert adapted.repairs == ()


def without_reasoning(messages: tuple[Message, ...]) -> list[Message]:
    return [
        message.replace(content=tuple(b for b in message.content if not isinstance(b, Opaque)))
        for message in messages
    ]


def test_an_item_whose_reasoning_is_gone_loses_its_id() -> None:
    messages = without_reasoning(read(USER, REASONING, CALL, OUTPUT))

    for body in (
        adapt(*messages).body,
        to_openai_responses(from_openai_responses([]).replace(history=tuple(messages))),
    ):
        assert ids(body) == [None, None, None]
        assert body["input"][1]["call_id"] == "c1"


def test_parallel_calls_all_depend_on_the_reasoning_before_them() -> None:
    second = {**CALL, "id": "fc_2", "call_id": "c2"}
    output = {**OUTPUT, "call_id": "c2"}
    items = [USER, REASONING, CALL, second, OUTPUT, output]

    assert ids(adapt(*read(*items)).body)[1:4] == ["rs_1", "fc_1", "fc_2"]
    assert ids(adapt(*without_reasoning(read(*items))).body)[1:3] == [None, None]


def test_an_item_that_never_had_reasoning_keeps_its_id() -> None:
    assert ids(adapt(*read(USER, CALL, OUTPUT)).body) == [None, "fc_1", None]


@pytest.mark.parametrize("sealed", [True, False])
def test_reasoning_whose_item_is_gone_loses_its_id_or_goes(sealed: bool) -> None:
    item = REASONING if sealed else {k: v for k, v in REASONING.items() if k != "encrypted_content"}

    adapted = adapt(*read(USER, item, USER))

    kinds = [entry.get("type") for entry in adapted.body["input"]]
    assert kinds == ([None, "reasoning", None] if sealed else [None, None])
    assert "rs_1" not in str(adapted.body)
    assert [repair.rule for repair in adapted.repairs] == ["openai-responses/reasoning-follower"]


def test_an_id_comes_once() -> None:
    adapted = adapt(*read(USER, ANSWER, USER, ANSWER))

    assert ids(adapted.body) == [None, "msg_1", None, None]


def test_an_id_of_somebody_else_is_taken_off() -> None:
    adapted = adapt(*read(USER, {**CALL, "id": "call_9"}, OUTPUT))

    assert ids(adapted.body) == [None, None, None]
    assert adapted.repairs[0].rule == "openai-responses/item-id-prefix"


def test_nothing_stored_means_no_references_and_no_empty_reasoning() -> None:
    bare = {"type": "reasoning", "id": "rs_1", "summary": []}
    conversation = from_openai_responses({"input": [USER, bare, ANSWER], "store": True})
    forgetful = conversation.replace(
        request={"store": False}, history=(*conversation.history[:1], *read(bare), *read(USER))
    )

    body = to_openai_responses(forgetful)

    assert "rs_1" not in str(adapt(*forgetful.messages).body)
    assert body["store"] is False


# Models ------------------------------------------------------------------------------------------


def test_breakpoints_go_to_models_that_read_them() -> None:
    messages = (
        Message.system("s", cache=CacheBreakpoint()),
        Message.user("x", cache=CacheBreakpoint()),
    )

    plain, marked = adapt(*messages).body, adapt(*messages, model="gpt-5.6").body

    assert plain == {"instructions": "s", "input": [said("user", "x")]}
    assert "instructions" not in marked
    assert [item["role"] for item in marked["input"]] == ["system", "user"]
    assert all("prompt_cache_breakpoint" in item["content"][0] for item in marked["input"])


@pytest.mark.parametrize(("text", "sent"), [("", "{}"), ("{oops", '{"raw_arguments":"{oops"}')])
def test_arguments_that_are_no_object_are_mended_and_reported(text: str, sent: str) -> None:
    message = Message.assistant(tool_calls=[ToolCall(id="c1", name="f", arguments=text)])

    adapted = adapt(message)

    assert adapted.body["input"][0]["arguments"] == sent
    assert [repair.rule for repair in adapted.repairs] == ["arguments"]
    assert write(message)["input"][0]["arguments"] == text
