"""What holds for every history: nothing raises, nothing is changed in place, nothing is lost."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.openai_chat import OpenAIAdapter, to_openai
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter, to_openai_responses
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.errors import InputError
from context_chef.ir.message import Message
from tests.histories import damaged_histories

ADAPTERS = [OpenAIAdapter(), OpenAIResponsesAdapter(), OpenAIAdapter(True)]
words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)

# Valid rows of both formats ----------------------------------------------------------------------

texts = words.filter(bool)
chat_text = st.fixed_dictionaries({"type": st.just("text"), "text": texts})
chat_part = st.one_of(
    chat_text,
    st.fixed_dictionaries(
        {
            "type": st.just("image_url"),
            "image_url": st.fixed_dictionaries(
                {
                    "url": st.sampled_from(
                        ["https://e.test/a.png", "data:image/png;base64,iVBORw0KGgo="]
                    )
                },
                optional={"detail": st.sampled_from(["low", "high", "auto"])},
            ),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("file"), "file": st.fixed_dictionaries({"file_id": st.just("file-1")})}
    ),
)
chat_call = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["c1", "c2", "c3"]),
        "type": st.just("function"),
        "function": st.fixed_dictionaries({"name": st.sampled_from("fg"), "arguments": words}),
    }
)
chat_row = st.one_of(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["system", "developer"]),
            "content": texts | st.lists(chat_text, min_size=1),
        }
    ),
    st.fixed_dictionaries(
        {"role": st.just("user"), "content": texts | st.lists(chat_part, min_size=1, max_size=4)},
        optional={"name": st.sampled_from(["ann", "bob"])},
    ),
    st.fixed_dictionaries(
        {"role": st.just("assistant"), "content": texts},
        optional={"reasoning_content": texts, "refusal": st.none(), "annotations": st.just([])},
    ),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.none() | texts,
            "tool_calls": st.lists(chat_call, min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {"role": st.just("tool"), "content": texts, "tool_call_id": st.sampled_from(["c1", "c2"])},
        optional={"name": st.sampled_from("fg")},
    ),
)  # fmt: skip

input_text = st.fixed_dictionaries({"type": st.just("input_text"), "text": texts})
output_text = st.fixed_dictionaries(
    {"type": st.just("output_text"), "text": texts}, optional={"annotations": st.just([])}
)
item = st.one_of(
    st.fixed_dictionaries(
        {
            "role": st.sampled_from(["user", "system", "developer"]),
            "content": texts | st.lists(input_text, min_size=1, max_size=3),
        },
        optional={"type": st.just("message")},
    ),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": texts | st.lists(output_text, min_size=1, max_size=3),
        },
        optional={
            "type": st.just("message"),
            "id": st.sampled_from(["msg_1", "msg_2"]),
            "phase": st.just("commentary"),
        },
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "call_id": st.sampled_from(["c1", "c2"]),
            "name": st.sampled_from("fg"),
            "arguments": words,
        },
        optional={"id": st.sampled_from(["fc_1", "fc_2"]), "status": st.just("completed")},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call_output"),
            "call_id": st.sampled_from(["c1", "c2"]),
            "output": texts | st.lists(input_text, min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["reasoning", "web_search_call", "compaction", "unheard_of"]),
            "id": st.sampled_from(["rs_1", "rs_2"]),
        },
        optional={"more": json_values},
    ),
)


@given(st.lists(chat_row, max_size=8))
def test_chat_messages_come_back_as_they_were(rows: list[dict[str, Any]]) -> None:
    assert to_openai(from_openai(rows)) == {"messages": rows}


@given(st.lists(item, max_size=8))
def test_items_come_back_as_they_were(items: list[dict[str, Any]]) -> None:
    assert to_openai_responses(from_openai_responses(items))["input"] == items


@given(st.lists(chat_row, max_size=8))
def test_chat_messages_take_the_detour_over_responses_with_every_word(
    rows: list[dict[str, Any]],
) -> None:
    body = json.dumps(to_openai_responses(from_openai(rows)), ensure_ascii=False)

    for row in rows:
        if isinstance(row["content"], str):
            assert json.dumps(row["content"], ensure_ascii=False)[1:-1] in body


@pytest.mark.parametrize("read", [from_openai, from_openai_responses])
@given(value=st.lists(json_values | st.dictionaries(
    st.sampled_from(["role", "type", "content", "tool_calls", "call_id", "name", "output", "id"]),
    json_values | st.sampled_from(["user", "assistant", "message", "function_call", "reasoning"]),
), max_size=5))  # fmt: skip
def test_whatever_comes_in_is_read_or_refused_by_name(read: Any, value: list[Any]) -> None:
    with contextlib.suppress(InputError):
        read(value)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize("model", [None, "gpt-4o", "gpt-5.6"])
@settings(max_examples=60, deadline=None)
@given(history=damaged_histories())
def test_no_history_makes_a_writer_raise(
    adapter: OpenAIAdapter, model: str | None, history: list[Message]
) -> None:
    profile = profile_for(model, "openai")
    request = AdaptRequest(messages=tuple(history), profile=profile)

    adapted = adapter.adapt(request)

    text = json.dumps(adapted.body, allow_nan=False)
    assert json.dumps(adapter.adapt(request).body) == text
    text.encode("utf-8")
    adapter.sdk_arguments(adapted)
