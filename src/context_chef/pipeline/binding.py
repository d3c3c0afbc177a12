"""Thinking that is bound to everything before it: kept while that stands still, dropped when not.

Newer Claude models refuse a thinking block when the system prompt, the tools or any earlier message
is not what it was when the block was made (rule `anthropic/preserved-thinking`; Anthropic's docs on
preserved thinking, November 2026). What was sent is remembered as a digest, so that a change is
noticed wherever it comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Any, Final, NamedTuple

import msgspec

from context_chef.adaptation.anthropic_body import compaction_first, goes_with, is_compaction
from context_chef.ir.blocks import Block, RedactedThinking, Text, Thinking, ToolCall
from context_chef.ir.diagnostics import Repair
from context_chef.ir.digest import sha256_hex
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.running import Messages, Starts
from context_chef.ir.text import lent
from context_chef.ir.tools import ToolDefinition

_WORDS: Final = frozenset({Text, ToolCall})


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


class _Step(NamedTuple):
    """Where the walk over the messages stands behind one of them."""

    digest: str
    role: str
    kept: int
    """How many messages were kept so far; likewise of the rest."""
    repairs: int
    dropped: int
    found: int


class ThinkingBinder:
    """Drops the thinking blocks whose prefix changed since they were made.

    Remembers its last walk: messages that are the same, behind the same beginning, are not looked
    at again. One request at a time.
    """

    def __init__(self, starts: Starts | None = None) -> None:
        self._starts = starts or Starts()
        self._forget(())
        self._final = _Digests()

    def _forget(self, tools: tuple[ToolDefinition, ...], offered: bytes = b"") -> None:
        self._tools, self._offered = tools, offered
        self._messages: Messages = ()
        self._steps = [_Step(_start(tools, offered), "", 0, 0, 0, 0)]
        self._kept: list[Message] = []
        self._repairs: list[Repair] = []
        self._dropped: list[tuple[str, str]] = []
        self._found: list[tuple[str, str]] = []
        """Thinking that was kept, with the digest of what stands in front of it."""
        self._placed: set[str] = set()
        """The same thinking: none stands in two places."""
        self._ambiguous = False
        self._sent: SentPrefixes | None = None
        self._answered: SentPrefixes | None = None

    def bind(
        self,
        messages: Sequence[Message],
        *,
        tools: tuple[ToolDefinition, ...],
        sent: SentPrefixes,
        mend: Callable[[tuple[Message, ...]], tuple[Message, ...]],
        offered: bytes = b"",
    ) -> BoundThinking:
        """The messages whose thinking still fits, and what to remember of them.

        `mend` makes messages sendable again after blocks were taken out of them. `offered` is what
        the tools become on the wire, where the same ones become something else for other models.
        """
        final = tuple(messages)
        self._go_back(final, tools, offered, sent)
        self._walk(sent)
        found: Iterable[tuple[str, str]] = self._found
        last = self._steps[-1].digest
        if self._repairs:
            final = mend(tuple(self._kept))
            found, last = self._final.of(final, tools, offered)
        by_thinking: dict[str, str] = {}
        for key, digest in found:
            if key not in by_thinking:
                by_thinking[key] = sent.by_thinking.get(key, digest)
        # What was left out once stays out: what was made since was made without it.
        by_thinking.update(self._dropped)
        # The same block in two places, say: what is remembered of it fits one of them only.
        judged = chain(self._found, self._dropped)
        self._ambiguous = any(by_thinking.get(key) != digest for key, digest in judged)
        if by_thinking == sent.by_thinking:
            answered = msgspec.structs.replace(sent, last=last)
        else:
            answered = msgspec.structs.replace(sent, by_thinking=by_thinking, last=last)
        self._sent, self._answered = sent, answered
        return BoundThinking(messages=final, sent=answered, repairs=tuple(self._repairs))

    def _go_back(
        self,
        messages: Messages,
        tools: tuple[ToolDefinition, ...],
        offered: bytes,
        sent: SentPrefixes,
    ) -> None:
        """Keep what the last walk found of the messages that are the same."""
        known = (
            self._answered is not None
            and not self._ambiguous
            and (sent.by_thinking is self._answered.by_thinking or sent is self._sent)
        )
        if not known or offered != self._offered or not _same_tools(tools, self._tools):
            self._forget(tools, offered)
        same = self._starts.same(self._messages, messages)
        if sent is self._sent and self._first_answer is not None:
            # Whether the last request's answer was met already is told by that place alone.
            same = min(same, self._first_answer)
        self._messages = messages
        del self._steps[same + 1 :]
        step = self._steps[-1]
        del self._kept[step.kept :], self._repairs[step.repairs :]
        self._placed.difference_update(key for key, _ in self._found[step.found :])
        del self._dropped[step.dropped :], self._found[step.found :]

    _first_answer: int | None = None
    """The first message of the last walk whose thinking was not known."""

    def _walk(self, sent: SentPrefixes) -> None:
        step = self._steps[-1]
        digest = _Digest(step.digest, step.role)
        self._first_answer = None
        for index in range(len(self._steps) - 1, len(self._messages)):
            message = self._messages[index]
            words = _is_words(message)
            if (
                not words
                and any(map(_key, message.content))
                and (gone := self._unbound(index, digest, sent))
            ):
                message = self._without_thinking(index, message, gone)
            if message.content or message is self._messages[index]:
                self._kept.append(message)
                found = digest.add(message)
                self._found.extend(found)
                self._placed.update(key for key, _ in found)
            self._steps.append(
                _Step(
                    digest.value,
                    digest.role,
                    len(self._kept),
                    len(self._repairs),
                    len(self._dropped),
                    len(self._found),
                )
            )

    def _unbound(self, index: int, digest: _Digest, sent: SentPrefixes) -> dict[str, str]:
        """The blocks that were made behind something else, with the digest of that."""
        message = self._messages[index]
        keys = [key for block in message.content if (key := _key(block))]
        new = [key for key in keys if key not in sent.by_thinking]
        misfit: str | None = None
        if new and len(new) < len(keys):
            # The message was sent before, and this was left out of it: it stays out.
            misfit = ""
        elif new and self._first_answer is None and sent.last is not None:
            # What was left out before the last request was made is missing in `last` as well.
            self._first_answer = index
            misfit = sent.last  # unless it is the answer to the last request
        elif new and self._repairs:
            # Never sent, and what stood before it when it was made was left out.
            misfit = ""
        elif new and self._first_answer is None:
            self._first_answer = index
        gone: dict[str, str] = {}
        before = _Digest(digest.value, digest.role)
        before.turn_to(message)
        if misfit == digest.value:
            misfit = None
        for block in _on_the_wire(message):
            if misfit == before.value:
                misfit = None  # the answer goes on a turn that was sent as far as this
            if (key := _key(block)) and key in self._placed:
                gone[key] = ""  # it stands further up already
                continue
            if key:
                was = sent.by_thinking.get(key, before.value) if key not in new else misfit
                if was is not None and (key in new or was != before.value):
                    gone[key] = was
                    continue
            before.add_block(message, block)
        return gone

    def _without_thinking(self, index: int, message: Message, gone: Mapping[str, str]) -> Message:
        content = tuple(block for block in message.content if _key(block) not in gone)
        self._dropped.extend(item for item in gone.items() if item[0] not in self._placed)
        self._repairs.append(
            Repair(
                rule="anthropic/preserved-thinking",
                where=f"messages[{index}]",
                message=f"dropped {len(message.content) - len(content)} thinking block(s): "
                "what stands in front of them has changed since they were made",
            )
        )
        return message.replace(content=content)


class _Digests:
    """What stands in front of every thinking block of a list, remembered for a longer one."""

    def __init__(self) -> None:
        self._tools: tuple[ToolDefinition, ...] | None = None
        self._offered = b""
        self._messages: Messages = ()
        self._steps: list[tuple[str, str, int]] = []
        self._found: list[tuple[str, str]] = []

    def of(
        self, messages: Sequence[Message], tools: tuple[ToolDefinition, ...], offered: bytes = b""
    ) -> tuple[Iterable[tuple[str, str]], str]:
        """Keys of thinking blocks with the digests in front of them, and the digest of all."""
        now = tuple(messages)
        same_tools = self._tools is not None and _same_tools(tools, self._tools)
        if not same_tools or offered != self._offered:
            self._tools, self._offered, self._messages = tools, offered, ()
            self._steps = [(_start(tools, offered), "", 0)]
        same = Starts().same(self._messages, now)
        self._messages = now
        del self._steps[same + 1 :]
        value, role, found = self._steps[-1]
        del self._found[found:]
        digest = _Digest(value, role)
        for message in now[same:]:
            self._found.extend(digest.add(message))
            self._steps.append((digest.value, digest.role, len(self._found)))
        return self._found, digest.value


def _same_tools(one: tuple[ToolDefinition, ...], other: tuple[ToolDefinition, ...]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))


def _start(tools: tuple[ToolDefinition, ...], offered: bytes = b"") -> str:
    return _hashed(offered or msgspec.json.encode([_spelled(tool) for tool in tools]))


def _spelled(tool: ToolDefinition) -> list[Any]:
    """The fields of a definition, empty ones alike, whether they were given or left out."""
    values = (getattr(tool, name) for name in tool.__struct_fields__)
    return [None if value == {} else value for value in values]


def _hashed(told: bytes) -> str:
    return sha256_hex(told)[:32]


class _Digest:
    """A running digest of a request, blind to cache marks: those may move.

    Each step is made of the value before it, so that it can go on from any place.
    """

    def __init__(self, value: str, role: str) -> None:
        self.value = value
        self.role: str = role
        self._before: Block | None = None

    def add(self, message: Message) -> list[tuple[str, str]]:
        """Go on behind the message. Answers its thinking, with what stands in front of each."""
        found: list[tuple[str, str]] = []
        self.turn_to(message)
        if _is_words(message):
            for block in message.content:
                self.add_block(message, block)
            return found
        for block in _on_the_wire(message):
            if key := _key(block):
                found.append((key, self.value))
            self.add_block(message, block)
        return found

    def turn_to(self, message: Message) -> None:
        """Begin a message. Neighbours of one role are one turn, so only a change is told."""
        role = "user" if message.role == "tool" else message.role
        if role != self.role:
            self.value = _hashed(f"{self.value}{role}".encode())
            self.role = role
        self._before = None

    def add_block(self, message: Message, block: Block) -> None:
        """Go on behind a block of the message that was turned to."""
        told = msgspec.json.encode(_told(message, block))
        if self._before is not None and goes_with(block, self._before):
            told += b"+"  # one block on the wire, as long as both are in one message
        self.value = _hashed(self.value.encode() + told)
        self._before = block


def _is_words(message: Message) -> bool:
    """Whether that is words and calls, as nearly all messages are: sent in order, with no keys."""
    return _WORDS.issuperset(map(type, message.content))


def _on_the_wire(message: Message) -> Sequence[Block]:
    """The message's blocks in the order in which they are sent."""
    if any(map(is_compaction, message.content)):
        return compaction_first(message.content)
    return message.content


def _told(message: Message, block: Block) -> Any:
    bare = block
    if block.cache is not None or (block.native is not EMPTY and not block.native):
        bare = msgspec.structs.replace(block, cache=None, native=block.native or EMPTY)
    if isinstance(bare, (Text, Thinking)):
        if not bare.text.isascii():
            bare = msgspec.structs.replace(bare, text=lent(bare.text))
    elif isinstance(bare, ToolCall) and not bare.arguments.isascii():
        bare = msgspec.structs.replace(bare, arguments=lent(bare.arguments))
    return (message.tool_call_id, message.is_error, bare)


def _key(block: Block) -> str | None:
    if isinstance(block, Thinking) and block.origin in (None, "anthropic"):
        return block.signature
    if isinstance(block, RedactedThinking) and block.origin == "anthropic":
        return block.data
    return None
