"""All rules of Gemini generateContent."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import (
    gemini_contents,
    gemini_media,
    gemini_settings,
    gemini_tools,
    gemini_turns,
)
from context_chef.adaptation.wire_rules.rule import WireRule

GEMINI_RULES: tuple[WireRule, ...] = (
    *gemini_contents.BOOK.rules,
    *gemini_turns.BOOK.rules,
    *gemini_tools.BOOK.rules,
    *gemini_settings.BOOK.rules,
    *gemini_media.BOOK.rules,
)
