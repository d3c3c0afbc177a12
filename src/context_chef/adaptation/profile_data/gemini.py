"""What the models of this provider accept, cache and cost."""

from __future__ import annotations

from context_chef.adaptation.model_profile import ModelProfile

GEMINI_PROFILES: tuple[ModelProfile, ...] = ()
