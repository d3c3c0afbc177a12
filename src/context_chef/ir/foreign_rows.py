"""Which reader understands a row that is no message of ours, so that the refusal can name it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_GEMINI: Final = "`chef.extend(from_gemini(content).history)`"
_RESPONSES: Final = "`chef.extend(from_openai_responses(answer.output).history)`"
_ANTHROPIC: Final = "`chef.extend(from_anthropic(answer).history)`"

# Rows without a role, by a key that only they have. The first that fits counts.
_BY_KEY: Final = {
    "choices": "this is an answer of OpenAI Chat; append its `choices[0].message`",
    "finish_reason": "this is a choice of OpenAI Chat; append its `message`",
    "candidates": "this is an answer of Gemini; read its `candidates[0].content`: " + _GEMINI,
    "output": "this is an answer or item of OpenAI Responses; read it: " + _RESPONSES,
    "messages": "this is a whole request body; read it with `from_openai()` or `from_anthropic()`",
    "input": "this is a whole request body; read it with `from_openai_responses()`",
    "contents": "this is a whole request body; read it with `from_gemini()`",
}
_BLOCKS: Final = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})


def foreign_form(row: Mapping[str, Any]) -> str | None:
    """What the row is and how to read it, when reading it as a message would lose something."""
    if row.get("parts") is not None and not row.get("content") and not row.get("blocks"):
        return "a message with `parts` is Gemini's; read it: " + _GEMINI
    if row.get("role") is not None:
        return None
    kind = row.get("type")
    if isinstance(kind, str) and kind in _BLOCKS:
        return f"a block of type {kind!r} is Anthropic's; read the whole message: {_ANTHROPIC}"
    if isinstance(kind, str) and kind not in ("message", "text"):
        return f"an item of type {kind!r} is of OpenAI Responses; read the whole list: {_RESPONSES}"
    return next((said for key, said in _BY_KEY.items() if row.get(key) is not None), None)
