"""What was sent binds what is sent next: thinking to its past, items to their reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from context_chef.adaptation.adapter import WireAdapter, is_wire_adapter
from context_chef.adaptation.notes import Notes
from context_chef.adaptation.tools import convert_tools
from context_chef.errors import ContextChefError
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.handed_out import handed_out, rows_of
from context_chef.ir.message import Message
from context_chef.ir.running import RunningSum
from context_chef.ir.tools import ToolDefinition
from context_chef.pipeline.made_before import moves_up
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
    elif binds_thinking(turn) and is_edited(turn) and is_wire_adapter(turn.adapter):
        await _bind_what_handlers_left(turn, turn.adapter)


def _bound(turn: CompileTurn, messages: tuple[Message, ...], tools: Any) -> tuple[Message, ...]:
    made = turn.parts.made

    def mend(changed: tuple[Message, ...]) -> tuple[Message, ...]:
        mender = made.mender_of_bound
        return mender.make_sendable(changed, target="anthropic", profile=turn.profile).messages

    found = made.binder.bind(
        _system_first(messages, made.systems_sent),
        tools=tools,
        sent=turn.state.sent_prefixes,
        mend=mend,
        offered=_offered(turn, tools),
    )
    turn.repairs.extend(found.repairs)
    turn.state = msgspec.structs.replace(turn.state, sent_prefixes=found.sent)
    return found.messages


def _offered(turn: CompileTurn, tools: Sequence[ToolDefinition]) -> bytes:
    """The tools as this model gets them, where there are some that others do not get like that."""
    if not any(tool.defer_loading or tool.native.get("anthropic") for tool in tools):
        return b""
    wire = convert_tools(tools, target="anthropic", profile=turn.profile).wire
    return msgspec.json.encode([{**tool, "cache_control": None} for tool in wire])


def _system_first(messages: tuple[Message, ...], systems: RunningSum) -> tuple[Message, ...]:
    """In the order of the wire: what goes into the system prompt stands in front."""
    first = 0
    while first < len(messages) and moves_up(messages[first]):
        first += 1
    if systems.total(messages) == first:
        return messages
    return (
        *(m for m in messages if moves_up(m)),
        *(m for m in messages if not moves_up(m)),
    )


async def _bind_what_handlers_left(turn: CompileTurn, adapter: WireAdapter) -> None:
    payload = turn.payload
    if payload is None:
        return
    # The readers of all targets: only what handlers had in their hands is read back.
    from context_chef.pipeline.finished import read_back, write_anew

    if payload.get("tools") == []:
        del payload["tools"]  # the same as none, so that both are one past
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
    items = turn.parts.made.items
    rows = list(rows_of(cast("list[Any]", given)))
    sent = turn.state.sent_prefixes
    known, lost = items.judge(rows, sent.by_item)
    if lost and all(isinstance(row, dict) for row in rows):
        from context_chef.adaptation.response_ids import take_off_ids

        notes = Notes("openai-responses")
        rows = take_off_ids(rows, lost, notes, store=payload.get("store"))
        payload["input"] = handed_out(rows)
        turn.repairs.extend(notes.repairs)
        known, _ = items.judge(rows, sent.by_item)
    if known:
        by_item = {**sent.by_item, **known}
        items.remembered(by_item)
        changed = msgspec.structs.replace(sent, by_item=by_item)
        turn.state = msgspec.structs.replace(turn.state, sent_prefixes=changed)
