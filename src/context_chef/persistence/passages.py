"""What of an entry is searched and shown: passages of a text, messages of an archived span."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, cast

from context_chef.patterns import regex
from context_chef.persistence.backend import sendable

PASSAGE: Final = 1_500
"""Characters of one passage, about; a passage ends at a line where there is one."""
SNIPPET: Final = 200
"""The most characters of a snippet."""

_BLANKS: Final = regex(r"\s+")


class Passage(NamedTuple):
    """A part of an entry that is ranked on its own."""

    text: str
    line: int
    """1-based line of its beginning, within the entry or within its message."""
    message: int | None = None
    role: str | None = None


def passages_of(content: str) -> Iterator[Passage]:
    """Cut an entry into passages; an archived span message by message."""
    messages = span_messages(content)
    if messages is None:
        yield from _cut(content, None, None)
        return
    for position, message in enumerate(messages):
        role = message.get("role")
        yield from _cut(message_text(message), position, role if isinstance(role, str) else None)


def span_messages(content: str) -> list[dict[str, Any]] | None:
    """The messages of an archived span, or None when the text is no span."""
    head = content[:200].lstrip()
    if not head.startswith("{") or '"messages"' not in content:
        return None
    try:
        span = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(span, dict):
        return None
    fields = cast("dict[str, Any]", span)
    version, messages = fields.get("version"), fields.get("messages")
    if not isinstance(version, (int, float)) or isinstance(version, bool):
        return None
    if not isinstance(messages, list):
        return None
    rows = cast("list[object]", messages)
    if not all(isinstance(row, dict) for row in rows):
        return None
    return cast("list[dict[str, Any]]", rows)


def message_text(message: dict[str, Any]) -> str:
    """Everything a message says, in whatever shape it was archived, one part a line."""
    return sendable("\n".join(_said(message)))


def snippet_of(text: str, words: list[str], *, width: int = SNIPPET) -> tuple[str, int]:
    """The piece that holds most of `words` (as written), and the line within `text` it is on.

    One line, blanks collapsed, `…` where something was left out, at most `width` characters.
    """
    folded = text.lower()
    # Lower-casing may change lengths (İ), and then positions in it say nothing about the text.
    hits = sorted(_positions(folded if len(folded) == len(text) else text, words))
    start = _best_start(hits, width)
    if start > 0:
        start = max(0, start - width // 5)
        blank = text.find(" ", start, start + 20)
        start = blank + 1 if blank >= 0 else start
    shown = _BLANKS.sub(" ", text[start : start + width * 2]).strip()
    cut_before, room = start > 0, width
    room -= cut_before
    cut_after = len(shown) > room or start + width * 2 < len(text)
    if cut_after:
        shown = shown[: room - 1].rstrip()
    line = text.count("\n", 0, hits[0][0] if hits and hits[0][0] >= start else start) + 1
    return f"{'…' if cut_before else ''}{shown}{'…' if cut_after else ''}", line


def _best_start(hits: list[tuple[int, str]], width: int) -> int:
    best, best_count = 0, 0
    for index, (start, _) in enumerate(hits):
        within = {word for at, word in hits[index : index + 40] if at < start + width * 3 // 4}
        if len(within) > best_count:
            best, best_count = start, len(within)
    # What fits from the very beginning is shown from there.
    return 0 if best < width * 3 // 5 else best


def _positions(text: str, words: list[str]) -> Iterator[tuple[int, str]]:
    for word in words:
        at = text.find(word)
        for _ in range(20):
            if at < 0:
                break
            yield at, word
            at = text.find(word, at + 1)


def _cut(text: str, message: int | None, role: str | None) -> Iterator[Passage]:
    start, line = 0, 1
    while True:
        end = len(text)
        if end - start > PASSAGE * 3 // 2:
            end = start + PASSAGE
            for separator in ("\n", " "):
                found = text.rfind(separator, start + PASSAGE // 2, end)
                if found >= 0:
                    end = found + 1
                    break
        yield Passage(text[start:end], line, message, role)
        line += text.count("\n", start, end)
        start = end
        if start >= len(text):
            return


def _said(value: object, depth: int = 0) -> Iterator[str]:
    if depth > 8:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in cast("list[object]", value):
            yield from _said(part, depth + 1)
    elif isinstance(value, dict):
        for key, part in cast("dict[str, object]", value).items():
            if key not in _SILENT:
                yield from _said(part, depth + 1)


_SILENT: Final = frozenset(
    ["role", "type", "id", "tool_call_id", "signature", "data", "media_type", "mediaType", "kind"]
)
