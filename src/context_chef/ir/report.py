"""Why everything in a payload is there, and why the rest is not."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.window import Budget

Place: TypeAlias = Literal["tools", "system", "history", "tail", "out"]


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


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a compile put where, what it mended and what it could not carry."""

    target: str
    model: str | None = None
    spans: tuple[Span, ...] = ()
    repairs: tuple[Repair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    budget: Budget | None = None

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
        }
