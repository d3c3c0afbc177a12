"""Facts in a text: what an agent cannot work without once the text has left its window."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from context_chef.ir.blocks import Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.persistence.error_lines import error_lines
from context_chef.replay.result import FactKind


class Said(NamedTuple):
    """A fact: two that read alike are one."""

    kind: FactKind
    text: str


_WORD: Final = re.compile(r"[^\s\"'`<>()\[\]{}|\\;]+")
_TELLING: Final = re.compile(r"\d\d|[/_#]|\d\.\d|\w\.\w|[a-z][A-Z]")
"""What every fact has in it: the quick look before the careful one."""
_ENDINGS: Final = (
    "py|pyi|js|jsx|ts|tsx|json|jsonl|toml|yaml|yml|md|txt|csv|cfg|ini|sh|go|rs|java|c|h|cpp|hpp|rb"
    "|php|html|css|sql|xml|log|lock|ipynb|xlsx|pdf|png|jpg"
)
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,12}://\S+")
_PATH: Final = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.@+-]+){2,}/?"  # from a root
    r"|[\w.@+-]+(?:/[\w.@+-]+)+\.\w{1,8}"  # relative, down to a file
    rf"|[\w-]{{2,}}\.(?:{_ENDINGS})"
)
_LINE_OF_PATH: Final = re.compile(r":\d+(?::\d+)?$")
_IDENTIFIER: Final = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"  # UUID
    r"|[A-Z][A-Z0-9]{0,9}-\d{1,8}"  # ticket, stock number
    r"|(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}"  # digest
    r"|#?[A-Z]{1,3}\d{4,}"  # order, booking, error code
    r"|[A-Za-z]{2,12}[_-][A-Za-z0-9]*\d[A-Za-z0-9]{5,}"  # call_01A…
    r"|[A-Za-z]\w*_\w*[A-Za-z]\w*"  # snake case
    r"|[A-Z]?[a-z0-9]+(?:[A-Z][a-z0-9]+)+"  # camel case
)
_NUMBER: Final = re.compile(
    r"\d{4}-\d{2}-\d{2}|[$€£+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?%?|[$€£+-]?\d+(?:\.\d+)?%?"
)
_AROUND: Final = ".,:!?*#&~^=+-"
_RULE: Final = re.compile(
    r"\b(?:must|never|always|do not|don't|does not have to|may not|must not|mustn't|only ever"
    r"|under no circumstances|make sure|has to|have to|required to|not allowed|be careful)\b",
    re.IGNORECASE,
)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+|\n+")
_ADDRESS: Final = re.compile(r"context://[^\s<>\"'`)\]}|;,\\]+[^\s<>\"'`)\]}|;,\\.]")
_MOST_CHARACTERS: Final = 400_000
"""Of longer texts only this much is looked through."""
_LONGEST_RULE: Final = 400
_LONGEST_ERROR_SAID: Final = 160
"""A longer line in what a person says is prose that talks about errors."""


def facts_in(text: str, *, binding: bool = False) -> dict[Said, None]:
    """The facts of a text, in the order of their kinds and places, each once.

    Rules count only where they bind: in what a person said.
    """
    text = text[:_MOST_CHARACTERS]
    found: dict[Said, None] = {}
    for word in dict.fromkeys(_WORD.findall(text)):
        found.update(_facts_of_word(word))
    for _, line in error_lines(text, limit=8):
        if not binding or len(line) <= _LONGEST_ERROR_SAID:
            found[Said("error", one_line(line))] = None
    if binding:
        for sentence in _SENTENCE_END.split(text[:20_000]):
            line = one_line(sentence)
            if 12 <= len(line) <= _LONGEST_RULE and _RULE.search(line):
                found[Said("rule", line)] = None
    return found


@lru_cache(maxsize=200_000)
def _facts_of_word(word: str) -> dict[Said, None]:
    """The fact that a word is, or those in its parts: a word of commas is a row of a table."""
    if not _TELLING.search(word) or word.startswith("context://"):
        return {}
    if _URL.match(word):
        return {Said("url", word.rstrip(".,:!?*")): None}
    bare = word.strip(_AROUND) if word[0] not in "./~" else word.rstrip(_AROUND)
    if word.endswith("%"):
        bare = word.lstrip(_AROUND)
    fact = _fact(bare) or _fact(_LINE_OF_PATH.sub("", bare))
    if fact is not None:
        return {fact: None}
    parts = re.split(r"[,=:@]", bare)
    if len(parts) == 1:
        return {}
    return {said: None for part in parts if (said := _fact(part.strip(_AROUND))) is not None}


def _fact(word: str) -> Said | None:
    if _NUMBER.fullmatch(word):
        return Said("number", word) if sum(map(str.isdigit, word)) >= 2 else None
    if _PATH.fullmatch(word):
        return Said("path", word)
    if _IDENTIFIER.fullmatch(word):
        return Said("identifier", word)
    return None


def one_line(text: str) -> str:
    """A text with every stretch of blanks made one space."""
    return " ".join(text.split())


def addresses_in(text: str) -> Iterator[str]:
    """The store addresses that a text names, in order."""
    for match in _ADDRESS.finditer(text):
        yield match.group()


def words_of(message: Message) -> str:
    """Everything that a message says in words, thinking left out: it is not for looking up."""
    return "\n".join(_words(message))


def _words(message: Message) -> Iterable[str]:
    for block in message.content:
        if isinstance(block, Text):
            yield block.text
        elif isinstance(block, ToolCall):
            yield f"{block.name} {block.arguments}"


def thoughts_of(message: Message) -> str:
    """What a message says in thinking."""
    return "\n".join(block.text for block in message.content if isinstance(block, Thinking))
