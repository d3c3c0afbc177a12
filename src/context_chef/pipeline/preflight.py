"""What no repair can make sendable is found before anything is spent on it."""

from __future__ import annotations

from typing import Any, Final, cast

from context_chef.adaptation.adapter import is_wire_adapter
from context_chef.adaptation.tools import convert_tools
from context_chef.errors import UnsendableError
from context_chef.ir.blocks import Provider
from context_chef.pipeline.turn import CompileTurn

_MOST_TOOLS: Final = 128
"""What both OpenAI formats take (zed-industries/zed#32946, openai/openai-dotnet#317)."""


def check_sendable(turn: CompileTurn) -> None:
    """Raise UnsendableError with every fault when no request can be made of the inputs.

    Most of what is wrong with a conversation is mended later on. This is about the rest, as far as
    it can be told before the conversation is shortened.
    """
    if turn.target_name not in ("openai", "openai-responses"):
        return
    if is_wire_adapter(turn.adapter) and (faults := _tool_faults(turn)):
        raise UnsendableError(turn.target_name, faults)


def _tool_faults(turn: CompileTurn) -> list[str]:
    tools, profile = turn.inputs.tools, turn.profile
    # What takes no system prompt takes no tools anywhere.
    never = profile is not None and profile.chat_tools == "never" and profile.leading_system
    refused = turn.target_name == "openai" and never
    if not tools or not (refused or len(tools) > _MOST_TOOLS):
        return []
    target = cast(Provider, turn.target_name)
    wire: list[dict[str, Any]] = convert_tools(tools, target=target, profile=profile).wire
    functions = [tool for tool in wire if tool.get("type") == "function"]
    faults: list[str] = []
    if refused and profile is not None and functions:
        names = [tool.get("function", {}).get("name", "") for tool in functions]
        # Without its tools the agent would be another one, and which endpoint is called is not
        # ours to say.
        faults.append(
            f"{profile.name} takes no function tools on Chat Completions, and there are "
            f"{len(names)}: {', '.join(names[:3])}{', …' if len(names) > 3 else ''}. Compile for "
            "the target `openai-responses`, which takes them; or leave the tools out; or, where a "
            "gateway takes them all the same, say so with "
            f'`profiles={{"{profile.name}": {{"chat_tools": "always"}}}}`'
        )
    if len(wire) > _MOST_TOOLS:
        faults.append(
            f"there are {len(wire)} tools, and the provider takes {_MOST_TOOLS}. Prune them with "
            "`chef.get_pruner()`, or group them with `register_namespaces`, which shows each group "
            "as one tool"
        )
    return faults
