"""A Chat Completions request as its rules see it, and parts of their examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_list, as_map
from context_chef.adaptation.wire_rules.openai_shared import OPEN_SCHEMA
from context_chef.adaptation.wire_rules.rule import Request

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}


def asking(*messages: Any, model: str = "gpt-4o", **settings: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages) or [HELLO], **settings}


def calling(*ids: str, name: str = "look") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for id in ids
        ],
    }


def replying(id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "done"}


def function_tool(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": OPEN_SCHEMA, **more}}


def messages_of(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, message in enumerate(request.list_of("messages")):
        yield f"messages[{index}]", as_map(message)


def calls_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [as_map(call) for call in as_list(message.get("tool_calls"))]
