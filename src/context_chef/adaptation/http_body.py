"""The HTTP body that the official SDK makes of the arguments of its call."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from context_chef.adaptation.conversation import plain
from context_chef.adaptation.gemini_names import TOP_LEVEL, camel
from context_chef.errors import InputError, shown

_OUTSIDE_CONFIG: Final = {name: key for key, name in TOP_LEVEL.items()}


def http_body(target: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The HTTP body of these arguments, as an independent copy. A body comes out as it went in."""
    if target == "gemini" and "contents" in arguments:
        return _gemini_body(arguments)
    body = {key: value for key, value in plain(arguments).items() if key != "extra_headers"}
    body.update(body.pop("extra_body", {}))
    return body


def _gemini_body(arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = plain(arguments)
    config: Any = given.pop("config", None) or {}
    if not isinstance(config, dict):
        raise InputError(
            f"`config` is a mapping or a `GenerateContentConfig`, not {shown(config)}.",
            path="$.config",
        )
    config = cast(dict[str, Any], config)
    body = cast(dict[str, Any], given)
    system = config.pop("system_instruction", config.pop("systemInstruction", None))
    if system is not None:
        body["systemInstruction"] = system
    if "tools" in config:
        body["tools"] = config.pop("tools")
    generation: dict[str, Any] = {}
    for key, value in config.items():
        if key in _OUTSIDE_CONFIG or key in TOP_LEVEL:
            body[_OUTSIDE_CONFIG.get(key) or key] = value
        else:
            generation[camel(key)] = value
    if generation:
        body["generationConfig"] = generation
    return body
