"""Blocks that a provider made and reads: tools it runs itself, and its own summaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from context_chef.adaptation.mending import (
    SERVER_USES,
    Mending,
    is_server_result,
    own_opaque,
    without_blocks,
)
from context_chef.ir.blocks import Block, Opaque, Text
from context_chef.ir.repair import Placed
from context_chef.prompts.adaptation import compaction_text


def mend_server_blocks(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Server tool uses and results belong together, summaries stand where they are wanted."""
    if not any(
        own_opaque(block, mending.target) for entry in placed for block in entry.message.content
    ):
        return placed
    if mending.target == "anthropic":
        return _pair_anthropic(_place_compaction(placed, mending), mending)
    if mending.target == "openai-responses" and not mending.stateful:
        return _pair_responses(placed, mending)
    return placed


def _drop(entry: Placed, dropped: set[int]) -> Placed:
    return Placed(entry.at, without_blocks(entry.message, dropped))


# Anthropic -------------------------------------------------------------------------------------


def _pair_anthropic(placed: list[Placed], mending: Mending) -> list[Placed]:
    uses: set[Any] = set()
    answered: set[Any] = set()
    out: list[Placed] = []
    for entry in placed:
        dropped: set[int] = set()
        for index, block in enumerate(entry.message.content):
            opaque = own_opaque(block, "anthropic")
            if opaque is None:
                continue
            if opaque.kind in SERVER_USES:
                identifier = opaque.value.get("id")
                if entry.message.role != "assistant" or identifier in uses:
                    dropped.add(index)
                    mending.repair(
                        "server-tool-use-unanswered", entry.at, f"{opaque.kind} out of place"
                    )
                else:
                    uses.add(identifier)
            elif is_server_result(opaque.kind):
                identifier = opaque.value.get("tool_use_id")
                ours = identifier in uses and identifier not in answered
                if not ours or entry.message.role != "assistant":
                    dropped.add(index)
                    mending.repair(
                        "server-tool-result-orphan",
                        entry.at,
                        f"{opaque.kind} without its use was left out",
                    )
                else:
                    answered.add(identifier)
        out.append(_drop(entry, dropped) if dropped else entry)
    waiting = uses - answered
    return _drop_unanswered(out, waiting, mending) if waiting else out


def _drop_unanswered(placed: list[Placed], waiting: set[Any], mending: Mending) -> list[Placed]:
    current = _turn_in_progress(placed) if mending.final else -1
    out: list[Placed] = []
    for position, entry in enumerate(placed):
        dropped: set[int] = set()
        if position != current:
            for index, block in enumerate(entry.message.content):
                opaque = own_opaque(block, "anthropic")
                if (
                    opaque is not None
                    and opaque.kind in SERVER_USES
                    and opaque.value.get("id") in waiting
                ):
                    dropped.add(index)
                    mending.repair(
                        "server-tool-use-unanswered",
                        entry.at,
                        f"{opaque.kind} without a result was left out",
                    )
        out.append(_drop(entry, dropped) if dropped else entry)
    return out


def _turn_in_progress(placed: list[Placed]) -> int:
    """Position of the last assistant message, when only results follow it; else -1."""
    for position in range(len(placed) - 1, -1, -1):
        role = placed[position].message.role
        if role == "assistant":
            return position
        if role != "tool":
            return -1
    return -1


def _is_compaction(block: Block) -> bool:
    opaque = own_opaque(block, "anthropic")
    return opaque is not None and opaque.kind == "compaction"


def _place_compaction(placed: list[Placed], mending: Mending) -> list[Placed]:
    """A summary is the assistant's; a signed one opens the conversation, or is told as text."""
    out: list[Placed] = []
    opening = mending.first
    for entry in placed:
        message = entry.message
        if any(map(_is_compaction, message.content)):
            entry = _mend_compaction(entry, mending, first=opening)
        if message.role != "system":
            opening = False
        out.append(entry)
    return out


def _mend_compaction(entry: Placed, mending: Mending, *, first: bool) -> Placed:
    message = entry.message
    blocks: list[Block] = []
    for index, block in enumerate(message.content):
        if not isinstance(block, Opaque) or not _is_compaction(block):
            blocks.append(block)
            continue
        value: Mapping[str, Any] = block.value
        said: Any = value.get("content")
        if said == "":
            mending.repair("compaction-block", entry.at, "an empty summary was left out")
        elif message.role == "assistant" and (
            not (value.get("signature") and said) or (first and index == 0)
        ):
            blocks.append(block)
        elif isinstance(said, str):
            mending.repair(
                "compaction-block", entry.at, "a summary out of its place is told as text"
            )
            blocks.append(Text(text=compaction_text(said), cache=block.cache))
        else:
            mending.repair("compaction-block", entry.at, "a summary out of place was left out")
    if len(blocks) == len(message.content) and all(
        a is b for a, b in zip(blocks, message.content, strict=True)
    ):
        return entry
    return Placed(entry.at, message.replace(content=tuple(blocks)))


# OpenAI Responses ------------------------------------------------------------------------------

_CALLS = frozenset(
    {
        "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call",
        "function_call",
    }
)  # fmt: skip


def _pair_responses(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Items for which the client has to answer come with their answer."""
    calls: set[tuple[str, Any]] = set()
    outputs: set[tuple[str, Any]] = set()
    for _, block in _items(placed):
        key = (block.kind.removesuffix("_output"), block.value.get("call_id"))
        if block.kind in _CALLS:
            calls.add(key)
        elif key[0] in _CALLS and block.kind.endswith("_output") and key in calls:
            outputs.add(key)
    out: list[Placed] = []
    seen: set[tuple[str, Any]] = set()
    done: set[tuple[str, Any]] = set()
    searches = {
        block.value.get("call_id")
        for _, block in _items(placed)
        if block.kind == "tool_search_call"
    }
    for entry in placed:
        dropped: set[int] = set()
        for index, block in enumerate(entry.message.content):
            opaque = own_opaque(block, "openai-responses")
            if opaque is None:
                continue
            key = (opaque.kind.removesuffix("_output"), opaque.value.get("call_id"))
            if opaque.kind in _CALLS:
                if key not in outputs or key in seen:
                    dropped.add(index)
                    mending.repair("call-unanswered", entry.at, f"{opaque.kind} without output")
                else:
                    seen.add(key)
            elif key[0] in _CALLS and opaque.kind != key[0]:
                if (key not in seen and key[1] not in searches) or key in done:
                    dropped.add(index)
                    mending.repair("output-orphan", entry.at, f"{opaque.kind} without its call")
                else:
                    done.add(key)
        out.append(_drop(entry, dropped) if dropped else entry)
    return out


def _items(placed: list[Placed]) -> list[tuple[int, Opaque]]:
    return [
        (entry.at, block)
        for entry in placed
        for block in entry.message.content
        if isinstance(block, Opaque) and block.provider == "openai-responses"
    ]
