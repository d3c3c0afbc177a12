"""Between the provider's wire formats and ours: readers, writers, targets, model profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.adaptation.adapter import Adapted, AdaptRequest, TargetAdapter, WireAdapter
    from context_chef.adaptation.anthropic import AnthropicAdapter, to_anthropic
    from context_chef.adaptation.conversation import Conversation, plain
    from context_chef.adaptation.gemini import GeminiAdapter, to_gemini
    from context_chef.adaptation.openai_chat import OpenAIAdapter, to_openai
    from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter, to_openai_responses
    from context_chef.adaptation.profiles import ModelProfile, profile_for
    from context_chef.adaptation.read_anthropic import from_anthropic
    from context_chef.adaptation.read_gemini import from_gemini
    from context_chef.adaptation.read_openai import from_openai
    from context_chef.adaptation.read_responses import from_openai_responses
    from context_chef.adaptation.registry import AdapterRegistry, builtin_registry, get_adapter
    from context_chef.adaptation.sendable import make_sendable
    from context_chef.adaptation.tools import ConvertedTools, convert_tools, read_tools
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "adapter": ("Adapted", "AdaptRequest", "TargetAdapter", "WireAdapter"),
            "anthropic": ("AnthropicAdapter", "to_anthropic"),
            "conversation": ("Conversation", "plain"),
            "gemini": ("GeminiAdapter", "to_gemini"),
            "openai_chat": ("OpenAIAdapter", "to_openai"),
            "openai_responses": ("OpenAIResponsesAdapter", "to_openai_responses"),
            "profiles": ("ModelProfile", "profile_for"),
            "read_anthropic": ("from_anthropic",),
            "read_gemini": ("from_gemini",),
            "read_openai": ("from_openai",),
            "read_responses": ("from_openai_responses",),
            "registry": ("AdapterRegistry", "builtin_registry", "get_adapter"),
            "sendable": ("make_sendable",),
            "tools": ("ConvertedTools", "convert_tools", "read_tools"),
        },
    )

__all__ = [
    "AdaptRequest",
    "Adapted",
    "AdapterRegistry",
    "AnthropicAdapter",
    "Conversation",
    "ConvertedTools",
    "GeminiAdapter",
    "ModelProfile",
    "OpenAIAdapter",
    "OpenAIResponsesAdapter",
    "TargetAdapter",
    "WireAdapter",
    "builtin_registry",
    "convert_tools",
    "from_anthropic",
    "from_gemini",
    "from_openai",
    "from_openai_responses",
    "get_adapter",
    "make_sendable",
    "plain",
    "profile_for",
    "read_tools",
    "to_anthropic",
    "to_gemini",
    "to_openai",
    "to_openai_responses",
]
