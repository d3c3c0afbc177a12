"""Stages that decide what of the conversation is sent: start, transform, handoff, overflow."""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from operator import is_

import msgspec

from context_chef.adaptation.adapter import is_wire_adapter
from context_chef.adaptation.registry import BUILTIN_TARGETS, builtin_name_of
from context_chef.bridge import settle, stepping
from context_chef.errors import SettingsError, WindowFullError, shown
from context_chef.events import CompileStarted, CompressEnded
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Content, Message
from context_chef.ir.window import OverflowResult
from context_chef.pipeline import new_context
from context_chef.pipeline.cancellation import raise_if_cancelled
from context_chef.pipeline.preflight import check_sendable
from context_chef.pipeline.tool_changes import inline_tools, plan_tools, with_settled_changes
from context_chef.pipeline.turn import CompileTurn, Offload, ToolResultInfo, with_words
from context_chef.pipeline.window_steps import appends, with_sent_tails
from context_chef.placement.announcements import HANDOFF_ID, Announcement
from context_chef.selection import strategy as abilities
from context_chef.selection.compacted import (
    adopted,
    closed_part,
    failed_summary,
    has_words,
    since_compaction,
)
from context_chef.selection.janitor_turn import JanitorTurn
from context_chef.selection.pass_fit import Standing
from context_chef.selection.strategies.server import find_server
from context_chef.slots import AfterOverflow, BeforeOverflow, after_overflow, before_overflow


async def start(turn: CompileTurn) -> None:
    """Tell observers, then find the target: an unknown name fails after `compile:start`."""
    state = turn.state
    turn.parts.made.begin()
    await turn.emit(
        CompileStarted(system_prompt=state.system_prompt, history=state.transcript.items)
    )
    raise_if_cancelled(turn.inputs.signal)
    _find_target(turn)
    server = find_server(turn.parts.janitor.strategy)
    turn.server_managed = server is not None and server.manages(turn.target_name)
    if server is not None and not turn.server_managed:
        turn.parts.warn_once(
            "server-fallback",
            "The server strategy leaves overflow to the provider; on target %r its fallback works.",
            turn.target_name,
        )
    _open_window(turn)
    plan_tools(turn)
    check_sendable(turn)


def _find_target(turn: CompileTurn) -> None:
    inputs, settings = turn.inputs, turn.parts.settings
    target = inputs.target if inputs.target is not None else settings.default_target
    if target is None:
        target = "openai"
    if isinstance(target, str):
        turn.target_name = target
        turn.adapter = turn.parts.registry.get(target)
    elif callable(getattr(target, "compile", None)) or callable(getattr(target, "adapt", None)):
        turn.adapter = target
        turn.target_name = builtin_name_of(target) or type(target).__name__
    else:
        raise SettingsError(
            f"`target` is a name or an adapter with `compile(messages)`, not {shown(target)}."
        )
    if is_wire_adapter(turn.adapter) and turn.target_name not in BUILTIN_TARGETS:
        raise SettingsError(
            f"The adapter of the target {shown(turn.target_name)} has `adapt(request)`, which is "
            "given what one of the built-in targets accepts. Register it under the name of that "
            f"one ({', '.join(BUILTIN_TARGETS)}), or give it `compile(messages)` alone."
        )
    if inputs.model is not None and turn.target_name in BUILTIN_TARGETS:
        made = turn.parts.made
        turn.profile = made.profile(inputs.model, turn.target_name, settings.profiles)


def _open_window(turn: CompileTurn) -> None:
    """The window as the transcript has it, each message credited to where it came from.

    An emergency cut is laid aside: the strategy is shown what it stands for.
    """
    turn.standing = turn.transcript.standing
    if turn.standing is not None:
        turn.credit(turn.standing.messages, "fold")
        turn.state = msgspec.structs.replace(turn.state, transcript=turn.transcript.settled)
    transcript = turn.transcript
    if transcript.folds:
        turn.credit(transcript.folds[-1].messages, "fold")
    turn.sources.open(transcript.items, transcript.folded)
    turn.history = _window(turn)
    turn.standing_head = turn.standing.messages if turn.standing is not None else ()


def _window(turn: CompileTurn) -> tuple[Message, ...]:
    """The transcript's window, as the same list as long as it is the same."""
    transcript, made = turn.transcript, turn.parts.made
    if not transcript.folds:
        return transcript.items
    return made.window.of(transcript.folds[-1].messages, made.live.of(transcript))


async def transform_tool_results(turn: CompileTurn) -> None:
    """Change tool results before anything counts or summarises them; offload what is too large."""
    transform = turn.parts.settings.transform_tool_result
    head = len(turn.standing_head)
    turn.history = (*turn.standing_head, *turn.history) if head else turn.history
    if transform is not None:
        await _transform(turn)
        raise_if_cancelled(turn.inputs.signal)
    if turn.parts.offload is not None:
        await _offload(turn, turn.parts.offload)
    if head:
        turn.standing_head, turn.history = turn.history[:head], turn.history[head:]


async def _offload(turn: CompileTurn, offload: Offload) -> None:
    """Put markers for what is too large. What the store cannot take now stays in the window."""
    before = turn.history
    offloaded = await offload(before, turn.parts.made.offloads)
    turn.history = offloaded.messages
    for note in offloaded.notes:
        turn.succeed(before[note.index], turn.history[note.index])
    for failure in offloaded.failures:
        message = (
            f"A {failure.what} of {failure.characters} characters stays in the window, since the "
            f"store could not take it: {failure.error}"
        )
        where = turn.sources.name(before[failure.index])
        turn.diagnostics.append(Diagnostic(code="offload-failed", where=where, message=message))
        turn.parts.warn_once("offload-failed", "%s", message)


async def _transform(turn: CompileTurn) -> None:
    before, starts = turn.history, turn.parts.made.starts
    known, as_given, names = turn.parts.transforms.begin(before, turn.transcript.items, starts)
    new = before[len(known) :]
    results = [message for message in new if message.role == "tool"]
    work = [
        _transformed(turn, message, names.get(message.tool_call_id or "")) for message in results
    ]
    if stepping():
        changed = [await item for item in work]
    else:
        import asyncio  # loaded already: a loop runs

        changed = await asyncio.gather(*work)
    replaced = dict(zip(map(id, results), changed, strict=True))
    turned = tuple(replaced.get(id(message), message) for message in new)
    as_given = as_given and all(map(is_, turned, new))
    turn.history = before if as_given else known + turned
    turn.parts.transforms.end(before, turn.history, starts)
    turn.follow(before, turn.history)


async def _transformed(turn: CompileTurn, message: Message, name: str | None) -> Message:
    transforms = turn.parts.transforms
    known = transforms.get(message, name)
    if known is None:
        transform = turn.parts.settings.transform_tool_result
        assert transform is not None
        info = ToolResultInfo(tool_name=name, tool_call_id=message.tool_call_id or None)
        text = await settle(transform(message.text, info))
        known = with_words(message, text)
    transforms.put(message, name, known)
    return known


async def handoff(turn: CompileTurn) -> None:
    """Prepare the notice that the window is about to end: once a window, while there is room.

    The same request again says no other: the same notice where a tail that was sent stays.
    """
    janitor = turn.parts.janitor
    if turn.again is not None:
        turn.handoff = turn.again.handoff
        return
    window_id = janitor.lineage.current
    if janitor.handoff is None or turn.server_managed or turn.state.handoff_noticed == window_id:
        return
    budget = janitor.read_budget(turn.history, overhead=_overhead(turn))
    if not janitor.handoff_due(budget):
        return
    notice = janitor.handoff_notice(budget.remaining)
    turn.handoff = Announcement(
        id=HANDOFF_ID, content=notice, channel=turn.parts.settings.handoff_channel
    )
    turn.state = msgspec.structs.replace(turn.state, handoff_noticed=window_id)


async def overflow(turn: CompileTurn) -> None:
    """Ask the handlers, run the strategy, and take what it leaves as the window's history."""
    parts, janitor = turn.parts, turn.parts.janitor
    forced = await new_context.take_up(turn)
    turn.fixed_overhead = _fixed_overhead(turn)
    overhead = turn.fixed_overhead + turn.state.last_volatile_tokens
    turn.unlanded = (turn.history, turn.state)
    vetoed = await _vetoed(turn, overhead)
    skipped = await _served(turn, overhead, forced=forced) or vetoed
    if not skipped:
        try:
            turn.janitor_turn = await janitor.begin(
                turn.history,
                overhead=overhead,
                forced=forced,
                signal=turn.inputs.signal,
                emit=turn.emit,
                standing=standing_of(turn),
                only_fit=_is_settled(turn),
                are_messages=True,
            )
        except WindowFullError as error:
            raise _itemised(turn, error) from error
    if forced:
        await new_context.settle(turn, vetoed=vetoed, skipped=skipped)
    land(turn)
    reader = turn.janitor_turn or janitor
    turn.budget = reader.read_budget(turn.history, overhead=overhead)
    changed = turn.overflow is not None and turn.overflow.changed
    await turn.emit(CompressEnded(compressed=changed))
    result = None if turn.janitor_turn is None else turn.overflow
    context = AfterOverflow(history=turn.history, result=result)
    for handler in parts.slots.handlers(after_overflow):
        await settle(handler(context))
    settle_history(turn)


def _is_settled(turn: CompileTurn) -> bool:
    """Whether the window is already what the strategy made of this very request."""
    return (
        turn.again is not None
        and turn.again.settled
        and not abilities.pending(turn.parts.janitor.strategy)
    )


async def _served(turn: CompileTurn, overhead: float, *, forced: bool) -> bool:
    """Leave overflow to the provider where it does the work; answers whether it does.

    A signed summary that came back takes the place of what it stands for, on every target.
    """
    janitor = turn.parts.janitor
    found = None
    if turn.parts.made.summaries.total(turn.history):
        found = adopted(turn.history, janitor.lineage.current)
    if found is not None:
        turn.janitor_turn = await janitor.begin(
            turn.history,
            overhead=overhead,
            signal=turn.inputs.signal,
            emit=turn.emit,
            decided=found,
            are_messages=True,
        )
        return True
    server = find_server(janitor.strategy)
    if server is None or not turn.server_managed or janitor.recovering:
        return False
    if not server.on_request(turn.target_name):
        return True
    if turn.history and failed_summary(turn.history[-1]):
        return False
    budget = janitor.read_budget(turn.history, overhead=overhead)
    if not forced and not budget.over:
        return True
    closed = closed_part(turn.history)
    turn.compacting = has_words(closed) and budget.current <= budget.limit
    if turn.compacting:
        turn.history = closed
    return turn.compacting


def _itemised(turn: CompileTurn, error: WindowFullError) -> WindowFullError:
    """The same error with what stands around the history told apart."""
    from context_chef.selection.fit import AROUND_HISTORY

    if AROUND_HISTORY not in error.parts:
        return error
    janitor, prompt = turn.parts.janitor, turn.state.system_prompt
    around = {
        "tools": janitor.count_tools((*turn.inputs.tools, *inline_tools(turn))),
        "system prompt": janitor.count(prompt) if prompt else 0,
    }
    rest = error.parts[AROUND_HISTORY] - sum(around.values())
    parts = {name: size for name, size in error.parts.items() if name != AROUND_HISTORY}
    parts |= {**around, "skill, memory, state and tail": max(0, rest)}
    ordered = dict(sorted(parts.items(), key=lambda item: -item[1]))
    return WindowFullError(limit=error.limit, needed=error.needed, parts=ordered)


def standing_of(turn: CompileTurn) -> Standing | None:
    """The emergency cut of an earlier compile, in terms of this compile's history."""
    if turn.standing is None:
        return None
    live = len(turn.transcript.items) - turn.standing.end
    return Standing(turn.standing_head, len(turn.history) - live)


def land(turn: CompileTurn) -> None:
    """Take what the pass left as the history, and as a fold of the transcript when it changed."""
    done = turn.janitor_turn
    if done is not None:
        before, state = turn.unlanded
        turn.overflow = done.result
        turn.history = turn.overflow.history
        turn.state = msgspec.structs.replace(turn.state, transcript=state.transcript)
        turn.evicted.clear()
        diagnostics, repairs = done.take_notes()
        turn.diagnostics.extend(diagnostics)
        turn.repairs.extend(repairs)
        if turn.overflow.changed:
            _land(turn, done, before)
        elif done.stands and turn.standing is not None:
            transcript = turn.transcript.with_fold(turn.standing)
            turn.state = msgspec.structs.replace(turn.state, transcript=transcript)
    turn.window_id = (done.lineage if done else turn.parts.janitor.lineage).current


def settle_history(turn: CompileTurn) -> None:
    """Put back what stands in the conversation without being said in it."""
    if turn.compacting:
        return
    if turn.state.sent_tails and appends(turn):
        turn.history = with_sent_tails(turn)
    if turn.tool_changes:
        turn.settled_changes = 0
        turn.history = with_settled_changes(turn)
    if turn.server_managed and turn.target_name == "openai-responses":
        whole = len(turn.history)
        turn.history = since_compaction(turn.history)
        turn.left_to_server = whole - len(turn.history)
    if _instructs_in_place(turn):
        turn.history = _with_instructions_in_place(turn)


def _instructs_in_place(turn: CompileTurn) -> bool:
    """Whether a later system message would change what the provider has seen if it moved up.

    Where it may stand in the conversation it does. Where thinking is bound to everything in front
    of it, moving it would cost all of it. For a model that is not known it moves, as it always did.
    """
    profile = turn.profile
    return (
        turn.target_name == "anthropic"
        and profile is not None
        and (profile.inline_system or profile.prefix_bound_thinking)
    )


def _with_instructions_in_place(turn: CompileTurn) -> tuple[Message, ...]:
    made = turn.parts.made
    if not made.system_messages.total(turn.history):
        return turn.history
    placed: list[Message] = []
    said = False
    for message in turn.history:
        if said and message.role == "system" and not message.positional:
            own = made.form("in_place", message, partial(message.replace, positional=True))
            turn.succeed(message, own)
            placed.append(own)
        else:
            said = said or message.role != "system"
            placed.append(message)
    return tuple(placed)


async def _vetoed(turn: CompileTurn, overhead: float) -> bool:
    """Every handler is asked; only the value False is a veto."""
    handlers = turn.parts.slots.handlers(before_overflow)
    if not handlers:
        return False
    budget = turn.parts.janitor.read_budget(turn.history, overhead=overhead)
    context = BeforeOverflow(history=turn.history, budget=budget)
    answers = [await settle(handler(context)) for handler in handlers]
    return any(answer is False for answer in answers)


def _land(turn: CompileTurn, done: JanitorTurn, before: tuple[Message, ...]) -> None:
    """Make folds of what the pass left, in terms of the transcript's own messages.

    An emergency cut is a fold of its own, which gives way as soon as the strategy has worked.
    """
    known = {id(message) for message in before}
    if done.provisional and done.worked:
        _fold(turn, done, done.landed, known, provisional=False)
    _fold(turn, done, done.result, known, provisional=done.provisional)
    for message in done.result.evicted:
        fate = done.fate_of(message)
        reason = f"overflow: {done.result.strategy}" if fate is None else f"window full: {fate}"
        turn.report_evicted((message,), reason=reason, uri=done.uri_of(message))


def _fold(
    turn: CompileTurn,
    done: JanitorTurn,
    result: OverflowResult,
    known: Set[int],
    *,
    provisional: bool,
) -> None:
    fresh = tuple(message for message in result.history if id(message) not in known)
    turn.credit(fresh, "fold")
    transcript = turn.transcript.folded_to(
        [turn.original(message) for message in result.history],
        strategy=result.strategy,
        window_id=done.lineage.current,
        span=len(result.span),
        uri=result.archive_uri,
        provisional=provisional,
    )
    turn.state = msgspec.structs.replace(turn.state, transcript=transcript)


def _overhead(turn: CompileTurn) -> float:
    """Tokens of the request that are not history: known parts, and the rest as it was last time."""
    return _fixed_overhead(turn) + turn.state.last_volatile_tokens


def _fixed_overhead(turn: CompileTurn) -> float:
    """Tokens of what stands around the history and is known before the window is put together."""
    janitor, state = turn.parts.janitor, turn.state
    if janitor.counts_history_only:
        return 0
    messages = list(state.system_prompt)
    texts = [turn.inputs.toolkit_directory, state.dynamic_state.xml]
    if state.skill is not None:
        texts.append(state.skill.instructions)
    if state.guardrails is not None:
        texts += [state.guardrails.rule, state.guardrails.prefill or ""]
    texts += [item.content for item in state.announcements]
    made = turn.parts.made
    for text in texts:
        if text:
            # Counted once, being the same object each time.
            messages += made.own(("around", text), partial(_said, text))
    folded = turn.transcript.folded
    for tail in state.sent_tails:
        if tail.after > folded:
            messages += made.own(("around", tail.blocks), partial(_said, tail.blocks))
    fixed = janitor.count(messages) if messages else 0
    return fixed + janitor.count_tools((*turn.inputs.tools, *inline_tools(turn)))


def _said(content: Content) -> tuple[Message, ...]:
    return (Message.user(content),)
