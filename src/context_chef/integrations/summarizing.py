"""What all summarisers share: the request made of a span, and which answers count as a summary."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

from context_chef.adaptation import (
    AdaptRequest,
    AnthropicAdapter,
    GeminiAdapter,
    OpenAIAdapter,
    OpenAIResponsesAdapter,
    make_sendable,
)
from context_chef.adaptation.profiles import profile_for
from context_chef.bridge import MaybeAwaitable
from context_chef.errors import InputError, SettingsError, UnusableAnswerError, shown
from context_chef.ir.blocks import Provider
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages
from context_chef.prompts.summarizer import SUMMARIZER_ROLE, transcript
from context_chef.selection.flatten import flatten_for_compression, for_summary

Summarizer: TypeAlias = Callable[[Sequence[Message]], MaybeAwaitable[str]]
"""A `compression_model`: the span and one user message with the instruction, answered with text."""

Reason: TypeAlias = Literal["truncated", "empty", "refused", "unfinished"]

Adapter: TypeAlias = AnthropicAdapter | GeminiAdapter | OpenAIAdapter | OpenAIResponsesAdapter

_BREAK: Final = "\n\n"


def summary_arguments(
    messages: Sequence[MessageLike],
    *,
    target: Provider,
    model: str,
    adapter: Adapter,
    system: str | None,
) -> dict[str, Any]:
    """The arguments of the SDK call that asks for the summary: no tools, no media, one user turn.

    The span is told as a transcript in front of the instruction, so that no role, call or result in
    it can make the request invalid or pass for an order to the summarising model.
    """
    *span, instruction = _checked(messages)
    text = instruction.text
    told = [
        (message.role, message.text)
        for message in flatten_for_compression(for_summary(span, stub_threshold=None))
        if message.text.strip()
    ]
    if told:
        text = transcript(told) + _BREAK + text
    role = SUMMARIZER_ROLE if system is None else system
    profile = profile_for(model, target)
    window = [Message.user(text)]
    if role.strip():
        if profile is not None and not profile.leading_system:
            window = [Message.user(role + _BREAK + text)]
        else:
            window.insert(0, Message.system(role))
    sendable = make_sendable(window, target=target, profile=profile).messages
    adapted = adapter.adapt(AdaptRequest(messages=sendable, profile=profile))
    return adapter.sdk_arguments(adapted)


def _checked(messages: Sequence[MessageLike]) -> tuple[Message, ...]:
    read = read_messages(messages)
    if not read:
        raise InputError("there is no message; the last one has to hold the instruction", path="$")
    if read[-1].role != "user" or not read[-1].text.strip():
        raise InputError(
            f"the last message has to be the user's, with the instruction as its text, not "
            f"{shown(read[-1].role)} with {shown(read[-1].text[:40])}",
            path=f"$[{len(read) - 1}]",
        )
    return read


def summarizer(
    client: Any,
    path: str,
    arguments: Callable[[Sequence[Message]], dict[str, Any]],
    read: Callable[[Any], str],
    *,
    wanted: str,
) -> Summarizer:
    """A compression model that is as sync or async as the client's method at `path`.

    Errors and cancellation of the call go through as they are; nothing is tried again here. Raises
    SettingsError when the client has no such method.
    """
    create = _method(client, path)
    if create is None:
        raise SettingsError(
            f"`client` has to be {wanted}, with a method `{path}`, not {shown(client)}."
        )
    if inspect.iscoroutinefunction(inspect.unwrap(create)):

        async def summarize_async(messages: Sequence[Message]) -> str:
            return read(await _call(client, path, arguments(messages)))

        return summarize_async

    def summarize_sync(messages: Sequence[Message]) -> MaybeAwaitable[str]:
        answer = _call(client, path, arguments(messages))
        # A client behind a wrapper may be async without looking like it.
        return _later(answer, read) if inspect.isawaitable(answer) else read(answer)

    return summarize_sync


async def _later(answer: Awaitable[Any], read: Callable[[Any], str]) -> str:
    return read(await answer)


def _call(client: Any, path: str, arguments: dict[str, Any]) -> Any:
    # The client itself is kept and not its method: a google-genai client closes when it is let go.
    create = _method(client, path)
    assert create is not None
    return create(**arguments)


def _method(client: Any, path: str) -> Callable[..., Any] | None:
    found: Any = client
    for name in path.split("."):
        found = getattr(found, name, None)
    return cast("Callable[..., Any]", found) if callable(found) else None


def check_settings(*, model: object, max_tokens: object, timeout: object) -> None:
    """Raise SettingsError for values that cannot mean anything."""
    if not isinstance(model, str) or not model.strip():
        raise SettingsError(f"`model` has to be the name of a model, not {shown(model)}.")
    whole = isinstance(max_tokens, int) and not isinstance(max_tokens, bool)
    if max_tokens is not None and (not whole or cast("int", max_tokens) < 1):
        raise SettingsError(
            "`max_tokens` has to be a whole number of 1 or more, as in 4096, not "
            f"{shown(max_tokens)}."
        )
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if timeout is not None and (not number or not cast("float", timeout) > 0):
        raise SettingsError(
            f"`timeout` has to be a number of seconds above 0, as in 120, not {shown(timeout)}."
        )


def accepted(text: str) -> str:
    """The text of a finished answer. Raises UnusableAnswerError when it is blank."""
    if not text.strip():
        raise UnusableAnswerError("empty", "The summarising model finished without any text.")
    return text


def truncated(said: object, max_tokens: int | None) -> UnusableAnswerError:
    """The error for an answer that was cut off."""
    limit = "" if max_tokens is None else f" (now {max_tokens})"
    return UnusableAnswerError(
        "truncated",
        f"The summary was cut off ({shown(said)}), and half a summary must not stand for a whole "
        "span: "
        f"raise `max_tokens`{limit} or ask for a shorter summary.",
    )


def refused(said: object) -> UnusableAnswerError:
    """The error for an answer that a model or a filter refused to give."""
    return UnusableAnswerError(
        "refused", f"The summarising model refused to answer: {shown(said)}."
    )


def unfinished(said: object) -> UnusableAnswerError:
    """The error for an answer that ended in some other way than by being complete."""
    return UnusableAnswerError(
        "unfinished", f"The answer of the summarising model is not a finished one: {shown(said)}."
    )


def field(source: object, *path: str) -> Any:
    """A field of an SDK object or of the same as plain data; None when it is not there."""
    for name in path:
        source = (
            cast("Mapping[str, object]", source).get(name)
            if isinstance(source, Mapping)
            else getattr(source, name, None)
        )
    return source


def rows(source: object, *path: str) -> Sequence[Any]:
    """A list at that place; empty when there is none."""
    found = field(source, *path)
    return cast("Sequence[Any]", found) if isinstance(found, (list, tuple)) else ()
