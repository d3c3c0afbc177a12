"""The stage table: the order of a compile, the contract of each stage, and which may wait."""

from __future__ import annotations

from typing import Final, NamedTuple


class Stage(NamedTuple):
    """One step of a compile."""

    name: str
    contract: str
    waits: bool
    """May take arbitrarily long, so cancellation is looked at afterwards."""


STAGES: Final = (
    Stage("start", "The inputs are fixed, observers are told, the target is found.", waits=True),
    Stage(
        "transform-tool-results",
        "Tool results change before a summary or a count sees them; the transcript does not.",
        waits=True,
    ),
    Stage("handoff", "One notice per window, while headroom is inside the band.", waits=False),
    Stage("overflow", "Budget, strategy, archive: what leaves the window.", waits=True),
    Stage("inject", "Handlers add context that lives for one compile.", waits=True),
    Stage("memory", "Entries are read, expired, selected and rendered.", waits=True),
    Stage("skill", "The active skill is shown where its placement says.", waits=False),
    Stage("assemble", "System prompt, skill, memory, history, state, guardrail.", waits=True),
    Stage("tail", "What may change by the turn goes behind everything else.", waits=False),
    Stage("adapt", "The window becomes a request that the provider accepts.", waits=False),
    Stage("audit", "Misplaced cache breakpoints are reported.", waits=False),
    Stage("done", "The new state is published, observers are told.", waits=False),
)
"""Walked by the compiler; the architecture page is made from it."""
