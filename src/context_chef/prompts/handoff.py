"""The notice that a window is about to end, while there is still room to write things down."""

from __future__ import annotations

import math
from typing import Any, Final

from context_chef.errors import InputError, shown
from context_chef.given import LARGEST, check_text

PLACEHOLDER: Final = "{n_remaining}"
MAX_PROMPT_BYTES: Final = 2_000


def render_handoff_notice(template: str, remaining: float) -> str:
    """The notice with the tokens that are left, rounded half up and never below zero."""
    check_text(template, "template")
    given: Any = remaining  # callers are not all typed
    if isinstance(given, bool) or not isinstance(given, (int, float)) or given != given:
        raise InputError(f"`remaining` is a number of tokens, not {shown(given)}.")
    if isinstance(remaining, int):
        remaining = min(max(remaining, -LARGEST), LARGEST)
    left = "∞" if math.isinf(remaining) else str(max(0, math.floor(remaining + 0.5)))
    return template.replace(PLACEHOLDER, left)
