"""What a janitor knows between compiles, and how a snapshot holds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import msgspec

from context_chef.ir.window import WindowLineage
from context_chef.selection.breaker import LIMIT, Breaker
from context_chef.selection.learnt import Learnt, Sent


class JanitorState(msgspec.Struct, frozen=True, kw_only=True):
    """What a janitor knows between compiles, its strategy's own state left aside."""

    lineage: WindowLineage
    reported: float | None = None
    """The provider's figure for the last request, until a verdict takes it."""
    skip_next: bool = False
    """The next evaluation is skipped (only where the caller keeps the history)."""
    breaker: Breaker = Breaker()
    factor: float = 1.0
    """What our counts are multiplied by, from reported usage and refusals."""
    sent: Sent | None = None
    """The last request as we counted it, for a report or a refusal to be compared with."""
    learnt: Learnt = Learnt()
    """What refusals taught."""


def snapshot_of(state: JanitorState, strategy: Any) -> dict[str, Any]:
    """The state, and the strategy's own, as JSON-like data."""
    snapshot: dict[str, Any] = {
        "external_token_usage": state.reported,
        "suppress_next_compression": state.skip_next,
        "consecutive_failures": state.breaker.failures,
        "anchor_doc": anchor_doc(strategy),
        "window": msgspec.to_builtins(state.lineage),
    }
    if strategy is not None:
        snapshot["strategy"] = strategy
    if state.breaker.opened_at is not None:
        snapshot["breaker_opened_at"] = state.breaker.opened_at
    if state.factor != 1.0:
        snapshot["calibration"] = state.factor
    if state.learnt != Learnt():
        snapshot["learnt"] = {
            # As JSON read back has it, so that the bytes are the same.
            name: float(value) if type(value) is int else value
            for name, value in msgspec.to_builtins(state.learnt).items()
        }
    if state.sent is not None:
        snapshot["counted"] = state.sent.tokens
    return snapshot


def state_from(
    snapshot: Mapping[str, Any],
    *,
    new_window_id: Callable[[], str],
    clock: Callable[[], float],
) -> JanitorState:
    """The state out of a snapshot. What it lacks begins anew."""
    read = reader(snapshot)
    window = read("window")
    lineage = (
        msgspec.convert(window, WindowLineage)
        if isinstance(window, Mapping)
        else WindowLineage.begin(new_window_id())
    )
    opened_at = read("breaker_opened_at")
    failures = int(read("consecutive_failures") or 0)
    rests = opened_at is None and failures >= LIMIT
    counted = read("counted")
    return JanitorState(
        lineage=lineage,
        reported=read("external_token_usage"),
        skip_next=bool(read("suppress_next_compression")),
        breaker=Breaker(failures=failures, opened_at=clock() if rests else opened_at),
        factor=float(read("calibration") or 1.0),
        learnt=msgspec.convert(read("learnt") or {}, Learnt),
        sent=None if counted is None else Sent(tokens=counted),
    )


def reader(snapshot: Mapping[str, Any]) -> Callable[[str], Any]:
    """Reads a snapshot by our names; camelCase ones are found as well."""

    def read(name: str) -> Any:
        head, *rest = name.split("_")
        return snapshot.get(name, snapshot.get(head + "".join(map(str.title, rest))))

    return read


def anchor_doc(state: Any) -> str | None:
    """The newest document in a strategy's state, wherever in it that is."""
    if isinstance(state, Mapping):
        document = cast(Mapping[str, Any], state).get("anchor_doc")
        return document if isinstance(document, str) else None
    if isinstance(state, (list, tuple)):
        found = (anchor_doc(item) for item in cast(Sequence[Any], state))
        return next((document for document in found if document is not None), None)
    return None
