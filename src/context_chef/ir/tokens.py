"""`Tokenizer`, and what is used without one: an estimate that does not count too little.

The estimate splits text the way byte-pair tokenizers do and weighs every piece. Its figures were
fitted against o200k_base; `benchmarks/tokens.py` measures them.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from context_chef.ir.blocks import RedactedThinking, Thinking
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.ir.text import clean_text


@runtime_checkable
class Tokenizer(Protocol):
    """Counts the tokens of a text. Has to take any text, control words and huge ones included."""

    def count(self, text: str, /) -> int:
        """How many tokens the text has, 0 or more. Has to answer at once and always the same."""
        ...


@runtime_checkable
class CountsUntil(Protocol):
    """Can stop early, which makes "does it fit?" cheap."""

    def count_until(self, text: str, limit: int, /) -> int | None:
        """The count, or None as soon as it is above `limit`."""
        ...


def utf16_length(text: str) -> int:
    """The length in UTF-16 code units, the unit of every length that the contract names."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if character > "\uffff")


def contract_estimate(text: str) -> int:
    """The rough figure of the TypeScript implementation: 1.5 for a CJK code unit, 0.3 for others.

    Only for comparing with it: it is less than half of the truth on base64. `estimate` is what
    budgets go by.
    """
    cjk = len(_CJK.findall(text))
    return math.ceil(1.5 * cjk + 0.3 * (utf16_length(text) - cjk))


def estimate_object(value: Any) -> int:
    """`estimate` of a text as it is, of anything else as compact JSON."""
    return estimate(_as_text(value))


def contract_estimate_object(value: Any) -> int:
    """`contract_estimate` of a text as it is, of anything else as compact JSON."""
    return contract_estimate(_as_text(value))


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(thaw(_plain(value)), ensure_ascii=False, separators=(",", ":"))


def create_tokenizer_adapter(
    encode: Callable[[str], Any], *, per_message_overhead: int = 4
) -> Callable[[Sequence[Message]], int]:
    """A counter of messages out of an `encode` that answers tokens (or anything with a length).

    Counted are texts, thinking, redacted thinking, and the names and arguments of calls, each
    encoded by itself, and `per_message_overhead` for every message. Media, ids and signatures are
    free; for those, give the tokenizer itself to `resolve_tokenizer`.
    """

    def size(text: str) -> int:
        return len(encode(text)) if text else 0

    def count(messages: Sequence[Message]) -> int:
        total = 0
        for message in messages:
            total += per_message_overhead + size(message.text)
            for block in message.content:
                if isinstance(block, Thinking):
                    total += size(block.text)
                elif isinstance(block, RedactedThinking):
                    total += size(block.data)
            for call in message.tool_calls:
                total += size(call.name) + size(call.arguments)
        return total

    return count


def estimate(text: str) -> int:
    """An upper estimate of the tokens of a text, without any tokenizer.

    On prose, code, markup, JSON, logs, numbers, base64, Chinese, Japanese and Korean it lies
    between o200k_base's count and a third above it. Takes any text in time linear in its length.
    """
    if not text:
        return 0
    text = clean_text(text)
    known = _pieces()
    total = 0.0
    for piece, times in Counter(_PIECE.findall(text)).items():
        total += _cost(piece, known) * times
    if not text.isascii():
        total += _foreign(text)
    return max(1, math.ceil(total))


class _Known(NamedTuple):
    words: frozenset[str]
    marked: frozenset[str]
    marks: frozenset[str]


@cache  # read once, never changed: 45 kB that nobody needs before the first estimate
def _pieces() -> _Known:
    file = resources.files("context_chef.ir").joinpath("frequent_pieces.json")
    data = json.loads(file.read_text(encoding="utf-8"))
    return _Known(
        frozenset(data["words"].split()), frozenset(data["marked"]), frozenset(data["marks"])
    )


def _cost(piece: str, known: _Known) -> float:
    first = piece[0]
    if first >= "\x80" and not _LATIN_LETTER.match(first):
        return 0.0  # counted by character
    if first.isdigit():
        return 1.08
    if first.isalpha():
        return _word(piece, "", known)
    if len(piece) > 1 and piece[1].isalpha():
        if first != " " and piece in known.marked:
            return 1.08
        return _word(piece[1:], first if first == " " else ".", known)
    if piece.isspace():
        return _space(piece)
    return _marks(piece, known)


_KNOWN_WORD: Final = {"": 1.03, " ": 1.024, ".": 1.7}
_OTHER_WORD: Final = {"": 0.94, " ": 0.9, ".": 1.72}


def _word(word: str, lead: str, known: _Known) -> float:
    length = len(word)
    if not word.isascii():
        return 1.25 + 0.1 * max(0, length - 4)
    if length <= 2:
        return 1.45 if lead == "." else 1.112
    lowered = word.lower()
    if word.isupper():
        if lowered in known.words:
            return (1.29 if lead == " " else 0.9) + 0.004 * length
        return 0.9 + 1.071 * _segments(lowered, known.words)
    if lowered in known.words:
        return _KNOWN_WORD[lead] + (0.05 if lead == " " and word != lowered else 0)
    cost = _OTHER_WORD[lead] + 0.7 * (_segments(lowered, known.words) - 1)
    return cost + (1.6 if not lead and word != lowered else 0)


def _segments(word: str, words: frozenset[str]) -> float:
    """The fewest frequent pieces that make up a word; other letters count two to a piece."""
    length = len(word)
    if length > _LONGEST_WORD:
        return length / 2 + 1
    best = [0] * (length + 1)
    for end in range(1, length + 1):
        fewest = best[max(0, end - 2)] + 1
        for size in range(3, min(end, _LONGEST_PIECE) + 1):
            if best[end - size] + 1 < fewest and word[end - size : end] in words:
                fewest = best[end - size] + 1
        best[end] = fewest
    return best[length]


def _space(piece: str) -> float:
    lines = piece.count("\n") + piece.count("\r")
    if lines:
        return 1.184 + max(0, lines - 2) / 12
    if len(piece) == 1:
        return 1.3
    tabs = piece.count("\t")
    # Tabs and blanks in turn hardly ever share a token.
    return 0.8 + len(piece) / 100 + tabs / 8 + 0.9 * min(tabs, len(piece) - tabs)


def _marks(piece: str, known: _Known) -> float:
    length = len(piece)
    if length == 1 or (length == 2 and piece[0] == " "):
        return 1.187
    extra = 0.0
    for run in _FILLING.finditer(piece):  # rules and frames: long runs have long tokens
        extra += 0.5 + len(run[0]) / (24 if run[1] in "-=*_#.~/" else 4)
    if extra:
        piece = _FILLING.sub(r"\1", piece)
        length = len(piece)
    best = [0] * (length + 1)
    for end in range(1, length + 1):
        fewest = best[end - 1] + 1
        for size in range(2, min(end, 8) + 1):
            if best[end - size] + 1 < fewest and piece[end - size : end] in known.marks:
                fewest = best[end - size] + 1
        best[end] = fewest
    return extra + 1.152 + 0.989 * (best[length] - 1)


def _foreign(text: str) -> float:
    """What is written in none of the Latin letters, character by character."""
    total = 0.0
    for run in _UNREADABLE.findall(text):
        total += 1 + len(run) / 7.5
    rest = _LATIN.sub("", text)
    japanese = _KANA.search(rest) is not None
    for character, times in Counter(rest).items():
        total += _character(character, japanese=japanese) * times
    return total


def _character(character: str, *, japanese: bool) -> float:
    point = ord(character)
    if 0x4E00 <= point <= 0x9FFF:
        return _ideograph(character, japanese=japanese)
    for start, end, cost in _SCRIPTS:
        if start <= point <= end:
            return cost
    return 1.3 if 0x1F000 <= point <= 0x1FAFF else 4.0 if point > 0xFFFF else 3.0


def _ideograph(character: str, *, japanese: bool) -> float:
    # The first planes of the old national character sets are what is in daily use, and they are
    # part of the standard library. Simplified Chinese has the most tokens of its own.
    for encoding, first, last, cost in (("gb2312", 0xB0, 0xD7, 0.88), ("big5", 0xA4, 0xC6, 1.15)):
        try:
            if first <= character.encode(encoding)[0] <= last:
                return 1.2 if japanese else cost
        except UnicodeEncodeError:
            continue
    return 3.7


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return flat_row(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


_LONGEST_WORD: Final = 64
_LONGEST_PIECE: Final = 15
_CJK: Final = re.compile("[\u4e00-\u9fa5\u3040-\u30ff\uac00-\ud7af]")
_LOWER: Final = "a-z\u00df-\u00f6\u00f8-\u00ff\u0100-\u024f\u1e00-\u1eff"
_UPPER: Final = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_BEYOND: Final = "\u0080-\U0010ffff"
_PIECE: Final = re.compile(
    rf"[^\r\n{_UPPER}{_LOWER}0-9{_BEYOND}]?(?:[{_UPPER}]*[{_LOWER}]+|[{_UPPER}]+)"
    rf"|[0-9]{{1,3}}| ?[^\s{_UPPER}{_LOWER}0-9{_BEYOND}]+[\r\n/]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
    rf"|[^\x00-\x7f{_UPPER}{_LOWER}]+"
)
_LATIN: Final = re.compile(rf"[\x00-\x7f{_UPPER}{_LOWER}\ufffd]+")
_LATIN_LETTER: Final = re.compile(f"[{_UPPER}{_LOWER}]")
_FILLING: Final = re.compile(r"([^\s])\1{7,}")
_KANA: Final = re.compile("[\u3040-\u30ff]")
_UNREADABLE: Final = re.compile("\ufffd+")
_SCRIPTS: Final = (
    # first and last code point, tokens for each character
    (0x3040, 0x30FF, 0.67),  # kana
    (0xAC00, 0xD7AF, 0.457),  # hangul
    (0x3000, 0x303F, 1.26),  # CJK punctuation
    (0xFF00, 0xFFEF, 1.0),  # full-width forms
    (0x0400, 0x052F, 0.2),  # Cyrillic
    (0x0370, 0x03FF, 0.25),  # Greek
    (0x0590, 0x05FF, 0.25),  # Hebrew
    (0x0600, 0x077F, 0.2),  # Arabic
    (0x0900, 0x0DFF, 0.25),  # scripts of India
    (0x0E00, 0x0EFF, 0.38),  # Thai and Lao
    (0x2000, 0x206F, 0.9),  # typographic punctuation
    (0x2500, 0x259F, 0.56),  # box drawing
    (0x2190, 0x24FF, 1.0),  # arrows, mathematics, technical signs
    (0x25A0, 0x2BFF, 1.2),  # shapes and dingbats
    (0x0080, 0x00BF, 0.8),  # Latin-1 signs
    (0x0300, 0x036F, 1.0),  # combining marks
)
