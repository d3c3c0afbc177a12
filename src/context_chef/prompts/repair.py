"""What stands where something was missing: said plainly, so that nothing looks like what it is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MISSING_RESULT: Final = (
    "No result of this tool call was recorded. It may have been interrupted, or its output was lost: "
    "do not take it for done."
)
CONVERSATION_CONTINUES: Final = "(The conversation continues here.)"
EMPTY_USER_MESSAGE: Final = "(This message is empty.)"
PLEASE_CONTINUE: Final = "Continue."
EMPTY_RESULT: Final = "(The tool returned nothing.)"

_ALTERNATIVES: Final = "Give one of these sets of parameters: {choices}."


def alternatives_note(choices: Sequence[Sequence[str]]) -> str:
    """Which parameters belong together, where a schema cannot say so."""
    said = " | ".join(", ".join(names) for names in choices)
    return _ALTERNATIVES.replace("{choices}", said)
