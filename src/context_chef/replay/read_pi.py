"""Reads the logs that pi writes: JSON Lines, one entry each, a tree of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.replay.agent_logs import (
    Branch,
    Row,
    Said,
    branch_to,
    content_of,
    message_of,
    notes_of,
    parts_of,
    session_of,
)
from context_chef.replay.lines import Loaded
from context_chef.replay.moments import seconds
from context_chef.replay.session import RecordedSession

_TARGETS: Final = (
    ("anthropic", "anthropic"), ("claude", "anthropic"), ("bedrock", "anthropic"),
    ("google", "gemini"), ("gemini", "gemini"), ("responses", "openai-responses"),
    ("completions", "openai"), ("openai", "openai-responses"),
)  # fmt: skip
"""What is in the name of an API, or else of a provider, and whose form its requests have."""


def is_pi(rows: Sequence[Any]) -> bool:
    """Whether these are entries of a pi log."""
    first = cast(Row, rows[0])
    if first.get("type") == "session" and "id" in first:
        return True
    return first.get("type") == "message" and isinstance(first.get("message"), Mapping)


def read_pi(loaded: Loaded, name: str) -> list[RecordedSession]:
    """The conversation of a pi log, on its last branch, whole where the agent compacted it.

    It is for the provider that was asked last. The system prompt and the tools are not in such
    logs.
    """
    rows = [cast(Row, row) for row in loaded.values]
    chain = _last_branch(rows)
    said: list[Said] = []
    compactions = 0
    target = "anthropic"
    for at in sorted(chain.places):
        row = rows[at]
        compactions += row.get("type") == "compaction"
        message = _brought(row)
        if message is None:
            continue
        line = loaded.numbers[at]
        form = _form(message, name, line)
        if form is None:
            continue
        stamp = message.get("timestamp")
        when = seconds(row.get("timestamp") if stamp is None else stamp)
        asked = form["role"] == "assistant"
        if asked:
            target = _target(message) or target
        said.append(
            Said(
                form,
                when,
                line,
                message.get("usage") if asked else None,
                _text(message.get("model")) if asked else None,
            )
        )
    notes = notes_of(loaded, gaps=chain.gaps, compactions=compactions)
    session = session_of(said, name, "pi", notes, target=target)
    return [session] if session.requests else []


def _last_branch(rows: Sequence[Row]) -> Branch:
    if not any("parentId" in row for row in rows):
        return Branch(set(range(len(rows))))
    # The head of the file is no entry of the tree.
    places = [at for at, row in enumerate(rows) if row.get("type") != "session"]
    leaf = places[-1] if places else None
    return branch_to(leaf, rows, places, id="id", above=lambda row: row.get("parentId"))


def _target(message: Row) -> str | None:
    """The provider whose form the request had that this answers."""
    for key in ("api", "provider"):
        named = _text(message.get(key)) or ""
        found = next((target for part, target in _TARGETS if part in named), None)
        if found is not None:
            return found
    return None


def _brought(row: Row) -> Row | None:
    """The message of an entry, whatever kind of entry brings it to the model."""
    match row.get("type"):
        case "message":
            return message_of(row)
        case "custom_message":
            return {"role": "user", "content": row.get("content")}
        case "branch_summary":
            return {"role": "user", "content": row.get("summary")}
        case _:
            return None


def _form(message: Row, name: str, line: int) -> dict[str, Any] | None:
    """The message in Anthropic's form; None for what never reached the model."""
    role = message.get("role")
    if role == "bashExecution":
        if message.get("excludeFromContext"):
            return None
        text = f"Ran `{message.get('command')}`\n{message.get('output') or ''}".rstrip()
        return {"role": "user", "content": [{"type": "text", "text": text}]}
    content = content_of({"content": message.get("content", message.get("summary"))}, name, line)
    parts = [_part(part, message) for part in parts_of({"content": content})]
    blocks = [part for part in parts if part is not None]
    if role == "toolResult":
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": _call_id(message.get("toolCallId")),
            "content": blocks,
        }
        if message.get("isError"):
            result["is_error"] = True
        return {"role": "user", "content": [result]}
    if not blocks:
        return None
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


def _part(part: Row, message: Row) -> dict[str, Any] | None:
    match part.get("type"):
        case "text":
            text = _text(part.get("text")) or ""
            return {"type": "text", "text": text} if text.strip() else None
        case "thinking":
            if message.get("provider") != "anthropic" or not part.get("thinkingSignature"):
                return None  # another provider's reasoning, or none that could be sent back
            return {
                "type": "thinking",
                "thinking": part.get("thinking") or "",
                "signature": part["thinkingSignature"],
            }
        case "toolCall":
            arguments = part.get("arguments")
            return {
                "type": "tool_use",
                "id": _call_id(part.get("id")),
                "name": part.get("name"),
                "input": arguments if isinstance(arguments, Mapping) else {},
            }
        case "image":
            source = {
                "type": "base64",
                "media_type": part.get("mimeType"),
                "data": part.get("data"),
            }
            return {"type": "image", "source": source}
        case _:
            return {"type": "text", "text": json.dumps(part, ensure_ascii=False)}


def _call_id(id: Any) -> Any:
    """The call's own id: behind a bar pi keeps the one of OpenAI's item, which is no part of it."""
    return id.partition("|")[0] or id if isinstance(id, str) else id


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
