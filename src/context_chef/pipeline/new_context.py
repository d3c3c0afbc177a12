"""A request for a new window: taken up, tried again, or dropped with word of it; never lost."""

from __future__ import annotations

from typing import Final

import msgspec

from context_chef.events import InvariantBroken
from context_chef.ir.diagnostics import Diagnostic
from context_chef.pipeline.turn import CompileTurn

_WHERE: Final = "new-context"
_NOTHING_TO_CLOSE: Final = frozenset({"forced_single_turn", "empty_history"})
"""The window is as fresh as it can be: only the report says so, as the contract has it."""
_REASONS: Final = {
    "empty_history": "there is no conversation yet",
    "forced_single_turn": "there is nothing but the turn that has to be answered",
    "no_boundary": "nothing of the history may leave",
    "only_pinned": "all that could leave is pinned",
    "no_server_target": "the server strategy has no fallback on this target",
    "nothing_to_clear": "there is nothing to clear",
    "too_little_to_gain": "too little would have been gained",
    "rejected": "the strategy failed three times in a row",
}


async def take_up(turn: CompileTurn) -> bool:
    """Whether this compile is to close the window. What it does not do is settled afterwards."""
    state = turn.state
    if not state.new_context_requested:
        return False
    turn.state = msgspec.structs.replace(state, new_contexts_done=state.new_contexts_requested)
    tried = state.new_contexts_tried == state.new_contexts_requested
    if tried and turn.parts.janitor.breaker.open:
        await _drop(turn, "breaker", _REASONS["rejected"])
        return False
    return True


async def settle(turn: CompileTurn, *, vetoed: bool, skipped: bool) -> None:
    """What became of a request that this compile took up."""
    if skipped and turn.compacting:
        return
    done = turn.janitor_turn
    if done is None:
        if vetoed and not turn.server_managed:
            await _drop(turn, "veto", "a before-overflow handler vetoed it")
        else:
            await _drop(turn, "server", "overflow is the server's business on this target")
    elif done.worked:
        return
    elif done.at_work:
        _keep(turn)
    elif done.may_try_again:
        _keep(turn)
        message = "the requested new window is tried again in the next compile: overflow failed"
        _report(turn, "new-context-waits", message)
        await turn.emit(InvariantBroken(phase="overflow", message=message))
    else:
        reason = done.landed.reason or "unchanged"
        name = turn.parts.janitor.strategy.name
        why = _REASONS.get(reason, f"the strategy {name!r} changed nothing ({reason})")
        await _drop(turn, reason, why, quiet=reason in _NOTHING_TO_CLOSE)


def _keep(turn: CompileTurn) -> None:
    """Leave the request for the next compile. It counts as tried."""
    turn.state = msgspec.structs.replace(
        turn.state,
        new_contexts_done=turn.base.new_contexts_done,
        new_contexts_tried=turn.state.new_contexts_requested,
    )


async def _drop(turn: CompileTurn, cause: str, why: str, *, quiet: bool = False) -> None:
    message = f"a requested new window was dropped, because {why}"
    _report(turn, "new-context-dropped", message)
    if quiet:
        return
    turn.parts.warn_once(
        f"forced-dropped:{cause}", "The request for a new window was dropped: %s.", why
    )
    await turn.emit(InvariantBroken(phase="overflow", message=message))


def _report(turn: CompileTurn, code: str, message: str) -> None:
    turn.diagnostics.append(Diagnostic(code=code, where=_WHERE, message=message))
