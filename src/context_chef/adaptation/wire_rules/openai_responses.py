"""All rules of Responses."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import (
    openai_responses_content,
    openai_responses_items,
    openai_responses_settings,
    openai_responses_tools,
)
from context_chef.adaptation.wire_rules.rule import WireRule

OPENAI_RESPONSES_RULES: tuple[WireRule, ...] = (
    *openai_responses_items.BOOK.rules,
    *openai_responses_content.BOOK.rules,
    *openai_responses_tools.BOOK.rules,
    *openai_responses_settings.BOOK.rules,
)
