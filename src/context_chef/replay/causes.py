"""Why the prompt cache could not serve what it held, by name."""

from __future__ import annotations

from context_chef.costs import BilledRequest
from context_chef.explaining import diff
from context_chef.ir.payload import Payload
from context_chef.replay.result import BustRecord

_SAID = {
    "expired": "nobody read the cache for longer than it lives",
    "out-of-reach": "it is still there, but no breakpoint looks that far back",
    "model": "another model was asked, and none reads another's cache",
}


def bust_record(
    billed: BilledRequest, before: Payload | None, now: Payload, folded_by: str | None
) -> tuple[BustRecord, ...]:
    """The bust of this request, with its cause; nothing when the cache served what it held.

    `folded_by` is the strategy that made messages leave in this request.
    """
    bust = billed.bust
    if bust is None:
        return ()
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
