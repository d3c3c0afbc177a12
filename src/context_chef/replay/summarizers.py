"""Who summarises in a replay: a stand-in that copies out, one that keeps nothing, a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from context_chef.bridge import MaybeAwaitable
from context_chef.errors import MissingExtraError, SettingsError, nearest, shown
from context_chef.integrations.anthropic import anthropic_summarizer
from context_chef.integrations.gemini import gemini_summarizer
from context_chef.integrations.openai import openai_summarizer
from context_chef.ir.message import Message
from context_chef.replay.facts import Said, facts_in, one_line, words_of

Model = Callable[[Sequence[Message]], MaybeAwaitable[str]]

STAND_INS: Final = ("extractive", "scripted")
PROVIDERS: Final = ("anthropic", "openai", "openai-responses", "gemini")

_SHARE: Final = 0.12
_LEAST_CHARS: Final = 600
_MOST_CHARS: Final = 8_000
_KEYS: Final = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openai-responses": ("OPENAI_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}


class Summarizing(NamedTuple):
    """What summarises, and how it is described to people."""

    model: Model
    said: str
    paid: str | None = None
    """The model that really is called, when one is."""


def summarizing(spec: str) -> Summarizing:
    """`extractive`, `scripted`, or `PROVIDER:MODEL` for a real model with a key in the environment.

    Raises SettingsError for anything else, and for a key that is not there.
    """
    if spec == "extractive":
        return Summarizing(extract, EXTRACTIVE)
    if spec == "scripted":
        return Summarizing(scripted, SCRIPTED)
    provider, _, model = spec.partition(":")
    if provider not in PROVIDERS or not model:
        raise SettingsError(
            f"`summarizer` cannot be {shown(spec)}. {nearest(spec, STAND_INS)} Give `extractive`, "
            f"`scripted`, or PROVIDER:MODEL with one of {', '.join(PROVIDERS)}."
        )
    if not any(os.environ.get(name) for name in _KEYS[provider]):
        raise SettingsError(
            f"`summarizer` {shown(spec)} calls a real model, and there is no key: set "
            f"{' or '.join(_KEYS[provider])}, or leave `--summarizer` out for the offline stand-in."
        )
    said = f"Summaries were written by {model} of {provider}: this run is not reproducible."
    return Summarizing(_real(provider, model), said, model)


def _real(provider: str, model: str) -> Model:
    try:
        if provider == "anthropic":
            return anthropic_summarizer(import_module("anthropic").AsyncAnthropic(), model=model)
        if provider == "gemini":
            return gemini_summarizer(import_module("google.genai").Client(), model=model)
        client: Any = import_module("openai").AsyncOpenAI()
    except ImportError as error:
        extra = provider.partition("-")[0]
        raise MissingExtraError(f"A summary by {provider}", extra) from error
    api: Any = "responses" if provider == "openai-responses" else "chat"
    return openai_summarizer(client, model=model, api=api)


EXTRACTIVE: Final = (
    "No model was asked: summaries are made by a stand-in that copies out what people said, "
    "errors, identifiers, paths and numbers, to an eighth of the length."
)
SCRIPTED: Final = (
    "No model was asked: every summary is the same fixed note that keeps nothing. This is the "
    "worst case: what the figures say is kept does not depend on any summary."
)


def scripted(messages: Sequence[Message]) -> str:
    """A note of fixed size that keeps nothing of what it was shown."""
    return (
        "<summary>The earlier part of this conversation was about the task at hand. "
        f"{'Work on it went on. ' * 12}</summary>"
    )


def extract(messages: Sequence[Message]) -> str:
    """A summary made of pieces: what people said, then errors, names and figures, newest first.

    The same messages give the same summary. It takes an eighth of what it was shown, at most 8,000
    characters.
    """
    span = messages[:-1]
    texts = [words_of(message) for message in span]
    size = sum(map(len, texts))
    room = int(min(_MOST_CHARS, max(min(_LEAST_CHARS, size * 0.4), size * _SHARE)))
    lines: list[str] = []
    wanted = (
        ("What was asked and said:", _wishes(span, texts), room * 2 // 5),
        ("Errors met:", _facts(texts, "error"), room // 5),
        ("Names, paths and figures:", _facts(texts, "url", "path", "identifier", "number"),
         room * 2 // 5),
    )  # fmt: skip
    for heading, pieces, share in wanted:
        taken = _fitting(pieces, share)
        if taken:
            joined = ", ".join(taken) if heading.startswith("Names") else "\n- ".join(["", *taken])
            lines.append(f"{heading} {joined}" if joined[0] != "\n" else f"{heading}{joined}")
    return "<summary>\n" + ("\n\n".join(lines) or "Nothing of note.") + "\n</summary>"


def _wishes(span: Sequence[Message], texts: Sequence[str]) -> list[str]:
    """What people said, then the first line of what the model said, newest first."""
    people = [
        one_line(text)[:400]
        for message, text in zip(span, texts, strict=True)
        if message.role in ("user", "system") and text.strip()
    ]
    model = [
        one_line(message.text)[:160]
        for message in span
        if message.role == "assistant" and message.text.strip()
    ]
    first = people[:1]
    return [*first, *reversed(people[1:]), *reversed(model)]


def _facts(texts: Sequence[str], *kinds: str) -> list[str]:
    found: dict[Said, None] = {}
    for text in reversed(texts):
        for fact in facts_in(text):
            if fact.kind in kinds:
                found[fact] = None
    return [fact.text for fact in found]


def _fitting(pieces: Sequence[str], room: int) -> list[str]:
    taken: list[str] = []
    for piece in pieces:
        if len(piece) + 3 > room:
            continue
        taken.append(piece)
        room -= len(piece) + 3
    return taken
