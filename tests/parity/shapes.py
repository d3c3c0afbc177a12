"""One shape for recorded and compiled requests, so that only what they say is compared.

The records come from flat messages: text first, media after, one wire message a message. Ours come
from ordered blocks: the tail is a block of its own, neighbours of one role are one message. Both
sides are brought to the same form; neither side's words, order of speakers or data are touched.
"""

from __future__ import annotations

import base64
import json
from typing import Any


def plain(value: Any) -> Any:
    """JSON-like data; bytes as base64 text."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value


def recorded_payload(target: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """SDK keyword arguments in the records' layout of a payload."""
    payload = plain(dict(arguments))
    headers = payload.pop("extra_headers", {})
    payload.update(payload.pop("extra_body", {}))
    if "anthropic-beta" in headers:
        payload["betas"] = headers["anthropic-beta"].split(",")
    if target == "gemini" and "contents" in payload:
        config = payload.pop("config", {})
        payload["messages"] = payload.pop("contents")
        system = config.get("system_instruction", config.get("systemInstruction"))
        if system is not None:
            payload["systemInstruction"] = system
        if "tools" in config:
            payload["tools"] = config["tools"]
    return payload


def canonical(payload: dict[str, Any]) -> dict[str, Any]:
    """The request in the one shape. Works on what was recorded and on what was compiled."""
    shaped = dict(payload)
    if isinstance(shaped.get("messages"), list):
        shaped["messages"] = _messages(shaped["messages"])
    if isinstance(shaped.get("input"), list):
        shaped["input"] = [_item(item) for item in shaped["input"]]
    if isinstance(shaped.get("systemInstruction"), dict):
        system = {key: item for key, item in shaped["systemInstruction"].items() if key != "role"}
        shaped["systemInstruction"] = system
    return shaped


def _messages(messages: list[Any]) -> list[Any]:
    if not all(isinstance(m, dict) for m in messages):
        return messages
    if any("parts" in m for m in messages):
        return [_entry(entry) for entry in _merged(messages, "parts")]
    chat = any(m.get("role") == "tool" or "tool_calls" in m for m in messages)
    if not chat and any(_is_blocks(m.get("content")) for m in messages):
        return [_anthropic(message) for message in _merged(messages, "content")]
    return [_chat(message) for message in messages]


def _is_blocks(content: Any) -> bool:
    """Content lists of Anthropic: those of Chat Completions hold other part types."""
    return isinstance(content, list) and not any(
        isinstance(part, dict)
        and part.get("type") in ("image_url", "file", "input_audio", "refusal")
        for part in content
    )


def _merged(messages: list[Any], key: str) -> list[Any]:
    """Neighbours of one role as one message, as the providers read them."""
    merged: list[Any] = []
    for message in messages:
        if isinstance(message.get(key), str):
            message = {**message, key: [{"type": "text", "text": message[key]}]}
        if merged and merged[-1].get("role") == message.get("role") and message["role"] != "system":
            merged[-1] = {**merged[-1], key: [*merged[-1][key], *message[key]]}
        else:
            merged.append(message)
    return merged


def _anthropic(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if message["role"] == "user":
        content = _results_texts_media(content, lambda block: block.get("type"))
    return {**message, "content": _joined(content, lambda block: block.get("type") == "text")}


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    parts = entry["parts"]
    if entry.get("role") == "user":
        kinds = {"functionResponse": "tool_result", "text": "text"}
        parts = _results_texts_media(
            parts, lambda part: next((kinds[key] for key in part if key in kinds), "media")
        )
    return {**entry, "parts": _joined(parts, lambda part: set(part) == {"text"})}


def _results_texts_media(blocks: list[Any], kind: Any) -> list[Any]:
    """Results, then words, then media: the one order that flat messages can say."""
    rank = {"tool_result": 0, "text": 1}
    return sorted(blocks, key=lambda block: rank.get(kind(block), 2))


def _joined(blocks: list[Any], is_text: Any) -> list[Any]:
    joined: list[Any] = []
    for block in blocks:
        if joined and is_text(block) and is_text(joined[-1]):
            last = joined[-1]
            marks = {key: block[key] for key in ("cache_control",) if key in block}
            joined[-1] = {**last, "text": f"{last['text']}\n\n{block['text']}", **marks}
        else:
            joined.append(block)
    return joined


def _chat(message: Any) -> Any:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        texts = [part for part in content if part.get("type") == "text"]
        media = [part for part in content if part.get("type") != "text"]
        text = "\n\n".join(part["text"] for part in texts)
        if not media:
            return {**message, "content": text}
        head = [{"type": "text", "text": text}] if texts else []
        return {**message, "content": [*head, *media]}
    return message


def _item(item: Any) -> Any:
    if isinstance(item, dict) and item.get("role") and isinstance(item.get("content"), list):
        content = item["content"]
        is_text = lambda part: part.get("type") in ("input_text", "output_text")  # noqa: E731
        if item["role"] == "user":
            content = sorted(content, key=lambda part: not is_text(part))
        return {"type": "message", **item, "content": _joined(content, is_text)}
    return item


def same_json_text(expected: str, actual: list[Any]) -> bool:
    """Whether the list encodes to the recorded text, key order included."""
    return json.dumps(actual, ensure_ascii=False, separators=(",", ":")) == expected
