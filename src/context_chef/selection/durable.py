"""Compaction for callers who keep their own history: plan, summarise, put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from context_chef.bridge import run_sync, settle
from context_chef.errors import SettingsError, shown
from context_chef.given import check_callable
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.repair import ensure_valid_history
from context_chef.ir.rows import as_messages
from context_chef.ir.turns import group_into_turns, pinned_indexes
from context_chef.prompts.compaction import compaction_instruction, read_summary
from context_chef.selection.flatten import for_summary
from context_chef.selection.janitor_config import CompressionModel
from context_chef.selection.summary_message import render_summary_message

M = TypeVar("M", bound=MessageLike)


class CompactionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How a history falls apart: system messages, what is summarised, what is kept."""

    system: tuple[Message, ...]
    to_summarize: tuple[Message, ...]
    to_keep: tuple[Message, ...]


def plan_compaction(history: Sequence[MessageLike], *, keep_recent_turns: float) -> CompactionPlan:
    """Cut a history, of messages or plain dicts, before its newest `keep_recent_turns` turns.

    The history is mended first, so that no call is without a result. System messages are taken
    out, in order. Pinned turns of the old part move to the front of what is kept.
    """
    if isinstance(keep_recent_turns, bool) or not isinstance(keep_recent_turns, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from JSON
        raise SettingsError(f"`keep_recent_turns` is a number, not {shown(keep_recent_turns)}.")
    if keep_recent_turns != keep_recent_turns:
        raise SettingsError("`keep_recent_turns` is a number, not NaN.")
    mended = ensure_valid_history(as_messages(history)).messages
    system = tuple(message for message in mended if message.role == "system")
    rest = tuple(message for message in mended if message.role != "system")
    turns = group_into_turns(rest)
    keep = max(0, math.floor(min(keep_recent_turns, len(turns))))
    old = turns[: len(turns) - keep]
    cut = old[-1].end if old else 0
    pinned = pinned_indexes(rest)
    return CompactionPlan(
        system=system,
        to_summarize=tuple(rest[at] for at in range(cut) if at not in pinned),
        to_keep=(*(rest[at] for at in range(cut) if at in pinned), *rest[cut:]),
    )


async def summarize_history(
    messages: Sequence[MessageLike],
    compress: CompressionModel,
    *,
    custom_compression_instructions: str | None = None,
    tool_result_stub_threshold: int | None = None,
    compression_guidelines: Sequence[str] = (),
    base_instruction: str | None = None,
) -> str:
    """The summary of messages or plain dicts; empty when there is none, or nothing to summarise.

    What the model raises reaches the caller. Nothing is judged but that the answer is complete: one
    that is blank, or cut off inside a tag, is no summary.
    """
    check_callable(compress, "compress", optional=False)
    if not messages:
        return ""
    instruction = compaction_instruction(
        base=base_instruction,
        guidelines=compression_guidelines,
        extra=custom_compression_instructions,
    )
    shown = for_summary(as_messages(messages), stub_threshold=tool_result_stub_threshold)
    answer: Any = await settle(compress([*shown, Message.user(instruction)]))
    return (read_summary(answer) if isinstance(answer, str) else None) or ""


async def compact_history(
    history: Sequence[M],
    compress: CompressionModel,
    *,
    keep_recent_turns: float,
    custom_compression_instructions: str | None = None,
    tool_result_stub_threshold: int | None = None,
    compression_guidelines: Sequence[str] = (),
    base_instruction: str | None = None,
) -> Sequence[M | Message]:
    """The history with its old turns replaced by a summary, for the caller to store.

    Takes messages and plain dicts, and answers messages: system messages first, then the summary,
    then what is kept. The very object that was given comes back when nothing is old enough, or the
    summary is blank.
    """
    plan = plan_compaction(history, keep_recent_turns=keep_recent_turns)
    if not plan.to_summarize:
        return history
    summary = await summarize_history(
        plan.to_summarize,
        compress,
        custom_compression_instructions=custom_compression_instructions,
        tool_result_stub_threshold=tool_result_stub_threshold,
        compression_guidelines=compression_guidelines,
        base_instruction=base_instruction,
    )
    if not summary:
        return history
    return [*plan.system, render_summary_message(summary), *plan.to_keep]


def summarize_history_sync(
    messages: Sequence[MessageLike], compress: CompressionModel, **options: Any
) -> str:
    """`summarize_history` for a model that is not async."""
    return run_sync(summarize_history(messages, compress, **options))


def compact_history_sync(
    history: Sequence[M],
    compress: CompressionModel,
    *,
    keep_recent_turns: float,
    **options: Any,
) -> Sequence[M | Message]:
    """`compact_history` for a model that is not async."""
    return run_sync(
        compact_history(history, compress, keep_recent_turns=keep_recent_turns, **options)
    )
