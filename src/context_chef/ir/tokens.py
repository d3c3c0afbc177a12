"""`Tokenizer`, and what is used without one: an estimate that does not count too little.

The estimate splits text the way byte-pair tokenizers do and weighs every piece. Its figures were
fitted against o200k_base; `benchmarks/tokens.py` measures them.
"""

from __future__ import annotations

import json
import math
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple, Protocol, cast, runtime_checkable

from context_chef.given import check_text, json_alone
from context_chef.ir.blocks import RedactedThinking, Thinking
from context_chef.ir.foreign_text import foreign_tokens
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.ir.tables import table
from context_chef.ir.text import clean_text
from context_chef.patterns import regex


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
    check_text(text, "text")
    cjk = len(_CJK.findall(text))
    return math.ceil(1.5 * cjk + 0.3 * (utf16_length(text) - cjk))


def estimate_object(value: Any) -> int:
    """`estimate` of a text as it is, of anything else as compact JSON."""
    return estimate(_as_text(value))


def contract_estimate_object(value: Any) -> int:
    """`contract_estimate` of a text as it is, of anything else as compact JSON."""
    return contract_estimate(_as_text(value))


@json_alone
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
    between o200k_base's count and a third above it; on what nobody writes (random letters, rare
    signs, long runs) it may lie higher. Takes any text in time linear in its length.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        check_text(text, "text")
    if not text:
        return 0
    text = clean_text(text)
    known = _pieces()
    total = 0.0
    lower, upper = _Letters(), _Letters()
    for piece, times in Counter(_PIECE.findall(text)).items():
        total += _cost(piece, known, lower, upper, times) * times
    return max(1, math.ceil(total + lower.doubt() + upper.doubt()))


class _Letters:
    """How much of the letters of one case is no word that is known.

    Where that is most of them they are no language, and break into more pieces than names do.
    """

    def __init__(self) -> None:
        self.all = 0
        self.unknown = 0
        self.costs = 0.0

    def add(self, letters: int, unknown: int, cost: float, times: int) -> None:
        """Words of so many letters, `unknown` of them in no frequent piece, that cost so much."""
        self.all += letters * times
        self.unknown += unknown * times
        self.costs += max(0.0, _RANDOM * unknown + (letters - unknown) / 3.2 - cost) * times

    def doubt(self) -> float:
        """What comes on top."""
        if not self.unknown:
            return 0.0
        share = self.unknown / self.all
        return self.costs * min(1.0, max(0.0, (share - _NATURAL) / _UNNATURAL))


class _Known(NamedTuple):
    words: frozenset[str]
    spaced: frozenset[str]
    """Words of any language in ASCII letters that are one token behind a blank, as written."""
    marked: frozenset[str]
    marks: frozenset[str]


@cache  # read once, never changed: 200 kB that nobody needs before the first estimate
def _pieces() -> _Known:
    data = json.loads(table("frequent_pieces.json"))
    spaced = zlib.decompress(table("spaced_words.bin")).decode("ascii")
    return _Known(
        frozenset(data["words"].split()),
        frozenset(spaced.split("\n")),
        frozenset(data["marked"]),
        frozenset(data["marks"]),
    )


def _cost(piece: str, known: _Known, lower: _Letters, upper: _Letters, times: int) -> float:
    first = piece[0]
    if first.isascii() and first.isdigit():
        return 1.08
    lead = "" if first.isalpha() or len(piece) == 1 else first
    if not piece.isascii():
        if piece.isspace():
            return _space(piece)
        return _FOREIGN * foreign_tokens(piece) + _FOREIGN_EACH
    if first.isalpha() or (lead and piece[1].isalpha()):
        if lead and lead != " " and piece in known.marked:
            return 1.08
        word = piece[len(lead) :]
        cost, unknown = _word(word, lead if lead in ("", " ") else ".", known)
        (upper if word.isupper() else lower).add(len(word), unknown, cost, times)
        return cost
    if piece.isspace():
        return _space(piece)
    return _marks(piece, known)


_KNOWN_WORD: Final = {"": 1.03, " ": 1.024, ".": 1.7}
_KNOWN_CAPITALS: Final = {"": 0.9, " ": 1.29, ".": 1.75}
_OTHER_WORD: Final = {"": 0.94, " ": 0.9, ".": 1.72}


def _word(word: str, lead: str, known: _Known) -> tuple[float, int]:
    """The cost of a word, and how many of its letters are in no frequent piece."""
    length = len(word)
    if length <= 2:
        return (1.45 if lead == "." else 1.112), 0
    if length > _LONGEST_WORD and word == word[0] * length:
        return 1.45 + length * _run_rate(word[0]), 0  # filling: no language, and no names either
    lowered = word.lower()
    if word.isupper():
        if lowered in known.words:
            return _KNOWN_CAPITALS[lead] + 0.004 * length, 0
        segments, unknown = _segments(lowered, known.words)
        return (1.3 if lead == "." else 0.9) + 1.071 * segments, unknown
    if lowered in known.words:
        short = 0.26 if lead == "." and length == 3 else 0
        return short + _KNOWN_WORD[lead] + (0.05 if lead == " " and word != lowered else 0), 0
    if lead == " " and word in known.spaced:
        return _KNOWN_WORD[lead], 0
    segments, unknown = _segments(lowered, known.words)
    cost = _OTHER_WORD[lead] + 0.7 * (segments - 1)
    if lead == " " and length >= SHORTEST_SPACED and word.isascii():
        cost = max(cost, 2.0)
    return cost + (1.6 if not lead and word != lowered else 0), unknown


def _run_rate(letter: str) -> float:
    """Tokens for each letter in a long run of it: which runs have tokens differs by letter."""
    if letter in "afloxAFX":
        return 1 / 8
    return 1 / 4 if letter in "bcdehikmrsvyBCEILMOY" else 1 / 2


def _segments(word: str, words: frozenset[str]) -> tuple[float, int]:
    """The fewest frequent pieces that make up a word; other letters count two to a piece.

    And how many letters those others are.
    """
    length = len(word)
    if length > _LONGEST_WORD:
        return length / 2 + 1, length
    best = [0] * (length + 1)
    others = [0] * (length + 1)
    for end in range(1, length + 1):
        start = max(0, end - 2)
        fewest, unknown = best[start] + 1, others[start] + end - start
        for size in range(3, min(end, _LONGEST_PIECE) + 1):
            if best[end - size] + 1 < fewest and word[end - size : end] in words:
                fewest, unknown = best[end - size] + 1, others[end - size]
        best[end], others[end] = fewest, unknown
    return best[length], others[length]


def _space(piece: str) -> float:
    plain = piece.replace("\r\n", "\n")
    blanks, tabs = plain.count(" "), plain.count("\t")
    lines = plain.count("\n") + plain.count("\r")
    odd = len(plain) - blanks - tabs - lines
    extra = 1.05 * odd
    if len(plain) not in (blanks, tabs, lines):
        # What changes all the time shares no token: blank lines and indents change but twice.
        extra += max(0, len(_CHANGES.findall(plain)) - 2)
    if "\r" in piece:
        # Line ends of two kinds share no token either, and those of Windows are four to one.
        ends = _LINE_ENDS.findall(piece)
        extra += 0.8 * (len(ends) - 1) + max(0, len(piece) - len(plain) - 4) / 4
    if lines:
        return 1.184 + max(0, lines - 2) / 12 + len(plain) / 100 + extra
    if len(piece) == 1:
        return 1.3 + odd
    return 0.8 + len(plain) / 75 + tabs / 8 + min(1, tabs) * 0.9 * (tabs < len(plain)) + extra


def _marks(piece: str, known: _Known) -> float:
    length = len(piece)
    if length == 1 or (length == 2 and piece[0] == " "):
        return 1.187
    extra = 0.0
    for run in _FILLING.finditer(piece):  # rules and frames: long runs have long tokens
        extra += 0.5 + len(run[0]) / (24 if run[1] in "-=*_#.~/" else 2)
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


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return flat_row(value)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    return value


SHORTEST_SPACED: Final = 4
"""Shorter words are not in the table of those that are one token behind a blank."""
_LONGEST_WORD: Final = 64
_LONGEST_PIECE: Final = 15
_CJK: Final = regex("[\u4e00-\u9fa5\u3040-\u30ff\uac00-\ud7af]")
_LOWER: Final = "a-z\u00df-\u00f6\u00f8-\u00ff\u0100-\u024f\u1e00-\u1eff"
_UPPER: Final = "A-Z\u00c0-\u00d6\u00d8-\u00de"
_BEYOND: Final = "\u0080-\U0010ffff"
_PIECE: Final = regex(
    rf"[^\r\n{_UPPER}{_LOWER}0-9{_BEYOND}]?(?:[{_UPPER}]*[{_LOWER}]+|[{_UPPER}]+)"
    rf"|[0-9]{{1,3}}| ?[^\s{_UPPER}{_LOWER}0-9{_BEYOND}]+[\r\n/]*"
    rf"| ?[^\x00-\x7f{_UPPER}{_LOWER}]{{1,64}}"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_FILLING: Final = regex(r"([^\s])\1{7,}")
_CHANGES: Final = regex(r"(\s)\1*")
_LINE_ENDS: Final = regex(r"(?:\r\n)+|\n+|\r")
_RANDOM: Final = 0.62
"""Tokens for a letter in words of no language."""
_NATURAL: Final = 0.78
"""Share of letters in no frequent piece up to which words are those of some language."""
_UNNATURAL: Final = 0.12
"""So much more, and none of them is."""
_FOREIGN: Final = 1.05
_FOREIGN_EACH: Final = 0.05
