"""What a strategy answers is checked: pins stand word for word, calls and results stay together."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from context_chef.ir.diagnostics import Repair
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed, pair_results
from context_chef.ir.turns import group_into_turns
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.strategy import Logger


def mended(result: OverflowResult, input: OverflowInput, logger: Logger) -> OverflowResult:
    """A changed result in which every pin stands verbatim and no call is parted from its result.

    The built-in strategies need no mending; a custom one that does is named in the log.
    """
    pins = [input.history[at] for at in sorted(input.pinned)]
    history = _with(result, input, _missing(pins, result.history))
    if history is not result.history:
        logger.warning(
            "The strategy %r took out or changed pinned messages; they are back.", result.strategy
        )
    whole = _with(
        msgspec.structs.replace(result, history=history), input, _parted(history, input.history)
    )
    if not whole and input.history:
        last = group_into_turns(input.history)[-1]
        whole = input.history[last.start : last.end]
    whole = _paired(whole, input.history)
    if whole is not history:
        logger.warning(
            "The strategy %r parted tool calls from their results; they are mended.",
            result.strategy,
        )
    if whole is result.history:
        return result
    present = set(map(id, whole))
    lost = [m for m in result.history if id(m) not in present and _said(m, input.history)]
    evicted = tuple(message for message in result.evicted if id(message) not in present)
    head_stands = bool(whole and result.history) and whole[0] is result.history[0]
    return msgspec.structs.replace(
        result,
        history=whole,
        evicted=(*evicted, *lost),
        span=(*result.span, *lost),
        summary=result.summary if head_stands else None,
    )


def _missing(wanted: Iterable[Message], history: tuple[Message, ...]) -> list[Message]:
    present = {id(message) for message in history}
    return [m for m in wanted if id(m) not in present and m not in history]


def _parted(history: tuple[Message, ...], before: tuple[Message, ...]) -> list[Message]:
    """Members of a tool turn that left while others of the same turn stayed."""
    present = {id(message) for message in history}
    calls = {call.id for message in history for call in message.tool_calls}
    answered = {message.tool_call_id for message in history if message.role == "tool"}
    parted: list[Message] = []
    for turn in group_into_turns(before):
        members = before[turn.start : turn.end]
        if len(members) < 2 or not any(id(member) in present for member in members):
            continue
        # A member may have given way to another form of itself: a stub has the same call id.
        parted += [
            member
            for member in members
            if id(member) not in present
            and (
                member.tool_call_id not in answered
                if member.role == "tool"
                else not any(call.id in calls for call in member.tool_calls)
            )
        ]
    return parted


def _with(
    result: OverflowResult, input: OverflowInput, missing: list[Message]
) -> tuple[Message, ...]:
    """The history with these messages back, each before what followed it and is still there."""
    if not missing:
        return result.history
    history = list(result.history)
    present = {id(message) for message in history}
    lost = set(map(id, missing))
    at = len(history)
    for message in reversed(input.history):
        if id(message) in lost:
            history.insert(at, message)
        elif id(message) in present:
            at = next(i for i, kept in enumerate(history) if kept is message)
    if result.summary is not None and history[0] is not result.history[0]:
        head = result.history[0]
        history = [head, *(message for message in history if message is not head)]
    return tuple(history)


def _paired(history: tuple[Message, ...], before: tuple[Message, ...]) -> tuple[Message, ...]:
    """The history with pairs whole, when this pass has broken any."""
    old: list[Repair] = []
    new: list[Repair] = []
    pair_results(_placed(before), old, keep_unnamed=True)
    paired = pair_results(_placed(history), new, keep_unnamed=True)
    if len(new) <= len(old):
        return history
    return tuple(entry.message for entry in paired)


def _placed(history: tuple[Message, ...]) -> list[Placed]:
    return [Placed(at, message) for at, message in enumerate(history)]


def _said(message: Message, history: tuple[Message, ...]) -> bool:
    return any(known is message for known in history)
