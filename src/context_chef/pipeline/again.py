"""How the same request is begun again, and what is kept of one so that it can be."""

from __future__ import annotations

import msgspec

from context_chef.pipeline.last_request import LastRequest
from context_chef.pipeline.state import ChefState
from context_chef.pipeline.turn import CompileTurn
from context_chef.pipeline.window_steps import appends


def begun_again(now: ChefState, last: LastRequest) -> ChefState:
    """The state from which the last request was begun, with the folds that it landed."""
    requests = dict(now.sent_requests)
    requests.pop(last.target_name, None)
    if last.sent_request is not None:
        requests[last.target_name] = last.sent_request
    return msgspec.structs.replace(
        now,
        sent_tails=last.sent_tails,
        # What thinking and items were bound to when they were sent stays so, also where the window
        # is another one this time; thinking that was not sent the first time is no answer to it.
        sent_prefixes=msgspec.structs.replace(
            now.sent_prefixes, last=last.sent_prefixes.last or ""
        ),
        sent_requests=requests,
        last_volatile_tokens=last.last_volatile_tokens,
        cache_anchor=last.cache_anchor,
        cache_anchor_before=last.cache_anchor_before,
        new_contexts_done=now.new_contexts_done - last.forced,
    )


def last_request(turn: CompileTurn) -> LastRequest:
    """What has to be known of a request that is about to be handed over."""
    base, done = turn.base, turn.janitor_turn
    settled = turn.again is not None and turn.again.settled
    if done is not None and turn.parts.settings.keep == "chef":
        # A hook may have put a shorter history in its place, for that pass alone.
        untouched = done.landed.history is turn.unlanded[0]
        settled = settled or done.worked or (done.landed.reason == "within_budget" and untouched)
    return LastRequest(
        asked=turn.inputs.asked(turn.parts.settings.default_target),
        target_name=turn.target_name,
        sent_tails=base.sent_tails,
        sent_prefixes=base.sent_prefixes,
        sent_request=base.sent_requests.get(turn.target_name),
        last_volatile_tokens=base.last_volatile_tokens,
        cache_anchor=base.cache_anchor,
        cache_anchor_before=base.cache_anchor_before,
        handoff=turn.handoff if appends(turn) else None,
        settled=settled,
        forced=turn.compacting and base.new_context_requested,
    )
