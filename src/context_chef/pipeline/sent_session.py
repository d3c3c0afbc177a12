"""What was sent binds what is sent next: thinking to its past, items to their reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from context_chef.adaptation.adapter import WireAdapter
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.response_ids import take_off_ids
from context_chef.adaptation.sendable import make_sendable
from context_chef.errors import ContextChefError
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message
from context_chef.pipeline.binding import bind_thinking
from context_chef.pipeline.finished import read_back, write_anew
from context_chef.pipeline.turn import CompileTurn
from context_chef.slots import after_adapt


def binds_thinking(turn: CompileTurn) -> bool:
    """Whether the model may refuse thinking whose past has changed."""
    if turn.target_name != "anthropic":
        return False
    return turn.profile is None or turn.profile.prefix_bound_thinking


def is_edited(turn: CompileTurn) -> bool:
    """Whether handlers still change the request, so that it is judged when they are through."""
    return bool(turn.parts.slots.handlers(after_adapt))


def bound(turn: CompileTurn, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages without thinking that is bound to something else than what stands before it."""
    if not binds_thinking(turn) or is_edited(turn):
        return messages
    return _bound(turn, messages, turn.inputs.tools)


async def hold_to_what_was_sent(turn: CompileTurn) -> None:
    """The last look at a finished request, with those before it in mind."""
    if turn.target_name == "openai-responses":
        _hold_items(turn)
    elif binds_thinking(turn) and is_edited(turn) and isinstance(turn.adapter, WireAdapter):
        await _bind_what_handlers_left(turn, turn.adapter)


def _bound(turn: CompileTurn, messages: tuple[Message, ...], tools: Any) -> tuple[Message, ...]:
    def mend(changed: tuple[Message, ...]) -> tuple[Message, ...]:
        return make_sendable(changed, target="anthropic", profile=turn.profile).messages

    # In the order of the wire: what moves up to the system prompt stands in front of everything.
    found = bind_thinking(
        (
            *(m for m in messages if m.role == "system" and not m.positional),
            *(m for m in messages if m.role != "system" or m.positional),
        ),
        tools=tools,
        sent=turn.state.sent_prefixes,
        mend=mend,
    )
    turn.repairs.extend(found.repairs)
    turn.state = msgspec.structs.replace(turn.state, sent_prefixes=found.sent)
    return found.messages


async def _bind_what_handlers_left(turn: CompileTurn, adapter: WireAdapter) -> None:
    payload = turn.payload
    if payload is None:
        return
    try:
        conversation = read_back("anthropic", payload)
        before = len(turn.repairs)
        messages = _bound(turn, conversation.messages, conversation.tools)
        if len(turn.repairs) > before:
            await write_anew(turn, payload, adapter, conversation, messages)
    except ContextChefError as error:
        turn.diagnostics.append(
            Diagnostic(code="not-mended", where="after-adapt", message=str(error))
        )


def _hold_items(turn: CompileTurn) -> None:
    """An item with an id stands behind the reasoning that it stood behind the first time."""
    payload = turn.payload
    if payload is None or payload.get("previous_response_id") or payload.get("conversation"):
        return
    given: Any = payload.get("input")
    if not isinstance(given, list):
        return
    rows = cast("list[Any]", given)
    sent = turn.state.sent_prefixes
    known, lost = _reasoning_of(rows, sent.by_item)
    if lost and all(isinstance(row, dict) for row in rows):
        notes = Notes("openai-responses")
        rows = take_off_ids(rows, lost, notes, store=payload.get("store"))
        payload["input"] = rows
        turn.repairs.extend(notes.repairs)
        known, _ = _reasoning_of(rows, sent.by_item)
    if known:
        by_item = {**sent.by_item, **known}
        changed = msgspec.structs.replace(sent, by_item=by_item)
        turn.state = msgspec.structs.replace(turn.state, sent_prefixes=changed)


def _reasoning_of(
    rows: list[Any], sent: Mapping[str, str]
) -> tuple[dict[str, str], dict[int, str]]:
    """Which items are met behind reasoning for the first time, and which have lost theirs."""
    met: dict[str, str] = {}
    lost: dict[int, str] = {}
    previous: str | None = None
    for index, row in enumerate(rows):
        behind, previous = previous, None
        item = cast("dict[str, Any]", row) if isinstance(row, dict) else {}
        identifier = item.get("id")
        if not isinstance(identifier, str) or not identifier:
            continue
        if item.get("type") == "reasoning" or (
            item.get("type") == "item_reference" and identifier.startswith("rs")
        ):
            previous = identifier
        elif (wanted := sent.get(identifier, behind)) != behind:
            lost[index] = f"its reasoning item {wanted!r} does not stand before it any more"
        elif behind is not None and identifier not in sent:
            met[identifier] = behind
    return met, lost
