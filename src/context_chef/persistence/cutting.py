"""What is shown of a text that is too large: a head and a tail, cut between lines."""

from __future__ import annotations

import msgspec


class Cut(msgspec.Struct, frozen=True, kw_only=True):
    """The head is `text[:head_end]`, the tail `text[tail_start:]`; nothing else is touched."""

    head_end: int
    tail_start: int


def cut(text: str, *, head_chars: int, tail_chars: int) -> Cut | None:
    """Where to cut, in characters; None when head and tail together show everything.

    The head ends after the last line end at or before `head_chars`, the tail begins after the first
    one at or behind its start; without a line end the cut is exact. Only `\\n` ends a line.
    """
    head_chars, tail_chars = max(head_chars, 0), max(tail_chars, 0)
    if head_chars + tail_chars >= len(text):
        return None
    head_end = 0
    if head_chars:
        head_end = text.rfind("\n", 0, head_chars + 1) + 1 or head_chars
    tail_start = len(text)
    if tail_chars:
        start = len(text) - tail_chars
        line_end = text.find("\n", start)
        tail_start = start if line_end < 0 else line_end + 1
    return Cut(head_end=head_end, tail_start=tail_start)
