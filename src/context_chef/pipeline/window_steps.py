"""Stages that put the window together: inject, memory, skill, assemble, tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import msgspec

from context_chef.bridge import settle
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import Text
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message
from context_chef.ir.rows import read_messages
from context_chef.ir.text import clean_text
from context_chef.pipeline import invariants
from context_chef.pipeline.tool_changes import say_new_changes
from context_chef.pipeline.turn import CompileTurn
from context_chef.placement.announcements import Announcement, by_channel, render_announcements
from context_chef.placement.assembler import Sandwich
from context_chef.placement.tail import (
    SentTail,
    TailParts,
    believed,
    changed_blocks,
    find_tail_place,
    implicit_context,
    place_tail,
    with_blocks,
)
from context_chef.prompts.guardrails import prefill_enforcement
from context_chef.prompts.skills import skill_block
from context_chef.slots import BeforeAssemble, after_assemble, before_assemble, name_of


async def inject(turn: CompileTurn) -> None:
    """Ask the handlers for context that lives for this compile."""
    state = turn.state
    by = ""

    def add(text: str) -> None:
        if not isinstance(cast(Any, text), str):
            raise InputError(f"`inject(text)` takes text, not {shown(text)}.")
        if text:
            turn.injected.append(clean_text(text))
            turn.injected_by.append(by)

    for handler in turn.parts.slots.handlers(before_assemble):
        by = name_of(handler)
        context = BeforeAssemble(
            system_prompt=state.system_prompt,
            history=turn.history,
            dynamic_state=state.dynamic_state.messages,
            dynamic_state_xml=state.dynamic_state.xml,
            inject=add,
        )
        await settle(handler(context))


async def memory(turn: CompileTurn) -> None:
    """Read what is remembered. Expiry and the turn count happen when the compile is published."""
    if turn.parts.memory is None:
        return
    turn.memory = await turn.parts.memory.compile_artifacts()
    for failure in turn.memory.failures:
        where = "memory" if failure.key is None else f"memory[{shown(failure.key)}]"
        turn.diagnostics.append(
            Diagnostic(code="memory-unreadable", where=where, message=failure.message)
        )


async def skill(turn: CompileTurn) -> None:
    """Nothing waits here: the skill's own text is placed by assemble and tail."""


async def assemble(turn: CompileTurn) -> None:
    """Build the sandwich, then let the handlers change it."""
    sandwich = _sandwich(turn)
    turn.messages = turn.parts.made.assembled.of(*sandwich.layers)
    turn.history_start = sandwich.history_start
    handlers = turn.parts.slots.handlers(after_assemble)
    before = turn.messages
    for handler in handlers:
        turn.messages = _handled(turn, await settle(handler(turn.messages)), handler)
    if handlers and turn.parts.settings.pipeline_checks:
        await invariants.check_assemble(turn, before, turn.messages)


def reassemble(
    turn: CompileTurn, assembled: Sequence[Message], replaced: Sequence[Message]
) -> None:
    """The window with `turn.history` where `replaced` stood. No handler is asked a second time.

    `assembled` is the window as it was, with what the handlers made of it: history messages that
    they left alone are followed by their identity.
    """
    if not turn.parts.slots.handlers(after_assemble):
        sandwich = _sandwich(turn)
        turn.messages = turn.parts.made.assembled.of(*sandwich.layers)
        turn.history_start = sandwich.history_start
        return
    old = {id(message): turn.original(message) for message in replaced}
    first = next((at for at, m in enumerate(assembled) if id(m) in old), turn.history_start)
    turn.messages = (
        *(m for m in assembled[:first] if id(m) not in old),
        *turn.history,
        *(m for m in assembled[first:] if id(m) not in old),
    )


async def tail(turn: CompileTurn) -> None:
    """Put what may change by the turn behind everything else."""
    before = turn.messages
    parts, system = _tail_parts(turn)
    turn.tail = parts
    if appends(turn):
        _append_tail(turn, parts, system)
    else:
        _replace_tail(turn, parts, system)
    say_new_changes(turn)
    if turn.parts.settings.pipeline_checks:
        await invariants.check_tail(turn, before, turn.messages)


def appends(turn: CompileTurn) -> bool:
    """Whether a tail that was sent stays where it was sent."""
    mode = turn.parts.settings.tail
    if mode != "auto":
        return mode == "append"
    if turn.target_name != "anthropic":
        return False
    return turn.profile is None or turn.profile.prefix_bound_thinking


def _sandwich(turn: CompileTurn) -> Sandwich:
    state, settings = turn.state, turn.parts.settings
    guardrails = state.guardrails
    shown = settings.skill_placement == "after_system"
    layers = Sandwich(
        system_prompt=state.system_prompt,
        skill=_generated(turn, state.skill.instructions, "skill") if state.skill and shown else (),
        toolkits=_generated(turn, turn.inputs.toolkit_directory, "toolkits"),
        memory=_memory_messages(turn),
        history=turn.history,
        dynamic_state=() if _volatile_in_tail(turn) else _state_messages(turn),
        guardrail=guardrails.system_messages if guardrails and not _rule_in_tail(turn) else (),
        prefill=_opening(turn)[0],
    )
    turn.credit(layers.system_prompt, "system_prompt")
    turn.credit(layers.skill, f"skill:{state.skill.name}" if state.skill else "skill")
    for name in ("toolkits", "memory", "dynamic_state", "guardrail", "prefill"):
        turn.credit(getattr(layers, name), name)
    return layers


def _volatile_in_tail(turn: CompileTurn) -> bool:
    """Where what was sent has to stay, nothing volatile may stand in front of it."""
    return appends(turn)


def _rule_in_tail(turn: CompileTurn) -> bool:
    """Whether the output rule rides in the tail whatever was asked for.

    As a system message it stands behind the conversation. Most wires lift it into the system
    prompt; where it stays, it would move with every turn.
    """
    lifted = turn.target_name in ("anthropic", "openai-responses", "gemini")
    return appends(turn) and not lifted


def _opening(turn: CompileTurn) -> tuple[tuple[Message, ...], str]:
    """The prefill as a message, or as words for the tail where those have to stay."""
    guardrails = turn.state.guardrails
    if guardrails is None or not guardrails.prefill:
        return (), ""
    native = turn.profile is not None and turn.profile.prefill
    if appends(turn) and not native:
        return (), prefill_enforcement(guardrails.prefill)
    return guardrails.prefill_messages, ""


def _generated(turn: CompileTurn, text: str, source: str) -> tuple[Message, ...]:
    return _instruction(turn, (text, source)) if text else ()


def _instruction(turn: CompileTurn, *texts: tuple[str, str]) -> tuple[Message, ...]:
    """A system message of these texts and their sources: as long as they stay, the same object."""

    def make() -> tuple[Message, ...]:
        blocks = tuple(Text(text=text, source=source) for text, source in texts)
        return (Message(role="system", content=blocks),)

    return turn.parts.made.own(("instruction", *texts), make)


def _memory_messages(turn: CompileTurn) -> tuple[Message, ...]:
    if turn.memory is None:
        return ()
    texts = [(turn.parts.vocabulary.memory_instruction, "memory_instruction")]
    in_prefix = turn.parts.settings.memory_placement == "after_system"
    if turn.memory.block and in_prefix and not _volatile_in_tail(turn):
        texts.append((turn.memory.block, "memory"))
    return _instruction(turn, *texts)


def _state_messages(turn: CompileTurn) -> tuple[Message, ...]:
    messages = turn.state.dynamic_state.messages
    context = implicit_context(turn.injected)
    if not messages or not context:
        return messages
    text = Text(text=f"{messages[0].text}\n{context}", source="dynamic_state")
    return (messages[0].replace(content=(text,)),)


def _handled(turn: CompileTurn, answer: object, handler: object) -> tuple[Message, ...]:
    name = name_of(handler)
    if answer is None:
        turn.diagnostics.append(
            Diagnostic(
                code="handler-answered-nothing",
                where="after-assemble",
                message=f"{name} answered None, so the messages were left as they are.",
            )
        )
        return turn.messages
    try:
        messages = read_messages(cast(Any, answer))
    except InputError as error:
        raise InputError(
            f"the after-assemble handler {name} has to answer a list of messages: {error}"
        ) from error
    known = {id(message) for message in turn.messages}
    turn.credit(
        tuple(message for message in messages if id(message) not in known), f"after-assemble:{name}"
    )
    if messages is not turn.messages:
        turn.history_start = _history_start(turn, messages)
    return messages


def _history_start(turn: CompileTurn, messages: Sequence[Message]) -> int:
    """Where history begins in a changed list: behind the last message of the old prefix."""
    prefix = {id(message) for message in turn.messages[: turn.history_start]}
    kept = [index for index, message in enumerate(messages) if id(message) in prefix]
    return kept[-1] + 1 if kept else 0


def _tail_parts(turn: CompileTurn) -> tuple[TailParts, tuple[Announcement, ...]]:
    state, settings = turn.state, turn.parts.settings
    items = state.announcements + ((turn.handoff,) if turn.handoff else ())
    auto: Literal["system", "user_tail"] = "system" if _inline_system(turn) else "user_tail"
    system, tail = by_channel(items, auto=auto)
    bound = _volatile_in_tail(turn)
    memory_here = settings.memory_placement != "after_system" or bound
    state_here = state.dynamic_state.placement == "last_user" or bound
    guardrails = state.guardrails
    skill_here = settings.skill_placement == "tail"
    rule = ""
    if guardrails is not None:
        rule = guardrails.rule if _rule_in_tail(turn) else guardrails.tail
    parts = TailParts(
        skill=skill_block(state.skill.name, state.skill.instructions)
        if state.skill and state.skill.instructions and skill_here
        else "",
        memory=turn.memory.block if turn.memory and memory_here else "",
        dynamic_state=state.dynamic_state.xml if state_here else "",
        implicit_context=implicit_context(turn.injected)
        if state_here or not state.dynamic_state.xml
        else "",
        announcements=tail,
        guardrail="\n\n".join(text for text in (rule, _opening(turn)[1]) if text),
    )
    return parts, system


def _inline_system(turn: CompileTurn) -> bool:
    """`auto` announcements are system messages only on a model known to take them in place."""
    return (
        turn.target_name == "anthropic" and turn.profile is not None and turn.profile.inline_system
    )


def _replace_tail(turn: CompileTurn, parts: TailParts, system: Sequence[Announcement]) -> None:
    place = find_tail_place(
        turn.messages, first=turn.history_start, answers_may_end=_answers_may_end(turn)
    )
    blocks = parts.blocks()
    if not blocks and not system:
        turn.stable_until = place.index + place.joins
        return
    before = turn.messages
    messages = place_tail(turn.messages, blocks, place)
    if place.joins:
        turn.succeed(turn.messages[place.index], messages[place.index])
    stable = place.index if not place.joins else place.index + 1
    if system:
        _insert_announcements(turn, messages, system)
    turn.messages = tuple(messages)
    turn.stable_until = stable
    if not system:
        turn.parts.made.starts.note(before, turn.messages, place.index)


def _insert_announcements(
    turn: CompileTurn, messages: list[Message], items: Sequence[Announcement]
) -> None:
    """The system channel: right behind the last thing that the user or a tool said."""
    index, found = _behind_last_turn(messages, turn.history_start)
    text = Text(text=render_announcements(items), source="announcements")
    if found or turn.target_name != "anthropic":
        messages.insert(index, Message(role="system", content=(text,), positional=True))
        return
    turn.parts.warn_once(
        "announcement-no-tail",
        "An announcement on the system channel has no message to follow; without a conversation "
        "it is sent as a user message on Anthropic.",
    )
    messages.insert(index, Message(role="user", content=(text,)))


def _append_tail(turn: CompileTurn, parts: TailParts, system: Sequence[Announcement]) -> None:
    """Only what changed is said, at the end of what was sent; the rest stays where it stands.

    The tails of earlier compiles stand in `turn.history` already. A tail of now is kept behind the
    transcript as it is now, so that the next compile finds it there.
    """
    told = believed(turn.state.sent_tails)
    merged = msgspec.structs.replace(parts, announcements=(*system, *parts.announcements))
    blocks = changed_blocks(merged, told)
    end = len(turn.messages)
    while end > turn.history_start and turn.messages[end - 1].prefill:
        end -= 1
    if blocks:
        before, messages = turn.messages, list(turn.messages)
        blocks = (msgspec.structs.replace(blocks[0], apart=True), *blocks[1:])
        last = messages[end - 1] if end > turn.history_start else None
        sent = SentTail(after=len(turn.transcript.items), blocks=blocks)
        if last is not None and last.role == "user":
            messages[end - 1] = _with_tail(turn, last, blocks)
            turn.succeed(last, messages[end - 1])
        else:
            messages[end:end] = _own_tail(turn, sent)
            end += 1
        turn.state = msgspec.structs.replace(turn.state, sent_tails=(*turn.state.sent_tails, sent))
        turn.messages = tuple(messages)
        turn.parts.made.starts.note(before, turn.messages, end - 1)
    turn.stable_until = end


def with_sent_tails(turn: CompileTurn) -> tuple[Message, ...]:
    """The window's conversation with the tails that were sent standing where they were sent."""
    transcript = turn.transcript
    folded = transcript.folded
    tails = [tail for tail in turn.state.sent_tails if tail.after > folded]
    turn.state = msgspec.structs.replace(turn.state, sent_tails=tuple(tails))
    if not tails:
        return turn.history
    head = len(turn.history) - (len(transcript.items) - folded)
    messages = list(turn.history)
    shift = head - folded
    for tail in tails:
        index = tail.after + shift
        if 0 < index <= len(messages) and messages[index - 1].role == "user":
            last = messages[index - 1]
            messages[index - 1] = _with_tail(turn, last, tail.blocks)
            turn.succeed(last, messages[index - 1])
        else:
            messages[index:index] = _own_tail(turn, tail)
            shift += 1
    placed = tuple(messages)
    turn.parts.made.tailed(turn.history, turn.state.sent_tails, placed, head - folded)
    return placed


def _with_tail(turn: CompileTurn, message: Message, blocks: tuple[Text, ...]) -> Message:
    """The message followed by a tail: the same object each time."""
    return turn.parts.made.form("tail", message, lambda: with_blocks(message, blocks), of=blocks)


def _own_tail(turn: CompileTurn, tail: SentTail) -> tuple[Message, ...]:
    """A tail that is a message: the same object each time."""
    own = turn.parts.made.own(
        ("tail", tail.after, tail.blocks), lambda: (Message(role="user", content=tail.blocks),)
    )
    turn.credit(own, "sent_tail")
    turn.generated = True
    return own


def _answers_may_end(turn: CompileTurn) -> bool:
    """Whether a finished answer may stand last, with the tail in front of it."""
    if turn.target_name == "anthropic":
        return turn.profile is not None and turn.profile.prefill
    return False


def _behind_last_turn(messages: Sequence[Message], first: int) -> tuple[int, bool]:
    """The place behind the last user or tool message, and whether there is one."""
    for index in range(len(messages) - 1, first - 1, -1):
        if messages[index].role in ("user", "tool"):
            return index + 1, True
    end = len(messages)
    while end > first and messages[end - 1].role == "assistant":
        end -= 1
    return end, False
