"""What the last request began with, so that a change is told, costed, or made without touching it.

A changed tool list stands at the very front of a request, so everything behind it is billed anew.
With `tool_changes="inline"` the list stays what it was and the change is said in the conversation,
on models that take it there: `tool_addition` and `tool_removal` on Claude, `additional_tools` on
OpenAI Responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from context_chef.adaptation.tools import convert_tools, held_back
from context_chef.ir.blocks import Opaque, Provider
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.digest import sha256_hex
from context_chef.ir.message import Message
from context_chef.ir.report import PrefixChange, PrefixPart
from context_chef.ir.tools import ToolDefinition
from context_chef.pipeline.sent_request import SentPart, SentRequest, ToolChange
from context_chef.pipeline.turn import CompileTurn

SOURCE = "tool_change"
_TARGETS = ("openai", "openai-responses", "anthropic", "gemini")


def plan_tools(turn: CompileTurn) -> None:
    """Decide what the request's tool list is, and what of it is said in the conversation."""
    if turn.parts.settings.deferred_tools == "omit":
        _omit_deferred(turn)
    turn.sent_before = turn.state.sent_requests.get(turn.target_name)
    before = turn.sent_before
    if turn.parts.settings.tool_changes != "inline" or before is None or not before.tools:
        return
    if before.model != turn.inputs.model or not _adds_inline(turn):
        return
    change = _change(turn, before)
    if change is None:
        return
    turn.tool_changes = before.changes
    if change.added or change.removed:
        turn.tool_changes = (*before.changes, change)
    turn.inputs = msgspec.structs.replace(turn.inputs, tools=before.tools)


def inline_tools(turn: CompileTurn) -> tuple[ToolDefinition, ...]:
    """The definitions that stand in the conversation, each once."""
    found = {tool.name: tool for change in turn.tool_changes for tool in change.added}
    for tool in turn.inputs.tools:
        found.pop(tool.name, None)
    return tuple(found.values())


def with_settled_changes(turn: CompileTurn) -> tuple[Message, ...]:
    """The conversation with the changes that an answer came after, where they were said."""
    messages = list(turn.history)
    for change in turn.tool_changes:
        if (place := _settled_place(turn, messages, change.after)) is not None:
            messages[place:place] = _messages(turn, change)
            turn.settled_changes += 1
    return tuple(messages)


def say_new_changes(turn: CompileTurn) -> None:
    """The changes that no answer came after yet: behind the last thing that was said."""
    waiting = turn.tool_changes[turn.settled_changes :]
    if not waiting:
        return
    messages = list(turn.messages)
    end = len(messages)
    while end > turn.history_start and messages[end - 1].role not in ("user", "tool"):
        end -= 1
    if end == turn.history_start:
        end = len(messages)
    said = [message for change in waiting for message in _messages(turn, change)]
    messages[end:end] = said
    turn.messages = tuple(messages)


def remember_request(turn: CompileTurn) -> None:
    """What this request begins with, for the next one to be compared with."""
    now = SentRequest(
        model=turn.inputs.model,
        tools=turn.inputs.tools,
        changes=turn.tool_changes,
        prefix=tuple(_parts(turn)),
        items=len(turn.transcript.items),
    )
    if now != turn.sent_before:
        requests = {**turn.state.sent_requests, turn.target_name: now}
        turn.state = msgspec.structs.replace(turn.state, sent_requests=requests)


def prefix_changes(turn: CompileTurn) -> tuple[PrefixChange, ...]:
    """What of the beginning is not what it was in the last request, and what that costs."""
    before = turn.sent_before
    if before is None:
        return ()
    cost = _Cost(turn, before)
    changes: list[PrefixChange] = []
    if before.model != turn.inputs.model:
        said = f"the model was {before.model!r} and is {turn.inputs.model!r}"
        changes.append(_told("model", None, cost.everything(), said))
    changes += _inline_changes(turn, before)
    changes += _tool_list_changes(turn, before, cost)
    changes += _system_changes(turn, before, cost)
    return tuple(changes)


# The plan


def _adds_inline(turn: CompileTurn) -> bool:
    profile = turn.profile
    if profile is None or not profile.tool_additions:
        return False
    if turn.target_name == "anthropic":
        return profile.inline_system
    return turn.target_name == "openai-responses"


def _omit_deferred(turn: CompileTurn) -> None:
    """Leave out what should be held back and cannot be. A custom target is given everything."""
    if turn.target_name not in _TARGETS:
        return
    kept: list[ToolDefinition] = []
    tools = turn.inputs.tools
    for place, tool in enumerate(tools):
        if tool.defer_loading and not held_back(tool, turn.target_name, turn.profile, tools):
            said = f"{tool.name!r} is left out: it cannot be held back here (`deferred_tools`)"
            turn.diagnostics.append(
                Diagnostic(code="deferred-tool-omitted", where=f"tools[{place}]", message=said)
            )
        else:
            kept.append(tool)
    if len(kept) < len(tools):
        turn.inputs = msgspec.structs.replace(turn.inputs, tools=tuple(kept))


def _change(turn: CompileTurn, before: SentRequest) -> ToolChange | None:
    """What has to be said; None where the list itself has to change."""
    known = {tool.name: tool for tool in before.tools}
    known.update({tool.name: tool for change in before.changes for tool in change.added})
    offered = before.offered
    wanted = {tool.name: tool for tool in turn.inputs.tools}
    if any(name in known and known[name] != tool for name, tool in wanted.items()):
        return None  # one name cannot stand for two definitions
    added = tuple(tool for name, tool in wanted.items() if name not in offered)
    removed = tuple(name for name in offered if name not in wanted)
    if removed and turn.target_name != "anthropic":
        return None
    if any(_is_native(tool) or tool.defer_loading for tool in added):
        return None
    return ToolChange(after=len(turn.transcript.items), added=added, removed=removed)


def _is_native(tool: ToolDefinition) -> bool:
    return any("definition" in cast(Mapping[str, Any], own) for own in tool.native.values())


# The words


def _messages(turn: CompileTurn, change: ToolChange) -> list[Message]:
    target = cast(Provider, turn.target_name)
    every = (*turn.inputs.tools, *inline_tools(turn))
    converted = convert_tools(every, target=target, profile=turn.profile)
    names = converted.names
    by_name = {entry.get("name"): entry for entry in converted.wire}
    listed = {tool.name for tool in turn.inputs.tools}
    wire = {tool.name: by_name.get(names.get(tool.name, tool.name)) for tool in change.added}
    if target == "openai-responses":
        tools = [entry for entry in wire.values() if entry is not None]
        values: list[dict[str, Any]] = [
            {"type": "additional_tools", "role": "developer", "tools": tools}
        ]
    else:
        first = _defined_here(turn, change)
        values = [
            {
                "type": "tool_addition",
                "tool": {"type": "tool_definition", "definition": entry}
                if name in first and name not in listed
                else {"type": "tool_reference", "name": names.get(name, name)},
            }
            for name, entry in wire.items()
        ]
        values += [
            {
                "type": "tool_removal",
                "tool": {"type": "tool_reference", "name": names.get(name, name)},
            }
            for name in change.removed
        ]
    if not values:
        return []
    content = tuple(Opaque(provider=target, value=value) for value in values)
    message = Message(role="system", content=content, positional=True)
    turn.credit((message,), SOURCE)
    turn.generated = True
    return [message]


def _defined_here(turn: CompileTurn, change: ToolChange) -> set[str]:
    """The tools that no earlier change has defined: their definition stands in this one."""
    earlier = turn.tool_changes[: turn.tool_changes.index(change)]
    known = {tool.name for other in earlier for tool in other.added}
    return {tool.name for tool in change.added if tool.name not in known}


def _settled_place(turn: CompileTurn, messages: Sequence[Message], after: int) -> int | None:
    """In front of the first answer behind item `after`, where no answer is split from its turn."""
    place = len(messages)
    for index, message in enumerate(messages):
        item = _item(turn.sources.name(message))
        if item is not None and item >= after:
            place = index
            break
    while place < len(messages) and messages[place].role != "assistant":
        place += 1
    while place < len(messages) and not any(
        message.role in ("user", "tool") for message in messages[:place]
    ):
        place += 1  # never first: behind somebody who spoke, in front of an answer
    return place if place < len(messages) and messages[place].role == "assistant" else None


def _item(source: str) -> int | None:
    if source.startswith("history[") and source.endswith("]"):
        return int(source[8:-1])
    return None


# The comparison


def _parts(turn: CompileTurn) -> Iterator[SentPart]:
    for message in turn.messages[: turn.history_start]:
        content = tuple(msgspec.structs.replace(block, cache=None) for block in message.content)
        digest = sha256_hex(msgspec.json.encode((message.role, content)))[:16]
        yield SentPart(source=turn.sources.name(message), digest=digest)


def _inline_changes(turn: CompileTurn, before: SentRequest) -> list[PrefixChange]:
    changes: list[PrefixChange] = []
    for change in turn.tool_changes[len(before.changes) :]:
        said = "said in the conversation, so that what stands in front of it is not touched"
        changes += [_told("tool-added", tool.name, 0, said, kept=True) for tool in change.added]
        changes += [_told("tool-removed", name, 0, said, kept=True) for name in change.removed]
    return changes


def _tool_list_changes(turn: CompileTurn, before: SentRequest, cost: _Cost) -> list[PrefixChange]:
    old, new = before.tools, turn.inputs.tools
    if old == new:
        return []
    was = {tool.name: tool for tool in old}
    now = {tool.name: tool for tool in new}
    found: list[PrefixChange] = []
    for place, tool in enumerate(new):
        if tool.name not in was:
            found.append(cost.of_tool("tool-added", tool, place, "is new in the list"))
        elif was[tool.name] != tool:
            found.append(cost.of_tool("tool-changed", tool, place, "has another definition"))
    for place, tool in enumerate(old):
        if tool.name not in now:
            found.append(cost.of_tool("tool-removed", tool, place, "is not in the list any more"))
    kept_old = [tool.name for tool in old if tool.name in now]
    kept_new = [tool.name for tool in new if tool.name in was]
    if kept_old != kept_new:
        place = next(i for i, (a, b) in enumerate(zip(kept_old, kept_new, strict=True)) if a != b)
        tokens = cost.behind_tool(place)
        found.append(_told("tools-reordered", None, tokens, "the order of the tools is another"))
    return found


def _system_changes(turn: CompileTurn, before: SentRequest, cost: _Cost) -> list[PrefixChange]:
    old, new = before.prefix, tuple(_parts(turn))
    if old == new:
        return []
    place = next(
        (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
    changed = [part.source for part in new[place:] if part not in old]
    changed += [
        part.source for part in old[place:] if part not in new and part.source not in changed
    ]
    found: list[PrefixChange] = []
    for source in dict.fromkeys(changed or [new[place].source if place < len(new) else "system"]):
        what: PrefixPart = "skill" if source.startswith("skill") else "system"
        said = f"`{source}` is not what it was"
        found.append(_told(what, source, cost.behind_part(place), said))
    return found


def _told(
    what: PrefixPart, name: str | None, tokens: float, said: str, *, kept: bool = False
) -> PrefixChange:
    return PrefixChange(what=what, name=name, rebilled_tokens=int(tokens), kept=kept, message=said)


class _Cost:
    """Tokens that stood in the last request and stand in this one, behind a place."""

    def __init__(self, turn: CompileTurn, before: SentRequest) -> None:
        self._turn = turn
        self._before = before

    def everything(self) -> float:
        return self.behind_tool(0)

    def of_tool(
        self, what: PrefixPart, tool: ToolDefinition, place: int, said: str
    ) -> PrefixChange:
        outside = held_back(
            tool, self._turn.target_name, self._turn.profile, self._turn.inputs.tools
        )
        tokens = 0 if outside else self.behind_tool(place)
        said = f"{tool.name!r} {said}"
        if outside:
            said += "; it is held back, so it stands outside of the prefix"
        return _told(what, tool.name, tokens, said, kept=outside)

    def behind_tool(self, place: int) -> float:
        tools = [tool for tool in self._turn.inputs.tools[place:] if tool in self._before.tools]
        return self._turn.parts.janitor.count_tools(tools) + self.behind_part(0)

    def behind_part(self, place: int) -> float:
        """The prefix from this part on, and the conversation that was sent already."""
        turn = self._turn
        known = set(self._before.prefix)
        prefix = turn.messages[: turn.history_start]
        standing = [
            message
            for message, part in list(zip(prefix, _parts(turn), strict=True))[place:]
            if part in known
        ]
        for message in turn.messages[turn.history_start :]:
            source = turn.sources.name(message)
            item = _item(source)
            if source == "fold" or (item is not None and item < self._before.items):
                standing.append(message)
        return turn.parts.janitor.count(standing)
