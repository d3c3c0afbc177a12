"""Offloading a conversation: tool results, arguments and media that are too large."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Container, Iterable, Sequence
from typing import Any, Final, Literal, TypeVar, cast

import msgspec

from context_chef.bridge import run_sync
from context_chef.errors import AsyncRequiredError
from context_chef.ir.blocks import (
    Block,
    Inline,
    Media,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.canonical import compact_json
from context_chef.ir.message import Message
from context_chef.ir.running import Messages, Starts
from context_chef.persistence.known_offloads import KnownOffloads
from context_chef.persistence.offloader import Offloader

T = TypeVar("T")

STORE_TOOLS: Final = frozenset(
    {"context", "recall_context", "create_memory", "modify_memory", "new_context", "memory"}
)
"""Tools that read the store: their answers are bounded, an address of an address helps nobody."""


class OffloadNote(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that went: in which message, what it was, how large, and where it is."""

    index: int
    what: Literal["result", "argument", "media"]
    uri: str
    characters: int
    tool: str | None = None


class OffloadFailure(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that should have gone and stayed: in which message, what it was, and why."""

    index: int
    what: Literal["result", "argument", "media"]
    characters: int
    error: Exception
    tool: str | None = None


class OffloadedMessages(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation with markers for what went; untouched messages are the same objects."""

    messages: tuple[Message, ...]
    notes: tuple[OffloadNote, ...] = ()
    failures: tuple[OffloadFailure, ...] = ()

    @property
    def uris(self) -> tuple[str, ...]:
        """Every address cited, in order, each once."""
        return tuple(dict.fromkeys(note.uri for note in self.notes))


async def offload_messages(
    offloader: Offloader,
    messages: Sequence[Message],
    *,
    exempt: Container[str] = STORE_TOOLS,
    keep_on_failure: bool = False,
    known: KnownOffloads | None = None,
) -> OffloadedMessages:
    """Store what is too large and put markers in its place, the same way for equal conversations.

    Pinned messages stay word for word, and so do results of tools in `exempt`, and whatever a
    marker would not shorten. Arguments are replaced inside their JSON, never in a message that
    carries a signature over them. With `keep_on_failure`, what the store could not take stays in
    the conversation and is named in `failures`; otherwise the store's error is raised. `known` is
    of the same settings' last call for a conversation that grows.
    """
    known = known or KnownOffloads(Starts())
    return await _Pass(offloader, tuple(messages), exempt, keep_on_failure, known).run()


def offload_messages_sync(
    offloader: Offloader,
    messages: Sequence[Message],
    *,
    exempt: Container[str] = STORE_TOOLS,
    keep_on_failure: bool = False,
) -> OffloadedMessages:
    """`offload_messages` without an event loop; AsyncRequiredError where a part waits."""
    return run_sync(
        offload_messages(offloader, messages, exempt=exempt, keep_on_failure=keep_on_failure)
    )


class _Pass:
    def __init__(
        self,
        offloader: Offloader,
        messages: Messages,
        exempt: Container[str],
        keep_on_failure: bool,
        known: KnownOffloads,
    ) -> None:
        self._offloader = offloader
        self._messages = messages
        self._exempt = exempt
        self._keep_on_failure = keep_on_failure
        self._known = known
        self._tool: str | None = None
        """The tool whose result is looked at."""
        self._notes: list[OffloadNote] = []
        self._failures: list[OffloadFailure] = []
        self._index = 0

    async def run(self) -> OffloadedMessages:
        known, messages = self._known, self._messages
        start = known.begin(messages)
        same = len(messages)
        changed: dict[int, Message] = {}
        for index, (made, tool) in list(known.made.items()):
            self._tool = tool
            new = await self._looked_at(index, messages[index])
            if new == made:
                new = made
            else:
                same = min(same, index)
            changed[index] = new
            known.made[index] = (new, tool)
        for index in range(start, len(messages)):
            message = messages[index]
            for call in message.tool_calls:
                known.tools[call.id] = call.name
            if message.pinned:
                continue
            self._tool = message.name or known.tools.get(message.tool_call_id or "")
            said = len(self._notes) + len(self._failures)
            new = await self._looked_at(index, message)
            if new is not message or len(self._notes) + len(self._failures) > said:
                changed[index] = new
                known.made[index] = (new, self._tool)
        answer = messages
        if any(new is not messages[index] for index, new in changed.items()):
            out = list(messages)
            for index, new in changed.items():
                out[index] = new
            answer = tuple(out)
        known.keep(messages, answer, min(same, start))
        return OffloadedMessages(
            messages=answer, notes=tuple(self._notes), failures=tuple(self._failures)
        )

    async def _looked_at(self, index: int, message: Message) -> Message:
        self._index = index
        return await self._message(message)

    async def _message(self, message: Message) -> Message:
        if message.role == "tool":
            return await self._result(message)
        if message.role == "assistant" and message.tool_calls and not _signed(message):
            return await self._calls(message)
        return await self._media(message)

    async def _result(self, message: Message) -> Message:
        tool = self._tool
        if tool is not None and tool in self._exempt:
            return message
        message = await self._media(message)
        texts = [block for block in message.content if isinstance(block, Text)]
        if not texts or any(block.signature is not None for block in texts):
            return message
        text = message.text
        work = self._offloader.offload(text, tool=tool)
        result = await self._tried(work, "result", len(text), tool)
        if result is None or result.uri is None:
            return message
        self._note("result", result.uri, len(text), tool)
        return message.with_text(result.content)

    async def _calls(self, message: Message) -> Message:
        limit = self._offloader.config.argument_threshold
        if limit is None:
            return message
        blocks: list[Block] = []
        for block in message.content:
            if isinstance(block, ToolCall) and len(block.arguments) > limit:
                block = await self._call(block, limit)
            blocks.append(block)
        return _with_blocks(message, blocks)

    async def _call(self, call: ToolCall, limit: int) -> ToolCall:
        if call.name in self._exempt or self._offloader.config.for_tool(call.name) is None:
            return call
        try:
            arguments = json.loads(call.arguments)
        except (ValueError, RecursionError):
            return call  # broken arguments are mended elsewhere, and must not be hidden from there
        if not isinstance(arguments, dict):
            return call
        before = len(self._notes)
        smaller = await self._value(arguments, limit, call.name, depth=0)
        if len(self._notes) == before:
            return call
        return msgspec.structs.replace(call, arguments=compact_json(smaller))

    async def _value(self, value: Any, limit: int, tool: str, *, depth: int) -> Any:
        if isinstance(value, str) and len(value) > limit:
            work = self._offloader.offload(
                value,
                threshold=limit,
                head_chars=200,
                tail_chars=200,
                noun="Argument",
            )
            result = await self._tried(work, "argument", len(value), tool)
            if result is None or result.uri is None:
                return value
            self._note("argument", result.uri, len(value), tool)
            return result.content
        if depth > 20:
            return value
        if isinstance(value, dict):
            items = cast("dict[str, Any]", value).items()
            return {
                key: await self._value(item, limit, tool, depth=depth + 1) for key, item in items
            }
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [await self._value(item, limit, tool, depth=depth + 1) for item in items]
        return value

    async def _media(self, message: Message) -> Message:
        limit = self._offloader.config.media_bytes
        if limit is None or not message.media:
            return message
        blocks: list[Block] = []
        for block in message.content:
            if isinstance(block, Media) and isinstance(block.source, Inline):
                data = block.source.data
                size = len(data) * 3 // 4 - data[-2:].count("=")
                if size > limit:
                    blocks.append(await self._stored_media(block, data, size))
                    continue
            blocks.append(block)
        return _with_blocks(message, blocks)

    async def _stored_media(self, media: Media, data: str, size: int) -> Media | Text:
        media_type = media.media_type or "application/octet-stream"
        work = self._offloader.keep(f"data:{media_type};base64,{data}")
        uri = await self._tried(work, "media", len(data), None)
        if uri is None:
            return media
        self._note("media", uri, len(data), None)
        named = f" {media.filename!r}" if media.filename else ""
        what = f"{media.kind.capitalize()}{named} ({media_type})"
        marker = self._offloader.vocabulary.media_marker(what=what, size_bytes=size, uri=uri)
        return Text(text=marker, cache=media.cache)

    async def _tried(
        self,
        work: Awaitable[T],
        what: Literal["result", "argument", "media"],
        characters: int,
        tool: str | None,
    ) -> T | None:
        """What the work answers; None, where that was asked for, when the store cannot take it."""
        try:
            return await work
        except AsyncRequiredError:
            raise
        except Exception as error:
            if not self._keep_on_failure:
                raise
            self._failures.append(
                OffloadFailure(
                    index=self._index, what=what, characters=characters, error=error, tool=tool
                )
            )
            return None

    def _note(
        self,
        what: Literal["result", "argument", "media"],
        uri: str,
        characters: int,
        tool: str | None,
    ) -> None:
        self._notes.append(
            OffloadNote(index=self._index, what=what, uri=uri, characters=characters, tool=tool)
        )


def _signed(message: Message) -> bool:
    """Whether the provider signed something that stands for the calls as they were made."""
    return any(
        isinstance(block, (RedactedThinking, Opaque))
        or (isinstance(block, (Thinking, ToolCall, Text)) and block.signature is not None)
        for block in message.content
    )


def _with_blocks(message: Message, blocks: Iterable[Block]) -> Message:
    content = tuple(blocks)
    same = all(new is old for new, old in zip(content, message.content, strict=True))
    return message if same else message.replace(content=content)
