"""What no repair can make sendable is found before anything is spent on it."""

from __future__ import annotations

from typing import cast

from context_chef.adaptation import anthropic_body
from context_chef.adaptation.adapter import Adapted, is_wire_adapter
from context_chef.adaptation.tools import OPENAI_TOOL_LIMIT, convert_tools
from context_chef.adaptation.turns_order import NOTHING_SAID
from context_chef.errors import UnsendableError
from context_chef.ir.blocks import Provider
from context_chef.pipeline.turn import CompileTurn
from context_chef.slots import after_assemble, before_adapt, before_assemble


def check_sendable(turn: CompileTurn) -> None:
    """Raise UnsendableError with every fault when no request can be made of the inputs.

    Most of what is wrong with a conversation is mended later on. This is about the rest, as far as
    it can be told before the conversation is shortened and anybody else has had a say.
    """
    if turn.target_name not in ("openai", "openai-responses") or not is_wire_adapter(turn.adapter):
        return
    faults = _tool_faults(turn)
    if not faults:
        return
    # An empty conversation alone is refused where it is mended: nothing can be spent on it, and the
    # overflow pass is to have seen it, since it settles what was asked of it.
    if _says_nothing(turn):
        faults.insert(0, NOTHING_SAID)
    raise UnsendableError(turn.target_name, faults)


def check_written(turn: CompileTurn, adapted: Adapted) -> None:
    """Raise UnsendableError for what shows only once the conversation is written down."""
    if turn.target_name != "anthropic":
        return
    count, most = len(adapted.body["messages"]), anthropic_body.MOST_MESSAGES
    if count > most:
        raise UnsendableError(
            turn.target_name,
            [
                f"there are {count:,} messages, and the provider takes {most:,}. Give the chef a "
                "`janitor` with a `context_window`, so that it shortens the conversation"
            ],
        )


def _says_nothing(turn: CompileTurn) -> bool:
    """Whether there is no message, and nothing that could bring one."""
    state, parts = turn.state, turn.parts
    said = (
        state.transcript.window
        or state.system_prompt
        or state.announcements
        or state.skill
        or state.guardrails
        or state.dynamic_state.xml
        or state.sent_tails
        or turn.standing
        or turn.tool_changes
        or parts.memory
    )
    return not said and not any(
        parts.slots.handlers(slot) for slot in (before_assemble, after_assemble, before_adapt)
    )


def _tool_faults(turn: CompileTurn) -> list[str]:
    tools, profile = turn.inputs.tools, turn.profile
    # What takes no system prompt takes no tools anywhere.
    never = profile is not None and profile.chat_tools == "never" and profile.leading_system
    refused = turn.target_name == "openai" and never
    # A search tool may come on top.
    if not tools or not (refused or len(tools) >= OPENAI_TOOL_LIMIT):
        return []
    target = cast(Provider, turn.target_name)
    converted = convert_tools(tools, target=target, profile=profile)
    functions = [tool for tool in converted.wire if tool.get("type") == "function"]
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
    # A list that is too long is cut where nobody can be asked. Here somebody can.
    cut = sum(repair.rule == f"{target}/tools-limit" for repair in converted.repairs)
    if cut:
        faults.append(
            f"there are {len(converted.wire) + cut} tools, and the provider takes "
            f"{OPENAI_TOOL_LIMIT}. Prune them with `chef.get_pruner()`, or group them with "
            "`register_namespaces`, which shows each group as one tool"
        )
    return faults
