"""The words of a text as the search index knows them: identifiers split, endings trimmed, CJK
paired."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from context_chef.patterns import regex

LONGEST_WORD: Final = 64
"""Longer runs (hashes, base64) are indexed by their beginning."""

# Scripts written without blanks: their words are found by pairs of characters.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
# Vowel signs and the like belong to the word around them, though they are no letters.
_MARKS: Final = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_IDENTIFIER: Final = regex(rf"[^\W{_UNSPACED}{_MARKS}]+(?:[{_MARKS}]+[^\W{_UNSPACED}]*)*")
_RUN: Final = regex(rf"[{_UNSPACED}]+|{_IDENTIFIER.pattern}")
_STARTS_UNSPACED: Final = regex(f"[{_UNSPACED}]")
_HUMP: Final = regex(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+(?:[^\W\d_])*")
_PLAIN: Final = regex(r"[a-z]+")
_VOWEL: Final = regex(r"[aeiouy]")

# Words that say nothing by themselves, left out of a query that also has others.
_COMMON: Final = frozenset(
    re.findall(
        r"\w+",
        "a about am an and any are as at be been but by can could did do does for from had has "
        "have he her him his how i if in into is it its me my of on or our she should so than "
        "that the their them then there these they this those to us was we were what when where "
        "which who why will with would you your",
    )
)


class WordSplitter:
    """Splits texts, remembering the words that it met lately: most words come again."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}

    def words_of(self, text: str) -> list[str]:
        """Every word in order, each as an ASCII token; an identifier also gives its parts."""
        known = self._known
        if len(known) > 50_000:
            known.clear()
        words: list[str] = []
        for run in _RUN.findall(_folded(text)):
            tokens = known.get(run)
            if tokens is None:
                tokens = tuple(_tokens(run, asking=False))
                if len(run) <= LONGEST_WORD:
                    known[run] = tokens
            words += tokens
        return words


def query_words(query: str) -> list[str]:
    """What to look for: the distinct words, without those that say nothing if others remain."""
    runs = _RUN.findall(_folded(query))
    telling = [run for run in runs if run.lower() not in _COMMON]
    return list(
        dict.fromkeys(token for run in telling or runs for token in _tokens(run, asking=True))
    )


def _folded(text: str) -> str:
    """Compatibility forms and accents off, so that `ﬁle` finds `file` and `cafe` finds `café`."""
    if text.isascii():
        return text
    flat = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", flat))


def _tokens(run: str, *, asking: bool) -> Iterator[str]:
    if _STARTS_UNSPACED.match(run):
        # Pairs carry the meaning; single characters only so that a query of one finds something.
        if not asking or len(run) == 1:
            yield from (_ascii(char) for char in run)
        yield from (_ascii(run[at : at + 2]) for at in range(len(run) - 1))
        return
    whole = run.replace("_", "")
    if not whole:
        return
    humps = _HUMP.findall(run) if _has_parts(run) else []
    if len(humps) > 1:
        yield from (_stem(hump.lower()) for hump in humps)
        yield _ascii(whole.lower())
    else:
        yield _stem(whole.lower())


def _has_parts(run: str) -> bool:
    return not run.islower() or not run.isalpha()


def _ascii(token: str) -> str:
    """The same token as the index's tokenizer keeps whole, whatever the script."""
    token = token[:LONGEST_WORD]
    return token if token.isascii() else "u" + token.encode("utf-8", "replace").hex()


def _stem(word: str) -> str:
    """Trim English endings, so that `errors` finds `error` and `failed` finds `failing`."""
    if len(word) < 4 or not _PLAIN.fullmatch(word):
        return _ascii(word)
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith(("sses", "ches", "shes", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "edly", "ed", "ly"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and _VOWEL.search(stem):
            word = stem
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    if len(word) > 3 and word.endswith("y") and word[-2] not in "aeiou":
        word = word[:-1] + "i"
    return _ascii(word)


def needles_of(query: str) -> list[str]:
    """What to look for in a text to show where it answers: the query itself, then its words."""
    lowered = query.strip().lower()
    runs = [run for run in _RUN.findall(lowered) if run not in _COMMON] or _RUN.findall(lowered)
    needles = [lowered]
    for run in runs:
        stem = _stem(run) if _PLAIN.fullmatch(run) else run
        needles.append(stem[:-1] if stem not in run and len(stem) > 3 else stem)
        needles += [_stem(hump.lower()) for hump in _HUMP.findall(run) if len(hump) > 2]
    return list(dict.fromkeys(needle for needle in needles if needle))
