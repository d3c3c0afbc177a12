"""Tool groups as the model reads them: a namespace's actions, the toolkits and their loader."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.schema_text import parameter_lines
from context_chef.prompts.xml import escape_attribute, escape_text

LOAD_TOOLKIT: Final = "load_toolkit"
LOAD_TOOLKIT_DESCRIPTION: Final = (
    "Load the tools of one toolkit. Call it when no tool you have does what is needed and a "
    "toolkit in the <available_toolkits> directory does."
)
TOOLKIT_NAME_DESCRIPTION: Final = "The toolkit's name, as in the <available_toolkits> directory."

ACTIONS_LABEL: Final = "Actions, each with the members of `args` that it takes:"
ACTION_DESCRIPTION: Final = "Which of the listed actions to run."
ARGS_DESCRIPTION: Final = "The action's arguments by name, as listed for it; {} when it takes none."


def namespace_description(description: str, actions: Sequence[ToolDefinition]) -> str:
    """A namespace in words: what it is for, then every action with its parameters.

    Actions begin with `- ` at the start of a line, and nothing else does.
    """
    lines = [ACTIONS_LABEL]
    for action in actions:
        words = "\n  ".join(action.description.strip().splitlines())
        lines.append(f"- {action.name}: {words}" if words else f"- {action.name}")
        lines += parameter_lines(action.parameters, indent="    ")
    listing = "\n".join(lines)
    return f"{description.strip()}\n\n{listing}" if description.strip() else listing


def namespace_parameters(actions: Sequence[ToolDefinition]) -> Mapping[str, Any]:
    """JSON Schema of a namespace: which action, and its arguments."""
    return {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": [action.name for action in actions],
                "description": ACTION_DESCRIPTION,
            },
            "args": {"type": "object", "description": ARGS_DESCRIPTION},
        },
        "required": ["action", "args"],
    }


def load_toolkit_parameters(names: Iterable[str]) -> Mapping[str, Any]:
    """JSON Schema of the loader."""
    return {
        "type": "object",
        "properties": {
            "toolkit_name": {
                "type": "string",
                "enum": list(names),
                "description": TOOLKIT_NAME_DESCRIPTION,
            }
        },
        "required": ["toolkit_name"],
    }


def toolkit_directory(toolkits: Iterable[tuple[str, str, Sequence[str]]]) -> str:
    """The `<available_toolkits>` directory of (name, description, tool names); empty without any.

    Nothing that a toolkit says of itself can close a tag or add an entry.
    """
    lines = [
        f'  <toolkit name="{escape_attribute(name)}" '
        f'tools="{escape_attribute(", ".join(tools))}">'
        f"{escape_text(' '.join(description.split()))}</toolkit>"
        for name, description, tools in toolkits
    ]
    return "\n".join(["<available_toolkits>", *lines, "</available_toolkits>"]) if lines else ""
