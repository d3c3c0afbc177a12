"""Why everything in a payload is there, and why the rest is not."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.window import Budget

Place: TypeAlias = Literal["tools", "system", "history", "tail", "settings", "out"]


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One stretch of the request, or one thing that was left out of it."""

    source: str
    """Who brought it: `system_prompt`, `history[4]`, `memory`, `skill:NAME`, `fold`, …"""
    place: Place
    tokens: int
    role: str | None = None
    preview: str = ""
    """The first words, for people."""
    reason: str | None = None
    """Why it is out, when it is out."""
    uri: str | None = None
    """Where it can be read, when it is out."""
    rule: str = ""
    """What put it there; in explanations."""
    path: str = ""
    """The block of the body that it stands in, as `messages[2].content[0]`; in explanations."""
    start: int = 0
    """Where it begins in the words of that block."""
    end: int = 0
    cached: bool | None = None
    """Whether the provider keeps it for the next request. None: nobody knows; in explanations."""
    repairs: tuple[str, ...] = ()
    """The rules by which it was mended; in explanations."""


PrefixPart: TypeAlias = Literal[
    "tool-added", "tool-removed", "tool-changed", "tools-reordered", "system", "skill", "model"
]


class PrefixChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something at the front of the request that is not what it was in the last one."""

    what: PrefixPart
    name: str | None = None
    """The tool, or the source as in `Span.source`."""
    rebilled_tokens: int = 0
    """Tokens that the last request held as well and that stand behind the change: a prompt cache
    does not serve them. Changes of one compile overlap: their costs are not to be added up."""
    kept: bool = False
    """The change was made in a way that leaves the cached prefix alone."""
    message: str = ""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a compile put where, what it mended and what it could not carry."""

    target: str
    model: str | None = None
    spans: tuple[Span, ...] = ()
    repairs: tuple[Repair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    budget: Budget | None = None
    prefix_changes: tuple[PrefixChange, ...] = ()
    """What changed at the front since the last request for this target, and what that costs."""

    @property
    def rebilled_tokens(self) -> int:
        """Tokens that a prompt cache cannot serve because something in front of them changed."""
        return max((change.rebilled_tokens for change in self.prefix_changes), default=0)

    @property
    def tokens(self) -> int:
        """Tokens of everything that is in, as counted here."""
        return sum(span.tokens for span in self.spans if span.place != "out")

    @property
    def sections(self) -> dict[str, int]:
        """Tokens by place: tools, system, history, tail."""
        totals = {"tools": 0, "system": 0, "history": 0, "tail": 0}
        for span in self.spans:
            if span.place != "out":
                totals[span.place] += span.tokens
        return totals

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {
            **msgspec.to_builtins(self),
            "tokens": self.tokens,
            "sections": self.sections,
            "rebilled_tokens": self.rebilled_tokens,
        }
