"""`make_sendable()`: messages that the target takes, whatever strategies and handlers left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from context_chef.adaptation.blanks import drop_blanks, drop_misplaced_blocks
from context_chef.adaptation.call_ids import rename_ids
from context_chef.adaptation.mending import Mending, Step, ThinkingMode
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.readable_media import note_unreadable_media
from context_chef.adaptation.server_tools import mend_server_blocks
from context_chef.adaptation.thinking_binding import (
    Unbound,
    check_thinking_start,
    drop_bound_thinking,
    mend_thinking,
)
from context_chef.adaptation.turns_order import close_conversation, open_conversation, rename_tools
from context_chef.errors import UnsendableError
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.repair import (
    DUPLICATE,
    MISSING,
    MOVED,
    ORPHAN,
    Placed,
    ensure_valid_history,
    pair_results,
)

__all__ = [
    "Sendable",
    "ThinkingMode",
    "Unbound",
    "drop_bound_thinking",
    "ensure_valid_history",
    "make_sendable",
    "thinking_mode",
]


class Sendable(NamedTuple):
    """Messages that a writer can put on the wire one by one, and what was mended in them."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


_PAIRING_RULES: Final[Mapping[Provider, Mapping[str, str]]] = {
    "anthropic": {},
    "openai": {
        ORPHAN: "tool-reply-orphan",
        DUPLICATE: "tool-reply-duplicate",
        MISSING: "tool-reply-missing",
        MOVED: "tool-reply-missing",
    },
    "openai-responses": {
        ORPHAN: "output-orphan",
        DUPLICATE: "call-id",
        MISSING: "call-unanswered",
        MOVED: "call-unanswered",
    },
    "gemini": {
        ORPHAN: "response-turn",
        DUPLICATE: "response-count",
        MISSING: "response-count",
        MOVED: "response-turn",
    },
}


def make_sendable(
    messages: Sequence[Message],
    *,
    target: Provider,
    profile: ModelProfile | None = None,
    thinking: ThinkingMode | None = None,
    names: Mapping[str, str] = EMPTY,
    stateful: bool = False,
    preserve_thinking_as_text: bool = False,
) -> Sendable:
    """The same messages, mended where `target` would answer 400. Nothing is changed in place.

    Calls and their results stand together, ids and tool names are legal and the same on both sides,
    blank text, reasoning that cannot be read and provider blocks without their partner are gone,
    the conversation begins and ends as the model wants it. What is fine is the same object, a
    second run changes nothing, and a longer conversation is mended the same way as far as the
    shorter one goes, but for its end and for results that came late.

    Without `profile` the choice is made that every model of the target accepts. `thinking` is the
    request's `thinking.type` (Anthropic), `names` the mapping that `convert_tools` returned,
    `stateful` says that the request goes on from one that the provider stored
    (`previous_response_id`), `preserve_thinking_as_text` that foreign reasoning is written as text.
    Raises UnsendableError, with every fault, when no request can be made.
    """
    mending = Mending(target, profile, thinking, names, stateful, preserve_thinking_as_text)
    placed = [Placed(at, message) for at, message in enumerate(messages)]
    if not placed and not stateful:
        mending.faults.append("there is no message at all; give at least one of the user's")
    for step in _STEPS:
        placed = step(placed, mending)
    check_thinking_start(placed, mending)
    if mending.faults:
        raise UnsendableError(target, mending.faults)
    return Sendable(tuple(entry.message for entry in placed), tuple(mending.repairs))


def _pair(placed: list[Placed], mending: Mending) -> list[Placed]:
    found: list[Repair] = []
    paired = pair_results(
        placed,
        found,
        keep_orphans=mending.stateful,
        tight=True,
        merged=mending.merges_neighbours,
    )
    rules = _PAIRING_RULES[mending.target]
    for repair in found:
        rule = f"{mending.target}/{rules.get(repair.rule, repair.rule)}"
        mending.repairs.append(msgspec.structs.replace(repair, rule=rule))
    return paired


_STEPS: Final[tuple[Step, ...]] = (
    drop_misplaced_blocks,
    _pair,
    note_unreadable_media,
    mend_server_blocks,
    drop_blanks,
    mend_thinking,
    drop_blanks,  # of what went, a message may be left empty
    rename_ids,
    rename_tools,
    open_conversation,
    close_conversation,
)


def thinking_mode(request: Mapping[str, Any]) -> ThinkingMode | None:
    """The `thinking.type` that a request's other keys ask for; None when they do not say."""
    thinking: Any = request.get("thinking")
    if not isinstance(thinking, Mapping):
        return None
    kind: Any = cast(Mapping[str, Any], thinking).get("type")
    return kind if kind in ("enabled", "adaptive", "disabled") else None
