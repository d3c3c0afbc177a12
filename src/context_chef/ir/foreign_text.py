"""About how many tokens text beyond ASCII has: frequent pieces, and every character by itself.

The tables hold facts about o200k_base and are made by `benchmarks/token_tables.py`.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import Final, NamedTuple

from context_chef.ir.tables import table

_FIRST: Final = 0x80
_ASCII_LETTER: Final = 0.6
"""Letters of ASCII within words that also have others."""
_BLANK: Final = 0.75
_BEYOND: Final = 4
"""Tokens of a character that the table does not reach to: its bytes in UTF-8."""


class _Tables(NamedTuple):
    pieces: frozenset[str]
    longest: dict[str, int]
    """The longest piece by the two characters that it begins with."""
    costs: bytes


@cache  # read once, never changed, and only when a text is not all ASCII
def _tables() -> _Tables:
    text = zlib.decompress(table("foreign_pieces.bin")).decode("utf-8")
    pieces = text.split("\n")
    longest: dict[str, int] = {}
    for piece in pieces:
        head = piece[:2]
        if len(piece) > longest.get(head, 0):
            longest[head] = len(piece)
    costs = zlib.decompress(table("character_costs.bin"))
    return _Tables(frozenset(pieces), longest, costs)


def _before(pair: str) -> float:
    """A blank often shares a token with letters of ASCII behind it; any other sign has its own."""
    shared = pair[0] == " " and pair[1:].isascii() and pair[1:].isalpha()
    return _BLANK if shared else 1


def foreign_tokens(text: str) -> float:
    """An estimate for a stretch of text, mostly beyond ASCII, in time linear in its length."""
    pieces, longest, costs = _tables()
    total = 0.0
    at, end = 0, len(text)
    while at < end:
        size = min(longest.get(text[at : at + 2], 1), end - at)
        while size > 1 and text[at : at + size] not in pieces:
            size -= 1
        if size > 1:
            total += 1
            at += size
            continue
        point = ord(text[at]) - _FIRST
        if point < 0:
            total += _ASCII_LETTER if text[at].isalpha() else _before(text[at : at + 2])
        else:
            total += costs[point] if point < len(costs) else _BEYOND
        at += 1
    return total
