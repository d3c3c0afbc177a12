"""What a provider reported about a request, in one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.conversation import plain
from context_chef.ir.frozen import EMPTY

_MOST: Final = 10**12
"""Tokens that no request has."""


class _NoCountError(Exception):
    """Something stands where a count of tokens belongs."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one request and its answer."""

    input: int
    """All of the prompt, cached or not."""
    read: int = 0
    written: Mapping[str, int] = EMPTY
    """Tokens written to the cache, by the lifetime they were written for."""
    output: int = 0
    """The answer, thinking included."""

    @property
    def uncached(self) -> int:
        """Tokens that were neither read nor written."""
        return max(0, self.input - self.read - sum(self.written.values()))


def read_usage(reported: Any) -> Usage | None:
    """The usage of an answer of any of the four providers; None for what is none.

    Taken are the `usage` of Anthropic, OpenAI Chat and Responses, the `usageMetadata` of Gemini, as
    data or as the SDK's object, a `Usage`, and a row of `input`, `cache_read`, `cache_write` and
    `output`, where `input` does not count what was cached (as pi and the Claude SDKs write it).
    Figures that no request can have (nothing asked, less than nothing, more from the cache than
    was asked) are none: a server in between wrote them, and nobody is billed by them.
    """
    if reported is None:
        return None
    if isinstance(reported, Usage):
        return reported if _possible(reported) else None
    found = plain(reported)
    if not isinstance(found, Mapping):
        return None
    row = cast(Mapping[str, Any], found)
    for read in (_anthropic, _openai, _gemini, _row):
        try:
            usage = read(row)
        except _NoCountError:
            return None
        if usage is not None:
            return usage if _possible(usage) else None
    return None


def _possible(usage: Usage) -> bool:
    cached = (usage.read, *usage.written.values())
    figures = (usage.input, usage.output, *cached)
    return (
        usage.input > 0
        and all(0 <= figure <= _MOST for figure in figures)
        and sum(cached) <= usage.input
    )


def _anthropic(row: Mapping[str, Any]) -> Usage | None:
    if "cache_read_input_tokens" not in row and "cache_creation_input_tokens" not in row:
        return None
    if "input_tokens" not in row:
        return None
    read = _number(row.get("cache_read_input_tokens"))
    total = _number(row.get("cache_creation_input_tokens"))
    split = _map(row.get("cache_creation"))
    long = min(total, _number(split.get("ephemeral_1h_input_tokens")))
    return Usage(
        input=_number(row["input_tokens"]) + read + total,
        read=read,
        written=_positive({"5m": total - long, "1h": long}),
        output=_number(row.get("output_tokens")),
    )


def _openai(row: Mapping[str, Any]) -> Usage | None:
    for given, answered in (
        ("prompt_tokens", "completion_tokens"),
        ("input_tokens", "output_tokens"),
    ):
        if given not in row:
            continue
        details = _map(row.get(f"{given}_details"))
        return Usage(
            input=_number(row[given]),
            read=_number(details.get("cached_tokens")),
            written=_positive({"30m": _number(details.get("cache_write_tokens"))}),
            output=_number(row.get(answered)),
        )
    return None


def _gemini(row: Mapping[str, Any]) -> Usage | None:
    def of(camel: str, snake: str) -> int:
        return _number(row.get(camel, row.get(snake)))

    if "promptTokenCount" not in row and "prompt_token_count" not in row:
        return None
    return Usage(
        input=of("promptTokenCount", "prompt_token_count")
        + of("toolUsePromptTokenCount", "tool_use_prompt_token_count"),
        read=of("cachedContentTokenCount", "cached_content_token_count"),
        output=of("candidatesTokenCount", "candidates_token_count")
        + of("thoughtsTokenCount", "thoughts_token_count"),
    )


def _row(row: Mapping[str, Any]) -> Usage | None:
    if "input" not in row:
        return None
    read = _number(row.get("cache_read", row.get("cacheRead")))
    written = _number(row.get("cache_write", row.get("cacheWrite")))
    return Usage(
        input=_number(row["input"]) + read + written,
        read=read,
        written=_positive({"5m": written}),
        output=_number(row.get("output")),
    )


def _positive(written: Mapping[str, int]) -> dict[str, int]:
    return {ttl: tokens for ttl, tokens in written.items() if tokens > 0}


def _number(value: Any) -> int:
    """The count; 0 where there is none. Raises _NoCountError for what is no count."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        raise _NoCountError
    return int(value)


def _map(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
