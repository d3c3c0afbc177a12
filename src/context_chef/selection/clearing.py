"""Mechanical clearing: old tool results and thinking go, and no model is asked."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from context_chef.given import read_list
from context_chef.ir.blocks import Block, RedactedThinking, Text, Thinking
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import as_messages
from context_chef.ir.turns import pinned_indexes
from context_chef.patterns import regex
from context_chef.prompts.compaction import trim
from context_chef.prompts.overflow import cleared_tool_result, is_cleared
from context_chef.selection.flatten import tool_names

ClearTarget: TypeAlias = (
    "Literal['tool-result', 'thinking', 'reasoning-tags'] | ToolResultClearing | Mapping[str, Any]"
)
CLEARED_SOURCE: Final = "cleared"


class ToolResultClearing(msgspec.Struct, frozen=True, kw_only=True):
    """Which tool results are cleared."""

    target: Literal["tool-result"] = "tool-result"
    keep_recent: float | None = None
    """The newest so many clearable results stay, at least one. None clears every one."""
    tool_filter: Sequence[str] | None = None
    """Only results of these tools. An empty list matches nothing."""
    exempt_tools: Sequence[str] | None = None
    """Never results of these tools."""


def compact_messages(
    history: Sequence[MessageLike], *, clear: Iterable[ClearTarget]
) -> list[Message]:
    """A new list in which `clear` says what is emptied; untouched messages are the same objects.
    Plain dicts are read.

    - `"tool-result"`, `ToolResultClearing` or an equal mapping: results become a fixed stub.
    - `"thinking"`: assistants lose their thinking; signatures on text and calls stay.
    - `"reasoning-tags"`: `<think>…</think>` leaves the assistants' text; nothing else changes.

    Pinned turns are left alone. Several targets add up; the last clearing object replaces an
    earlier one. Targets that are not known are left out.
    """
    results, thinking, tags = _read_targets(read_list(clear, "clear"))
    messages = list(as_messages(history))
    pinned = pinned_indexes(messages)
    if results is not None:
        for index in clearable_results(messages, results, pinned=pinned):
            messages[index] = cleared(messages[index])
    for index, message in enumerate(messages):
        if message.role != "assistant" or index in pinned:
            continue
        if thinking:
            message = without_thinking(message)
        messages[index] = _without_tags(message) if tags else message
    return messages


def clearable_results(
    messages: Sequence[Message], clearing: ToolResultClearing, *, pinned: frozenset[int]
) -> list[int]:
    """Indexes of the tool results to clear, oldest first."""
    names = tool_names(messages)
    found = [
        index
        for index, message in enumerate(messages)
        if message.role == "tool"
        and index not in pinned
        and _named(names.get(message.tool_call_id or ""), clearing)
    ]
    keep = clearing.keep_recent
    if keep is not None:
        found = found[: -max(1, math.floor(keep))]
    return found


def cleared(message: Message, *, marked: bool = False) -> Message:
    """A tool message with the stub in place of its content."""
    if is_cleared(message.text):
        return message
    source = CLEARED_SOURCE if marked else None
    return message.replace(content=(Text(text=cleared_tool_result(), source=source),))


def without_thinking(message: Message) -> Message:
    """An assistant message without its thinking."""
    kept = tuple(b for b in message.content if not isinstance(b, (Thinking, RedactedThinking)))
    return message if len(kept) == len(message.content) else message.replace(content=kept)


def _named(name: str | None, clearing: ToolResultClearing) -> bool:
    if clearing.exempt_tools is not None and name is not None and name in clearing.exempt_tools:
        return False
    if clearing.tool_filter is None:
        return True
    return name is not None and name in clearing.tool_filter


def _without_tags(message: Message) -> Message:
    if not any(isinstance(b, Text) and _THINK.search(b.text) for b in message.content):
        return message
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Text) and _THINK.search(block.text):
            text = trim(_BLANK_LINES.sub("\n\n", _THINK.sub("", block.text)))
            if text or block.signature is not None:
                content.append(msgspec.structs.replace(block, text=text))
        else:
            content.append(block)
    return message.replace(content=tuple(content))


def _read_targets(clear: Iterable[ClearTarget]) -> tuple[ToolResultClearing | None, bool, bool]:
    results: ToolResultClearing | None = None
    thinking = tags = False
    for target in clear:
        if isinstance(target, ToolResultClearing):
            results = target
        elif isinstance(target, Mapping):
            results = _read_clearing(target) or results
        elif target == "tool-result":
            results = results or ToolResultClearing()
        elif target == "thinking":
            thinking = True
        elif target == "reasoning-tags":
            tags = True
    return results, thinking, tags


def _read_clearing(target: Mapping[str, Any]) -> ToolResultClearing | None:
    if target.get("target") != "tool-result":
        return None
    keep = target.get("keep_recent", target.get("keepRecent"))
    return ToolResultClearing(
        keep_recent=keep if isinstance(keep, (int, float)) else None,
        tool_filter=_names(target.get("tool_filter", target.get("toolFilter"))),
        exempt_tools=_names(target.get("exempt_tools", target.get("exemptTools"))),
    )


def _names(value: Any) -> tuple[str, ...] | None:
    return tuple(cast(Iterable[str], value)) if isinstance(value, (list, tuple, set)) else None


_THINK: Final = regex(r"<think>.*?</think>", re.IGNORECASE | re.DOTALL)
_BLANK_LINES: Final = regex(r"\n{3,}")
