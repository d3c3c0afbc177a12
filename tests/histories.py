"""Hypothesis strategies for histories: valid ones, damaged ones, and ones made to break things."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import strategies as st

from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
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

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)  # fmt: skip
PDF = "JVBERi0xLjQKJSVFT0YK"

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")

words = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=40
).filter(lambda text: bool(text.strip()))
"""Text that says something."""

blank = st.sampled_from(["", " ", "\n", " \n\t", "\u00a0", "\u3000"])
any_text = st.one_of(words, words, words, blank)

tool_names = st.sampled_from(["search", "read_file", "run", "get_weather", "context"])
odd_tool_names = st.sampled_from(
    ["", "a b", "naïve", "files.read", "ns:tool", "1st", "x" * 80, "-dash", "日本", "search"]
)
call_ids = st.text(alphabet="abcdefghij0123456789_-", min_size=4, max_size=24)
odd_ids = st.sampled_from(
    ["", "shell:0", "Run:7", "Run.7", "call_1|fc_1", "x" * 41, "x" * 90, "é", "a b", "c1"]
)
json_arguments = st.sampled_from(
    ["{}", '{"path":"a.txt"}', '{"q":"caf\\u00e9","n":3}', '{"deep":{"list":[1,2,{"a":null}]}}']
)
odd_arguments = st.sampled_from(
    ["", "  ", "null", "[]", '"text"', "3", '{"a":', "not json", '{"a":1}{"b":2}', '{"n":NaN}']
)
breakpoints = st.sampled_from(
    [None, None, None, CacheBreakpoint(), CacheBreakpoint(ttl="5m"), CacheBreakpoint(ttl="1h")]
)

media = st.sampled_from(
    [
        Media(kind="image", source=Inline(data=PNG), media_type="image/png"),
        Media(kind="image", source=Url(url="https://example.com/a.png")),
        Media(
            kind="document", source=Inline(data=PDF), media_type="application/pdf", filename="a.pdf"
        ),
        Media(kind="document", source=PlainText(text="plain words"), media_type="text/plain"),
    ]
)
odd_media = st.sampled_from(
    [
        Media(kind="image", source=Inline(data=PNG), media_type="image/jpg"),
        Media(kind="image", source=Inline(data="PHN2Zy8+"), media_type="image/svg+xml"),
        Media(kind="audio", source=Inline(data="SUQzBAAAAAAA"), media_type="audio/mpeg"),
        Media(kind="video", source=Url(url="gs://bucket/v.mp4"), media_type="video/mp4"),
        Media(kind="image", source=Inline(data=f"data:image/png;base64,{PNG}"), media_type=None),
        Media(kind="file", source=Inline(data="!!! no base64"), media_type=None),
        Media(kind="image", source=Inline(data=""), media_type="image/png"),
    ]
)


def texts(of: st.SearchStrategy[str] = words) -> st.SearchStrategy[Text]:
    """Text blocks."""
    return st.builds(Text, text=of, cache=breakpoints)


def thinkings(signatures: Sequence[str | None] = ("sig-a", "sig-b")) -> st.SearchStrategy[Block]:
    """Reasoning of every provider, signed and not."""
    return st.one_of(
        st.builds(
            Thinking,
            text=words,
            signature=st.sampled_from(list(signatures)),
            origin=st.sampled_from(["anthropic", "anthropic", "gemini", "openai", None]),
        ),
        st.builds(RedactedThinking, data=st.sampled_from(["ZGF0YQ==", "bW9yZQ=="])),
        st.builds(_reasoning_item, identifier=st.sampled_from(["rs_1", "rs_2", ""])),
    )


def _reasoning_item(identifier: str) -> Opaque:
    value: dict[str, Any] = {"type": "reasoning", "summary": [], "encrypted_content": "enc"}
    if identifier:
        value["id"] = identifier
    return Opaque(provider="openai-responses", value=value)


def _server_use(identifier: str) -> Opaque:
    value = {
        "type": "server_tool_use",
        "id": identifier,
        "name": "web_search",
        "input": {"query": "q"},
    }
    return Opaque(provider="anthropic", value=value)


def _server_result(identifier: str) -> Opaque:
    value = {"type": "web_search_tool_result", "tool_use_id": identifier, "content": []}
    return Opaque(provider="anthropic", value=value)


opaques: st.SearchStrategy[Block] = st.one_of(
    st.builds(_server_use, st.sampled_from(["srvtoolu_1", "srvtoolu_2"])),
    st.builds(_server_result, st.sampled_from(["srvtoolu_1", "srvtoolu_2"])),
    st.builds(
        lambda content, signature: Opaque(
            provider="anthropic",
            value={"type": "compaction", "content": content}
            | ({"signature": signature} if signature else {}),
        ),
        st.sampled_from(["Earlier: a summary.", ""]),
        st.sampled_from([None, "sig"]),
    ),
)

_new_ids = st.uuids().map(lambda value: f"call_{value.hex[:16]}")


@st.composite
def rounds(
    draw: st.DrawFn,
    *,
    ids: st.SearchStrategy[str] = _new_ids,
    names: st.SearchStrategy[str] = tool_names,
    arguments: st.SearchStrategy[str] = json_arguments,
) -> list[Message]:
    """An assistant message with one to three calls, and their results in call order."""
    count = draw(st.integers(1, 3))
    calls = [
        ToolCall(id=draw(ids), name=draw(names), arguments=draw(arguments)) for _ in range(count)
    ]
    said: list[Block] = draw(st.lists(texts(), max_size=1))
    thought: list[Block] = draw(st.lists(thinkings(), max_size=1))
    results = [
        Message(
            role="tool",
            tool_call_id=call.id,
            name=draw(st.sampled_from([call.name, None])) or None,
            content=tuple(draw(st.lists(st.one_of(texts(), media), min_size=1, max_size=2))),
            is_error=draw(st.booleans()),
        )
        for call in calls
    ]
    return [Message(role="assistant", content=(*thought, *said, *calls)), *results]


@st.composite
def plain_turns(draw: st.DrawFn) -> list[Message]:
    """A user message, and perhaps an answer."""
    blocks = draw(st.lists(st.one_of(texts(), texts(), media), min_size=1, max_size=2))
    asked = Message(role="user", content=tuple(blocks), cache=draw(breakpoints))
    if not draw(st.booleans()):
        return [asked]
    thought: list[Block] = draw(st.lists(thinkings(), max_size=1))
    return [asked, Message(role="assistant", content=(*thought, draw(texts())))]


@st.composite
def histories(draw: st.DrawFn, *, max_turns: int = 6, system: bool = False) -> tuple[Message, ...]:
    """A history that every provider takes as far as pairing and order go. It ends with the user."""
    turns = [draw(plain_turns())]
    for _ in range(draw(st.integers(0, max_turns))):
        turns.append(draw(st.one_of(plain_turns(), rounds())))
    turns.append([Message(role="user", content=(draw(texts()),))])
    messages = [message for turn in turns for message in turn]
    if system:
        messages.insert(0, Message.system(draw(words)))
    return tuple(messages)


_DAMAGES = (
    "drop", "drop", "repeat", "swap", "move", "blank", "orphan", "rename", "same_id", "system",
    "unsign", "split", "cut_start", "cut_end", "strip_id",
)  # fmt: skip


@st.composite
def damaged_histories(draw: st.DrawFn, *, max_turns: int = 6) -> tuple[Message, ...]:
    """A good history to which one to five things happened that happen to stored histories."""
    messages = list(draw(histories(max_turns=max_turns)))
    for _ in range(draw(st.integers(1, 5))):
        if not messages:
            break
        _damage(draw, messages, draw(st.sampled_from(_DAMAGES)))
    return tuple(messages) or (Message.user("all that is left"),)


def _damage(draw: st.DrawFn, messages: list[Message], kind: str) -> None:
    at = draw(st.integers(0, len(messages) - 1))
    message = messages[at]
    match kind:
        case "drop":
            del messages[at]
        case "repeat":
            messages.insert(draw(st.integers(at, len(messages))), message)
        case "swap" if at + 1 < len(messages):
            messages[at], messages[at + 1] = messages[at + 1], messages[at]
        case "move":
            messages.insert(draw(st.integers(0, len(messages) - 1)), messages.pop(at))
        case "blank":
            messages[at] = message.replace(content=(Text(text=draw(blank)), *message.content[1:]))
        case "orphan":
            messages.insert(at, Message.tool("r", tool_call_id=draw(st.one_of(odd_ids, call_ids))))
        case "rename":
            _with_calls(messages, at, lambda call: msgspec.structs.replace(call, id=draw(odd_ids)))
        case "same_id":
            for index in range(len(messages)):
                _with_calls(messages, index, lambda call: msgspec.structs.replace(call, id="c1"))
                if messages[index].role == "tool":
                    messages[index] = messages[index].replace(tool_call_id="c1")
        case "system":
            note = Message.system(draw(words), positional=draw(st.booleans()))
            messages.insert(at, note)
        case "unsign":
            blocks: list[Block] = [
                msgspec.structs.replace(block, signature=draw(st.sampled_from([None, ""])))
                if isinstance(block, Thinking)
                else block
                for block in message.content
            ]
            messages[at] = message.replace(content=tuple(blocks))
        case "split":
            halves = [message.replace(content=(block,)) for block in message.content]
            messages[at : at + 1] = halves or [message]
        case "cut_start":
            del messages[:at]
        case "cut_end":
            del messages[at + 1 :]
        case "strip_id" if message.role == "tool":
            messages[at] = message.replace(tool_call_id=draw(st.sampled_from(["", None])))
        case _:
            pass


def _with_calls(messages: list[Message], at: int, change: Any) -> None:
    blocks = [
        change(block) if isinstance(block, ToolCall) else block for block in messages[at].content
    ]
    messages[at] = messages[at].replace(content=tuple(blocks))


_any_block: st.SearchStrategy[Block] = st.one_of(
    texts(any_text),
    st.builds(
        ToolCall,
        id=st.one_of(call_ids, odd_ids, st.just("c1")),
        name=st.one_of(tool_names, odd_tool_names),
        arguments=st.one_of(json_arguments, odd_arguments),
        signature=st.sampled_from([None, None, "QUJD"]),
    ),
    thinkings(("sig", "", None)),
    media,
    odd_media,
    opaques,
)

any_message: st.SearchStrategy[Message] = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "assistant", "tool", "tool"]),
    content=st.lists(_any_block, max_size=4).map(tuple),
    tool_call_id=st.one_of(st.none(), call_ids, odd_ids, st.just("c1")),
    name=st.one_of(st.none(), tool_names, odd_tool_names),
    is_error=st.booleans(),
    pinned=st.booleans(),
    positional=st.booleans(),
    cache=breakpoints,
)
"""Anything that the message type allows, sensible or not."""

adversarial_histories: st.SearchStrategy[tuple[Message, ...]] = st.lists(
    any_message, min_size=1, max_size=8
).map(tuple)

any_history: st.SearchStrategy[tuple[Message, ...]] = st.one_of(
    histories(), damaged_histories(), damaged_histories(), adversarial_histories
)
"""Valid, damaged or adversarial."""


_KINDS: list[Any] = [
    "string", "number", "integer", "boolean", "array", "object", "dict", "float", "any", None,
    ["string", "null"], 3,
]  # fmt: skip
_KEYS = ["a", "b", "c d", "$x", "y" * 70, "z.z"]


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> dict[str, Any]:
    """JSON Schemas as MCP servers write them, right ones and others."""
    kind = draw(st.sampled_from(_KINDS))
    schema: dict[str, Any] = {} if kind is None else {"type": kind}
    if draw(st.booleans()):
        schema["description"] = draw(st.one_of(words, st.none()))
    odd = draw(st.sampled_from(_ODD_KEYWORDS))
    schema.update(odd)
    if depth and kind in ("array", "object", "dict"):
        if kind == "array":
            if draw(st.booleans()):
                schema["items"] = draw(
                    st.one_of(schemas(depth - 1), st.lists(schemas(depth - 1), max_size=2))
                )
        else:
            keys = draw(st.lists(st.sampled_from(_KEYS), unique=True, max_size=3))
            schema["properties"] = {key: draw(schemas(depth - 1)) for key in keys}
            schema["required"] = draw(st.sampled_from([keys, [*keys, *keys], ["nope"], True, []]))
    if depth and draw(st.booleans()):
        branch = draw(st.sampled_from(["anyOf", "oneOf", "allOf"]))
        schema[branch] = draw(st.lists(schemas(depth - 1), max_size=2))
    return schema


_ODD_KEYWORDS: list[dict[str, Any]] = [
    {}, {}, {"enum": []}, {"enum": ["a", 1, None]}, {"minimum": "3"},
    {"exclusiveMinimum": True, "minimum": 1}, {"$ref": "#/nowhere"},
    {"$ref": "https://example.com/s.json"}, {"pattern": "("}, {"format": 3},
    {"additionalProperties": False}, {"additionalProperties": "no"}, {"nullable": True},
    {"const": 1}, {"required": True}, {"$schema": "http://json-schema.org/draft-07/schema#"},
    {"minLength": -1}, {"default": 1e308}, {"examples": "x"},
    {"$defs": {"A": {"type": "string"}}, "$ref": "#/$defs/A"}, {"properties": []}, {"not": {}},
    {"if": 1}, {"dependencies": {"a": ["b"]}}, {"title": None},
]  # fmt: skip


@st.composite
def tool_definitions(draw: st.DrawFn) -> ToolDefinition:
    """Tools with names and schemas of every kind."""
    return ToolDefinition(
        name=draw(st.one_of(tool_names, odd_tool_names)),
        description=draw(st.one_of(words, st.just(""))),
        parameters=draw(st.one_of(st.none(), schemas())),
        tags=("t",),
        defer_loading=draw(st.sampled_from([False, False, True])),
        strict=draw(st.sampled_from([None, True, False])),
    )


tool_lists = st.lists(tool_definitions(), max_size=6)
