"""A compression model out of a client of the `openai` SDK."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from context_chef.adaptation import OpenAIAdapter, OpenAIResponsesAdapter
from context_chef.errors import SettingsError, nearest, shown
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

Api: TypeAlias = Literal["responses", "chat"]
LimitName: TypeAlias = Literal["max_completion_tokens", "max_tokens"]

_APIS: Final = ("responses", "chat")
_LIMIT_NAMES: Final = ("max_completion_tokens", "max_tokens")
_COMPLETE: Final = frozenset({None, "stop", "end_turn", "eos", "eos_token", "stop_sequence"})
"""Servers that speak OpenAI's language have names of their own for the same."""


def openai_summarizer(
    client: Any,
    *,
    model: str,
    api: Api = "responses",
    max_tokens: int | None = None,
    system: str | None = None,
    reasoning_effort: str | None = None,
    limit_name: LimitName = "max_completion_tokens",
    timeout: float | None = None,
) -> Summarizer:
    """A `compression_model` that asks `responses.create` or `chat.completions.create`.

    `client` is an `OpenAI` or `AsyncOpenAI` (Azure ones too); an async one makes an async model.
    `max_tokens` holds for reasoning and summary together, None leaves it to the model; `system`
    takes the place of our own system prompt; `timeout` is in seconds. Nothing is stored with
    OpenAI. For other servers that speak its language: `api="chat"`, and `limit_name="max_tokens"`
    where the newer name is not known.

    The model raises UnusableAnswerError for an answer that is cut off, empty or refused, so that it
    counts as a failure; errors of the SDK go through. It retries nothing beyond what the client is
    set to.
    """
    check_settings(model=model, max_tokens=max_tokens, timeout=timeout)
    _choice("api", api, _APIS)
    _choice("limit_name", limit_name, _LIMIT_NAMES)
    options: dict[str, Any] = {"model": model}
    if timeout is not None:
        options["timeout"] = timeout
    chat = api == "chat"
    if chat:
        path, adapter, target = "chat.completions.create", OpenAIAdapter(), "openai"
        if reasoning_effort is not None:
            options["reasoning_effort"] = reasoning_effort
    else:
        path, adapter, target = "responses.create", OpenAIResponsesAdapter(), "openai-responses"
        options["store"] = False
        if reasoning_effort is not None:
            options["reasoning"] = {"effort": reasoning_effort}
    if max_tokens is not None:
        options[limit_name if chat else "max_output_tokens"] = max_tokens

    def arguments(messages: Sequence[Message]) -> dict[str, Any]:
        asked = summary_arguments(
            messages, target=target, model=model, adapter=adapter, system=system
        )
        return {**options, **asked}

    def read(answer: Any) -> str:
        return _read_chat(answer, max_tokens) if chat else _read_response(answer, max_tokens)

    return summarizer(client, path, arguments, read, wanted="a client of `openai`")


def _read_chat(answer: Any, max_tokens: int | None) -> str:
    choices = rows(answer, "choices")
    if not choices:
        # Routers answer 200 with an error in it when the model behind them failed.
        raise unfinished(field(answer, "error", "message") or field(answer, "error") or "no choice")
    reason = field(choices[0], "finish_reason")
    refusal = field(choices[0], "message", "refusal")
    if reason == "length":
        raise truncated(reason, max_tokens)
    if refusal or reason == "content_filter":
        raise refused(refusal or reason)
    if reason not in _COMPLETE:
        raise unfinished(reason)
    content = field(choices[0], "message", "content")
    if isinstance(content, str):
        return accepted(content)
    return accepted("".join(str(field(part, "text") or "") for part in rows(content)))


def _read_response(answer: Any, max_tokens: int | None) -> str:
    status = field(answer, "status")
    if status == "incomplete":
        reason = field(answer, "incomplete_details", "reason")
        if reason == "content_filter":
            raise refused(reason)
        raise truncated(reason or status, max_tokens)
    if status not in (None, "completed"):
        raise unfinished(field(answer, "error", "message") or status)
    parts = [
        part
        for item in rows(answer, "output")
        if field(item, "type") == "message"
        for part in rows(item, "content")
    ]
    for part in parts:
        if field(part, "type") == "refusal":
            raise refused(field(part, "refusal"))
    return accepted(
        "".join(str(field(p, "text") or "") for p in parts if field(p, "type") == "output_text")
    )


def _choice(setting: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise SettingsError(f"`{setting}` cannot be {shown(value)}. {nearest(value, known)}")
