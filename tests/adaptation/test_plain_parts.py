"""Messages of words and calls are written in one go, to the same blocks as all others are."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.adaptation.anthropic_blocks import BlockWriter, Kind
from context_chef.adaptation.gemini_parts import PartWriter
from context_chef.adaptation.item_writer import _MessageWriter
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import ConvertedTools
from context_chef.ir.blocks import CacheBreakpoint, Text, ToolCall
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message

TEXT = st.builds(
    lambda text, signature, source, cache, native: Text(
        text=text, signature=signature, source=source, cache=cache, native=native
    ),
    st.sampled_from(["words", "", " ", '{"a": 1}', "ü"]),
    st.none() | st.just("c2ln"),
    st.sampled_from([None, None, None, "memory"]),
    st.sampled_from([None, None, None, CacheBreakpoint()]),
    st.sampled_from(
        [EMPTY, EMPTY, EMPTY, {"anthropic": {"citations": []}, "openai-responses": {"x": 1}}]
    ),
)
CALL = st.builds(
    lambda name, arguments, signature: ToolCall(
        id="call", name=name, arguments=arguments, signature=signature
    ),
    st.sampled_from(["run", "a tool", "renamed"]),
    st.sampled_from(["", "{}", '{"a": [1, {"b": null}]}', "null", "no json", "[1]"]),
    st.none() | st.just("c2ln"),
)
MESSAGES = st.builds(
    lambda role, content, call_id, is_error, cache: Message(
        role=role, content=tuple(content), tool_call_id=call_id, is_error=is_error, cache=cache
    ),
    st.sampled_from(["user", "assistant", "tool"]),
    st.lists(TEXT | CALL, max_size=3),
    st.sampled_from([None, "call"]),
    st.sampled_from([False, False, False, True]),
    st.sampled_from([None, None, None, CacheBreakpoint()]),
)
TOOLS = ConvertedTools(
    wire=[], names={"renamed": "renamed_1"}, arguments={"renamed_1": {"a_1": "a"}}
)


@given(message=MESSAGES)
@settings(max_examples=200)
def test_blocks_of_anthropic_are_the_same_in_one_go(message: Message) -> None:
    kind: Kind = "result" if message.role == "tool" else "said"
    writer = BlockWriter(TOOLS, thinking_as_text=False)
    made = writer.make(message, kind)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BlockWriter, "_plain", lambda *_: None)
        same = writer.make(message, kind)
    assert [_in_order(block) for block in made.blocks] == [
        _in_order(block) for block in same.blocks
    ]
    assert made.verbatim == same.verbatim
    assert _said(made.notes) == _said(same.notes)


@pytest.mark.parametrize("model", ["gemini-3.8-flash", "gemini-2.5-pro", None])
@given(message=MESSAGES, call_id=st.none() | st.just("wire"))
@settings(max_examples=100)
def test_parts_of_gemini_are_the_same_in_one_go(
    model: str | None, message: Message, call_id: str | None
) -> None:
    writer = PartWriter(TOOLS, profile_for(model, "gemini"), thinking_as_text=False)
    way = ("result", "run", call_id) if message.role == "tool" else ("said",)
    made = writer.make(message, way)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PartWriter, "_plain", lambda *_: None)
        same = writer.make(message, way)
    assert [_in_order(part) for part in made.parts] == [_in_order(part) for part in same.parts]
    assert (made.way, made.calls) == (same.way, same.calls)
    assert _said(made.notes) == _said(same.notes)


@pytest.mark.parametrize("model", ["gpt-5.6", "gpt-4o", None])
@given(message=MESSAGES, mend=st.booleans())
@settings(max_examples=100)
def test_items_of_responses_are_the_same_in_one_go(
    model: str | None, message: Message, mend: bool
) -> None:
    writer = _MessageWriter(
        profile=profile_for(model, "openai-responses"),
        preserve_thinking=False,
        mend=mend,
        names=TOOLS.names,
        system_as_items=False,
        as_parts=False,
    )
    call = ToolCall(id="call", name="run") if message.role == "tool" else None
    made = writer.make(message, call)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_MessageWriter, "_is_plain", lambda *_: False)
        same = writer.make(message, call)
    assert made.items == same.items
    assert [_in_order(item.row()) for item in made.items] == [
        _in_order(item.row()) for item in same.items
    ]
    assert (made.instruction, made.calls) == (same.instruction, same.calls)
    assert _said(made.notes) == _said(same.notes)


def _in_order(value: object) -> object:
    """With the order of keys, all the way down; what can be hashed is frozen all the way down."""
    return json.dumps(value), hash(value)


def _said(notes: object) -> object:
    return notes and (notes.diagnostics, notes.repairs)  # type: ignore[attr-defined]
