"""Parts of the examples that the rules of Anthropic are shown by."""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, asking, said


def tool(name: str = "look", **more: Any) -> dict[str, Any]:
    """A tool definition, for examples."""
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **more}


def call(id: str = "call_1", name: str = "look", **more: Any) -> dict[str, Any]:
    """A call, for examples."""
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **more}


def result(id: str = "call_1", content: Any = "done", **more: Any) -> dict[str, Any]:
    """A result, for examples."""
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def working(*blocks: Any, calls: tuple[Any, ...] = (), **settings: Any) -> dict[str, Any]:
    settings.setdefault("tools", [tool()])
    return asking(
        HELLO, said("assistant", *(calls or (call(),))), said("user", *blocks), **settings
    )


ENABLED: dict[str, Any] = {"type": "enabled", "budget_tokens": 1024}
