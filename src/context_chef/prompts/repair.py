"""What stands where something was missing: said plainly, so that nothing looks like success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_chef.ir.repair import CONVERSATION_CONTINUES, MISSING_RESULT

__all__ = [
    "CONVERSATION_CONTINUES",
    "EMPTY_USER_MESSAGE",
    "MISSING_RESULT",
    "PLEASE_CONTINUE",
    "alternatives_note",
]

EMPTY_USER_MESSAGE: Final = "(This message is empty.)"
PLEASE_CONTINUE: Final = "Continue."

_ALTERNATIVES: Final = "Give one of these sets of parameters: {choices}."


def alternatives_note(choices: Sequence[Sequence[str]]) -> str:
    """Which parameters belong together, where a schema cannot say so."""
    said = " | ".join(", ".join(names) for names in choices)
    return _ALTERNATIVES.replace("{choices}", said)
