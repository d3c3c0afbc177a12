"""The tool that closes a window."""

from __future__ import annotations

from typing import Final

from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.store import NEW_CONTEXT_DESCRIPTION

NEW_CONTEXT_TOOL_NAME: Final = "new_context"

_DEFINITION: Final = ToolDefinition(name=NEW_CONTEXT_TOOL_NAME, description=NEW_CONTEXT_DESCRIPTION)


def get_new_context_tool_definition() -> ToolDefinition:
    """`new_context`: always the same immutable object. It takes no parameters."""
    return _DEFINITION
