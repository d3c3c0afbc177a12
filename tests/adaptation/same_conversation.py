"""What two request bodies have to share to be the same conversation, in one comparable form.

Set aside is only what the provider itself does not tell apart: a string and one text block, `null`
and an absent key, neighbours of one role and one message, the spelling of Gemini's field names.
"""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.gemini_form import TYPES

_FREE_FORM = frozenset({"args", "response", "parameters", "parametersJsonSchema", "input"})


def anthropic_conversation(body: dict[str, Any]) -> dict[str, Any]:
    told = _without_nulls(body)
    told["system"] = _blocks(told.get("system"))
    turns: list[tuple[dict[str, Any], list[Any]]] = []
    for message in told.get("messages", []):
        rest = {key: value for key, value in message.items() if key != "content"}
        _add(turns, rest, _blocks(message.get("content")))
    told["messages"] = turns
    told.setdefault("tools", [])
    return told


def gemini_conversation(body: dict[str, Any]) -> dict[str, Any]:
    told = _camel(_without_nulls(body))
    turns: list[tuple[dict[str, Any], list[Any]]] = []
    for content in _rows(told.get("contents")):
        _add(turns, {"role": content.get("role", "user")}, _parts(content["parts"]))
    told["contents"] = turns
    if "systemInstruction" in told:
        told["systemInstruction"]["parts"] = _parts(told["systemInstruction"]["parts"])
    # Vertex takes the numbers of types as well as their names, which are what is written.
    told["tools"] = _named(_rows(told.get("tools")))
    return told


def _named(value: Any) -> Any:
    if isinstance(value, list):
        return [_named(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: TYPES.get(item, item) if key == "type" and isinstance(item, int) else _named(item)
        for key, item in value.items()
    }


def _add(
    turns: list[tuple[dict[str, Any], list[Any]]], who: dict[str, Any], said: list[Any]
) -> None:
    if turns and turns[-1][0] == who:
        turns[-1][1].extend(said)
    else:
        turns.append((who, list(said)))


def _blocks(content: Any) -> list[Any]:
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [
        {**block, "content": _blocks(block.get("content"))}
        if block.get("type") == "tool_result"
        else block
        for block in content
    ]


def _parts(parts: Any) -> list[Any]:
    told = _rows(parts)
    for part in told:
        if "functionCall" in part:
            part["functionCall"].setdefault("args", {})
    return told


def _rows(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _camel(value: Any) -> Any:
    if isinstance(value, list):
        return [_camel(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {}
    for key, item in value.items():
        head, *rest = key.split("_")
        name = head + "".join(part[:1].upper() + part[1:] for part in rest) if head else key
        named[name] = item if name in _FREE_FORM else _camel(item)
    return named
