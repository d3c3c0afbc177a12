"""What the report tells apart in a request, with a colour for each: one table for every picture."""

from __future__ import annotations

from typing import Final, NamedTuple

from context_chef.explaining.rules import kind_of_source
from context_chef.replay.result import SpanText


class Kind(NamedTuple):
    """One band of the stacked picture."""

    key: str
    label: str
    said: str
    light: str
    dark: str


KINDS: Final = (
    Kind("tools", "tools", "definitions of the tools on offer", "#4a5362", "#8d97a6"),
    Kind("system", "system prompt", "who the agent is, standing rules", "#a3abb8", "#59626f"),
    Kind("skills", "skills", "instructions of the active skill", "#a2479c", "#d78bd1"),
    Kind("memory", "memory", "what was remembered, and how to use it", "#2f9e8f", "#5fd6c2"),
    Kind("summary", "summaries and notices", "stands for what left", "#e07b16", "#e5821e"),
    Kind("user", "user", "what people said", "#10386f", "#1d55a3"),
    Kind("assistant", "assistant", "what the model said and called", "#3c7fc9", "#4f92dc"),
    Kind("results", "tool results", "what tools answered", "#9cc4ea", "#a9cff2"),
    Kind("tail", "state and reminders", "what is put last, for one request", "#e3c21f", "#f3e07a"),
)
"""From the bottom of the picture to its top, which is how a request is read.

The conversation is three blues and what stands in front of it two greys, told apart by lightness;
the other hues stay apart for eyes that see red and green alike."""

_AT: Final = {kind.key: at for at, kind in enumerate(KINDS)}
_OF_GROUP: Final = {
    "tools": "tools",
    "system": "system",
    "summary": "summary",
    "user": "user",
    "assistant": "assistant",
    "tool results": "results",
    "tail": "tail",
}
_OF_SOURCE: Final = {
    "memory": "memory",
    "memory_instruction": "memory",
    "skill": "skills",
    "cleared": "summary",
}
_LABELS: Final = {
    "system_prompt": "system prompt",
    "memory": "memory",
    "memory_instruction": "how memory works",
    "dynamic_state": "state",
    "implicit_context": "injected by a handler",
    "announcements": "announcements",
    "announcement": "announcement",
    "anchor": "what is current",
    "guardrail": "guardrail",
    "prefill": "opening of the answer",
    "summary": "summary of what left",
    "dropped": "notice that messages left",
    "cleared": "notice that a result left",
    "fold": "stands for what left",
    "toolkits": "directory of toolkits",
    "tool_change": "tools that came or went",
    "sent_tail": "tail of an earlier request",
    "slot": "brought by a handler",
}


def kind_of(span: SpanText) -> int:
    """Which of `KINDS` a span is."""
    of_source = _OF_SOURCE.get(kind_of_source(span.source)) if span.group != "tools" else None
    return _AT[of_source or _OF_GROUP[span.group]]


def label_of(span: SpanText) -> str:
    """Who brought a span, in words."""
    kind, _, name = span.source.partition(":")
    if span.group == "tools":
        return f"tool {name}" if name else "tools"
    if kind in ("history", "fold") and span.group != "summary":
        return {"tool results": "tool result"}.get(span.group, span.group)
    said = _LABELS.get(kind, kind.replace("_", " "))
    return f"{said} {name}".strip()


def colours() -> str:
    """The colours as custom properties, for light and for dark."""
    light = "".join(f"--{kind.key}:{kind.light};" for kind in KINDS)
    dark = "".join(f"--{kind.key}:{kind.dark};" for kind in KINDS)
    return f":root{{{light}}}\n@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
