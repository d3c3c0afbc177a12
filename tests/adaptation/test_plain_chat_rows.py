"""Messages of words and calls are written in one go, to the same rows as all others are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.adaptation.chat_writer import _MessageWriter
from context_chef.adaptation.profiles import profile_for
from context_chef.ir.blocks import Text, ToolCall
from context_chef.ir.frozen import EMPTY
from context_chef.ir.handed_out import sealed
from context_chef.ir.message import Message

TEXTS = st.sampled_from(["", "words", "a b", "ü", "x" * 70])
TEXT = st.builds(lambda text, source: Text(text=text, source=source), TEXTS, st.none() | TEXTS)
CALL = st.builds(
    lambda name, arguments: ToolCall(id="call", name=name, arguments=arguments),
    st.sampled_from(["run", "a tool"]),
    st.sampled_from(["", "{}", "null", "no json", "[1]"]),
)
MESSAGES = st.builds(
    lambda role, texts, calls, call_id, name: Message(
        role=role, content=(*texts, *calls), tool_call_id=call_id, name=name
    ),
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.lists(TEXT, max_size=2),
    st.lists(CALL, max_size=2),
    st.none() | TEXTS,
    st.none() | TEXTS,
)


@pytest.mark.parametrize("model", ["gpt-4o", "o1-mini", None])
@given(message=MESSAGES, mend=st.booleans())
def test_what_is_written_in_one_go_is_what_is_written_of_any_message(
    model: str | None, message: Message, mend: bool
) -> None:
    def writer() -> _MessageWriter:
        return _MessageWriter(
            profile=profile_for(model, "openai"),
            preserve_thinking=False,
            mend=mend,
            names=EMPTY,
            as_parts=False,
        )

    plain, other = writer(), writer()
    if not plain._is_plain(message, None):
        return
    row = plain._plain(message)
    same = sealed(other._draft(message, None).chat(other._marks))
    assert row.json == same.json
    assert hash(row) == hash(same)  # frozen all the way down
    assert plain.notes.repairs == other.notes.repairs
