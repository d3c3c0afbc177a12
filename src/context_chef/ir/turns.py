"""Atomic turns: a call and its results never part."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import as_messages


class Turn(msgspec.Struct, frozen=True):
    """A stretch `[start, end)` of a history that stays or goes as a whole."""

    start: int
    end: int


def group_into_turns(history: Sequence[MessageLike]) -> list[Turn]:
    """Cover a history with turns, without gaps.

    An assistant message with calls and the tool messages right behind it are one turn; every other
    message is a turn of its own.
    """
    history = as_messages(history)
    turns: list[Turn] = []
    start = 0
    while start < len(history):
        end = start + 1
        if history[start].role == "assistant" and history[start].tool_calls:
            while end < len(history) and history[end].role == "tool":
                end += 1
        turns.append(Turn(start, end))
        start = end
    return turns


def pinned_indexes(history: Sequence[Message]) -> frozenset[int]:
    """The indexes of every message of every turn that has a pinned message in it."""
    return frozenset(
        index
        for turn in group_into_turns(history)
        if any(history[position].pinned for position in range(turn.start, turn.end))
        for index in range(turn.start, turn.end)
    )
