"""A rule of every provider: the body can be written as JSON that others can read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, get_args

from context_chef.adaptation.wire_rules.json_access import as_list, as_map
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, Target, WireRule


def _saying(target: Target, text: str) -> dict[str, Any]:
    """A small request that says it."""
    said = {"role": "user", "content": text}
    match target:
        case "openai":
            return {"model": "gpt-4o", "messages": [said]}
        case "openai-responses":
            return {"model": "gpt-4o", "input": [said]}
        case "anthropic":
            return {"model": "claude-sonnet-4-5", "max_tokens": 64, "messages": [said]}
        case "gemini":
            return {"contents": [{"role": "user", "parts": [{"text": text}]}]}


def _rule(target: Target) -> WireRule:
    book = RuleBook(target)
    book.rule(
        "json-text",
        "Texts hold no half of a surrogate pair, numbers are finite: the body is JSON.",
        gist="The request body is not valid JSON: no low surrogate in string",
        source="anthropics/claude-code#8272, #60394, #3277; link-assistant/hive-mind#1324",
        sureness="A",
        repair="Half a surrogate pair becomes U+FFFD.",
        passing=_saying(target, "A whole pair: \U0001f642"),
        failing=_saying(target, "Half a pair: \ud83d"),
    )(_json_text)
    return book.rules[0]


def _json_text(request: Request) -> Iterator[Finding]:
    return _faults(request.body, "")


def _faults(value: Any, path: str) -> Iterator[Finding]:
    if isinstance(value, str):
        if not value.isascii() and _is_torn(value):
            yield Finding(path, "half of a surrogate pair in the text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield Finding(path, f"{value!r} is no JSON number")
    elif isinstance(value, Mapping):
        for key, inner in as_map(value).items():
            if not key.isascii() and _is_torn(key):
                yield Finding(path, "half of a surrogate pair in a key")
            yield from _faults(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(as_list(value)):
            yield from _faults(inner, f"{path}[{index}]")


def _is_torn(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


JSON_RULES: Final[Mapping[Target, WireRule]] = {
    target: _rule(target) for target in get_args(Target)
}
