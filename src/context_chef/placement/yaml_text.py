"""YAML as plain text values: lists, mappings and texts, and nothing that can do harm.

The events of PyYAML's parser are read, so no object is ever constructed. Aliases, anchors and tags
are refused, since a few lines of them can stand for gigabytes or for code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

from context_chef.errors import shown
from context_chef.patterns import regex

_MAX_DEPTH: Final = 32
_MAX_OPEN: Final = 100
"""Brackets open at once, in texts as well: more than any author writes."""
_MAX_VALUES: Final = 10_000
_CORE_TAGS: Final = tuple(
    f"tag:yaml.org,2002:{name}"
    for name in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp")
)
_QUOTED: Final = regex(r"\"(?:\\.|[^\"\\])*\"|'(?:''|[^'])*'")
_ANY_BRACKET: Final = regex(r"[\[\]{}]")
_BRACKETS: Final = {"[": "]", "{": "}", "(": ")"}


class RefusedYaml(Exception):
    """Valid YAML that is not taken. `line` counts from 0 within the text."""

    def __init__(self, reason: str, line: int) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason)


def read_yaml(text: str, *, offset: int = 0) -> Any:
    """The value that the text stands for, every scalar as text; an empty text is "".

    Raises yaml.YAMLError where the text is not YAML, RefusedYaml where it is more than plain data.
    """
    _refuse_depth(text, offset)
    try:
        return _Builder(text, offset).build()
    except RecursionError:
        raise RefusedYaml("nested too deeply", offset) from None


def _refuse_depth(text: str, offset: int) -> None:
    """Before the parser is asked: what it takes for a bracket grows with the depth it is at."""
    depth = 0
    for bracket in _ANY_BRACKET.finditer(text):
        depth = depth + 1 if bracket.group() in "[{" else max(depth - 1, 0)
        if depth > _MAX_OPEN:
            line = text.count("\n", 0, bracket.start()) + offset
            raise RefusedYaml(f"nested deeper than {_MAX_DEPTH} levels", line)


class _Builder:
    def __init__(self, text: str, offset: int) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(text, Loader=yaml.SafeLoader))
        self._offset = offset
        self._count = 0

    def build(self) -> Any:
        value: Any = ""
        documents = 0
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._refuse("holds several YAML documents", event)
                value = self._value(next(self._events), 0)
        return value

    def _value(self, event: Any, depth: int) -> Any:
        self._judge(event, depth)
        if isinstance(event, yaml.ScalarEvent):
            return event.value
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(depth)
        return self._mapping(depth)

    def _sequence(self, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            items.append(self._value(event, depth + 1))
        return items

    def _mapping(self, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise yaml.MarkedYAMLError(
                    problem="a key is not text", problem_mark=event.start_mark
                )
            key = self._value(event, depth)
            items[key] = self._value(next(self._events), depth + 1)
        return items

    def _judge(self, event: Any, depth: int) -> None:
        self._count += 1
        if isinstance(event, yaml.AliasEvent):
            raise self._refuse(f"the alias `*{event.anchor}` is not allowed; write it out", event)
        if event.anchor is not None:
            raise self._refuse(
                f"the anchor `&{event.anchor}` is not allowed; put it in quotes", event
            )
        if event.tag is not None and event.tag not in _CORE_TAGS:
            raise self._refuse(
                f"the tag {shown(event.tag)} is not allowed; put it in quotes", event
            )
        if depth > _MAX_DEPTH:
            raise self._refuse(f"nested deeper than {_MAX_DEPTH} levels", event)
        if self._count > _MAX_VALUES:
            raise self._refuse(f"more than {_MAX_VALUES} values", event)

    def _refuse(self, reason: str, event: Any) -> RefusedYaml:
        return RefusedYaml(reason, event.start_mark.line + self._offset)


def is_closed_flow(text: str) -> bool:
    """Whether the bracket that the text begins with is closed by its last character."""
    depth = 0
    for place, character in _outside_quotes(text):
        depth += (character in "[{") - (character in "]}")
        if depth <= 0:
            return depth == 0 and place == len(text) - 1
    return False


def flow_items(text: str) -> list[str] | None:
    """The items of `[a, "b, c", f(x, y)]` as an author means them; None where it nests.

    Quotes and round brackets keep a comma. A comma at the end adds nothing; between two commas
    there is an empty item.
    """
    items = split_outside(text[1:-1], ",")
    if items and not items[-1]:
        items.pop()
    if any(item[:1] in tuple("[{&*!") and item for item in items):
        return None
    return [unquoted(item) for item in items]


def split_outside(text: str, separators: str) -> list[str]:
    """Split where a separator stands outside quotes and brackets; the parts are trimmed.

    Brackets that do not pair up are letters like any other.
    """
    paired = _pairs_up(text)
    parts: list[str] = []
    start = depth = 0
    for place, character in _outside_quotes(text, fresh=separators):
        if paired and character in _BRACKETS:
            depth += 1
        elif paired and character in _BRACKETS.values():
            depth -= 1
        elif not depth and character in separators:
            parts.append(text[start:place].strip())
            start = place + 1
    return [*parts, text[start:].strip()]


def unquoted(item: str) -> str:
    """The text without the quotes around all of it, its escapes resolved."""
    if len(item) < 2 or item[0] not in "\"'" or item[-1] != item[0]:
        return item
    try:
        value = read_yaml(item)
    except (yaml.YAMLError, RefusedYaml):
        return item[1:-1]
    return value if isinstance(value, str) else item[1:-1]


def _pairs_up(text: str) -> bool:
    expected: list[str] = []
    for _, character in _outside_quotes(text):
        if character in _BRACKETS:
            expected.append(_BRACKETS[character])
        elif character in _BRACKETS.values() and (not expected or expected.pop() != character):
            return False
    return not expected


def _outside_quotes(text: str, *, fresh: str = "") -> Iterator[tuple[int, str]]:
    """Every character that no quotes enclose, with its place.

    Only a quote at the beginning of an item quotes; the one in `don't` is a letter.
    """
    begins = ",[{:" + fresh
    at, at_start = 0, True
    while at < len(text):
        if at_start and (quoted := _QUOTED.match(text, at)):
            at, at_start = quoted.end(), False
            continue
        character = text[at]
        yield at, character
        at_start = character in begins or (at_start and character.isspace())
        at += 1
