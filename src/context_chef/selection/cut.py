"""Where a history may be cut, and what stays verbatim before the cut."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from context_chef.ir.message import Message
from context_chef.ir.turns import Turn, group_into_turns
from context_chef.ir.window import OverflowInput
from context_chef.selection.janitor_config import CompressionOptions, SplitRule
from context_chef.selection.summary_message import is_summary_message

DEFAULT_PRESERVE_RATIO = 0.8
FREED = 0.25
"""Share of the trigger that a fold frees in a window that has a summary already."""
LEAST_KEPT = 0.3
"""Share of the trigger that the newest turns may always keep."""


class Cut(NamedTuple):
    """Messages before `at` leave. `at` is None when there is nothing to cut, for `reason`."""

    at: int | None
    reason: str | None = None


def find_cut(input: OverflowInput, options: CompressionOptions) -> Cut:
    """The start of a turn: what stands before it is the span, the rest is the tail."""
    turns = group_into_turns(input.history)
    if input.forced:
        if len(turns) < 2:
            return Cut(None, "forced_single_turn")
        return Cut(turns[-1].start)
    if split_rule(options) == "recent-turns":
        keep = min(options.preserve_recent_messages or 1, len(turns))
        at = turns[-keep].start if turns else 0
        return Cut(at) if at > 0 else Cut(None, "no_boundary")
    at = _ratio_cut(input, turns, options, scale=1.0)
    if at == 0 and input.budget.over:
        # The provider reports more than we count: what a turn costs grows by as much.
        counted = input.tokenizer(input.history)
        share = input.budget.current - input.overhead
        if counted > 0 and share > counted:
            at = _ratio_cut(input, turns, options, scale=share / counted)
    return Cut(at) if at > 0 else Cut(None, "no_boundary")


def split_rule(options: CompressionOptions) -> SplitRule:
    """How the cut is found, from what is set."""
    if options.split is not None:
        return options.split
    by_turns = options.preserve_recent_messages is not None and options.preserve_ratio is None
    return "recent-turns" if by_turns else "ratio"


def _ratio_cut(
    input: OverflowInput, turns: Sequence[Turn], options: CompressionOptions, *, scale: float
) -> int:
    ratio = DEFAULT_PRESERVE_RATIO if options.preserve_ratio is None else options.preserve_ratio
    room = (input.budget.trigger - input.overhead) * ratio
    if options.preserve_ratio is None:
        room = min(room, _room_beside_summary(input))
    target = room if math.isinf(room) else math.floor(room)
    kept, cut = 0.0, len(input.history)
    for turn in reversed(turns):
        cost = scale * input.tokenizer(input.history[turn.start : turn.end])
        # The newest turn stays even if it alone is too large.
        if kept + cost > target and cut < len(input.history):
            break
        kept += cost
        cut = turn.start
    return cut


def _room_beside_summary(input: OverflowInput) -> float:
    """What may stay so that a summary as long as the last does not fill the window again at once.

    In a small window a summary takes a good share: each fold has to free enough for several turns.
    """
    earlier = [message for message in input.history if is_summary_message(message)]
    if not earlier:
        return math.inf
    trigger = input.budget.trigger - input.overhead
    return max(trigger * (1 - FREED) - input.tokenizer(earlier), trigger * LEAST_KEPT)


def kept_in_span(
    input: OverflowInput, cut: int, *, keep_open_request: bool = True
) -> frozenset[int]:
    """Indexes before the cut that stay verbatim: pinned turns, system messages, the open request.

    The request is open while tools are at work on it: the newest user message, when the history
    ends in a tool exchange and no user message stands behind the cut.
    """
    kept = {
        index
        for index in range(cut)
        if index in input.pinned or input.history[index].role == "system"
    }
    if keep_open_request:
        request = open_request(input.history)
        if request is not None and request < cut:
            kept.add(request)
    return frozenset(kept)


def open_request(history: Sequence[Message]) -> int | None:
    """The newest user message, when the model has been at work on it since: what it said last may
    be a call, or an answer that it is to go on with.
    """
    if not history or history[-1].role not in ("tool", "assistant"):
        return None
    return next((at for at in range(len(history) - 1, -1, -1) if history[at].role == "user"), None)


def open_turn(history: Sequence[Message]) -> frozenset[int]:
    """Indexes of what has to be answered: the newest user message and everything behind it.

    Empty when the model has spoken last and nothing waits for an answer.
    """
    if not history or (history[-1].role == "assistant" and not history[-1].tool_calls):
        return frozenset()
    turns = group_into_turns(history)
    last = turns[-1]
    kept = set(range(last.start, last.end))
    request = open_request(history)
    if request is not None:
        kept.add(request)
    return frozenset(kept)


def open_exchange(history: Sequence[Message]) -> frozenset[int]:
    """Indexes of what has to stand: the open turn, or the model's last answer with its request."""
    request = open_request(history)
    if request is None or open_turn(history):
        return open_turn(history)
    last = group_into_turns(history)[-1]
    return frozenset({request, *range(last.start, last.end)})
