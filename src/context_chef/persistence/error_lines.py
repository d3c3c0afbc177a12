"""Which lines of an output look like errors, so that a cut never hides why something failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from context_chef.patterns import regex

MAX_LINE_CHARS: Final = 240

_CERTAIN: Final = regex(
    r"""
      ^\s*Traceback\ \(most\ recent\ call\ last\)
    | ^\s*[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b\s*(?::|$|\()
    | \berror(?:\[[A-Z]*\d+\])?:              # compilers, cargo, generic
    | \berror\ (?:TS|CS|C|LNK|MSB)\d+\b        # tsc, csc, msvc
    | ^E\ {2,}\S                              # pytest
    | ^\s*---\ FAIL:                          # go test
    | ^(?:FAILED|FAIL|ERROR)\b
    | \bnpm\ ERR!
    | \b(?:FATAL|CRITICAL|PANIC|SEVERE)\b
    | ^\s*(?:fatal|panic|thread\ '.*'\ panicked)\b
    | \bunhandled\ (?:exception|rejection|promise)
    | \bsegmentation\ fault\b | \bcore\ dumped\b | \bout\ of\ memory\b | \bOOMKilled\b
    | \bAssertion(?:Error|\ failed)\b
    | \bcommand\ not\ found\b | \bpermission\ denied\b | \bno\ such\ file\ or\ directory\b
    | \b(?:exited|failed|returned|exit)\ with\ (?:exit\ )?(?:code|status)\ [1-9]
    | \b(?:exit|return)\ ?(?:code|status)[:=]?\ ?[1-9]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_LIKELY: Final = regex(
    r"\b(?:ERROR|Error|error|EXCEPTION|Exception|failed|FAILED|Failed|failure|FAILURE|Failure"
    r"|cannot|refused|timed out|undefined reference|not found|denied)\b"
)
_HARMLESS: Final = regex(
    r"(?:^|[,;:(\[|]\s*|\bwith\s+|\bfound\s+)(?:0|no|zero|without)\s+(?:\w+\s+)?"
    r"(?:errors?|failures?|failed|exceptions?)\b"
    r"|\b(?:errors?|failures?|failed)\s*[:=]\s*(?:0|none|null|false|\[\]|\"\")(?:\b|\W|$)",
    re.IGNORECASE,
)
_CLUE: Final = regex(
    "error|exception|fail|fatal|panic|critical|severe|traceback|denied|not found|no such|refused"
    "|timed out|npm err|cannot|unhandled|assert|fault|dumped|of memory|oomkilled|exit|returned"
    "|undefined"
    r"|interrupt|warning|\ne {2}"
)
"""What every line that matters has in it, in lower case: the quick look before the careful one."""
_CODE: Final = regex(
    r"""
      [;{(,]\s*$ | => | \$\{
    | ^\W*\d*\W*(?:import|from|def|class|function|const|let|var|export|return|raise|throw
        |except|catch|try|if|elif|else|for|while|switch|case|async|await|public|private|static|new)\b.*[:({=;]
    | \b(?:throw\ new|console\.\w+|catch\ ?\(|except\ \w+|raise\ \w+|logger\.\w+|log\.\w+)
    | ^\W*\d*[\s|:→]*(?:\*|//|\#|/\*|<!--)\s
    | ^[+-]\s{2,}
    """,
    re.VERBOSE,
)
"""Source code talks about errors without being one."""
_DIGITS: Final = regex(r"\d+")
_TIMES: Final = regex(
    r"(?:\b\d{4}[-/]\d\d[-/]\d\d[T ]?)?\b\d\d?:\d\d:\d\d(?:[.,]\d+)?Z?"
    r"|\b1[0-9]{9}(?:[.]?[0-9]{3})?\b"
)
"""When something was said: of day and clock, or in seconds or milliseconds since 1970."""
_MOST_LOOKED_AT: Final = 4_000


def error_lines(text: str, *, first_line: int = 1, limit: int = 12) -> list[tuple[int, str]]:
    """At most `limit` numbered lines that look like errors, in their order.

    `first_line` is the number of the text's first line. Every kind of line comes before a second
    one of a kind (the same but for its numbers), certain ones before likely ones; of those that
    say the same at another time, the first stands for all. Long lines are cut in the middle.
    """
    if limit <= 0:
        return []
    certain, likely = _Found(), _Found()
    for number, line in _candidates(text):
        rank = _rank(line if len(line) <= 2_000 else line[:2_000])
        if rank > 0:
            (certain if rank == 2 else likely).add(first_line + number, _clip(line.strip()))
    firsts = [*certain.kinds.values(), *likely.kinds.values()]
    ranked = dict.fromkeys([*firsts, *certain.said.values(), *likely.said.values()])
    chosen = list(ranked)[:limit]
    if certain.last is not None and certain.last not in chosen and len(chosen) == limit:
        # The last error of a long output is often the one that ended it.
        chosen[-1] = certain.last
    return sorted(chosen)


class _Found:
    """The first line of every kind, the first of everything said, and the last of all."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[int, str]] = {}
        self.said: dict[str, tuple[int, str]] = {}
        self.last: tuple[int, str] | None = None

    def add(self, number: int, line: str) -> None:
        self.last = (number, line)
        self.kinds.setdefault(_DIGITS.sub("0", line), self.last)
        self.said.setdefault(_TIMES.sub("", line), self.last)


def _candidates(text: str) -> Iterator[tuple[int, str]]:
    """The lines with a clue in them, each with its 0-based number; of very many, the first ones."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(c if len(c.lower()) != 1 else c.lower() for c in text)
    number = position = looked_at = 0
    while looked_at < _MOST_LOOKED_AT and (found := _CLUE.search(lowered, position)):
        start = found.start() + (found.group()[0] == "\n")
        begin = text.rfind("\n", position, start) + 1 or position
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        number += text.count("\n", position, begin)
        yield number, text[begin:end]
        position = end
        looked_at += 1


def _rank(line: str) -> int:
    if not line or line.isspace() or _HARMLESS.search(line) or _CODE.search(line):
        return 0
    if _CERTAIN.search(line):
        return 2
    return 1 if _LIKELY.search(line) else 0


def _clip(line: str) -> str:
    if len(line) <= MAX_LINE_CHARS:
        return line
    half = MAX_LINE_CHARS // 2
    return f"{line[:half]} … {line[-half + 3 :]}"
