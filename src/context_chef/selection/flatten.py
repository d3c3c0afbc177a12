"""What the summarising model is shown: stubs for long results, lines for media, text for tools."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Final

from context_chef.ir.blocks import Media
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import as_messages
from context_chef.ir.tokens import utf16_length
from context_chef.prompts.overflow import (
    attachment_line,
    stays_note,
    tool_call_text,
    tool_result_text,
    tool_stub,
)

_BEGINNING: Final = 400
"""Characters that are shown of a message which stays in the window anyway."""


def for_summary(
    messages: Sequence[Message],
    *,
    stub_threshold: int | None,
    stays: Container[int] = frozenset(),
) -> list[Message]:
    """Copies for the summarising model; untouched messages are the same objects.

    Of messages whose identity is in `stays` only the beginning is shown, with a note that they stay
    word for word: nobody pays for them again in every pass.
    """
    names = tool_names(messages)
    shown = [_shown(message, names, stub_threshold) for message in messages]
    return [
        _beginning(copy) if id(message) in stays else copy
        for message, copy in zip(messages, shown, strict=True)
    ]


def tool_names(messages: Sequence[Message]) -> dict[str, str]:
    """Tool names by call id."""
    return {call.id: call.name for message in messages for call in message.tool_calls}


def flatten_for_compression(messages: Sequence[MessageLike]) -> list[Message]:
    """Plain role-and-text messages, for a model that is given no tools.

    Results become user text that says when one failed, calls become lines behind the assistant's
    text. Only role and text survive.
    """
    return [_flat(message) for message in as_messages(messages)]


def _shown(message: Message, names: dict[str, str], threshold: int | None) -> Message:
    text = message.text
    length = utf16_length(text)
    if message.role == "tool" and threshold is not None and length > threshold:
        name = names.get(message.tool_call_id or "", "unknown")
        message = message.with_text(tool_stub(name=name, chars=length))
    if not message.media:
        return message
    lines = [attachment_line(_kind(media), media.filename) for media in message.media]
    if message.text:
        lines.append(message.text)
    kept = tuple(block for block in message.content if not isinstance(block, Media))
    return message.replace(content=kept).with_text("\n".join(lines))


def _beginning(message: Message) -> Message:
    text = message.text
    if len(text) <= _BEGINNING:
        return message
    return message.with_text(text[:_BEGINNING] + stays_note(left_out=len(text) - _BEGINNING))


def _kind(media: Media) -> str:
    if media.kind == "image":
        return "image"
    return "document" if media.media_type else "attachment"


def _flat(message: Message) -> Message:
    if message.role == "tool":
        text = tool_result_text(
            message.text, call_id=message.tool_call_id or None, failed=bool(message.is_error)
        )
        return Message.user(text)
    if message.role == "assistant" and message.tool_calls:
        lines = [message.text] if message.text else []
        lines += [
            tool_call_text(name=call.name, arguments=call.arguments) for call in message.tool_calls
        ]
        return Message.assistant("\n".join(lines))
    # A role that only one provider has (`developer`) came in as a system message with a mark.
    foreign = any("role" in fields for fields in message.native.values())
    role = "user" if foreign else message.role
    return Message(role=role, content=Message.user(message.text).content)
