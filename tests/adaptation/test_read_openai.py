"""Chat Completions in: everything that was said is a block, everything else rides along."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.openai_chat import to_openai
from context_chef.adaptation.read_openai import from_openai
from context_chef.errors import InputError
from context_chef.ir.blocks import (
    CacheBreakpoint,
    FileId,
    Inline,
    Media,
    Opaque,
    PlainText,
    Text,
    Thinking,
    ToolCall,
    Url,
)
from tests.histories import PNG


def call(call_id: str = "c1", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    function = {"name": "read", "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **fields}


def same(body: Any) -> None:
    """What was read is written back as it was."""
    assert to_openai(from_openai(body)) == body


def test_leading_instructions_are_the_system_and_later_ones_stay_in_place() -> None:
    conversation = from_openai(
        [
            {"role": "system", "content": "one"},
            {"role": "developer", "content": "two"},
            {"role": "user", "content": "hi"},
            {"role": "developer", "content": "from now on in French"},
        ]
    )

    assert [message.text for message in conversation.system] == ["one", "two"]
    assert conversation.system[1].native == {"openai": {"role": "developer"}}
    assert [message.role for message in conversation.history] == ["user", "system"]
    assert conversation.history[1].positional


def test_a_body_gives_tools_and_the_other_keys() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    body = {
        "model": "gpt-4o",
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [tool],
        "temperature": 0,
    }

    conversation = from_openai(body)

    assert [tool.name for tool in conversation.tools] == ["f"]
    assert conversation.request == {"model": "gpt-4o", "temperature": 0}
    assert conversation.source == "openai"


def test_every_kind_of_part_becomes_a_block() -> None:
    [message] = from_openai(
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {
                        "type": "image_url",
                        "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"},
                    },
                    {"type": "image_url", "image_url": {"url": "https://e.test/a.jpg"}},
                    {
                        "type": "file",
                        "file": {
                            "file_data": "data:application/pdf;base64,JVBERi0=",
                            "filename": "r.pdf",
                        },
                    },
                    {"type": "file", "file": {"file_id": "file-1"}},
                    {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
                    {"type": "video_url", "video_url": {"url": "https://e.test/v.mp4"}},
                ],
            }
        ]
    ).history

    text, image, linked, pdf, uploaded, audio, video = message.content
    assert isinstance(text, Text)
    assert isinstance(image, Media)
    assert image.source == Inline(data=PNG)
    assert (image.kind, image.media_type) == ("image", "image/png")
    assert image.native["openai"]["detail"] == "low"
    assert isinstance(linked, Media)
    assert linked.source == Url(url="https://e.test/a.jpg")
    assert isinstance(pdf, Media)
    assert (pdf.kind, pdf.media_type, pdf.filename) == ("document", "application/pdf", "r.pdf")
    assert isinstance(uploaded, Media)
    assert uploaded.source == FileId(file_id="file-1", provider="openai")
    assert isinstance(audio, Media)
    assert (audio.kind, audio.media_type) == ("audio", "audio/wav")
    assert isinstance(video, Opaque)
    assert video.value["video_url"] == {"url": "https://e.test/v.mp4"}


def test_text_in_a_data_uri_is_text() -> None:
    part = {"type": "file", "file": {"file_data": "data:text/plain,a%20b", "filename": "n.txt"}}

    [message] = from_openai([{"role": "user", "content": [part]}]).history

    [media] = message.content
    assert isinstance(media, Media)
    assert media.source == PlainText(text="a b")


def test_reasoning_of_compatible_servers_stands_in_front_of_the_answer() -> None:
    row = {"role": "assistant", "content": "42", "reasoning_content": "six by seven"}

    [message] = from_openai([row]).history

    thinking, answer = message.content
    assert thinking == Thinking(
        text="six by seven", origin="openai", native={"openai": {"_field": "reasoning_content"}}
    )
    assert answer == Text(text="42")
    same({"messages": [row]})


def test_a_refusal_is_what_the_assistant_said() -> None:
    row = {"role": "assistant", "content": None, "refusal": "I will not."}

    [message] = from_openai([row]).history

    assert message.text == "I will not."
    same({"messages": [row]})


@pytest.mark.parametrize(
    "row",
    [
        {"role": "assistant", "content": None, "tool_calls": [call()]},
        {"role": "assistant", "tool_calls": [call()]},
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        {"role": "assistant", "content": "x", "tool_calls": [call(index=0), call("c2")]},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}]},
        {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
        {"role": "assistant", "content": "x", "annotations": [], "refusal": None},
        {"role": "assistant", "content": "x", "reasoning_details": [{"type": "reasoning.text"}]},
        {"role": "user", "content": "x", "name": "bob"},
        {"role": "user", "content": "x", "name": None, "tool_calls": None},
        {"role": "developer", "content": [{"type": "text", "text": "x"}]},
        {"role": "tool", "content": "x", "tool_call_id": "c1", "name": "read"},
        {"role": "tool", "content": [{"type": "text", "text": "x"}], "tool_call_id": "c1"},
        {
            "role": "user",
            "content": [
                {
                    "type": "text",
                    "text": "x",
                    "prompt_cache_breakpoint": {"mode": "explicit"},
                }
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
        },
    ],
)
def test_what_a_message_said_is_written_back_as_it_was(row: dict[str, Any]) -> None:
    same({"messages": [row]})


def test_marks_on_parts_are_breakpoints_elsewhere_too() -> None:
    part = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "1h"}}

    [message] = from_openai([{"role": "user", "content": [part]}]).history

    assert message.content[0].cache == CacheBreakpoint(ttl="1h")


def test_calls_of_the_old_form_are_paired_with_their_answers() -> None:
    rows = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "r"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "s"},
    ]

    history = from_openai(rows).history

    first, second = history[1].tool_calls[0], history[3].tool_calls[0]
    assert first.id != second.id
    assert [history[2].tool_call_id, history[4].tool_call_id] == [first.id, second.id]
    same({"messages": rows})


def test_custom_calls_keep_their_text() -> None:
    custom = {"id": "c1", "type": "custom", "custom": {"name": "sh", "input": "not { json"}}

    [message] = from_openai(
        [{"role": "assistant", "content": None, "tool_calls": [custom]}]
    ).history

    assert message.tool_calls == (
        ToolCall(
            id="c1",
            name="sh",
            arguments="not { json",
            native={"openai": {"type": "custom"}},
        ),
    )


def test_a_field_that_is_no_message_field_is_kept_off_the_wire_and_named() -> None:
    conversation = from_openai([{"role": "user", "content": "x", "valid": True}])

    assert conversation.history[0].extra == {"valid": True}
    assert [(d.code, d.where) for d in conversation.diagnostics] == [
        ("field-not-carried", "$[0].valid")
    ]
    assert to_openai(conversation) == {"messages": [{"role": "user", "content": "x"}]}


def test_nothing_is_mended_unless_asked_for() -> None:
    rows = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call()]},
        {"role": "user", "content": "never mind"},
    ]

    assert to_openai(from_openai(rows)) == {"messages": rows}
    mended = from_openai(rows, repair=True)
    assert [message.role for message in mended.history] == ["user", "assistant", "tool", "user"]
    assert mended.repairs


def test_what_was_handed_in_may_be_changed_afterwards() -> None:
    rows: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    conversation = from_openai(rows)

    rows[0]["content"][0]["text"] = "b"

    assert conversation.history[0].text == "a"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([{"role": "user", "content": "x"}, None], r"\$\[1\]"),
        ([{"role": "robot", "content": "x"}], r"\$\[0\]\.role"),
        ([{"content": "x"}], r"\$\[0\]\.role"),
        ({"messages": [{"role": "user", "content": 7}]}, r"\$\.messages\[0\]\.content"),
        ([{"role": "user", "content": [7]}], r"\$\[0\]\.content\[0\]"),
        ([{"role": "assistant", "tool_calls": [{}]}], r"\$\[0\]\.tool_calls\[0\]\.function"),
        ([{"role": "assistant", "tool_calls": "x"}], r"\$\[0\]\.tool_calls"),
        ([{"role": "user", "content": "x", "name": 7}], r"\$\[0\]\.name"),
        ({"role": "user", "content": "x"}, "wrap a single message"),
        ({"model": "gpt-4o"}, "messages"),
        ("hello", "list of messages"),
        (7, "list of messages"),
    ],
)
def test_what_cannot_be_read_is_named(value: Any, path: str) -> None:
    with pytest.raises(InputError, match=path):
        from_openai(value)


def test_a_part_that_does_not_say_what_it_is_keeps_its_words() -> None:
    """As frameworks nest messages by mistake: refused when sent, and meant to be read."""
    parts = [{"role": "system", "content": "hi"}, {"text": "there"}]

    read = from_openai({"messages": [{"role": "user", "content": parts}]})

    assert "".join(message.text for message in read.history) == "hi\nthere"
    assert [note.code for note in read.diagnostics] == ["part-untyped"] * len(parts)
    assert [note.where for note in read.diagnostics] == [
        "$.messages[0].content[0]",
        "$.messages[0].content[1]",
    ]
