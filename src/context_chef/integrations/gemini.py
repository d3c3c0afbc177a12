"""A compression model out of a client of the `google-genai` SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from context_chef.adaptation import GeminiAdapter
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

_COMPLETE: Final = frozenset({None, "STOP", "FINISH_REASON_UNSPECIFIED"})
_REFUSED: Final = frozenset(
    {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR"}
)


def gemini_summarizer(
    client: Any,
    *,
    model: str,
    max_tokens: int | None = None,
    system: str | None = None,
    thinking: Mapping[str, Any] | None = None,
    timeout: float | None = None,
) -> Summarizer:
    """A `compression_model` that asks `client.models.generate_content`.

    `client` is a `google.genai.Client`, or its `client.aio`, which makes an async model.
    `max_tokens` holds for thinking and summary together, None leaves it to the model; `system`
    takes the place of our own system prompt; `thinking` is its `thinking_config`; `timeout` is in
    seconds.

    The model raises UnusableAnswerError for an answer that is cut off, empty or refused, so that it
    counts as a failure; errors of the SDK go through. It retries nothing beyond what the client is
    set to.
    """
    check_settings(model=model, max_tokens=max_tokens, timeout=timeout)
    adapter = GeminiAdapter()
    options: dict[str, Any] = {}
    if max_tokens is not None:
        options["max_output_tokens"] = max_tokens
    if thinking is not None:
        options["thinking_config"] = dict(thinking)
    if timeout is not None:
        options["http_options"] = {"timeout": max(1, round(timeout * 1000))}

    def arguments(messages: Sequence[Message]) -> dict[str, Any]:
        asked = summary_arguments(
            messages, target="gemini", model=model, adapter=adapter, system=system
        )
        config = {**asked.pop("config", {}), **options}
        return {"model": model, **asked, **({"config": config} if config else {})}

    def read(answer: Any) -> str:
        blocked = _name(field(answer, "prompt_feedback", "block_reason"))
        candidates = rows(answer, "candidates")
        if blocked:
            raise refused(field(answer, "prompt_feedback", "block_reason_message") or blocked)
        if not candidates:
            raise unfinished("no candidate")
        reason = _name(field(candidates[0], "finish_reason"))
        if reason == "MAX_TOKENS":
            raise truncated(reason, max_tokens)
        if reason in _REFUSED:
            raise refused(field(candidates[0], "finish_message") or reason)
        if reason not in _COMPLETE:
            raise unfinished(reason)
        parts = rows(candidates[0], "content", "parts")
        return accepted(
            "".join(str(field(p, "text") or "") for p in parts if not field(p, "thought"))
        )

    wanted = "a `google.genai.Client` or its `aio`"
    return summarizer(client, "models.generate_content", arguments, read, wanted=wanted)


def _name(value: Any) -> str | None:
    """The name of an enum's member, or the plain text that an unknown one stays."""
    return None if value is None else str(getattr(value, "value", value))
