"""Which piece of the window became which words of the request.

The window is written down a second time with a mark in front of every block's words. Where a mark
comes out, the block went; what stands between two marks belongs to the first. Nothing about the
wire formats has to be known here, joined strings and wrapped texts are found like any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from context_chef.costs.prompt import Prompt, PromptBlock
from context_chef.explaining.pieces import Piece, text_of
from context_chef.ir.blocks import Block, Media, Opaque, PlainText, Text, Thinking, ToolCall
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message

_OPENINGS: Final = ("\ue000", "\ue0f1", "\uf8c3", "\U000f0c1e")
"""Characters that begin a mark: the first that no text holds."""
_CLOSE: Final = "\ue001"


class Stretch(NamedTuple):
    """A part of a block's words, and the piece that it is of; None when nobody brought it."""

    start: int
    end: int
    piece: Piece | None


class Marks:
    """The marks of one tracing."""

    def __init__(self, messages: Sequence[Message]) -> None:
        held = "".join(text_of(block) for message in messages for block in message.content)
        self._open = next((one for one in _OPENINGS if one not in held), _OPENINGS[0])
        self._pattern = re.compile(f"{self._open}(\\d+){_CLOSE}")

    def mark(self, number: int) -> str:
        return f"{self._open}{number}{_CLOSE}"

    def found(self, text: str) -> list[int]:
        """The numbers of the marks in a text."""
        return [int(number) for number in self._pattern.findall(text)]

    def without(self, text: str) -> str:
        return self._pattern.sub("", text)

    def stretches(self, text: str) -> Iterator[tuple[int, int, int | None]]:
        """Begin, end and number of every marked part of the unmarked text.

        What stands in front of the first mark is put to it: a wrapper's opening.
        """
        at = 0
        parts = self._pattern.split(text)
        first = int(parts[1]) if len(parts) > 1 else None
        begin = 0
        number = first
        at = len(parts[0])
        for index in range(1, len(parts), 2):
            found = int(parts[index])
            if found != number:
                yield begin, at, number
                begin, number = at, found
            at += len(parts[index + 1])
        yield begin, at, number


def marked(messages: Sequence[Message], marks: Marks) -> tuple[Message, ...]:
    """The messages with the number of each block in front of its words.

    Blocks are numbered in order; a message without blocks takes a number too.
    """
    made: list[Message] = []
    number = 0
    for message in messages:
        if not message.content:
            number += 1
            made.append(message)
            continue
        content: list[Block] = []
        for block in message.content:
            content.append(_with_mark(block, marks.mark(number)))
            number += 1
        made.append(message.replace(content=tuple(content)))
    return tuple(made)


def _with_mark(block: Block, mark: str) -> Block:
    match block:
        case Text(text=text) | Thinking(text=text) if text.strip():
            return msgspec.structs.replace(block, text=mark + text)
        case ToolCall(arguments=arguments):
            try:
                value: Any = json.loads(arguments or "{}")
            except ValueError:
                return block
            if not isinstance(value, dict):
                return block
            fields = cast(dict[str, Any], value)
            marked = json.dumps({mark: mark, **fields}, ensure_ascii=False)
            return msgspec.structs.replace(block, arguments=marked)
        case Media(source=PlainText(text=text)) if text.strip():
            return msgspec.structs.replace(block, source=PlainText(text=mark + text))
        case Opaque(value=value) if isinstance(value, Mapping):
            fields = thaw(value)
            return msgspec.structs.replace(block, value={**fields, "_mark": mark})
        case _:
            return block


def traced(
    plain: Prompt, told: Prompt, marks: Marks, pieces: Sequence[Piece]
) -> list[list[Stretch]] | None:
    """By block of `plain`: its stretches. `told` is the same prompt with marks.

    None when the two have not the same blocks, so that nothing can be said.
    """
    if len(plain.blocks) != len(told.blocks):
        return None
    found: list[list[Stretch]] = []
    seen: set[int] = set()
    for index, block in enumerate(plain.blocks):
        if plain.path(index) != told.path(index):
            return None
        stretches = _stretches(block, told.blocks[index], marks, pieces)
        seen.update(marks.found(told.blocks[index].text))
        found.append(stretches)
    _fill(plain, found, pieces, seen)
    return found


def _stretches(
    block: PromptBlock, told: PromptBlock, marks: Marks, pieces: Sequence[Piece]
) -> list[Stretch]:
    numbers = list(dict.fromkeys(marks.found(told.text)))
    if not numbers:
        return []
    if len(numbers) == 1:
        return [Stretch(0, len(block.text), pieces[numbers[0]])]
    if marks.without(told.text) == block.text:
        found = [
            Stretch(begin, end, None if number is None else pieces[number])
            for begin, end, number in marks.stretches(told.text)
            if end > begin or number is not None
        ]
        return _joined_by_the_later(block.text, found)
    return by_words(block.text, [pieces[number] for number in numbers])


def _joined_by_the_later(text: str, stretches: Sequence[Stretch]) -> list[Stretch]:
    """What a writer puts between two texts to join them goes to the second."""
    found = list(stretches)
    for index in range(len(found) - 1):
        start, end, piece = found[index]
        if piece is None or not piece.text:
            continue
        place = text.find(piece.text, start, end)
        own_end = place + len(piece.text)
        if place >= 0 and own_end < end and not text[own_end:end].strip():
            found[index] = Stretch(start, own_end, piece)
            found[index + 1] = found[index + 1]._replace(start=own_end)
    return found


def by_words(text: str, pieces: Sequence[Piece]) -> list[Stretch]:
    """The stretches of these pieces, found by their own words, in their order."""
    stretches: list[Stretch] = []
    begin = 0
    at = 0
    current: Piece | None = pieces[0] if pieces else None
    for piece in pieces:
        place = text.find(piece.text, at) if piece.text else at
        if place < 0:
            continue
        if piece is not current and place > begin:
            stretches.append(Stretch(begin, place, current))
            begin = place
        current = piece
        at = place + len(piece.text)
    stretches.append(Stretch(begin, len(text), current))
    return stretches


def _fill(
    prompt: Prompt, found: list[list[Stretch]], pieces: Sequence[Piece], seen: set[int]
) -> None:
    """Blocks without a mark: the next piece of their kind that was not seen, in order."""
    waiting = [number for number in range(len(pieces)) if number not in seen]
    numbers = {id(piece): number for number, piece in enumerate(pieces)}
    last = -1
    for index, stretches in enumerate(found):
        if stretches:
            told = [numbers[id(one.piece)] for one in stretches if one.piece is not None]
            last = max(last, *told) if told else last
            continue
        block = prompt.blocks[index]
        if block.setting or block.label.startswith(("tool ", "format ")):
            continue
        after = _next_told(found, index, numbers)
        fitting = [n for n in waiting if last - 1 <= n and (after is None or n < after)]
        if not fitting:
            # What a writer adds to a message belongs to what it was added to.
            nearest = last if last >= 0 else after
            if nearest is not None and pieces:
                found[index] = [Stretch(0, len(block.text), pieces[nearest])]
            continue
        number = fitting[0]
        waiting.remove(number)
        found[index] = [Stretch(0, len(block.text), pieces[number])]
        last = max(last, number)


def _next_told(
    found: Sequence[Sequence[Stretch]], index: int, numbers: Mapping[int, int]
) -> int | None:
    for stretches in found[index + 1 :]:
        for stretch in stretches:
            if stretch.piece is not None:
                return numbers[id(stretch.piece)]
    return None


def matched(prompt: Prompt, pieces: Sequence[Piece]) -> list[list[Stretch]]:
    """By block: its stretches, found by nothing but their words.

    For requests that somebody else wrote. A text that two pieces have goes to the earlier one.
    """
    by_text: dict[str, list[int]] = {}
    for number, piece in enumerate(pieces):
        if piece.text:
            by_text.setdefault(piece.text, []).append(number)
    taken: set[int] = set()
    found: list[list[Stretch]] = []
    last = 0
    for block in prompt.blocks:
        exact = next((n for n in by_text.get(block.text, []) if n not in taken), None)
        if exact is not None:
            taken.add(exact)
            last = exact
            found.append([Stretch(0, len(block.text), pieces[exact])])
            continue
        window = range(max(0, last - 2), min(len(pieces), last + 40))
        near: list[int] = [
            number
            for number in window
            if number not in taken and pieces[number].text and pieces[number].text in block.text
        ]
        if not near or not block.text:
            found.append([])
            continue
        taken.update(near)
        last = near[-1]
        found.append(by_words(block.text, [pieces[number] for number in near]))
    return found
