"""What stands where something was missing: said plainly, so that nothing looks like success."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_chef.ir.repair import CONVERSATION_CONTINUES, MISSING_RESULT

__all__ = [
    "ANSWER_IN_JSON",
    "CONVERSATION_CONTINUES",
    "EMPTY_USER_MESSAGE",
    "MISSING_RESULT",
    "PART_OMITTED",
    "PLEASE_CONTINUE",
    "alternatives_note",
]

EMPTY_USER_MESSAGE: Final = "(This message is empty.)"
PLEASE_CONTINUE: Final = "Continue."
ANSWER_IN_JSON: Final = "Answer in JSON."
PART_OMITTED: Final = "(Something stood here that cannot be sent.)"

_ALTERNATIVES: Final = "Give one of these sets of parameters: {choices}."


def alternatives_note(choices: Sequence[Sequence[str]]) -> str:
    """Which parameters belong together, where a schema cannot say so."""
    said = " | ".join(", ".join(names) for names in choices)
    return _ALTERNATIVES.replace("{choices}", said)
