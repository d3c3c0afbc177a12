"""Parts of the examples that the rules of Gemini are shown by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_chef.adaptation.wire_rules.gemini_view import USER
from context_chef.adaptation.wire_rules.rule import Example, one


def said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


HELLO = said(USER, {"text": "Hello"})


def asking(*contents: Any, **settings: Any) -> dict[str, Any]:
    return {"contents": list(contents) or [HELLO], **settings}


def call(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def response(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"result": "done"}, **more}}


def on_model(model: str, payload: Mapping[str, Any]) -> Example:
    return one(payload, model=model)
