"""The tail, and then the last look at the size: the whole request fits the window, or is refused.

Memory, injected context and the tail are known only now, so this is where the request is counted
as it will be sent. What is over leaves in the same pass: nothing is summarised a second time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import msgspec

from context_chef.errors import WindowFullError
from context_chef.ir.blocks import Text
from context_chef.ir.message import Message
from context_chef.pipeline import history_steps, window_steps
from context_chef.pipeline.tool_changes import inline_tools
from context_chef.pipeline.turn import CompileTurn
from context_chef.selection.learnt import Sent
from context_chef.selection.strategies.server import find_server

_ROUNDS = 4


async def tail(turn: CompileTurn) -> None:
    """Put the tail in its place, and fit the history once more when the whole is too large.

    Raises WindowFullError naming what takes the room.
    """
    if turn.compacting:
        turn.messages = tuple(message for message in turn.messages if not message.prefill)
        turn.stable_until = len(turn.messages)
        _note(turn)
        return
    assembled = turn.messages
    await window_steps.tail(turn)
    if _is_enforced(turn):
        for _ in range(_ROUNDS):
            if _total(turn) * _factor(turn) <= turn.parts.janitor.limit:
                break
            before = turn.history
            await _refit(turn, assembled)
            if turn.history == before:
                break
        _refuse_when_over(turn)
    _note(turn)


def _is_enforced(turn: CompileTurn) -> bool:
    janitor = turn.parts.janitor
    if math.isinf(janitor.limit):
        return False
    if janitor.recovering:
        return True
    if janitor.overflow_config.oversize == "send":
        return False
    server = find_server(janitor.strategy)
    # What the provider clears while it answers may be more than the window holds.
    return not turn.server_managed or (server is not None and server.on_request(turn.target_name))


async def _refit(turn: CompileTurn, assembled: tuple[Message, ...]) -> None:
    """Fit the history with what really stands around it, and put the window together again."""
    janitor = turn.parts.janitor
    unfitted, _ = turn.unlanded
    pure = turn.overflow.history if turn.overflow is not None else unfitted
    overhead = _total(turn) - janitor.count(pure)
    replaced = turn.history
    if turn.janitor_turn is None:
        turn.janitor_turn = await janitor.begin(
            unfitted,
            overhead=overhead,
            signal=turn.inputs.signal,
            emit=turn.emit,
            only_fit=True,
            are_messages=True,
            standing=history_steps.standing_of(turn),
        )
    try:
        await turn.janitor_turn.refit(overhead)
    except WindowFullError as error:
        raise _refusal(turn, error.needed) from error
    sent_tails = turn.unlanded[1].sent_tails
    turn.state = msgspec.structs.replace(turn.state, sent_tails=sent_tails)
    history_steps.land(turn)
    history_steps.settle_history(turn)
    window_steps.reassemble(turn, assembled, replaced)
    await window_steps.tail(turn)


def _total(turn: CompileTurn) -> float:
    """Tokens of the whole request as it stands, by our own count."""
    janitor = turn.parts.janitor
    total = janitor.count(turn.messages)
    if janitor.counts_history_only:
        return total
    return total + janitor.count_tools((*turn.inputs.tools, *inline_tools(turn)))


def _factor(turn: CompileTurn) -> float:
    return (turn.janitor_turn or turn.parts.janitor.state).factor


def _note(turn: CompileTurn) -> None:
    """Keep what was counted: for the budget, for reports, and for the next compile's estimate."""
    janitor = turn.parts.janitor
    total = _total(turn)
    turn.sent = Sent(tokens=total, messages=turn.messages)
    if turn.compacting or janitor.counts_history_only:
        return
    pure = turn.overflow.history if turn.overflow is not None else turn.unlanded[0]
    around = total - janitor.count(pure)
    volatile = max(0, around - turn.fixed_overhead)
    turn.state = msgspec.structs.replace(turn.state, last_volatile_tokens=volatile)
    turn.budget = (turn.janitor_turn or janitor).read_budget(pure, overhead=around)


def _refuse_when_over(turn: CompileTurn) -> None:
    janitor = turn.parts.janitor
    if _total(turn) * _factor(turn) > janitor.limit * janitor.gauge.tolerance:
        raise _refusal(turn, _total(turn))


def _refusal(turn: CompileTurn, needed: float) -> WindowFullError:
    """What takes the room, by where it comes from."""
    factor = _factor(turn)
    parts = {name: tokens * factor for name, tokens in _shares(turn).items() if tokens}
    ordered = dict(sorted(parts.items(), key=lambda item: -item[1]))
    return WindowFullError(limit=turn.parts.janitor.limit, needed=needed * factor, parts=ordered)


def _shares(turn: CompileTurn) -> Mapping[str, float]:
    count = turn.parts.janitor.count
    prefix = turn.messages[: turn.history_start]
    conversation = turn.messages[turn.history_start :]
    shares: dict[str, float] = {"tools": turn.parts.janitor.count_tools(turn.inputs.tools)}
    for message in prefix:
        name = turn.sources.name(message).partition(":")[0].replace("_", " ")
        shares[name] = shares.get(name, 0) + count([message])
    own: list[Message] = []
    for message in conversation:
        generated = [b for b in message.content if isinstance(b, Text) and b.source is not None]
        for block in generated:
            name = f"tail: {(block.source or '').replace('_', ' ')}"
            shares[name] = shares.get(name, 0) + count([message.replace(content=(block,))])
        kept = tuple(block for block in message.content if block not in generated)
        if kept or not generated:
            own.append(message.replace(content=kept))
    for name, messages in _conversation(own).items():
        shares[name] = count(messages) if messages else 0
    return shares


def _conversation(messages: Sequence[Message]) -> dict[str, list[Message]]:
    groups: dict[str, list[Message]] = {
        "pinned messages": [],
        "system messages in the history": [],
        "other messages": [],
    }
    for message in messages:
        if message.pinned:
            groups["pinned messages"].append(message)
        elif message.role == "system":
            groups["system messages in the history"].append(message)
        else:
            groups["other messages"].append(message)
    return groups
