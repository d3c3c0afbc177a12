"""Stages that make the request of the window: adapt, audit, done."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from context_chef.adaptation.adapter import AdaptRequest, WireAdapter, is_wire_adapter
from context_chef.adaptation.http_body import http_body
from context_chef.bridge import settle
from context_chef.errors import SettingsError, shown
from context_chef.events import CompileDone, Repaired
from context_chef.ir.blocks import Provider
from context_chef.ir.frozen import thaw
from context_chef.ir.handed_out import apart
from context_chef.ir.message import Message
from context_chef.ir.payload import CompileMeta, Payload
from context_chef.pipeline import reporting
from context_chef.pipeline.preflight import check_written
from context_chef.pipeline.sent_session import bound, hold_to_what_was_sent
from context_chef.pipeline.tool_changes import SOURCE, inline_tools, remember_request
from context_chef.pipeline.turn import CompileTurn
from context_chef.pipeline.window_steps import appends
from context_chef.placement.cache import (
    CachePlan,
    audit_breakpoints,
    mark_tools,
    place_breakpoints,
)
from context_chef.selection.strategies.server import server_request
from context_chef.slots import AfterAdapt, BeforeAdapt, after_adapt, before_adapt, name_of

if TYPE_CHECKING:
    from context_chef.explaining.explanation import Explanation


async def adapt(turn: CompileTurn) -> None:
    """Write the window down in the provider's own form; then the handlers may change it."""
    slots = turn.parts.slots
    _mark_cache(turn)
    for handler in slots.handlers(before_adapt):
        await settle(handler(BeforeAdapt(messages=turn.messages, target=turn.target_name)))
    if is_wire_adapter(turn.adapter):
        await _adapt_wire(turn, turn.adapter)
    else:
        await _adapt_custom(turn)
    remember_request(turn)
    handlers = slots.handlers(after_adapt)
    mended = False
    if handlers:
        # The provider's rules and the readers of all targets: only what others had in their hands
        # is looked at.
        from context_chef.pipeline.finished import mend_what_handlers_left
        from context_chef.pipeline.foreign_hands import hold_to_json

        context = AfterAdapt(payload=cast(Payload, turn.payload), target=turn.target_name)
        turn.handled.append(("", _body_now(turn)))
        for handler in handlers:
            await settle(handler(context))
            turn.repairs += hold_to_json(context.payload, turn.target_name, handler)
            turn.handled.append((name_of(handler), _body_now(turn)))
        mended = await mend_what_handlers_left(turn)
    repaired = len(turn.repairs)
    await hold_to_what_was_sent(turn)
    if mended or len(turn.repairs) > repaired:
        turn.handled.append(("repair", _body_now(turn)))
    for repair in turn.repairs if turn.parts.emitter.watched(Repaired) else ():
        await turn.emit(Repaired(rule=repair.rule, where=repair.where, message=repair.message))


def _body_now(turn: CompileTurn) -> bytes:
    return msgspec.json.encode(http_body(turn.target_name, cast(Payload, turn.payload)))


async def audit(turn: CompileTurn) -> None:
    """Report, once a chef and kind, content that changes in front of a cache breakpoint."""
    if not turn.parts.settings.cache_audit or turn.target_name != "anthropic":
        return
    stays_from = turn.history_start if appends(turn) else None
    for issue in audit_breakpoints(turn.messages, stays_from=stays_from):
        turn.parts.warn_once(
            f"cache-audit:{issue.dedupe_key}",
            "Cache audit at %s: %s",
            issue.location,
            issue.message,
        )


async def done(turn: CompileTurn) -> None:
    """What memory owes happens, the new state is published, then observers are told."""
    memory = turn.parts.memory
    if memory is not None and turn.memory is not None:
        await memory.commit(turn.memory)
    turn.publish(turn)
    if turn.parts.emitter.watched(CompileDone):
        await turn.emit(CompileDone(payload=thaw(apart(turn.payload or {}))))


async def _adapt_wire(turn: CompileTurn, adapter: WireAdapter) -> None:
    target = cast(Provider, turn.target_name)
    every = turn.inputs.tools
    if inline := inline_tools(turn):
        every = (*every, *inline)
    made = turn.parts.made
    converted = made.tool_lists.convert(every, target=target, profile=turn.profile)
    sendable = made.mender.make_sendable(
        turn.messages,
        target=target,
        profile=turn.profile,
        names=converted.names,
        preserve_thinking_as_text=turn.parts.settings.preserve_thinking_as_text,
    )
    turn.tool_names = {wire: name for wire, name in converted.back.items() if wire != name}
    turn.repairs.extend(sendable.repairs)
    # The adapter tells of the list; these are the definitions in the conversation.
    behind = tuple(f"tools[{place}]" for place in range(len(turn.inputs.tools), len(every)))
    turn.repairs.extend(repair for repair in converted.repairs if repair.where.startswith(behind))
    listed = mark_tools(turn.inputs.tools) if turn.marks_tools else turn.inputs.tools
    request = AdaptRequest(
        messages=bound(turn, sendable.messages),
        tools=listed,
        converted=converted
        if listed is every
        else made.tool_lists.convert(listed, target=target, profile=turn.profile),
        profile=turn.profile,
        moving_breakpoints=turn.parts.settings.cache == "auto",
        preserve_thinking_as_text=turn.parts.settings.preserve_thinking_as_text,
        starts=made.starts,
    )
    turn.request = request
    adapted = await settle(adapter.adapt(request))
    check_written(turn, adapted)
    if turn.server_managed:
        fields, asked = server_request(
            turn.parts.janitor.strategy, turn.target_name, compacting=turn.compacting
        )
        betas = (*adapted.betas, *(beta for beta in asked if beta not in adapted.betas))
        body = {**adapted.body, **thaw(fields)}
        adapted = msgspec.structs.replace(adapted, body=body, betas=betas)
    turn.adapted = adapted
    turn.repairs.extend(adapted.repairs)
    turn.diagnostics.extend(adapted.diagnostics)
    turn.payload = _payload(turn, adapter.sdk_arguments(adapted))


async def _adapt_custom(turn: CompileTurn) -> None:
    answer = await settle(turn.adapter.compile(turn.messages))
    if not isinstance(answer, Mapping):
        raise SettingsError(
            f"The adapter {shown(turn.target_name)} answered {shown(answer)}; "
            "`compile(messages)` has "
            "to answer a mapping."
        )
    from context_chef.pipeline.foreign_hands import hold_to_json

    arguments = dict(cast(Mapping[str, Any], answer))
    turn.repairs += hold_to_json(arguments, turn.target_name, turn.adapter)
    if turn.inputs.tools:
        arguments["tools"] = [msgspec.to_builtins(tool) for tool in turn.inputs.tools]
    turn.payload = _payload(turn, arguments)


def _payload(turn: CompileTurn, arguments: Mapping[str, Any]) -> Payload:
    memory = turn.memory
    skill = turn.state.skill
    meta = CompileMeta(
        target=turn.target_name,
        window_id=turn.window_id,
        model=turn.inputs.model,
        injected_memory_keys=memory.injected_keys if memory else (),
        memory_expired_keys=memory.expired_keys if memory else (),
        active_skill_name=skill.name if skill else None,
        betas=turn.adapted.betas if turn.adapted else (),
        tool_names=turn.tool_names,
        compacting=turn.compacting,
    )
    return Payload(
        arguments,
        meta=meta,
        body=partial(http_body, turn.target_name),
        report=reporting.report_of(turn),
        explain=lambda payload: _explained(turn, payload),
    )


def _explained(turn: CompileTurn, payload: Payload) -> Explanation:
    # What takes requests apart and counts their cost, for those who ask.
    from context_chef.pipeline.explained import explained

    return explained(turn, payload)


def _mark_cache(turn: CompileTurn) -> None:
    """Place automatic breakpoints, where the model's cache takes any."""
    if turn.parts.settings.cache != "auto":
        return
    rules = turn.profile.cache if turn.profile else None
    if turn.target_name == "anthropic":
        plan = CachePlan(minimum_tokens=(rules and rules.minimum_tokens) or 1024)
    elif rules is not None and rules.explicit_marks and turn.target_name.startswith("openai"):
        # The provider's own mark at the end takes one of the writes.
        plan = CachePlan(
            on_assistant=False,
            max_breakpoints=rules.max_breakpoints - 1,
            lookback_blocks=rules.lookback_blocks or 20,
            minimum_tokens=rules.minimum_tokens or 1024,
        )
    else:
        return
    state, made = turn.state, turn.parts.made
    places = _Places(turn)
    tool_tokens = turn.parts.janitor.count_tools(turn.inputs.tools)
    explicit = int(made.marks.total(turn.messages))
    stays = appends(turn)
    way = ("marked", stays)
    marked: list[tuple[Message, Message]] = []

    def form(message: Message, make: Callable[[], Message]) -> Message:
        with_mark = made.form(way, message, make)
        marked.append((message, with_mark))
        return with_mark

    def placed(previous: int | None) -> tuple[list[Message], int | None]:
        marked.clear()
        return place_breakpoints(
            turn.messages,
            plan=plan,
            stable_until=turn.stable_until,
            prefix_end=turn.history_start,
            previous=None if previous is None else places.of(previous),
            tokens=turn.parts.janitor.count,
            tools=turn.inputs.tools,
            tool_tokens=tool_tokens,
            tails_stay=stays,
            explicit=explicit,
            form=form,
        )

    before = state.cache_anchor
    messages, last = placed(before)
    if before is not None and last is not None and places.item(last) == before:
        # The same request again, as for a retry: it is marked as it was the first time.
        before = state.cache_anchor_before
        messages, last = placed(before)
    # With no system prompt to mark, the tools are what outlives a change of the conversation.
    turn.marks_tools = (
        turn.target_name == "anthropic"
        and turn.history_start == 0
        and tool_tokens >= plan.minimum_tokens
        and explicit + len(marked) < plan.max_breakpoints
    )
    for message, with_mark in marked:
        turn.succeed(message, with_mark)
    turn.messages = tuple(messages)
    anchor = None if last is None else places.item(last)
    if anchor is not None:
        turn.state = msgspec.structs.replace(
            turn.state, cache_anchor=anchor, cache_anchor_before=before
        )


class _Places:
    """Which item of the transcript stands at a place of the window, or was the last one before."""

    def __init__(self, turn: CompileTurn) -> None:
        transcript = turn.transcript
        head = len(transcript.window) - (len(transcript.items) - transcript.folded)
        self._first = transcript.folded - head + turn.left_to_server - 1
        self._start, self._end = turn.history_start, len(turn.messages)
        self._own: list[int] = []
        if turn.generated:
            brought = turn.sources.brought_by
            self._own = turn.parts.made.generated.of(
                turn.messages, lambda message: brought(message) in ("sent_tail", SOURCE)
            )

    def item(self, index: int) -> int | None:
        """The item at that place of the window."""
        if not self._start <= index < self._end:
            return None
        return self._first + index - self._start + 1 - bisect_right(self._own, index)

    def of(self, item: int) -> int | None:
        """The last place that belongs to that item."""
        low, high = self._start, self._end
        while low < high:
            middle = (low + high) // 2
            if cast(int, self.item(middle)) <= item:
                low = middle + 1
            else:
                high = middle
        return low - 1 if low > self._start and self.item(low - 1) == item else None
