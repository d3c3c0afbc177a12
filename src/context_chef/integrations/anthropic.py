"""A compression model out of a client of the `anthropic` SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation import AnthropicAdapter
from context_chef.integrations.summarizing import (
    Summarizer,
    accepted,
    check_settings,
    field,
    refused,
    rows,
    summarizer,
    summary_arguments,
    truncated,
    unfinished,
)
from context_chef.ir.message import Message

_COMPLETE: Final = frozenset({None, "end_turn", "stop_sequence"})
_CUT_OFF: Final = frozenset({"max_tokens", "model_context_window_exceeded"})
_QUICK: Final = 8_000
"""With more tokens the SDK may refuse a call without a `timeout` of its own."""


def anthropic_summarizer(
    client: Any,
    *,
    model: str,
    max_tokens: int = 4096,
    system: str | None = None,
    thinking: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Summarizer:
    """A `compression_model` that asks `client.messages.create`.

    `client` is an `Anthropic` or `AsyncAnthropic` (Bedrock and Vertex ones too); an async one makes
    an async model. `max_tokens` holds for thinking and summary together, `system` takes the place
    of our own system prompt, `thinking` goes out as it is, `timeout` is in seconds.

    The model raises UnusableAnswerError for an answer that is cut off, empty or refused, so that it
    counts as a failure; errors of the SDK go through. It retries nothing beyond what the client is
    set to.
    """
    check_settings(model=model, max_tokens=max_tokens, timeout=timeout)
    adapter = AnthropicAdapter()
    options: dict[str, Any] = {"model": model, "max_tokens": max_tokens}
    if thinking is not None:
        options["thinking"] = dict(thinking)
    if timeout is not None:
        options["timeout"] = timeout
    elif max_tokens > _QUICK:
        options["timeout"] = max(600.0, 3600 * max_tokens / 128_000)

    def arguments(messages: Sequence[Message]) -> dict[str, Any]:
        asked = summary_arguments(
            messages, target="anthropic", model=model, adapter=adapter, system=system
        )
        return {**options, **asked}

    def read(answer: Any) -> str:
        reason = field(answer, "stop_reason")
        if reason in _CUT_OFF:
            raise truncated(reason, max_tokens)
        if reason == "refusal":
            raise refused(field(answer, "stop_details", "explanation") or reason)
        if reason not in _COMPLETE:
            raise unfinished(reason)
        blocks = rows(answer, "content")
        return accepted(
            "".join(str(field(b, "text") or "") for b in blocks if field(b, "type") == "text")
        )

    return summarizer(client, "messages.create", arguments, read, wanted="a client of `anthropic`")
