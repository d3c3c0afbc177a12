"""Shortening one message so that it fits, with what makes it part of the conversation intact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from context_chef.ir.blocks import Block, Media, Text, Thinking, ToolCall
from context_chef.ir.canonical import compact_json
from context_chef.ir.message import Message
from context_chef.prompts.overflow import (
    CLIPPED_ARGUMENTS_KEY,
    clipped_notice,
    media_left_out,
)

_HEAD_SHARE: Final = 0.6
_ROUNDS: Final = 40


def clip_message(
    message: Message,
    target: float,
    count: Callable[[Sequence[Message]], float],
    *,
    uri: str | None = None,
) -> Message:
    """The message in at most `target` tokens, as far as its text and media allow.

    Beginning and end of the text stay, with a note in between. Role, ids and calls stay as they
    are.
    """
    if count([message]) <= target:
        return message
    clipped = _without_weight(message, uri)
    if count([clipped]) <= target:
        return clipped
    texts = [block.text for block in clipped.content if isinstance(block, Text)]
    text = "\n".join(texts)
    bare = clipped.with_text("") if texts else clipped
    fixed = count([bare])
    whole = max(1.0, count([clipped]) - fixed)
    keep = int(len(text) * max(0.0, min(1.0, (target - fixed) / whole)))
    for _ in range(_ROUNDS):
        candidate = clipped.with_text(_middle_out(text, keep, uri))
        if count([candidate]) <= target or keep == 0:
            return candidate
        keep = int(keep * 0.85)
    return clipped.with_text(_middle_out(text, 0, uri))


def clip_arguments(
    message: Message,
    target: float,
    count: Callable[[Sequence[Message]], float],
    *,
    uri: str | None = None,
) -> Message:
    """The message with the arguments of its calls shortened, as JSON objects that say so."""
    excess = count([message]) - target
    for call in sorted(message.tool_calls, key=lambda call: -len(call.arguments)):
        if excess <= 0:
            break
        for share in (0.5, 0.25, 0.1, 0.02, 0.0):
            keep = int(len(call.arguments) * share)
            shorter = _middle_out(call.arguments, keep, uri)
            arguments = compact_json({CLIPPED_ARGUMENTS_KEY: shorter})
            changed = _with_arguments(message, call, arguments)
            excess = count([changed]) - target
            if excess <= 0:
                break
        message = changed
    return message


def _with_arguments(message: Message, call: ToolCall, arguments: str) -> Message:
    content = tuple(
        msgspec.structs.replace(block, arguments=arguments)
        if isinstance(block, ToolCall) and block.id == call.id and block.name == call.name
        else block
        for block in message.content
    )
    return message.replace(content=content)


def _without_weight(message: Message, uri: str | None) -> Message:
    """The message without media and thinking, which cannot be shortened."""
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Media):
            content.append(Text(text=media_left_out(block.filename or block.kind, uri=uri)))
        elif not isinstance(block, Thinking) or message.tool_calls:
            content.append(block)
    return message.replace(content=tuple(content))


def _middle_out(text: str, keep: int, uri: str | None) -> str:
    if keep >= len(text):
        return text
    head = int(keep * _HEAD_SHARE)
    tail = keep - head
    notice = clipped_notice(left_out=len(text) - keep, uri=uri)
    before = f"{text[:head]}\n" if head else ""
    after = f"\n{text[-tail:]}" if tail else ""
    return f"{before}{notice}{after}"
