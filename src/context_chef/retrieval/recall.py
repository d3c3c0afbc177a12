"""An archived span as the model reads it, and the definition of the tool that fetches one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.persistence.given import check_text
from context_chef.prompts.store import RECALL_DESCRIPTION, RECALL_URI
from context_chef.retrieval.arguments import BLANKS

RECALL_TOOL_NAME: Final = "recall_context"
_SEPARATOR: Final = "\n\n"


def get_recall_tool_definition() -> dict[str, Any]:
    """`recall_context`, for hosts that offer it themselves. Each time a new dict of your own."""
    return {
        "name": RECALL_TOOL_NAME,
        "description": RECALL_DESCRIPTION,
        "parameters": {
            "type": "object",
            "properties": {"uri": {"type": "string", "description": RECALL_URI}},
            "required": ["uri"],
        },
    }


def render_recalled_content(stored: str) -> str:
    """An archived span as a transcript; every other text untouched."""
    check_text(stored, "stored")
    messages = _archived_messages(stored)
    return stored if messages is None else _SEPARATOR.join(_rendered_parts(messages))


def line_of_message(stored: str, position: int) -> int | None:
    """The line of the transcript where the message at that position (from 0) begins, from 1."""
    messages = _archived_messages(stored)
    if messages is None or not 0 <= position < len(messages):
        return None
    before = _SEPARATOR.join(_rendered_parts(messages)[: position + 1])
    return (before + _SEPARATOR).count("\n") + 1


def _rendered_parts(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """The heading, then each message."""
    names: dict[Any, str] = {}
    for message in messages:
        for call in _calls(message):
            names[_hashable(call.get("id"))] = _call_name(call)
    noun = "message" if len(messages) == 1 else "messages"
    heading = f"[archived span — {len(messages)} {noun}]"
    return [heading, *(_render(message, names) for message in messages)]


def _archived_messages(stored: str) -> list[Mapping[str, Any]] | None:
    text = stored.strip(BLANKS)
    # Only an object can be one; anything else need not be parsed, however large it is.
    if not text.startswith("{") or '"messages"' not in text:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    span = cast("dict[str, Any]", value)
    version, messages = span.get("version"), span.get("messages")
    if isinstance(version, bool) or not isinstance(version, (int, float)):
        return None
    if not isinstance(messages, list):
        return None
    rows = _rows(cast("list[Any]", messages))
    whole = len(rows) == len(cast("list[Any]", messages))
    return rows if whole and all(isinstance(row.get("role"), str) for row in rows) else None


def _render(message: Mapping[str, Any], names: Mapping[Any, str]) -> str:
    role = message["role"]
    if role == "tool":
        name = names.get(_hashable(message.get("tool_call_id")))
        lines = [f"tool result ({name}):" if name else "tool result:"]
    else:
        lines = [f"{role}:"]
    thinking = message.get("thinking")
    if isinstance(thinking, Mapping):
        words = cast("Mapping[str, Any]", thinking).get("thinking")
        if isinstance(words, str) and words:
            lines.append(f"[thinking] {words}")
    if content := _content(message.get("content")):
        lines.append(content)
    lines += [
        f"[tool call] {_call_name(call)}({_call_arguments(call)})" for call in _calls(message)
    ]
    lines += [f"[attachment] {_attachment(item)}" for item in _rows(message.get("attachments"))]
    return "\n".join(lines)


def _content(value: object) -> str:
    if isinstance(value, str):
        return value
    texts = [row.get("text") for row in _rows(value)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _calls(message: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return _rows(message.get("tool_calls"))


def _call_name(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    source = cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else call
    name = source.get("name")
    return name if isinstance(name, str) else ""


def _call_arguments(call: Mapping[str, Any]) -> str:
    function = call.get("function")
    source = cast("Mapping[str, Any]", function) if isinstance(function, Mapping) else call
    arguments = source.get("arguments")
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def _attachment(item: Mapping[str, Any]) -> str:
    for key in ("filename", "mediaType", "media_type"):
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
    return "unknown"


def _rows(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list):
        return []
    return [row for row in cast("list[Any]", value) if isinstance(row, Mapping)]


def _hashable(value: object) -> object:
    return value if isinstance(value, (str, int)) else repr(value)
