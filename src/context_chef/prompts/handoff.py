"""The notice that a window is about to end, while there is still room to write things down."""

from __future__ import annotations

import math
from typing import Final

PLACEHOLDER: Final = "{n_remaining}"
MAX_PROMPT_BYTES: Final = 2_000


def render_handoff_notice(template: str, remaining: float) -> str:
    """The notice with the tokens that are left, rounded half up and never below zero."""
    left = "∞" if math.isinf(remaining) else str(max(0, math.floor(remaining + 0.5)))
    return template.replace(PLACEHOLDER, left)
