"""Chat Completions out: what the API takes, and a word about everything that it does not."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import ContextChef
from context_chef.adaptation.adapter import Adapted, AdaptRequest, WireAdapter
from context_chef.adaptation.openai_chat import OpenAIAdapter, to_openai
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_openai import from_openai
from context_chef.ir.blocks import (
    CacheBreakpoint,
    FileId,
    Inline,
    Media,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.adaptation import (
    compaction_text,
    failed_result,
    media_moved,
    thinking_as_text,
)
from context_chef.prompts.guardrails import prefill_enforcement
from context_chef.testing import check_payload
from tests.histories import PNG

IMAGE = Media(kind="image", source=Inline(data=PNG), media_type="image/png")
READ = ToolCall(id="c1", name="read", arguments="{}")


def write(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    return OpenAIAdapter(**options).compile(messages)["messages"]


def adapt(*messages: Message, model: str | None = None, **fields: Any) -> Adapted:
    profile = profile_for(model, "openai")
    return OpenAIAdapter().adapt(AdaptRequest(messages=messages, profile=profile, **fields))


def codes(adapted: Adapted) -> list[str]:
    return [note.code for note in adapted.diagnostics]


def test_it_is_a_wire_adapter() -> None:
    assert isinstance(OpenAIAdapter(), WireAdapter)


# Text --------------------------------------------------------------------------------------------


def test_a_generated_tail_joins_the_one_text_of_the_user() -> None:
    message = Message.user((Text(text="hi"), Text(text="<state/>", source="dynamic_state")))

    assert write(message) == [{"role": "user", "content": "hi\n\n<state/>"}]


def test_a_tail_behind_media_is_a_part_of_its_own() -> None:
    message = Message.user((Text(text="hi"), IMAGE, Text(text="tail", source="memory")))

    [row] = write(message)

    assert [part["type"] for part in row["content"]] == ["text", "image_url", "text"]
    assert row["content"][2]["text"] == "tail"


def test_several_texts_of_the_caller_stay_apart() -> None:
    message = Message.user((Text(text="a"), Text(text="b"), Text(text="t", source="memory")))

    [row] = write(message)

    assert [part["text"] for part in row["content"]] == ["a", "b", "t"]


def test_content_is_null_only_beside_calls() -> None:
    native = {"openai": {"_content": "null"}}

    with_call, without = write(
        Message(role="assistant", content=(READ,), native=native),
        Message(role="assistant", native=native),
    )

    assert with_call["content"] is None
    assert without["content"] == ""


def test_there_are_no_empty_lists() -> None:
    body = OpenAIAdapter().compile([Message.user(""), Message.assistant("x")], tools=())

    assert body == {
        "messages": [{"role": "user", "content": ""}, {"role": "assistant", "content": "x"}]
    }


def test_unknown_fields_stay_away_and_native_ones_go_out() -> None:
    message = Message.user("x", extra={"custom": 1}, pinned=True, id="m1").replace(
        native={"openai": {"images": ["AA"]}, "anthropic": {"other": 1}}
    )

    assert write(message) == [{"role": "user", "content": "x", "images": ["AA"]}]


def test_known_models_get_only_what_openai_knows() -> None:
    message = Message.assistant("x").replace(
        native={"openai": {"prefix": False, "refusal": None, "reasoning_details": []}}
    )

    adapted = adapt(message, model="gpt-4o")

    assert adapted.body["messages"] == [{"role": "assistant", "content": "x", "refusal": None}]
    assert codes(adapted) == ["field-dropped", "field-dropped"]


@pytest.mark.parametrize(
    ("name", "sent"),
    [("bob", "bob"), ("Ann Lee", "Ann_Lee"), ("a<b>|c/d", "a_b_c_d"), ("x" * 70, "x" * 64)],
)
def test_names_are_what_the_api_takes(name: str, sent: str) -> None:
    adapted = adapt(Message.user("hi", name=name))

    assert adapted.body["messages"][0]["name"] == sent
    assert [repair.rule for repair in adapted.repairs] == (
        [] if name == sent else ["openai/name-field"]
    )


# Calls and results -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("", "{}"),
        ("null", "{}"),
        ('{"a": 1}', '{"a": 1}'),
        ('{"a": ', '{"raw_arguments":"{\\"a\\": "}'),
        ("[1,2]", '{"raw_arguments":[1,2]}'),
        ('{"a": NaN}', '{"raw_arguments":"{\\"a\\": NaN}"}'),
    ],
)
def test_arguments_that_are_no_object_are_mended_and_reported(said: str, sent: str) -> None:
    message = Message.assistant(tool_calls=[ToolCall(id="c1", name="read", arguments=said)])

    adapted = adapt(message)

    [row] = adapted.body["messages"]
    assert row["tool_calls"][0]["function"]["arguments"] == sent
    assert len(adapted.repairs) == (said != sent)


def test_compile_leaves_arguments_word_for_word() -> None:
    message = Message.assistant(tool_calls=[ToolCall(id="c1", name="read", arguments="{oops")])

    assert write(message)[0]["tool_calls"][0]["function"]["arguments"] == "{oops"


def test_names_of_calls_are_legal() -> None:
    tool = ToolDefinition(name="files.read", parameters={"type": "object", "properties": {}})
    call = ToolCall(id="c1", name="files.read", arguments="{}")

    body = OpenAIAdapter().compile([Message.assistant(tool_calls=[call])], tools=[tool])

    declared = body["tools"][0]["function"]["name"]
    assert body["messages"][0]["tool_calls"][0]["function"]["name"] == declared
    assert "." not in declared


def test_media_of_results_follow_the_whole_run_of_answers() -> None:
    other = ToolCall(id="c2", name="list", arguments="{}")
    rows = write(
        Message.user("q"),
        Message.assistant(tool_calls=[READ, other]),
        Message.tool((Text(text="see"), IMAGE), tool_call_id="c1"),
        Message.tool("a b", tool_call_id="c2"),
        Message.assistant("ok"),
    )

    assert [row["role"] for row in rows] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
    ]
    assert rows[2]["content"] == f"see\n\n{media_moved('image', media_type='image/png')}"
    label, image = rows[4]["content"]
    assert "`read`" in label["text"]
    assert image["image_url"]["url"] == f"data:image/png;base64,{PNG}"


def test_a_result_that_is_only_an_image_says_that_it_follows() -> None:
    rows = write(Message.assistant(tool_calls=[READ]), Message.tool(IMAGE, tool_call_id="c1"))

    assert rows[1]["content"] == media_moved("image", media_type="image/png")
    assert rows[2]["content"][1]["type"] == "image_url"


def test_failure_is_visible_to_the_model() -> None:
    [row] = write(Message.tool("no such file", tool_call_id="c1", is_error=True))

    assert row["content"] == failed_result("no such file")
    assert "is_error" not in row


# Media -------------------------------------------------------------------------------------------


def shown(media: Media, **options: Any) -> tuple[dict[str, Any], list[str]]:
    adapted = adapt(Message.user((Text(text="x"), media)), **options)
    content = adapted.body["messages"][0]["content"]
    return content[1], codes(adapted)


def test_types_are_spelled_as_the_api_wants_them() -> None:
    jpeg = Media(kind="image", source=Inline(data="/9j/4AAQ"), media_type="image/jpg")

    part, notes = shown(jpeg)

    assert part["image_url"]["url"] == "data:image/jpeg;base64,/9j/4AAQ"
    assert notes == []


def test_bytes_tell_their_type_when_nobody_did() -> None:
    part, _ = shown(Media(kind="image", source=Inline(data=PNG)))

    assert part["image_url"]["url"].startswith("data:image/png;base64,")


def test_an_inline_file_has_a_name_and_a_data_uri() -> None:
    pdf = Media(kind="document", source=Inline(data="JVBERi0="), media_type="application/pdf")

    part, _ = shown(pdf)

    assert part == {
        "type": "file",
        "file": {
            "file_data": "data:application/pdf;base64,JVBERi0=",
            "filename": "document.pdf",
        },
    }


@pytest.mark.parametrize(
    "media",
    [
        Media(kind="image", source=Inline(data="PHN2Zz4="), media_type="image/svg+xml"),
        Media(kind="image", source=Url(url="gs://bucket/a.png")),
        Media(kind="document", source=Url(url="https://e.test/a.pdf"), filename="a.pdf"),
        Media(kind="document", source=FileId(file_id="f1", provider="anthropic")),
        Media(kind="audio", source=Inline(data="AAAA"), media_type="audio/flac"),
        Media(kind="audio", source=Inline(data="UklGRg=="), media_type="audio/wav"),
        Media(kind="video", source=Inline(data="AAAA"), media_type="video/mp4"),
    ],
)
def test_what_the_api_does_not_take_is_a_visible_note(media: Media) -> None:
    part, notes = shown(media)

    assert part["type"] == "text"
    assert media.kind in part["text"]
    assert notes == ["media-dropped"]
    if isinstance(media.source, Url):
        assert media.source.url in part["text"]
    if isinstance(media.source, Inline):
        assert media.source.data not in part["text"]


def test_a_recording_goes_to_a_model_that_hears() -> None:
    wav = Media(kind="audio", source=Inline(data="UklGRg=="), media_type="audio/wav")
    profile = profile_for("gpt-4o", "openai")
    assert profile is not None
    hears = profile.with_changes(media_types=("audio/*",))

    adapted = OpenAIAdapter().adapt(AdaptRequest(messages=(Message.user(wav),), profile=hears))

    [part] = adapted.body["messages"][0]["content"]
    assert part == {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}


def test_a_document_that_is_text_is_text_and_cannot_end_its_frame() -> None:
    note = Media(kind="document", source=PlainText(text="a </document> b"), filename='n".txt')

    part, notes = shown(note)

    assert part["text"].count("</document>") == 1
    assert 'name="n&quot;.txt"' in part["text"]
    assert notes == []


def test_media_of_the_assistant_are_a_note() -> None:
    adapted = adapt(Message.assistant((Text(text="here"), IMAGE)))

    assert PNG not in str(adapted.body)
    assert codes(adapted) == ["media-dropped"]


def test_media_of_instructions_move_to_the_user() -> None:
    rows = write(Message.system((Text(text="s"), IMAGE)), Message.user("q"))

    assert [row["role"] for row in rows] == ["system", "user", "user"]
    assert rows[0]["content"].startswith("s\n\n[An image (image/png)")
    assert rows[1]["content"][1]["type"] == "image_url"


# Prefill -----------------------------------------------------------------------------------------


def opening(text: str = "<out>") -> Message:
    return Message.assistant(text, prefill=True)


def test_only_the_guardrails_own_opening_is_degraded() -> None:
    rows = write(Message.user("q"), Message.assistant("finished answer"))

    assert rows[-1] == {"role": "assistant", "content": "finished answer"}


def test_an_opening_becomes_an_instruction_on_the_nearest_message_that_takes_one() -> None:
    rule = prefill_enforcement("<out>")

    assert write(Message.user("q"), opening()) == [{"role": "user", "content": f"q\n\n{rule}"}]
    assert write(Message.user("q"), Message.assistant("a"), opening())[0]["content"].endswith(rule)
    assert write(Message.system("s"), opening()) == [{"role": "system", "content": f"s\n\n{rule}"}]
    assert write(opening()) == [{"role": "user", "content": rule}]


def test_an_opening_leaves_text_and_media_of_the_message_alone() -> None:
    [row] = write(Message.user((Text(text="look"), IMAGE)), opening())

    assert [part["type"] for part in row["content"]] == ["text", "image_url", "text"]
    assert row["content"][2]["text"] == prefill_enforcement("<out>")


def test_an_opening_that_says_nothing_asks_for_nothing() -> None:
    assert write(Message.user("q"), opening("")) == [{"role": "user", "content": "q"}]


# Other providers' words --------------------------------------------------------------------------


def test_reasoning_of_others_is_left_out_and_named() -> None:
    adapted = adapt(
        Message.assistant((Thinking(text="hm", signature="s", origin="anthropic"), Text(text="a"))),
    )

    assert adapted.body["messages"] == [{"role": "assistant", "content": "a"}]
    assert codes(adapted) == ["thinking-dropped"]


def test_reasoning_goes_as_text_when_asked_for() -> None:
    item = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "so"}]}
    message = Message.assistant(
        (
            Thinking(text="hm", origin="anthropic"),
            Opaque(provider="openai-responses", value=item),
            RedactedThinking(data="X"),
            Text(text="a"),
        )
    )

    [row] = write(message, preserve_thinking_as_text=True)

    assert row["content"] == f"{thinking_as_text('hm')}\n\n{thinking_as_text('so')}\n\na"


def test_a_summary_of_the_provider_stays_readable() -> None:
    block = Opaque(provider="anthropic", value={"type": "compaction", "content": "long ago"})

    [row] = write(Message.assistant((block, Text(text="a"))))

    assert row["content"] == f"{compaction_text('long ago')}\n\na"


def test_blocks_of_other_providers_are_named() -> None:
    block = Opaque(provider="anthropic", value={"type": "server_tool_use", "id": "s1"})

    adapted = adapt(Message.assistant((block, Text(text="a"))))

    assert codes(adapted) == ["block-dropped"]


def test_other_keys_of_a_request_stay_with_their_provider() -> None:
    conversation = from_openai({"messages": [{"role": "user", "content": "x"}], "n": 1})

    assert to_openai(conversation, model="gpt-4o") == {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "x"}],
        "n": 1,
    }
    elsewhere = conversation.replace(source="anthropic")
    assert to_openai(elsewhere) == {"messages": [{"role": "user", "content": "x"}]}


# Models ------------------------------------------------------------------------------------------


def test_breakpoints_go_to_models_that_read_them() -> None:
    message = Message.user("x", cache=CacheBreakpoint())

    assert adapt(message).body["messages"] == [{"role": "user", "content": "x"}]
    [row] = adapt(message, model="gpt-5.6").body["messages"]
    assert row["content"] == [
        {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}}
    ]


def test_a_model_without_tools_on_this_endpoint_is_named() -> None:
    tool = ToolDefinition(name="f", parameters={"type": "object", "properties": {}})

    assert codes(adapt(Message.user("x"), model="gpt-4o", tools=(tool,))) == []
    never = adapt(Message.user("x"), model="gpt-6.1", tools=(tool,))
    assert codes(never) == ["tools-refused-on-chat"]
    assert "openai-responses" in never.diagnostics[0].message
    unreasoned = adapt(Message.user("x"), model="gpt-5.6", tools=(tool,))
    assert unreasoned.body["reasoning_effort"] == "none"
    assert [repair.rule for repair in unreasoned.repairs] == ["openai/reasoning-tools"]
    # The caller's own argument may stand beside it.
    assert OpenAIAdapter().sdk_arguments(unreasoned)["extra_body"] == {"reasoning_effort": "none"}
    assert "reasoning_effort" not in adapt(Message.user("x"), model="gpt-5.6").body


def test_the_receiver_may_change_what_it_got() -> None:
    message = Message.user("x", native={"openai": {"images": ["AA"]}})
    body = OpenAIAdapter().compile([message])

    body["messages"][0]["images"].append("BB")

    assert message.native["openai"]["images"] == ["AA"]


def test_an_answer_in_the_older_form_is_a_string_where_others_are_parts() -> None:
    call = {"name": "look", "arguments": "{}"}
    chef = ContextChef(cache="auto", model="gpt-5.6").set_history(
        from_openai(
            {
                "model": "gpt-4",
                "messages": [
                    {"role": "user", "content": "Look."},
                    {"role": "assistant", "content": None, "function_call": call},
                    {"role": "function", "name": "look", "content": "seen"},
                ],
            }
        ).history
    )
    assert chef.compile_sync("openai")["messages"][2]["content"] == "seen"


def test_what_other_servers_write_beside_content_stays_away_from_openai() -> None:
    """Models of other servers dump all their keys, null ones too; OpenAI knows none of them."""
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}, "text": None}
    text = {"type": "text", "text": "look", "image_url": None}
    row = {"role": "user", "content": [text, image], "tool_calls": None}

    written = to_openai(from_openai({"messages": [row]}), model="gpt-4o")

    assert check_payload("openai", {"model": "gpt-4o", **written}) == []
