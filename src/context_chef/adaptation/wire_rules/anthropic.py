"""All rules of Anthropic Messages."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import (
    anthropic_messages,
    anthropic_settings,
    anthropic_tools,
)
from context_chef.adaptation.wire_rules.rule import WireRule

ANTHROPIC_RULES: tuple[WireRule, ...] = (
    *anthropic_messages.BOOK.rules,
    *anthropic_tools.BOOK.rules,
    *anthropic_settings.BOOK.rules,
)
