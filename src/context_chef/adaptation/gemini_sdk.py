"""A generateContent body as the arguments of google-genai's own call."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final, cast

from context_chef.adaptation.gemini_names import TOP_LEVEL, snake

_NAMED: Final = frozenset(
    {"contents", "systemInstruction", "tools", "generationConfig", "model", *TOP_LEVEL}
)


def sdk_arguments(body: Mapping[str, Any]) -> dict[str, Any]:
    """`contents` and `config` of a body; bytes where the SDK's types want bytes.

    The SDK writes bytes as URL-safe base64, so what it sends means what the body says. Keys that it
    has no name for go into the `extra_body` of its `http_options`.
    """
    config: dict[str, Any] = {}
    system = body.get("systemInstruction")
    if system is not None:
        config["system_instruction"] = _content(system)
    if "tools" in body:
        config["tools"] = body["tools"]
    for key, name in TOP_LEVEL.items():
        if key in body:
            config[name] = body[key]
    for key, value in cast("Mapping[str, Any]", body.get("generationConfig") or {}).items():
        config[snake(key)] = value
    others = {key: value for key, value in body.items() if key not in _NAMED}
    if others:
        config["http_options"] = {"extra_body": others}
    arguments: dict[str, Any] = {"contents": [_content(content) for content in body["contents"]]}
    if config:
        arguments["config"] = config
    return arguments


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {**content, "parts": [_part(part) for part in content["parts"]]}


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in part.items():
        if key == "thoughtSignature":
            value = _bytes(value)
        elif key == "inlineData":
            value = {**value, "data": _bytes(value["data"])}
        elif key == "functionResponse" and value.get("parts"):
            value = {**value, "parts": [_part(inner) for inner in value["parts"]]}
        out[key] = value
    return out


def _bytes(text: str) -> bytes | str:
    """The bytes that base64 text of either alphabet means."""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text
