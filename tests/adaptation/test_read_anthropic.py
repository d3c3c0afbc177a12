"""Anthropic in: every block, in its place, with everything that it says."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.errors import InputError
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


def _blocks(*blocks: dict[str, Any], role: str = "user") -> tuple[Any, ...]:
    [message] = from_anthropic([{"role": role, "content": list(blocks)}]).history
    return message.content


def test_a_string_a_message_a_list_and_a_body_are_all_read() -> None:
    message = {"role": "user", "content": "q"}

    for given in ("q", message, [message], {"messages": [message]}, {"messages": "q"}):
        assert from_anthropic(given).history == (Message.user("q"),)


def test_a_body_keeps_its_other_keys_and_says_whose_it_was() -> None:
    read = from_anthropic({"model": "m", "max_tokens": 9, "messages": "q", "stream": True})

    assert read.request == {"model": "m", "max_tokens": 9, "stream": True}
    assert read.source == "anthropic"


def test_sdk_arguments_are_read_with_what_was_in_extra_body() -> None:
    edits = {"edits": [{"type": "compact_20260112"}]}

    read = from_anthropic({"messages": "q", "extra_body": {"context_management": edits}})

    assert read.request == {"context_management": edits}


@pytest.mark.parametrize(
    "system", ["S", [{"type": "text", "text": "S"}], {"type": "text", "text": "S"}]
)
def test_a_system_prompt_is_a_string_a_block_or_blocks(system: Any) -> None:
    assert from_anthropic("q", system).system == (Message.system("S"),)
    assert from_anthropic({"messages": "q", "system": system}).system == (Message.system("S"),)


@pytest.mark.parametrize("system", [None, "", []])
def test_no_system_prompt_is_none(system: Any) -> None:
    assert from_anthropic({"messages": "q", "system": system}).system == ()


def test_a_given_system_prompt_takes_the_place_of_the_bodys() -> None:
    assert from_anthropic({"messages": "q", "system": "A"}, "B").system == (Message.system("B"),)


def test_each_system_block_keeps_its_breakpoint_and_its_lifetime() -> None:
    mark = {"type": "ephemeral", "ttl": "1h"}

    read = from_anthropic("q", [{"type": "text", "text": "S", "cache_control": mark}])

    assert read.system == (Message.system("S", cache=CacheBreakpoint(ttl="1h")),)


def test_a_system_message_inside_the_conversation_stays_where_it_stands() -> None:
    rows = [
        {"role": "user", "content": "q"},
        {"role": "system", "content": "note"},
        {"role": "assistant", "content": "a"},
    ]

    history = from_anthropic(rows).history

    assert [message.role for message in history] == ["user", "system", "assistant"]
    assert history[1].positional


def test_a_leading_system_message_belongs_to_the_system_prompt() -> None:
    read = from_anthropic([{"role": "system", "content": "S"}, {"role": "user", "content": "q"}])

    assert [message.text for message in read.system] == ["S"]
    assert not read.system[0].positional


def test_blocks_keep_their_order_and_everything_they_say() -> None:
    citations = [{"type": "char_location", "cited_text": "c", "document_index": 0}]

    assert _blocks(
        {"type": "thinking", "thinking": "T1", "signature": "S1"},
        {"type": "redacted_thinking", "data": "R"},
        {"type": "text", "text": "a", "citations": citations},
        {"type": "thinking", "thinking": "T2", "signature": "S2"},
        {
            "type": "tool_use",
            "id": "t",
            "name": "f",
            "input": {"b": 1, "a": [2]},
            "caller": {"type": "direct"},
        },
        role="assistant",
    ) == (
        Thinking(text="T1", signature="S1", origin="anthropic"),
        RedactedThinking(data="R"),
        Text(text="a", native={"anthropic": {"citations": citations}}),
        Thinking(text="T2", signature="S2", origin="anthropic"),
        ToolCall(
            id="t",
            name="f",
            arguments='{"b":1,"a":[2]}',
            native={"anthropic": {"caller": {"type": "direct"}}},
        ),
    )


def test_media_of_every_source_are_told_apart() -> None:
    assert _blocks(
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "image", "source": {"type": "url", "url": "https://e.test/i"}},
        {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "raw"}},
        {
            "type": "document",
            "source": {"type": "url", "url": "https://e.test/d"},
            "title": "T",
            "context": "C",
        },
    ) == (
        Media(kind="image", source=Inline(data="AA"), media_type="image/png"),
        Media(kind="image", source=Url(url="https://e.test/i")),
        Media(kind="document", source=FileId(file_id="file_1", provider="anthropic")),
        Media(kind="document", source=PlainText(text="raw"), media_type="text/plain"),
        Media(
            kind="document",
            source=Url(url="https://e.test/d"),
            filename="T",
            native={"anthropic": {"context": "C"}},
        ),
    )


@pytest.mark.parametrize(
    "block",
    [
        {"type": "document", "source": {"type": "content", "content": "string form"}},
        {
            "type": "document",
            "source": {"type": "content", "content": [{"type": "text", "text": "n"}]},
        },
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
        {"type": "mcp_tool_use", "id": "m", "name": "n", "server_name": "s", "input": {}},
        {"type": "container_upload", "file_id": "file_1"},
        {"type": "something_new", "anything": [1, None]},
    ],
)
def test_a_block_without_a_form_of_its_own_is_carried_verbatim(block: dict[str, Any]) -> None:
    assert _blocks(block, role="assistant") == (Opaque(provider="anthropic", value=block),)


def test_a_compaction_pins_its_message() -> None:
    block = {"type": "compaction", "content": "SUM"}

    [message] = from_anthropic([{"role": "assistant", "content": [block]}]).history

    assert message.pinned
    assert message.content == (Opaque(provider="anthropic", value=block),)


def test_a_result_is_a_message_of_its_own_at_its_place() -> None:
    mark = {"type": "ephemeral"}
    rows = [
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": "x", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "2",
                    "content": [
                        {"type": "text", "text": "y"},
                        {"type": "image", "source": {"type": "url", "url": "https://e.test/i"}},
                        {"type": "tool_reference", "tool_name": "g"},
                    ],
                    "cache_control": mark,
                },
                {"type": "text", "text": "and then"},
            ],
        }
    ]

    assert from_anthropic(rows).history == (
        Message.tool("x", tool_call_id="1", is_error=True),
        Message.tool(
            (
                Text(text="y"),
                Media(kind="image", source=Url(url="https://e.test/i")),
                Opaque(provider="anthropic", value={"type": "tool_reference", "tool_name": "g"}),
            ),
            tool_call_id="2",
            cache=CacheBreakpoint(),
        ),
        Message.user("and then"),
    )


def test_an_answer_of_the_sdk_is_read_as_it_is() -> None:
    types = pytest.importorskip("anthropic.types")
    answer = types.Message.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [
                {"type": "text", "text": "a", "citations": None},
                {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 2},
        }
    )

    [message] = from_anthropic([answer]).history

    assert message.content == (Text(text="a"), ToolCall(id="t", name="f", arguments='{"a":1}'))
    assert message.id == "msg_1"
    assert message.native == {}
    assert message.extra["stop_reason"] == "tool_use"


def test_only_what_an_answer_says_about_itself_stays_off_the_wire() -> None:
    row = {"role": "system", "content": "x", "clear_at": "2026-12-01", "usage": {"n": 1}}

    [_, message] = from_anthropic([{"role": "user", "content": "q"}, row]).history

    assert message.native == {"anthropic": {"role": "system", "clear_at": "2026-12-01"}}
    assert message.extra == {"usage": {"n": 1}}


def test_tools_are_definitions_and_server_tools_are_kept_whole() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
    tool = {
        "name": "f",
        "description": "d",
        "input_schema": {"type": "object"},
        "defer_loading": True,
    }

    first, second = from_anthropic({"messages": "q", "tools": [tool, search]}).tools

    assert (first.name, first.parameters, first.defer_loading) == ("f", {"type": "object"}, True)
    assert second.native["anthropic"]["definition"] == search


def test_reading_mends_nothing_unless_it_is_asked_to() -> None:
    rows = [
        {"role": "user", "content": "q"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        },
    ]

    as_it_is, mended = from_anthropic(rows), from_anthropic(rows, repair=True)

    assert [message.role for message in as_it_is.history] == ["user", "assistant"]
    assert as_it_is.repairs == ()
    assert [message.role for message in mended.history] == ["user", "assistant", "tool"]
    assert mended.repairs != ()


def test_content_that_is_missing_is_noted_and_read_as_nothing() -> None:
    read = from_anthropic([{"role": "assistant", "content": None}])

    assert read.history == (Message.assistant(""),)
    assert [note.code for note in read.diagnostics] == ["content-missing"]


def test_an_empty_block_list_is_no_message() -> None:
    assert from_anthropic([{"role": "user", "content": []}]).history == ()


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ([None], r"\$\[0\]"),
        ({"messages": [{"role": "user", "content": "q"}, 7]}, r"\$\.messages\[1\]"),
        ([{"role": "robot", "content": "q"}], r"\$\[0\]\.role"),
        ([{"content": "q"}], r"\$\[0\]\.role"),
        ([{"role": "user", "content": 7}], r"\$\[0\]\.content"),
        ([{"role": "user", "content": [7]}], r"\$\[0\]\.content\[0\]"),
        ([{"role": "user", "content": [{"text": "x"}]}], r"\$\[0\]\.content\[0\]\.type"),
        (
            [{"role": "user", "content": [{"type": "text", "text": 7}]}],
            r"\$\[0\]\.content\[0\]\.text",
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "name": "f"}]}],
            r"\$\[0\]\.content\[0\]\.id",
        ),
        (
            [{"role": "user", "content": [{"type": "tool_result"}]}],
            r"\$\[0\]\.content\[0\]\.tool_use_id",
        ),
        ({"model": "m"}, r"\$"),
        (7, r"\$"),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "x", "cache_control": {"ttl": "2h"}}],
                }
            ],
            r"\$\[0\]\.content\[0\]\.cache_control\.ttl",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_place(given: Any, place: str) -> None:
    with pytest.raises(InputError, match=f"^{place}: "):
        from_anthropic(given)
