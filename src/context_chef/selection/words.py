"""Words as tools and tasks have them in common: parts of names, word stems, characters of CJK."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from context_chef.patterns import regex

_CJK_RANGE: Final = (
    "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD: Final = regex(rf"[{_CJK_RANGE}]|[^\W_{_CJK_RANGE}]+")
_HUMP: Final = regex(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_CJK: Final = regex(rf"[{_CJK_RANGE}]")
_VOWEL: Final = regex(r"[aeiouy]")

_STOP_TEXT: Final = """
    a about all also am an and any are as at be been but by can could did do does for from get
    give had has have how i if in into is it its just know let like me my need of on or our out
    please should so some tell that the their them there these they this those to up us use
    used using want was we were what when where which who why will with would you your
"""
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
"""English words that say nothing about which tool is meant."""


def words(text: str) -> list[str]:
    """The words of a text in order, as stems in lower case.

    `readFile`, `read_file` and `read-files` have the same words. Scripts without blanks come
    apart into characters.
    """
    parted = _HUMP.sub(" ", unicodedata.normalize("NFKC", text))
    return [stem(word) for word in _WORD.findall(parted.casefold())]


def terms(text: str) -> list[str]:
    """What a text is indexed by: its words without stop words, CJK as characters and pairs."""
    found = [word for word in words(text) if word not in _STOPPED]
    pairs = [
        first + second
        for first, second in pairwise(found)
        if _CJK.fullmatch(first) and _CJK.fullmatch(second)
    ]
    return found + pairs


def has_phrase(task: Sequence[str], phrase: Sequence[str]) -> bool:
    """Whether these words stand next to each other, in this order, in the words of a task."""
    size = len(phrase)
    return size > 0 and any(
        list(task[start : start + size]) == list(phrase) for start in range(len(task) - size + 1)
    )


def stem(word: str) -> str:
    """What is left of an English word without its grammatical ending; other words as they are.

    Crude on purpose: `files` and `file`, `translate`, `translation` and `translator` meet.
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singular(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and _VOWEL.search(root):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    for ending, kept in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            word = word[: len(word) - len(ending)] + kept
            break
    if word.endswith("e") and len(word) > 3:
        word = word[:-1]
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 3 else word


_ENDINGS: Final = (
    ("ational", "at"),
    ("ation", "at"),
    ("ator", "at"),
    ("ate", "at"),
    ("ition", "it"),
    ("tion", "t"),
    ("sion", "s"),
    ("ment", ""),
    ("er", ""),
    ("or", ""),
    ("ly", ""),
)


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_STOPPED: Final = frozenset(stem(word) for word in STOP_WORDS)


def fold_name(name: str) -> str:
    """Names of tools are the same when these are: the rule of pruning and of the gate."""
    return unicodedata.normalize("NFKC", name).strip().casefold()
