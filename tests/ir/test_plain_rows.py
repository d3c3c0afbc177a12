"""Rows of words and calls are read in one go, to the same messages as by the reader of all rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.errors import InputError
from context_chef.ir import rows
from context_chef.ir.message import Message
from context_chef.ir.plain_rows import plain_message

TEXTS = st.sampled_from(["", "words", "a\x00b", "ü", "\ud800", "😀", "a" * 50])
NOT_TEXT = st.sampled_from([None, 1, True, ["x"], {"a": 1}])
CALLS = st.fixed_dictionaries(
    {"id": TEXTS | NOT_TEXT},
    optional={
        "type": st.just("function"),
        "function": st.fixed_dictionaries(
            {"name": TEXTS, "arguments": TEXTS | NOT_TEXT}, optional={"strict": st.just(True)}
        ),
        "thought_signature": TEXTS,
    },
)
ROWS = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant", "tool", "developer", "none"])},
    optional={
        "content": TEXTS | NOT_TEXT,
        "name": TEXTS | NOT_TEXT,
        "tool_call_id": TEXTS | NOT_TEXT,
        "tool_calls": st.lists(CALLS, max_size=2) | NOT_TEXT,
        "pinned": st.booleans(),
        "more": st.just("extra"),
    },
)


def slowly(row: dict[str, Any]) -> Message | str:
    try:
        return rows._RowReader(row, "$").message()
    except InputError as error:
        return str(error)


@given(ROWS)
def test_what_is_read_in_one_go_is_what_the_reader_of_all_rows_reads(row: dict[str, Any]) -> None:
    quickly = plain_message(row)
    assert quickly is None or quickly == slowly(row)


@pytest.mark.parametrize(
    "row",
    [
        {"role": "user", "content": "words"},
        {"role": "tool", "content": "", "tool_call_id": "a", "name": None},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "run", "arguments": "{}"}}],
        },
    ],
)
def test_a_row_of_words_and_calls_is_read_in_one_go(row: dict[str, Any]) -> None:
    assert plain_message(row) is not None
