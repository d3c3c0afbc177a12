"""How providers word it that a request is too large for the model, and the figures they give."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from context_chef.patterns import regex

Speaker: TypeAlias = Literal["anthropic", "openai", "gemini"]
Measure: TypeAlias = Literal["tokens", "bytes", "characters"]

OVERFLOW_CODES: Final = frozenset(
    {
        "context_length_exceeded",
        "context_window_exceeded",
        "exceed_context_size_error",
        "max_context_length_exceeded",
        "model_max_prompt_tokens_exceeded",
        "tokens_limit_reached",
    }
)
"""Machine-readable names of the failure. Some servers send nothing else."""

SIZE_CODES: Final = frozenset({"request_too_large", "payload_too_large"})
"""The same for a body of too many bytes."""


class Wording(NamedTuple):
    """What one text says. Figures that it does not give are None."""

    measure: Measure
    speaker: Speaker | None = None
    size: int | None = None
    """The input alone, without what was asked for the answer."""
    limit: int | None = None
    output: int | None = None
    """Asked for the answer, where it counts toward the same limit."""
    excess: int | None = None


_FLAGS: Final = re.IGNORECASE | re.DOTALL
_GAP: Final = r"(?:\s|\\+[nr])*"
"""White space, or none; line ends may have been quoted, more than once."""
_MORE: Final = rf"{_GAP}(?:>|&gt;|\\+u003e){_GAP}"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled on first use, since most processes never need one.

    `{size}` and the like stand for a number, a blank for any white space or quoted line end.
    """
    blanks = text.replace(" ", r"(?:\s|\\+[nr])+")
    return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>\\d[\\d,_]{0,20})", blanks), _FLAGS)


_TOO_OFTEN: Final = regex(
    r"rate[ _-]?limit|tokens? per (?:second|min|hour|day)|\b[TR]P[MD]\b|too many requests"
    r"|throttl|quota|resource[ _]exhausted|(?:error code|status(?: code)?|http)\W{1,3}429\b",
    re.IGNORECASE,
)
"""Too much in a time, or too much for the account: waiting helps, a shorter request need not."""

_BODY_STATUS: Final = regex(r"(?:error code|status(?: code)?|http)\W{1,3}413\b", re.IGNORECASE)

_FIGURES: Final[tuple[tuple[Speaker | None, str], ...]] = (
    ("anthropic", rf"prompt is too long:? {{size}} tokens{_MORE}{{limit}}"),
    (
        "anthropic",
        rf"input length and \W*max_tokens\W* exceed context limit: {{size}}{_GAP}\+{_GAP}{{output}}"
        rf"{_MORE}{{limit}}",
    ),
    (
        "gemini",
        r"input token count(?: \({size}\))? exceeds the maximum number of tokens allowed"
        r" \(?{limit}",
    ),
    ("gemini", r"input token count is {size} but (?:the )?model only supports up to {limit}"),
    ("openai", r"configured limit of {limit} tokens\W{1,3}your messages resulted in {size} "),
    ("openai", r"tokens exceed the configured limit of {limit} tokens"),
    # Servers that speak OpenAI's language, each in its own words.
    (None, r"maximum prompt length is {limit} but the request contains {size} tokens"),
    (None, r"\({size} tokens\) exceeds the available context size \({limit} tokens"),
    (None, r"prompt token count of {size} exceeds the limit of {limit}"),
    (None, r"exceeded model token limit:? {limit} \(requested:? {size}"),
    (None, r"contains {size} tokens.{0,80}too large for model with {limit} maximum context"),
    (None, r"prompt is too long:? {size}, model maximum context length:? {limit}"),
    (None, r"prompt (?:is )?too long\W{1,3}exceeded max context length by {excess} tokens"),
    (None, r"exceed\w* (?:the )?max(?:imum)? context length by {excess} tokens"),
    (None, r"must be <= {limit}\. given: {size} \W*inputs\W* tokens and {output} "),
    (None, r"inputs\W* must have less than {limit} tokens\. given: {size}"),
    (None, r"\({size} tokens\) is longer than the model.{1,3}s context length \({limit} "),
    (None, r"\(length {size}\) is longer than the maximum model length of {limit}"),
    (None, r"tokens in the prompt cannot exceed {limit} - received {size}"),
    (None, r"range of input length should be \[\d+, {limit}\]"),
    (None, r"request body too large for .{1,80}max size:? {limit} tokens"),
    (None, r"current length is {size} while limit is {limit}"),
    (None, r"keep the first {size} tokens.{0,160}context length of only {limit} tokens"),
    (None, r"exceeds? the model.{1,3}s maximum context (?:limit|window|length) of {limit} "),
    (None, r"exceed\w* (?:\w+\W+){0,6}context (?:window|length|size|limit) of {limit} tokens"),
)

_MAXIMUM: Final = r"maximum context length(?: is| of)? {limit} tokens"
_TOTAL: Final = r"(?:requested|resulted in|total of)(?: about| at least| a total of)? {n} tokens"
_INPUT: Final = (
    r"{n} input tokens",
    r"{n} tokens from the input",
    r"{n} in (?:the|your) (?:messages|prompt)",
)
_OUTPUT: Final = (
    r"{n}(?: tokens)? (?:in|for) the (?:completion|output)",
    r"requested {n} output tokens",
    r"max_(?:completion_)?tokens\W* is too large: {n}",
)
_ONLY_OUTPUT: Final = regex(
    r"(?<!and )(?<!and [`'\"])max_?(?:\w+_)?tokens\b.{0,40}?"
    r"(?:too large|exceed|greater than|must be|cannot be|at most)",
    _FLAGS,
)
"""The answer was asked too long; by itself that says nothing about the request."""

_BYTES: Final[tuple[tuple[Speaker | None, str], ...]] = (
    ("gemini", r"request payload size exceeds the limit:? {limit} bytes"),
    ("anthropic", rf"too many total text bytes(?::? {{size}}{_MORE}{{limit}})?"),
    ("anthropic", r"request exceeds the maximum size"),
    (None, r"maximum request body size {limit} exceeded, actual body size {size}"),
    (None, r"(?:request|payload|content|entity)(?: entity| body)? too large"),
)

_CHARACTERS: Final = (
    r"string too long\. expected a string with maximum length {limit},"
    r" but got a string with length {size}",
    r"expected maxLength: {limit}, actual: {size}",
)
_LEAST_TEXT: Final = 20_000
"""A string that may be so long holds content; shorter limits are those of ids, names and labels."""

_PLAIN: Final[tuple[tuple[Speaker | None, str], ...]] = (
    ("anthropic", r"request size exceeds model context window"),
    ("anthropic", r"input length and \W*max_tokens\W* exceed context limit"),
    ("openai", r"your input exceeds the context window of this model"),
    ("gemini", r"input token count exceeds the maximum number of tokens"),
    (None, r"prompt (?:is )?too long"),
    (None, r"input is too long for requested model"),
    (
        None,
        r"exceed\w* (?:\w+\W+){0,6}(?:context (?:window|length|size|limit)|maximum context)",
    ),
    (None, r"(?:longer|larger|greater) than (?:\w+\W+){0,4}context (?:window|length|size)"),
    (
        None,
        r"context[\s_-](?:window|length|size|limit)[\s_-]"
        r"(?:(?:was|is|has been) )?(?:exceed|overflow|full)",
    ),
    (None, r"please reduce the length of (?:the|your) (?:messages|prompt|input)"),
)


def is_about_rates(text: str) -> bool:
    """Whether the answer is about too much in a time: another failure, whatever else it says."""
    return _TOO_OFTEN.search(text) is not None


def read_wording(text: str) -> Wording | None:
    """What a text says about a request that is too large; None when it says no such thing."""
    return _read_maximum(text) or _read_figures(text) or _read_size(text) or _read_plain(text)


def _read_figures(text: str) -> Wording | None:
    for speaker, pattern in _FIGURES:
        if found := _pattern(pattern).search(text):
            figures = _numbers(found)
            if figures.keys() & {"size", "excess"} or not _ONLY_OUTPUT.search(text):
                return Wording("tokens", speaker, **figures)
    return None


def _read_maximum(text: str) -> Wording | None:
    """OpenAI's sentence and its relatives: the limit, a total, and what it is made of."""
    found = _pattern(_MAXIMUM).search(text)
    if found is None:
        return None
    total = _number(_TOTAL, text)
    size = next((n for pattern in _INPUT if (n := _number(pattern, text)) is not None), None)
    output = next((n for pattern in _OUTPUT if (n := _number(pattern, text)) is not None), None)
    if total is not None and total >= (output or 0):
        size = total - (output or 0)
    if size is None and _ONLY_OUTPUT.search(text):
        return None
    return Wording("tokens", "openai", size=size, output=output, **_numbers(found))


def _read_size(text: str) -> Wording | None:
    for pattern in _CHARACTERS:
        if found := _pattern(pattern).search(text):
            figures = _numbers(found)
            if figures["limit"] >= _LEAST_TEXT:
                return Wording("characters", **figures)
    for speaker, pattern in _BYTES:
        if found := _pattern(pattern).search(text):
            return Wording("bytes", speaker, **_numbers(found))
    return Wording("bytes") if _BODY_STATUS.search(text) else None


def _read_plain(text: str) -> Wording | None:
    for speaker, pattern in _PLAIN:
        if _pattern(pattern).search(text) and not _ONLY_OUTPUT.search(text):
            return Wording("tokens", speaker)
    return None


def _numbers(found: re.Match[str]) -> dict[str, Any]:
    return {name: _whole(digits) for name, digits in found.groupdict().items() if digits}


def _number(pattern: str, text: str) -> int | None:
    found = _pattern(pattern).search(text)
    return _whole(found["n"]) if found else None


def _whole(digits: str) -> int | None:
    plain = digits.replace(",", "").replace("_", "")
    # Longer ones are no count of anything, and int() refuses very long ones.
    return int(plain) if len(plain) <= 15 else None
