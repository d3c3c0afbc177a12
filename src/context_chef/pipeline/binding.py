"""Thinking that is bound to everything before it: kept while that stands still, dropped when not.

Newer Claude models refuse a thinking block when the system prompt, the tools or any earlier message
is not what it was when the block was made (rule `anthropic/preserved-thinking`; Anthropic's docs on
preserved thinking, November 2026). What was sent is remembered as a digest, so that a change is
noticed wherever it comes from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from context_chef.ir.blocks import Block, RedactedThinking, Thinking
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition


class SentPrefixes(msgspec.Struct, frozen=True, kw_only=True):
    """What was in front of every thinking block when it was made, as digests."""

    by_thinking: Mapping[str, str] = EMPTY
    """Digest of the prefix, by the thinking block's signature or data."""
    last: str | None = None
    """Digest of the whole last request: the prefix of whatever the model answered to it."""
    by_item: Mapping[str, str] = EMPTY
    """On OpenAI Responses: the id of the reasoning item that an item came from, by its own id."""


class BoundThinking(msgspec.Struct, frozen=True, kw_only=True):
    """Messages whose thinking still fits, and what to remember of them."""

    messages: tuple[Message, ...]
    sent: SentPrefixes
    repairs: tuple[Repair, ...] = ()


def bind_thinking(
    messages: Sequence[Message],
    *,
    tools: Iterable[ToolDefinition],
    sent: SentPrefixes,
    mend: Callable[[tuple[Message, ...]], tuple[Message, ...]],
) -> BoundThinking:
    """Drop the thinking blocks whose prefix changed since they were made.

    `mend` makes messages sendable again after blocks were taken out of them.
    """
    tools = tuple(tools)
    kept, dropped, repairs = _without_unbound(messages, tools, sent)
    final = mend(kept) if repairs else tuple(messages)
    by_thinking, last = _digests(final, tools)
    remembered = {key: sent.by_thinking.get(key, digest) for key, digest in by_thinking.items()}
    # What was left out once stays out: what was made since was made without it.
    remembered.update(dropped)
    return BoundThinking(
        messages=final,
        sent=msgspec.structs.replace(sent, by_thinking=remembered, last=last),
        repairs=tuple(repairs),
    )


def _without_unbound(
    messages: Sequence[Message], tools: tuple[ToolDefinition, ...], sent: SentPrefixes
) -> tuple[tuple[Message, ...], dict[str, str], list[Repair]]:
    digest = _Digest(tools)
    kept: list[Message] = []
    dropped: dict[str, str] = {}
    repairs: list[Repair] = []
    fresh = True
    for index, message in enumerate(messages):
        keys = [key for block in message.content if (key := _key(block))]
        expected = {key: sent.by_thinking.get(key) for key in keys}
        new = [key for key in keys if expected[key] is None]
        if new and len(new) < len(keys):
            # The message was sent before, and this was left out of it: it stays out.
            expected.update(dict.fromkeys(new, ""))
        elif new and repairs:
            # Never sent, and what stood before it when it was made was left out just now.
            expected.update(dict.fromkeys(new, ""))
        elif new and fresh:
            expected.update(dict.fromkeys(new, sent.last))  # the answer to the last request
            fresh = False
        gone = {k: was for k, was in expected.items() if was is not None and was != digest.value}
        if gone:
            content = tuple(block for block in message.content if _key(block) not in gone)
            dropped.update({key: was or "" for key, was in gone.items()})
            repairs.append(
                Repair(
                    rule="anthropic/preserved-thinking",
                    where=f"messages[{index}]",
                    message=f"dropped {len(message.content) - len(content)} thinking block(s): "
                    "what stands in front of them has changed since they were made",
                )
            )
            message = message.replace(content=content)
            if not content:
                continue
        kept.append(message)
        digest.add(message)
    return tuple(kept), dropped, repairs


def _digests(
    messages: Sequence[Message], tools: tuple[ToolDefinition, ...]
) -> tuple[dict[str, str], str]:
    digest = _Digest(tools)
    found: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if key := _key(block):
                found.setdefault(key, digest.value)
        digest.add(message)
    return found, digest.value


class _Digest:
    """A running digest of a request, blind to cache marks: those may move."""

    def __init__(self, tools: tuple[ToolDefinition, ...]) -> None:
        self._hash = hashlib.sha256(msgspec.json.encode(tools))
        self._role = ""

    @property
    def value(self) -> str:
        return self._hash.hexdigest()[:32]

    def add(self, message: Message) -> None:
        # Neighbours of one role are one turn on the wire, so only a change of role is told.
        role = "user" if message.role == "tool" else message.role
        if role != self._role:
            self._hash.update(role.encode())
            self._role = role
        for block in message.content:
            self._hash.update(msgspec.json.encode(_told(message, block)))


def _told(message: Message, block: Block) -> Any:
    return (message.tool_call_id, message.is_error, msgspec.structs.replace(block, cache=None))


def _key(block: Block) -> str | None:
    if isinstance(block, Thinking) and block.origin in (None, "anthropic"):
        return block.signature
    if isinstance(block, RedactedThinking) and block.origin == "anthropic":
        return block.data
    return None
