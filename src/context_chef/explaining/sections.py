"""The parts of texts that we write ourselves: which memory entry, which announcement, which key."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from context_chef.patterns import regex
from context_chef.prompts.xml import fence, object_to_xml

_ENTRY: Final = regex(r'<entry key="([^"]*)">\n.*?\n</entry>', re.DOTALL)
_ANNOUNCEMENT: Final = regex(r'<announcement id="([^"]*)">\n.*?\n</announcement>', re.DOTALL)
_TOOLKIT: Final = regex(r'<toolkit name="([^"]*)".*?(?:</toolkit>|/>)', re.DOTALL)
_ROOT: Final = "dynamic_state"


class Section(NamedTuple):
    """A part of a text, and who brought it."""

    source: str
    start: int
    end: int


class Known(NamedTuple):
    """What is known about the texts that we wrote."""

    injected: Sequence[tuple[str, str]] = ()
    """Handler and text, in order."""
    state: Any = None
    """The value of the dynamic state."""


def sections(source: str, text: str, known: Known) -> list[Section]:
    """The text cut up by who brought its parts. Together they are the whole text, in order."""
    found: list[Section] = []
    if source == "memory":
        found = _named(_ENTRY, text, "memory")
    elif source == "announcements":
        found = _named(_ANNOUNCEMENT, text, "announcement")
    elif source == "toolkits":
        found = _named(_TOOLKIT, text, "toolkit")
    elif source == "implicit_context":
        found = _injected(text, known.injected)
    elif source == "dynamic_state":
        found = _state(text, known.state)
        begin = found[-1].end if found else 0
        found += [section for section in _injected(text, known.injected) if section.start >= begin]
    return _whole(source, text, found)


def _named(pattern: re.Pattern[str], text: str, kind: str) -> list[Section]:
    return [
        Section(f"{kind}:{html.unescape(match[1])}", match.start(), match.end())
        for match in pattern.finditer(text)
    ]


def _injected(text: str, injected: Sequence[tuple[str, str]]) -> list[Section]:
    found: list[Section] = []
    at = text.find("<implicit_context>")
    for handler, said in injected:
        words = fence(said)
        place = text.find(words, max(at, 0))
        if at >= 0 and place >= 0 and words:
            at = place + len(words)
            found.append(Section(f"before-assemble:{handler}", place, at))
    return found


def _state(text: str, value: Any) -> list[Section]:
    if not isinstance(value, Mapping):
        return []
    found: list[Section] = []
    at = 0
    for key, item in cast(Mapping[str, Any], value).items():
        whole = object_to_xml({key: item}, _ROOT)
        element = whole.removeprefix(f"<{_ROOT}>\n  ").removesuffix(f"\n</{_ROOT}>")
        place = text.find(f"  {element}\n", at) if element != whole else -1
        if place >= 0:
            at = place + len(element) + 3
            found.append(Section(f"{_ROOT}:{key}", place, at))
    return found


def _whole(source: str, text: str, found: Sequence[Section]) -> list[Section]:
    """With the frame around them. What separates two parts goes to the second."""
    whole: list[Section] = []
    at = 0
    for number, (name, start, end) in enumerate(found):
        if number == 0 and start > 0:
            whole.append(Section(source, 0, start))
            at = start
        whole.append(Section(name, at, end))
        at = end
    if at < len(text) or not whole:
        whole.append(Section(source, at, len(text)))
    return whole
