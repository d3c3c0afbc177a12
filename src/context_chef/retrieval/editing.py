"""Changing a text by a passage or by a line: pure, exact, and sure of what it changes."""

from __future__ import annotations

import html
import re
from typing import Final

import msgspec

from context_chef.patterns import regex
from context_chef.prompts import replies
from context_chef.retrieval.arguments import Mistake

_NUMBERED: Final = regex(r"^[ ]*[0-9]+\t", re.MULTILINE)
_BARE_LINE_END: Final = regex(r"(?<!\r)\n")


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """The new text, and the 1-based line where it begins to differ."""

    content: str
    line: int


def replace_passage(
    content: str, old: str, new: str, *, address: str, exact_line_endings: bool = False
) -> Edited:
    """Put `new` in the place of the only occurrence of `old`, both taken literally.

    Where nothing matches as it is, `\\n` in `old` may stand for `\\r\\n`. Where the text has only
    CRLF line ends, or `old` matched such ones, `new` gets them too. Mistakes say how often and
    where `old` occurs.
    """
    starts = _occurrences(content, old)
    end = len(old)
    if not starts and not exact_line_endings and "\n" in old and "\r\n" in content:
        found = list(_any_line_ending(old).finditer(content))
        starts = [match.start() for match in found]
        if found:
            end = len(found[0].group())
            new = _with_crlf(new)
    if not starts:
        raise Mistake(replies.passage_not_found(address, _hint(content, old)))
    if len(starts) > 1:
        lines = [content.count("\n", 0, start) + 1 for start in starts[:11]]
        raise Mistake(replies.passage_not_unique(address, len(starts), lines))
    [start] = starts
    if not exact_line_endings and _has_crlf_only(content):
        new = _with_crlf(new, split=start > 0 and content[start - 1] == "\r")
    changed = content[:start] + new + content[start + end :]
    return Edited(content=changed, line=content.count("\n", 0, start) + 1)


def insert_lines(
    content: str, at: int, text: str, *, address: str, exact_line_endings: bool = False
) -> Edited:
    """Put the lines of `text` behind the first `at` lines. An empty text has none."""
    lines = content.split("\n") if content else []
    if not 0 <= at <= len(lines):
        raise Mistake(replies.line_outside(address, at, len(lines)))
    added = text.split("\n")
    if not exact_line_endings and len(lines) > 1 and all(x.endswith("\r") for x in lines[:-1]):
        added = [line if line.endswith("\r") else line + "\r" for line in added]
        if at == len(lines):  # what comes last has no line end of its own
            lines[-1] += "" if lines[-1].endswith("\r") else "\r"
            added[-1] = added[-1].removesuffix("\r")
    return Edited(content="\n".join([*lines[:at], *added, *lines[at:]]), line=at + 1)


def _occurrences(content: str, old: str) -> list[int]:
    """Where `old` is, not counting occurrences that overlap an earlier one."""
    starts: list[int] = []
    at = content.find(old)
    while at >= 0:
        starts.append(at)
        at = content.find(old, at + len(old))
    return starts


def _has_crlf_only(content: str) -> bool:
    ends = content.count("\n")
    return ends > 0 and ends == content.count("\r\n")


def _with_crlf(text: str, *, split: bool = False) -> str:
    """The text with CRLF at its line ends. `split`: the `\\r` of the first stands before it."""
    if split and text.startswith("\n"):
        return "\n" + _with_crlf(text[1:])
    return _BARE_LINE_END.sub("\r\n", text)


def _any_line_ending(old: str) -> re.Pattern[str]:
    lines = old.replace("\r\n", "\n").split("\n")
    return re.compile("\r?\n".join(re.escape(line) for line in lines))


def _hint(content: str, old: str) -> str:
    """Why it may not have been found, when that is easy to tell."""
    if _NUMBERED.search(old) and _NUMBERED.sub("", old) in content:
        return replies.HINT_NUMBERS
    if "&" in old and html.unescape(old) in content:
        return replies.HINT_ENTITIES
    if "\n" in old and "\r\n" in content:
        return replies.HINT_LINE_ENDINGS
    return ""
