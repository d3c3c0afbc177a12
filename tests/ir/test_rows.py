"""The edge: plain mappings in, checked once, every error naming index and field."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.errors import InputError
from context_chef.ir.blocks import (
    CacheBreakpoint,
    Inline,
    Media,
    Opaque,
    PlainText,
    Text,
    Thinking,
    Url,
)
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row, read_messages, read_system


def test_the_chat_completions_shape_is_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    rows = [
        {"role": "developer", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "see"},
                                     {"type": "image_url", "image_url": {"url": "https://e.test/i"}}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]  # fmt: skip

    system, user, assistant, tool = read_messages(rows)

    assert system.role == "system"
    assert user.content[0] == Text(text="see")
    assert user.media[0].source == Url(url="https://e.test/i")
    assert assistant.tool_calls[0].arguments == '{"a": 1}'
    assert (tool.tool_call_id, tool.text) == ("c1", "done")


def test_the_flat_shape_is_read() -> None:
    row = {
        "role": "assistant",
        "content": "words",
        "thinking": {"thinking": "hm", "signature": "s"},
        "redacted_thinking": {"data": "d"},
        "attachments": [{"mediaType": "image/png", "data": "data:image/png;base64,AAAA"}],
        "pinned": True,
        "_cache_breakpoint": True,
        "_anthropic_compaction": "SUM",
        "_openai_reasoning": [{"type": "reasoning", "id": "r"}],
    }

    [message] = read_messages([row])

    assert message.content[0] == Opaque(
        provider="anthropic", value={"type": "compaction", "content": "SUM"}
    )
    assert message.thinking == (Thinking(text="hm", signature="s", origin="anthropic"),)
    assert message.media[0] == Media(
        kind="image", source=Inline(data="AAAA"), media_type="image/png"
    )
    assert message.pinned
    assert message.cache == CacheBreakpoint()


def test_the_edge_keeps_what_it_does_not_know() -> None:
    [message] = read_messages([{"role": "user", "content": "hi", "cache_id": 7}])

    assert message.extra == {"cache_id": 7}


@pytest.mark.parametrize(
    ("row", "where", "says"),
    [
        ({"role": "robot"}, "$[0].role", "'robot'"),
        ({"content": "x"}, "$[0].role", "missing"),
        ({"role": "user", "content": 5}, "$[0].content", "5"),
        ({"role": "user", "content": [{"type": "hologram"}]}, "$[0].content[0].type", "hologram"),
        ({"role": "user", "content": [{"type": "tool_use"}]}, "$[0].content[0]", "from_anthropic"),
        ({"role": "assistant", "tool_calls": "x"}, "$[0].tool_calls", "'x'"),
        ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "$[0].tool_calls[0].function", "name"),
        ({"role": "user", "name": 3}, "$[0].name", "3"),
        ({"role": "user", "attachments": [{"data": 1}]}, "$[0].attachments[0].data", "1"),
        ({"role": "user", "cache": {"ttl": "2h"}}, "$[0].cache.ttl", "2h"),
        ("words", "$[0]", "'words'"),
    ],
)  # fmt: skip
def test_wrong_input_names_the_place_and_the_value(row: Any, where: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        read_messages([row])

    assert raised.value.path == where
    assert says in str(raised.value)


@pytest.mark.parametrize("rows", ["hello", {"role": "user"}, 7, None])
def test_a_list_is_asked_for_when_something_else_comes(rows: Any) -> None:
    with pytest.raises(InputError, match="list of messages"):
        read_messages(rows)


def test_a_system_prompt_may_be_a_bare_string() -> None:
    assert read_system("be brief") == (Message.system("be brief"),)
    assert read_system("") == ()


_TEXT = st.text(max_size=8)
_ROWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": _TEXT},
    optional={
        "name": _TEXT,
        "pinned": st.booleans(),
        "is_error": st.booleans(),
        "_positional": st.booleans(),
        "thinking": st.fixed_dictionaries({"thinking": _TEXT}, optional={"signature": _TEXT}),
        "attachments": st.lists(
            st.fixed_dictionaries({"mediaType": st.just("image/png"), "data": st.just("AAAA")}),
            max_size=2,
        ),
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {
                    "id": _TEXT,
                    "type": st.just("function"),
                    "function": st.fixed_dictionaries({"name": _TEXT, "arguments": _TEXT}),
                }
            ),
            max_size=2,
        ),
        "unknown": _TEXT,
    },
)


@given(st.lists(_ROWS, max_size=4))
def test_a_message_written_as_a_row_reads_back_equal(rows: list[dict[str, Any]]) -> None:
    messages = read_messages(rows)

    assert read_messages([flat_row(message) for message in messages]) == messages


@pytest.mark.parametrize("data", ["plain words", "word", "raw", "日本"])
def test_words_in_the_data_of_a_text_attachment_are_words(data: str) -> None:
    row = {
        "role": "user",
        "content": "",
        "attachments": [{"mediaType": "text/plain", "data": data}],
    }

    (message,) = read_messages([row])

    assert message.media[0].source == PlainText(text=data)


def test_base64_in_the_data_of_a_text_attachment_stays_base64() -> None:
    attachment = {"mediaType": "text/plain", "data": "cGxhaW4gd29yZHM="}

    (message,) = read_messages([{"role": "user", "content": "", "attachments": [attachment]}])

    assert message.media[0].source == Inline(data="cGxhaW4gd29yZHM=")
