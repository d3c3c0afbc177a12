"""The adapters' suite: over the four built-in ones, and over one that was written in a minute."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import pytest

from context_chef import (
    AnthropicAdapter,
    GeminiAdapter,
    Message,
    OpenAIAdapter,
    OpenAIResponsesAdapter,
)
from context_chef.testing import TargetAdapterSuite


class TestOpenAI(TargetAdapterSuite):
    target, model = "openai", "gpt-4o"

    @pytest.fixture
    def adapter(self) -> object:
        return OpenAIAdapter()


class TestOpenAIResponses(TargetAdapterSuite):
    target, model = "openai-responses", "gpt-5.6"

    @pytest.fixture
    def adapter(self) -> object:
        return OpenAIResponsesAdapter()


class TestAnthropic(TargetAdapterSuite):
    target, model = "anthropic", "claude-sonnet-4-5"

    @pytest.fixture
    def adapter(self) -> object:
        return AnthropicAdapter()


class TestGemini(TargetAdapterSuite):
    target, model = "gemini", "gemini-2.5-flash"

    @pytest.fixture
    def adapter(self) -> object:
        return GeminiAdapter()


class Naive:
    """Role and text, as everybody writes it first."""

    def compile(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"messages": [{"role": m.role, "content": m.text} for m in messages]}


class Careful:
    """Everything that the suite asks for, on a wire of its own."""

    def compile(self, messages: Sequence[Message]) -> dict[str, Any]:
        return {"messages": [self._row(message) for message in messages]}

    def _row(self, message: Message) -> dict[str, Any]:
        row: dict[str, Any] = {"role": message.role, "content": message.text}
        if message.tool_calls:
            row["calls"] = [[c.id, c.name, c.arguments] for c in message.tool_calls]
        if message.role == "tool":
            row["of"] = [message.tool_call_id, message.name, message.is_error]
        media = [block for block in message.content if type(block).__name__ == "Media"]
        return {**row, "images": len(media)} if media else row


class TestCareful(TargetAdapterSuite):
    @pytest.fixture
    def adapter(self) -> object:
        return Careful()


def test_a_naive_adapter_fails_where_it_loses_something() -> None:
    suite, failing = TargetAdapterSuite(), []
    for name, test in inspect.getmembers(suite, inspect.ismethod):
        if name.startswith("test_") and name != "test_the_provider_would_take_it":
            try:
                test(Naive())
            except AssertionError:
                failing.append(name)

    assert failing == [
        "test_a_call_and_its_result_can_be_told_to_belong_together",
        "test_a_failure_does_not_look_like_a_success",
        "test_an_image_is_sent_or_spoken_of",
        "test_every_call_is_there_with_its_arguments",
    ]
