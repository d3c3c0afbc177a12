"""The definition of the `context` tool: static, shared, the same bytes in every request."""

from __future__ import annotations

from typing import Any, Final

from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.store import CONTEXT_DESCRIPTION, CONTEXT_PROPERTIES
from context_chef.retrieval.new_context import NEW_CONTEXT_TOOL_NAME
from context_chef.retrieval.recall import RECALL_TOOL_NAME

CONTEXT_TOOL_NAME: Final = "context"
CONTEXT_COMMANDS: Final = (
    "view",
    "create",
    "str_replace",
    "insert",
    "delete",
    "rename",
    "search",
)
CONTEXT_TOOL_NAMES: Final = (
    CONTEXT_TOOL_NAME,
    NEW_CONTEXT_TOOL_NAME,
    "create_memory",
    "modify_memory",
    RECALL_TOOL_NAME,
)
"""Every tool name that is answered here, whatever the tools mode."""
NATIVE_MEMORY_NAME: Final = "memory"
NATIVE_MEMORY_TYPE: Final = "memory_20250818"


def _property(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if name == "insert_line" else "string"}
    if name == "command":
        schema["enum"] = list(CONTEXT_COMMANDS)
    return {**schema, "description": CONTEXT_PROPERTIES[name]}


_DEFINITION: Final = ToolDefinition(
    name=CONTEXT_TOOL_NAME,
    description=CONTEXT_DESCRIPTION,
    parameters={
        "type": "object",
        "properties": {name: _property(name) for name in CONTEXT_PROPERTIES},
        "required": ["command", "path"],
    },
)
_NATIVE_DEFINITION: Final = ToolDefinition(
    name=NATIVE_MEMORY_NAME,
    native={"anthropic": {"definition": {"type": NATIVE_MEMORY_TYPE, "name": NATIVE_MEMORY_NAME}}},
)


def get_context_tool_definition() -> ToolDefinition:
    """`context`: always the same immutable object, with nothing of a session in it."""
    return _DEFINITION


def get_native_memory_tool_definition() -> ToolDefinition:
    """Anthropic's own memory tool, whose calls are answered with `native_memory` set.

    Exists on Anthropic targets only; its whole wire form is under `native`.
    """
    return _NATIVE_DEFINITION


def is_context_tool_name(name: object, *, native_memory: bool = False) -> bool:
    """Whether a call of that name is answered here; Anthropic's `memory` only where offered."""
    if not isinstance(name, str):
        return False
    return name in CONTEXT_TOOL_NAMES or (native_memory and name == NATIVE_MEMORY_NAME)
