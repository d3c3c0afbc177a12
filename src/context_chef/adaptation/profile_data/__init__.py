"""The built-in model profiles, one file per provider, each figure with its dated source."""

from __future__ import annotations

from context_chef.adaptation.profile_data.anthropic import ANTHROPIC_PROFILES
from context_chef.adaptation.profile_data.gemini import GEMINI_PROFILES
from context_chef.adaptation.profile_data.openai import OPENAI_PROFILES

__all__ = ["ANTHROPIC_PROFILES", "GEMINI_PROFILES", "OPENAI_PROFILES"]
