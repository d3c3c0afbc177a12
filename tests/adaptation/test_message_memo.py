"""What was written once is kept as long as its message lives, and out of everybody's hands."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from hypothesis import given, settings

from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.adaptation.profiles import profile_for
from context_chef.ir.blocks import ToolCall
from context_chef.ir.message import Message
from context_chef.ir.message_memo import Memos, MessageMemo
from tests.adaptation.test_openai_chat import IMAGE
from tests.histories import damaged_histories

BOTH = [OpenAIAdapter, OpenAIResponsesAdapter]


def scramble(value: Any) -> None:
    """Changes everything that can be changed."""
    if isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["scrambled"] = True
    elif isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("scrambled")


@pytest.mark.parametrize("kind", BOTH)
@settings(max_examples=60, deadline=None)
@given(history=damaged_histories())
def test_a_second_writing_says_the_same_whatever_became_of_the_first(
    kind: Any, history: tuple[Message, ...]
) -> None:
    adapter = kind()
    for model in (None, "gpt-5.6", None):
        request = AdaptRequest(messages=tuple(history), profile=profile_for(model, "openai"))
        adapted = adapter.adapt(request)
        assert adapted == kind().adapt(request)
        scramble(adapted.body)


@pytest.mark.parametrize("kind", BOTH)
def test_a_result_is_written_for_the_call_that_it_answers_now(kind: Any) -> None:
    result = Message.tool(IMAGE, tool_call_id="c1")
    adapter = kind()

    for name in ("first", "second"):
        call = Message.assistant(tool_calls=[ToolCall(id="c1", name=name, arguments="{}")])
        request = AdaptRequest(messages=(call, result))
        assert adapter.adapt(request) == kind().adapt(request)


def test_what_was_made_goes_with_its_message() -> None:
    memo = MessageMemo[str]()
    message = Message.user("x")
    memo.put(message, "made")
    twin = message.replace()

    assert memo.get(message) == "made"
    assert memo.get(twin) is None
    del message
    gc.collect()
    assert vars(memo)["_kept"] == {}


def test_only_the_latest_ways_of_writing_are_remembered() -> None:
    memos = Memos[str]()
    first = memos.of("way 0")

    assert memos.of("way 0") is first
    for number in range(1, 5):
        memos.of(f"way {number}")
    assert memos.of("way 0") is not first
