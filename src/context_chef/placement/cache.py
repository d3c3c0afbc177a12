"""Cache breakpoints: where `cache="auto"` puts them, and the audit that finds misplaced ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

import msgspec

from context_chef.given import check_mapping
from context_chef.ir.blocks import (
    Block,
    CacheBreakpoint,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
)
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition

VOLATILE: Final[Mapping[str, tuple[str, str]]] = {
    "memory": (
        "memory data block",
        'set `memory_placement="before_history_tail"`',
    ),
    "dynamic_state": ("dynamic state", 'set the state with `placement="last_user"`'),
    "implicit_context": (
        "onBeforeCompile injection",
        "inject it with the state placed in the tail",
    ),
    "guardrail": ("guardrail enforce-XML", 'use `with_guardrails(placement="last_user")`'),
    "skill": ("skill tail instructions", "keep the breakpoint in front of the tail"),
    "announcements": ("announcements", 'announce on the channel "user_tail"'),
}
"""What we generate that may change by the turn: its name in an audit, the knob that moves it."""


_GENERATED: Final = frozenset({*VOLATILE, "anchor"})
"""Blocks of ours that are written anew for each request."""


class CacheIssue(msgspec.Struct, frozen=True, kw_only=True):
    """Content that may change stands in front of, or on, a breakpoint."""

    location: str
    message: str
    dedupe_key: str


class CachePlan(msgspec.Struct, frozen=True, kw_only=True):
    """What `cache="auto"` may use on one model."""

    max_breakpoints: int = 4
    lookback_blocks: int = 20
    minimum_tokens: int = 1024
    on_assistant: bool = True
    """Whether the wire can mark what an assistant said."""


def _made_anew(_: Message, make: Callable[[], Message]) -> Message:
    return make()


def place_breakpoints(
    messages: Sequence[Message],
    *,
    plan: CachePlan,
    stable_until: int,
    prefix_end: int,
    previous: int | None = None,
    tokens: Callable[[Sequence[Message]], float],
    tools: Sequence[ToolDefinition] = (),
    tool_tokens: float = 0,
    tails_stay: bool = False,
    explicit: int | None = None,
    form: Callable[[Message, Callable[[], Message]], Message] = _made_anew,
) -> tuple[list[Message], int | None]:
    """The messages with automatic breakpoints added, and the index of the last one.

    `messages[:prefix_end]` is the system prefix, `messages[:stable_until]` everything that will be
    the same in the next request (what a caller marked counts too, and is never moved). `previous`
    is the message that carried the last breakpoint of the request before: a mark there finds what
    that request wrote, however much was added since. `tools` stand in front of it all: their own
    marks and their `tool_tokens` count towards the provider's limits. With `tails_stay` what we
    generate is sent again as it was, so that it may be marked like everything else. `explicit` is
    how many marks there are already, where that is known. `form` answers a marked message, and may
    remember it.
    """
    marked = list(messages)
    if explicit is None:
        explicit = sum(marks_of(message) for message in messages)
    room = plan.max_breakpoints - explicit - sum(tool.cache is not None for tool in tools)
    if room <= 0 or tool_tokens + tokens(messages[:stable_until]) < plan.minimum_tokens:
        return marked, None
    wanted = _wanted(messages, plan, stable_until, prefix_end, previous)
    ttl_limit = _last_long_mark(messages) if explicit else -1
    last: int | None = None
    for wish in wanted:
        if room <= 0:
            break
        for index in range(wish, ttl_limit, -1):
            if marks_of(marked[index]):
                break
            mark = _mark(marked[index], plan, tails_stay=tails_stay)
            if mark is not None:
                marked[index] = form(marked[index], mark)
                room -= 1
                last = index if last is None else max(last, index)
                break
    return marked, last


def mark_tools(tools: Sequence[ToolDefinition]) -> tuple[ToolDefinition, ...]:
    """The tools with a breakpoint behind the last one that can carry it."""
    for index in range(len(tools) - 1, -1, -1):
        tool = tools[index]
        if tool.cache is not None:
            break
        if not tool.defer_loading and not any("definition" in own for own in tool.native.values()):
            marked = msgspec.structs.replace(tool, cache=CacheBreakpoint())
            return (*tools[:index], marked, *tools[index + 1 :])
    return tuple(tools)


def _wanted(
    messages: Sequence[Message],
    plan: CachePlan,
    stable_until: int,
    prefix_end: int,
    previous: int | None,
) -> list[int]:
    """Candidates, the most valuable first: the newest end, the last one, the prefix, between."""
    wanted: list[int] = []
    if stable_until > 0:
        wanted.append(stable_until - 1)
    if previous is not None and prefix_end <= previous < stable_until - 1:
        wanted.append(previous)
    if prefix_end > 0:
        wanted.append(prefix_end - 1)
    if previous is None and wanted:
        blocks = 0
        for index in range(wanted[0], prefix_end, -1):
            blocks += max(1, len(messages[index].content))
            if blocks >= plan.lookback_blocks - 2:
                wanted.append(index - 1)
                break
    return list(dict.fromkeys(wanted))


def marks_of(message: Message) -> int:
    """How many breakpoints the message carries."""
    return (message.cache is not None) + sum(block.cache is not None for block in message.content)


def _last_long_mark(messages: Sequence[Message]) -> int:
    """The last message with a 1-hour mark: no shorter mark may stand before one."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        marks = [message.cache, *(block.cache for block in message.content)]
        if any(mark is not None and mark.ttl == "1h" for mark in marks):
            return index
    return -1


def _mark(message: Message, plan: CachePlan, *, tails_stay: bool) -> Callable[[], Message] | None:
    """Makes the message with a mark behind its last own block that can carry one; None when none
    can.

    The message itself is marked where that is the same: it changes nothing about how its content
    is written, so that the request after, which marks another one, still begins alike.
    """
    if message.role == "assistant" and not plan.on_assistant:
        return None
    generated = [not tails_stay and _is_generated(block) for block in message.content]
    carriers = [
        position
        for position, block in enumerate(message.content)
        if not generated[position] and _carries(block)
    ]
    if not carriers:
        return None
    if not any(generated):
        return partial(message.replace, cache=CacheBreakpoint())
    marked = msgspec.structs.replace(message.content[carriers[-1]], cache=CacheBreakpoint())
    content = list(message.content)
    content[carriers[-1]] = marked
    return partial(message.replace, content=tuple(content))


def _is_generated(block: Block) -> bool:
    return isinstance(block, Text) and block.source in _GENERATED


def _carries(block: Block) -> bool:
    if isinstance(block, Text):
        return bool(block.text.strip())
    return not isinstance(block, (Thinking, RedactedThinking, Opaque))


def audit_breakpoints(
    messages: Sequence[Message], *, stays_from: int | None = None
) -> list[CacheIssue]:
    """Volatile content of ours in front of, or on, the last breakpoint of a window.

    Our own blocks are known by their `source`, not by their words: a user who quotes a tag is not
    reported. From the message `stays_from` on, what we generated is sent again as it was.
    """
    messages = messages if stays_from is None else messages[:stays_from]
    last = _last_mark(messages)
    issues: list[CacheIssue] = []
    systems = others = 0
    for index, message in enumerate(messages):
        hoisted = message.role == "system" and not message.positional
        location = f"system[{systems}]" if hoisted else f"messages[{others}]"
        systems, others = systems + hoisted, others + (not hoisted)
        for position, block in enumerate(message.content):
            if (index, position) > last:
                return issues
            source = block.source if isinstance(block, Text) else None
            if source in VOLATILE:
                issues.append(_issue(source, location, on_mark=(index, position) == last))
    return issues


def _last_mark(messages: Sequence[Message]) -> tuple[int, int]:
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.cache is not None:
            return index, max(0, len(message.content) - 1)
        for position in range(len(message.content) - 1, -1, -1):
            if message.content[position].cache is not None:
                return index, position
    return -1, -1


def _issue(source: str, location: str, *, on_mark: bool) -> CacheIssue:
    name, knob = VOLATILE[source]
    if on_mark:
        advice = "the breakpoint sits on it; move the breakpoint to an earlier message"
    else:
        advice = f"it stands inside the cached prefix; {knob}"
    return CacheIssue(
        location=location,
        message=f"{name} changes from turn to turn: {advice}.",
        dedupe_key=f"{name}@{'breakpoint-tail' if on_mark else 'prefix'}",
    )


# What our own generated content looks like in a finished request of any library version.
def _markers() -> tuple[tuple[str, str], ...]:
    from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, UNIFIED_VOCABULARY

    return (
        (LEGACY_VOCABULARY.memory_block_header, "memory"),
        (UNIFIED_VOCABULARY.memory_block_header, "memory"),
        ("<dynamic_state>", "dynamic_state"),
        ("<implicit_context>", "implicit_context"),
        ("<EPHEMERAL_MESSAGE>", "guardrail"),
        ("<skill_instructions", "skill"),
        ("<announcements>", "announcements"),
    )


def audit_anthropic_cache_placement(payload: Mapping[str, Any]) -> list[CacheIssue]:
    """The same audit for any finished Anthropic request, whoever made it.

    A finished request has only words to go by, so text that quotes a tag is reported too; a compile
    of ours is audited by structure instead (`cache_audit=True`).
    """
    check_mapping(payload, "payload")
    segments = _segments(payload)
    marked = [index for index, (_, _, mark) in enumerate(segments) if mark]
    if not marked:
        return []
    issues: list[CacheIssue] = []
    for index, (location, text, _) in enumerate(segments[: marked[-1] + 1]):
        for marker, source in _markers():
            if marker in text:
                issues.append(_issue(source, location, on_mark=index == marked[-1]))
    return issues


def _segments(payload: Mapping[str, Any]) -> list[tuple[str, str, bool]]:
    segments: list[tuple[str, str, bool]] = []
    for index, block in enumerate(_blocks(payload.get("system"))):
        marked = block.get("cache_control") is not None
        segments.append((f"system[{index}]", str(block.get("text", "")), marked))
    messages = cast(Sequence[Mapping[str, Any]], payload.get("messages") or ())
    for index, message in enumerate(messages):
        blocks = _blocks(message.get("content"))
        text = "\n".join(_words(block) for block in blocks)
        marked = any(block.get("cache_control") is not None for block in blocks)
        segments.append((f"messages[{index}]", text, marked))
    return segments


def _blocks(content: object) -> list[Mapping[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, Sequence):
        items = cast(Sequence[object], content)
        return [cast(Mapping[str, Any], item) for item in items if isinstance(item, Mapping)]
    return []


def _words(block: Mapping[str, Any]) -> str:
    if isinstance(block.get("text"), str):
        return block["text"]
    return "\n".join(_words(inner) for inner in _blocks(block.get("content")))
