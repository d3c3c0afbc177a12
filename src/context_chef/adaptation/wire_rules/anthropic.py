"""All rules of Anthropic Messages."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import (
    anthropic_caching,
    anthropic_calls,
    anthropic_deferred,
    anthropic_editing,
    anthropic_media,
    anthropic_messages,
    anthropic_settings,
    anthropic_thinking,
    anthropic_tools,
)
from context_chef.adaptation.wire_rules.rule import WireRule

ANTHROPIC_RULES: tuple[WireRule, ...] = (
    *anthropic_messages.BOOK.rules,
    *anthropic_media.BOOK.rules,
    *anthropic_calls.BOOK.rules,
    *anthropic_tools.BOOK.rules,
    *anthropic_deferred.BOOK.rules,
    *anthropic_settings.BOOK.rules,
    *anthropic_thinking.BOOK.rules,
    *anthropic_caching.BOOK.rules,
    *anthropic_editing.BOOK.rules,
)
