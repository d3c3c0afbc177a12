"""Why the prompt cache could not serve what it held, in words."""

from __future__ import annotations

from context_chef.costs import BilledRequest
from context_chef.ir.payload import Payload
from context_chef.pipeline.turn import CompileTurn
from context_chef.replay.result import BustRecord


def bust_record(
    billed: BilledRequest,
    turn: CompileTurn,
    before: Payload | None,
    now: Payload,
    *,
    folded: bool,
) -> tuple[BustRecord, ...]:
    """The bust of this request, with its cause; nothing when the cache served what it held."""
    bust = billed.bust
    if bust is None:
        return ()
    if bust.cause == "expired":
        return (
            BustRecord(
                cause="expired",
                message="nobody read the cache for longer than it lives",
                rebilled=bust.tokens,
            ),
        )
    if bust.cause != "changed":
        return (BustRecord(cause=bust.cause, message=bust.where or "", rebilled=bust.tokens),)
    cause = "fold" if folded else "changed"
    return (BustRecord(cause=cause, message=f"parts at {bust.where}", rebilled=bust.tokens),)
