"""What was put into a window, piece by piece, each with who brought it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from context_chef.ir.blocks import Block, Media, Opaque, PlainText, Text, Thinking, ToolCall
from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.report import Place

PieceKind: TypeAlias = Literal["words", "call", "result", "media", "thinking", "own"]


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """One block of a message of the window."""

    source: str
    """As in `Span.source`."""
    place: Place
    role: str
    kind: PieceKind
    text: str = ""
    """Its words; for a call its arguments."""
    message: int = -1
    """The index of its message in the window; -1 for one that only mending brought."""
    repairs: tuple[str, ...] = ()
    rule: str = ""


Credit: TypeAlias = Callable[[int, Message, Block | None], tuple[str, Place]]
"""Answers source and place of a block, by the index of its message in the window."""


def kind_of(block: Block, message: Message) -> PieceKind:
    """What a block is, as far as it matters for finding it on the wire."""
    match block:
        case ToolCall():
            return "call"
        case Media():
            return "media"
        case Thinking():
            return "thinking"
        case Text():
            return "result" if message.role == "tool" else "words"
        case Opaque():
            return "own"
        case _:
            return "thinking"


def text_of(block: Block) -> str:
    """The words by which a block is found."""
    match block:
        case Text(text=text) | Thinking(text=text):
            return text
        case ToolCall(arguments=arguments):
            return arguments
        case Media(source=PlainText(text=text)):
            return text
        case Opaque(value=value):
            return compact_json(thaw(value))
        case _:
            return ""


def pieces_of(messages: Sequence[Message], credit: Credit) -> list[Piece]:
    """Every block of these messages as a piece; a message without blocks is one piece."""
    pieces: list[Piece] = []
    for index, message in enumerate(messages):
        for block in message.content or (None,):
            source, place = credit(index, message, block)
            pieces.append(
                Piece(
                    source=source,
                    place=place,
                    role=message.role,
                    kind="result" if block is None else kind_of(block, message),
                    text="" if block is None else text_of(block),
                    message=index,
                )
            )
    return pieces
