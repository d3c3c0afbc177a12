"""All rules of Chat Completions."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import (
    openai_chat_messages,
    openai_chat_parts,
    openai_chat_settings,
    openai_chat_tools,
)
from context_chef.adaptation.wire_rules.rule import WireRule

OPENAI_CHAT_RULES: tuple[WireRule, ...] = (
    *openai_chat_messages.BOOK.rules,
    *openai_chat_tools.BOOK.rules,
    *openai_chat_parts.BOOK.rules,
    *openai_chat_settings.BOOK.rules,
)
