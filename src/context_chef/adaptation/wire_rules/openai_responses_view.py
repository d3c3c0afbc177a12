"""A Responses request as its rules see it, and parts of their examples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.rule import Request

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}


def asking(*items: Any, model: str = "gpt-4o", **settings: Any) -> dict[str, Any]:
    return {"model": model, "input": list(items) or "Hello", **settings}


def items_of(request: Request) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"input[{i}]", as_map(item)) for i, item in enumerate(request.list_of("input"))]


def item_kind(item: Mapping[str, Any]) -> str:
    """The item's type; a message may leave it out, and so may a reference."""
    if kind := as_text(item.get("type")):
        return kind
    return "message" if "role" in item else "item_reference"
