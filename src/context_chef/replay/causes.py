"""Why the prompt cache could not serve what it held, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_chef.costs import BilledRequest
from context_chef.explaining import diff
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.pipeline.turn import CompileTurn
from context_chef.replay.result import BustRecord, FoldRecord, SpanText

_SAID = {
    "expired": "nobody read the cache for longer than it lives",
    "out-of-reach": "it is still there, but no breakpoint looks that far back",
    "model": "another model was asked, and none reads another's cache",
}


def bust_record(
    billed: BilledRequest,
    before: Payload | None,
    now: Payload,
    folded_by: str | None,
    by_fold: str | None = None,
) -> tuple[BustRecord, ...]:
    """The bust of this request, with its cause; nothing when the cache served what it held.

    `folded_by` is the strategy that made messages leave in this request; `by_fold` says what it
    changed there, where that is known already to be the first point of difference.
    """
    bust = billed.bust
    if bust is None:
        return ()
    if bust.cause == "changed" and folded_by is not None and by_fold is not None:
        return (BustRecord(cause="fold", name=folded_by, message=by_fold, rebilled=bust.tokens),)
    if bust.cause == "changed" and before is not None:
        cause = diff(before, now).cause
        if cause is not None and folded_by is not None and cause.kind in ("fold", "history"):
            # What a fold took away or put in place of it is where the prompts part.
            return (
                BustRecord(
                    cause="fold", name=folded_by, message=cause.message, rebilled=bust.tokens
                ),
            )
        if cause is not None:
            return (
                BustRecord(
                    cause=cause.kind,
                    name=cause.name,
                    message=cause.message,
                    rebilled=bust.tokens,
                ),
            )
    message = _SAID.get(bust.cause, f"the prompt parts at {bust.where}")
    return (BustRecord(cause=bust.cause, message=message, rebilled=bust.tokens),)


def parted_by_fold(
    parting: tuple[int | None, int | None],
    rows: Sequence[SpanText],
    fold: FoldRecord,
    turn: CompileTurn,
    places_of: Callable[[Message], Sequence[int]],
) -> str | None:
    """What the fold changed, when the requests part at something that it took out or put in.

    `parting` is the span at which they part, before and now. None when something else is there:
    then `diff` has to say, which reads both requests whole.
    """
    gone, new = parting
    now = None if new is None else rows[new]
    cleared = now is not None and now.source == "cleared"
    if now is not None and now.group == "summary" and not cleared:
        was = gone is not None and rows[gone].source == now.source
        return f"the fold of earlier messages {'changed' if was else 'is new'}"
    if gone is None or gone not in fold.left:
        return None
    source = next((src for message, src, _, _ in turn.evicted if gone in places_of(message)), None)
    if source is None:
        return None
    if source == "fold":
        return "the fold of earlier messages changed"
    return f"`{source}` {'was cleared' if cleared else 'is gone'}"
