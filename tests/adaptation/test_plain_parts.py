"""Messages of words and calls are written in one go, to the same blocks as all others are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.adaptation.anthropic_blocks import BlockWriter, Kind
from context_chef.adaptation.tools import ConvertedTools
from context_chef.ir.blocks import CacheBreakpoint, Text, ToolCall
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message

TEXT = st.builds(
    lambda text, source, cache, native: Text(text=text, source=source, cache=cache, native=native),
    st.sampled_from(["words", "", " ", '{"a": 1}', "ü"]),
    st.sampled_from([None, None, None, "memory"]),
    st.sampled_from([None, None, None, CacheBreakpoint()]),
    st.sampled_from([EMPTY, EMPTY, EMPTY, {"anthropic": {"citations": []}}]),
)
CALL = st.builds(
    lambda name, arguments: ToolCall(id="call", name=name, arguments=arguments),
    st.sampled_from(["run", "a tool", "renamed"]),
    st.sampled_from(["", "{}", '{"a": [1, {"b": null}]}', "null", "no json", "[1]"]),
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
    assert [list(block.items()) for block in made.blocks] == [
        list(block.items()) for block in same.blocks
    ]
    assert made.verbatim == same.verbatim
    assert _said(made.notes) == _said(same.notes)


def _said(notes: object) -> object:
    return notes and (notes.diagnostics, notes.repairs)  # type: ignore[attr-defined]
