"""A history as a finished request of any target, and what the independent checker says of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from context_chef.adaptation.adapter import AdaptRequest, WireAdapter
from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.gemini import GeminiAdapter
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.sendable import Sendable, ThinkingMode, make_sendable
from context_chef.adaptation.tools import convert_tools
from context_chef.ir.blocks import Provider
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from tests.checker import HAVE_CHECKER, refused

TARGETS: tuple[Provider, ...] = ("anthropic", "openai", "openai-responses", "gemini")
MODELS: Mapping[Provider, tuple[str | None, ...]] = {
    "anthropic": ("claude-opus-5-5", "claude-sonnet-4-5", "claude-opus-4-8", None),
    "openai": ("gpt-4.1", None),
    "openai-responses": ("gpt-6-sol", "gpt-4.1", None),
    "gemini": ("gemini-3.8-flash", "gemini-2.5-pro", None),
}
_ADAPTERS: Mapping[Provider, WireAdapter] = {
    "anthropic": AnthropicAdapter(),
    "openai": OpenAIAdapter(),
    "openai-responses": OpenAIResponsesAdapter(),
    "gemini": GeminiAdapter(),
}

needs_checker = pytest.mark.skipif(
    not HAVE_CHECKER,
    reason="the independent checker is absent; it lies beside the shared data",
)


def sendable(
    messages: Sequence[Message], target: Provider, model: str | None = None, **facts: Any
) -> Sendable:
    """`make_sendable` for a model by its id."""
    return make_sendable(messages, target=target, profile=profile_for(model, target), **facts)


def body_of(
    messages: Sequence[Message],
    target: Provider,
    model: str | None = None,
    *,
    tools: Sequence[ToolDefinition] = (),
    thinking: ThinkingMode | None = None,
) -> dict[str, Any]:
    """The finished body of a history, with what the checker needs beside it."""
    profile = profile_for(model, target)
    names = convert_tools(tools, target=target, profile=profile).names
    mended = sendable(messages, target, model, names=names, thinking=thinking)
    request = AdaptRequest(messages=mended.messages, tools=tuple(tools), profile=profile)
    adapted: Any = _ADAPTERS[target].adapt(request)
    body = dict(adapted.body)
    if target == "anthropic":
        body |= {"max_tokens": 4096, "model": model or "unknown", "betas": list(adapted.betas)}
        if thinking == "enabled":
            body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    elif target != "gemini":
        body["model"] = model or "unknown"
    return body


def problems(target: Provider, body: dict[str, Any], model: str | None = None) -> list[str]:
    """What the provider would refuse, one line each."""
    return refused(target, body, model=model)
