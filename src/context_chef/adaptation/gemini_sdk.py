"""A generateContent body as the arguments of google-genai's own call."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.adaptation.conversation import plain
from context_chef.adaptation.gemini_names import TOP_LEVEL, snake
from context_chef.adaptation.thinking_binding import SKIP_SIGNATURE
from context_chef.adaptation.wire_rules.json_access import as_list, as_map
from context_chef.ir.frozen import FrozenList, thaw
from context_chef.ir.handed_out import HandedOut, Sealed, rows_of, sealed

_SKIP_SIGNATURE: Final = base64.urlsafe_b64decode(SKIP_SIGNATURE)
_NAMED: Final = frozenset(
    {"contents", "systemInstruction", "tools", "generationConfig", "model", *TOP_LEVEL}
)


def sdk_arguments(body: Mapping[str, Any], contents: HandedOut | None = None) -> dict[str, Any]:
    """`contents` and `config` of a body; bytes where the SDK's types want bytes.

    The SDK writes bytes as URL-safe base64, so what it sends means what the body says. Keys that it
    has no name for go into the `extra_body` of its `http_options`. `contents` are those of the
    body, where they are known in the form of the SDK.
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
    if contents is None:
        rows = rows_of(body["contents"])
        own = HandedOut((row.sdk or row) if type(row) is Sealed else _content(row) for row in rows)
    else:
        own = HandedOut(contents.raw())
    arguments: dict[str, Any] = {"contents": own}
    if config:
        arguments["config"] = config
    return arguments


def sdk_row(row: Sealed) -> Sealed | None:
    """A finished content in the SDK's form; None where that is the same."""
    parts: Sequence[Mapping[str, Any]] = row["parts"]
    if not any(map(_has_bytes, parts)):
        return None
    own_parts = [sealed(_part(part)) if _has_bytes(part) else part for part in parts]
    own = Sealed({**row, "parts": FrozenList(own_parts)})
    own.http_of = _http_row
    return own


def _http_row(row: Sealed) -> Sealed:
    return sealed(plain(row))


def _has_bytes(part: Mapping[str, Any]) -> bool:
    if "thoughtSignature" in part or "inlineData" in part:
        return True
    response: Any = part.get("functionResponse")
    return isinstance(response, dict) and "parts" in response


def _content(content: Mapping[str, Any]) -> dict[str, Any]:
    parts = rows_of(content["parts"])
    return thaw({**content, "parts": [_part(part) for part in parts]})


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(part)
    if isinstance(signature := part.get("thoughtSignature"), str):
        out["thoughtSignature"] = _bytes(signature)
    if "inlineData" not in part and "functionResponse" not in part:
        return out
    inline = as_map(part.get("inlineData"))
    if isinstance(data := inline.get("data"), str):
        out["inlineData"] = {**inline, "data": _bytes(data)}
    response = as_map(part.get("functionResponse"))
    if inner := as_list(response.get("parts")):
        out["functionResponse"] = {**response, "parts": [_part(each) for each in inner]}
    return out


def _bytes(text: str) -> bytes | str:
    """The bytes that base64 text of either alphabet means."""
    if text == SKIP_SIGNATURE:
        return _SKIP_SIGNATURE  # on nearly every call that another model made
    plain = text.replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text
