"""The finished request: its HTTP body, and the last look before it is handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.adapter import AdaptRequest, WireAdapter, is_wire_adapter
from context_chef.adaptation.anthropic_body import needed_betas
from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.http_body import http_body
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.adaptation.sendable import make_sendable
from context_chef.adaptation.settings_mending import mend_settings
from context_chef.adaptation.wire_rules import Fault, check_payload
from context_chef.bridge import settle
from context_chef.errors import ContextChefError
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.handed_out import apart
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.pipeline.turn import CompileTurn

_READERS: Final[Mapping[str, Any]] = {
    "openai": from_openai,
    "openai-responses": from_openai_responses,
    "anthropic": from_anthropic,
    "gemini": from_gemini,
}
_CALLERS_PART: Final[Mapping[str, Mapping[str, Any]]] = {
    "openai": {"model": "unknown"},
    "openai-responses": {"model": "unknown"},
    "anthropic": {"model": "unknown", "max_tokens": 1},
}
"""What the caller adds to the arguments: the rules want a whole request."""


async def mend_what_handlers_left(turn: CompileTurn) -> bool:
    """Look at a request that handlers had in their hands, and mend what would be refused.

    Answers whether anything had to be.
    """
    if turn.target_name not in _READERS or turn.payload is None:
        return False
    faults = _faults(turn, turn.payload)
    if not faults or not is_wire_adapter(turn.adapter):
        return False
    await _mend(turn, turn.payload, turn.adapter, faults)
    return True


def refused(turn: CompileTurn) -> list[Diagnostic]:
    """What the provider's rules find in the finished request: nothing, unless we are wrong.

    For the report: what we write ourselves is valid by construction, so no compile waits for this.
    """
    if turn.target_name not in _READERS or turn.payload is None:
        return []
    return [
        Diagnostic(code=f"refused:{fault.rule}", where=fault.path, message=fault.message)
        for fault in _faults(turn, turn.payload)
    ]


def _faults(turn: CompileTurn, payload: Payload) -> list[Fault]:
    request = {**_CALLERS_PART.get(turn.target_name, {}), **apart(payload)}
    if turn.target_name == "anthropic" and "max_tokens" not in payload:
        most = turn.profile.max_output_tokens if turn.profile is not None else None
        request["max_tokens"] = most or 1_000_000  # the caller's own, which is not known yet
    model = turn.inputs.model
    if model is not None and "model" in request:
        request["model"] = model
    found = check_payload(
        turn.target_name, request, model=model, profile=turn.profile, partial=True
    )
    return [fault for fault in found if fault.severity == "error"]


async def _mend(
    turn: CompileTurn, payload: Payload, adapter: WireAdapter, faults: list[Fault]
) -> None:
    """Read the request back and write it anew: the way back mends what the way there would."""
    target = cast(Provider, turn.target_name)
    try:
        conversation = read_back(target, payload, faults, turn.profile)
        sendable = make_sendable(conversation.messages, target=target, profile=turn.profile)
        await write_anew(turn, payload, adapter, conversation, sendable.messages)
    except ContextChefError as error:
        turn.diagnostics.append(
            Diagnostic(code="not-mended", where="after-adapt", message=str(error))
        )
        return
    left = {(fault.rule, fault.path) for fault in _faults(turn, payload)}
    turn.repairs.extend(
        Repair(
            rule=fault.rule,
            where=fault.path,
            message=f"a handler or adapter left this, and it was mended: {fault.message}",
        )
        for fault in faults
        if (fault.rule, fault.path) not in left  # what is left stays in the report as refused
    )


def read_back(
    target: Provider,
    payload: Payload,
    faults: Sequence[Fault] = (),
    profile: ModelProfile | None = None,
) -> Conversation:
    """The conversation that a finished request holds, without the settings that are at fault.

    Raises InputError for what is none.
    """
    body = plain(http_body(target, payload))
    mend_settings(body, faults, profile)
    return cast(Conversation, _READERS[target](body))


async def write_anew(
    turn: CompileTurn,
    payload: Payload,
    adapter: WireAdapter,
    conversation: Conversation,
    messages: tuple[Message, ...],
) -> None:
    """Make the request hold these messages of the conversation that was read back from it."""
    adapted = await settle(
        adapter.adapt(
            AdaptRequest(messages=messages, tools=conversation.tools, profile=turn.profile)
        )
    )
    body = {**conversation.request, **adapted.body}
    betas: tuple[str, ...] = ()
    if turn.target_name == "anthropic":
        asked = (*payload.meta.betas, *adapted.betas, *needed_betas(body))
        betas = tuple(dict.fromkeys(asked))
    arguments = adapter.sdk_arguments(msgspec.structs.replace(adapted, body=body, betas=betas))
    payload.clear()
    payload.update(arguments)
