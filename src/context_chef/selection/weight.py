"""What a conversation weighs on the wire: bytes, and characters of its longest text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from context_chef.ir.blocks import (
    Block,
    Inline,
    Media,
    Opaque,
    PlainText,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.turns import group_into_turns, pinned_indexes
from context_chef.prompts.overflow import media_left_out
from context_chef.selection.clip import clip_arguments, clip_message
from context_chef.selection.cut import open_turn

_BELOW: Final = 0.9
"""What is made lighter goes to this share of the ceiling, so that the next turn fits as well."""


def byte_weight(messages: Iterable[Message]) -> int:
    """About the bytes of these messages in a request; media by the length of their base64."""
    return sum(_bytes(block) for message in messages for block in message.content)


def longest_text(messages: Iterable[Message]) -> int:
    """Characters of the longest single text, arguments of calls included."""
    return max((len(text) for text in _texts(messages)), default=0)


def lighter(
    history: Sequence[Message],
    *,
    most_bytes: float | None,
    longest: float | None,
    uri: str | None = None,
) -> dict[int, Message]:
    """Lighter forms by the index of the message that they replace.

    Media go first, the oldest before the newest, then the largest texts. Pinned turns stay as they
    are, so the answer may be heavier than asked.
    """
    changed: dict[int, Message] = {}
    if longest is not None and longest_text(history) > longest:
        _shorten(history, changed, longest * _BELOW, longest_text, uri)
    if most_bytes is not None:
        _shed_bytes(history, changed, most_bytes, uri)
    return changed


def _shed_bytes(
    history: Sequence[Message], changed: dict[int, Message], ceiling: float, uri: str | None
) -> None:
    excess = byte_weight(history) - ceiling
    if excess <= 0:
        return
    excess += ceiling * (1 - _BELOW)
    last = open_turn(history) or _newest(history)
    pinned = pinned_indexes(history)
    movable = [at for at in range(len(history)) if at not in pinned]
    older = [at for at in movable if at not in last]
    newest = sorted(
        (at for at in movable if at in last), key=lambda at: -byte_weight([history[at]])
    )
    for at in (*older, *newest):
        if excess <= 0:
            return
        message = changed.get(at, history[at])
        if any(_heavy(block) for block in message.content):
            slim = _without_media(message, uri)
            excess -= byte_weight([message]) - byte_weight([slim])
            changed[at] = slim
    if excess > 0:
        weights = sorted(
            (byte_weight([changed.get(at, history[at])]) for at in movable), reverse=True
        )
        _shorten(history, changed, _level(weights, excess), byte_weight, uri)


def _shorten(
    history: Sequence[Message],
    changed: dict[int, Message],
    target: float,
    count: Callable[[Sequence[Message]], float],
    uri: str | None,
) -> None:
    """Every message that measures more than `target` comes down to it."""
    pinned = pinned_indexes(history)
    for at, message in enumerate(history):
        current = changed.get(at, message)
        if at in pinned or message.role == "system" or count([current]) <= target:
            continue
        shorter = clip_message(current, target, count, uri=uri)
        if count([shorter]) > target and shorter.tool_calls:
            shorter = clip_arguments(shorter, target, count, uri=uri)
        if count([shorter]) < count([current]):
            changed[at] = shorter


def _level(weights: Sequence[float], excess: float) -> float:
    """The height to which the largest come down when `excess` is taken off them."""
    taken = 0.0
    for number, weight in enumerate(weights, 1):
        below = weights[number] if number < len(weights) else 0.0
        step = (weight - below) * number
        if taken + step >= excess:
            return weight - (excess - taken) / number
        taken += step
    return 0.0


def _newest(history: Sequence[Message]) -> frozenset[int]:
    turns = group_into_turns(history)
    return frozenset(range(turns[-1].start, turns[-1].end)) if turns else frozenset()


def _heavy(block: Block) -> bool:
    return isinstance(block, Media) and isinstance(block.source, (Inline, PlainText))


def _without_media(message: Message, uri: str | None) -> Message:
    content = tuple(
        Text(text=media_left_out(block.filename or block.kind, uri=uri))
        if isinstance(block, Media) and _heavy(block)
        else block
        for block in message.content
    )
    return message.replace(content=content)


def _bytes(block: Block) -> int:
    if isinstance(block, Media) and isinstance(block.source, Inline):
        return len(block.source.data)
    if isinstance(block, RedactedThinking):
        return len(block.data)
    if isinstance(block, Opaque):
        return _utf8(compact_json(thaw(block.value)))
    return _utf8(_text(block))


def _texts(messages: Iterable[Message]) -> Iterator[str]:
    return (_text(block) for message in messages for block in message.content)


def _text(block: Block) -> str:
    if isinstance(block, (Text, Thinking)):
        return block.text
    if isinstance(block, ToolCall):
        return block.arguments
    if isinstance(block, Media) and isinstance(block.source, PlainText):
        return block.source.text
    return ""


def _utf8(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
