"""The two tools that stand for memory where the model has no `context` tool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_chef.ir.tools import ToolDefinition
from context_chef.prompts import memory as wording


def tool_definitions(allowed: Sequence[str] | None) -> tuple[ToolDefinition, ToolDefinition]:
    """`create_memory` and `modify_memory`; the first names the allowed keys, when there are any."""
    create: Mapping[str, Any] = wording.create_memory_parameters(allowed)
    modify: Mapping[str, Any] = wording.modify_memory_parameters()
    return (
        ToolDefinition(
            name="create_memory",
            description=wording.CREATE_MEMORY_DESCRIPTION,
            parameters=create,
        ),
        ToolDefinition(
            name="modify_memory",
            description=wording.MODIFY_MEMORY_DESCRIPTION,
            parameters=modify,
        ),
    )
