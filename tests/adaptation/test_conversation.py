"""What readers answer in, and how SDK objects become plain data."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any

import pytest

from context_chef.adaptation.anthropic import to_anthropic
from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.gemini import to_gemini
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.errors import InputError
from context_chef.ir.message import Message


def test_plain_data_is_an_independent_copy() -> None:
    given = {"a": [1, {"b": None}], "c": True}

    copy = plain(given)
    copy["a"][1]["b"] = 2

    assert given == {"a": [1, {"b": None}], "c": True}


def test_bytes_enums_dates_and_dataclasses_have_a_plain_form() -> None:
    class Colour(StrEnum):
        RED = "red"

    @dataclass
    class Place:
        name: str

    given = {"b": b"\xff", "e": Colour.RED, "d": date(2026, 1, 2), "p": (Place("x"),)}

    assert plain(given) == {"b": "/w==", "e": "red", "d": "2026-01-02", "p": [{"name": "x"}]}


def test_what_has_no_plain_form_is_named_with_its_place() -> None:
    with pytest.raises(InputError, match=r"^\$\.a\[1\]: "):
        plain({"a": [1, object()]})


def test_messages_are_the_system_prompt_and_the_history() -> None:
    conversation = Conversation(system=(Message.system("s"),), history=(Message.user("q"),))

    assert conversation.messages == (Message.system("s"), Message.user("q"))


def test_a_request_cannot_be_changed_from_outside() -> None:
    body: dict[str, Any] = {"messages": "q", "max_tokens": 5, "metadata": {"user_id": "u"}}

    conversation = from_anthropic(body)
    body["metadata"]["user_id"] = "v"

    assert conversation.request == {"max_tokens": 5, "metadata": {"user_id": "u"}}
    with pytest.raises(TypeError):
        conversation.request["max_tokens"] = 6  # type: ignore[index]  # that is the point


def test_the_other_keys_of_a_request_mean_nothing_to_another_provider() -> None:
    read = from_anthropic({"model": "claude-x", "max_tokens": 5, "messages": "q"})

    assert to_gemini(read) == {"contents": [{"role": "user", "parts": [{"text": "q"}]}]}


def test_a_conversation_crosses_over_and_back() -> None:
    body = {
        "contents": [
            {"role": "user", "parts": [{"text": "q"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"r": 1}}}]},
        ]
    }

    over = to_anthropic(from_gemini(body))
    back = to_gemini(from_anthropic(over))

    assert over["messages"][1]["content"] == [
        {"type": "tool_use", "id": "gemini-fc-f-0", "name": "f", "input": {"a": 1}}
    ]
    assert back == body
