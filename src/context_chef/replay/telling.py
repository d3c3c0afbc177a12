"""A result in words and rows, for people: what the command prints and a report begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from context_chef.replay.result import (
    FACT_KINDS,
    FATES,
    FactKind,
    Fate,
    ReplayResult,
    Run,
    SessionReplay,
    Totals,
)


class Figures(NamedTuple):
    """One configuration over one session or several."""

    name: str
    target: str
    model: str | None
    window: int | None
    strategy: str
    totals: Totals
    counts: Mapping[FactKind, Mapping[Fate, int]]
    evicted: int
    errors: tuple[str, ...]
    faults: int
    """Faults of single requests and of the session together."""
    priced: bool

    @property
    def facts(self) -> int:
        """Facts in what left."""
        return self.of()

    def of(self, *fates: Fate) -> int:
        """How many facts have one of these fates; all without any."""
        return sum(by.get(fate, 0) for by in self.counts.values() for fate in fates or FATES)

    def share(self, *fates: Fate) -> float:
        """The share of facts with one of these fates, 1 when nothing left."""
        return self.of(*fates) / self.facts if self.facts else 1.0


def figures_of(runs: Sequence[Run]) -> Figures:
    """The runs of one configuration added up."""
    first = runs[0].configuration
    counts: dict[FactKind, dict[Fate, int]] = {}
    for kind in FACT_KINDS:
        found = [run.retention.counts.get(kind, {}) for run in runs]
        by: dict[Fate, int] = {fate: sum(each.get(fate, 0) for each in found) for fate in FATES}
        if any(by.values()):
            counts[kind] = by
    windows = {run.configuration.window for run in runs}
    models = {run.configuration.model for run in runs}
    targets = {run.configuration.target for run in runs}
    return Figures(
        name=first.name,
        target=first.target if len(targets) == 1 else "several",
        model=first.model if len(models) == 1 else None,
        window=first.window if len(windows) == 1 else None,
        strategy=first.strategy,
        totals=_sum([run.totals for run in runs]),
        counts=counts,
        evicted=sum(run.retention.evicted_messages for run in runs),
        errors=tuple(run.error for run in runs if run.error),
        faults=sum(run.totals.faults + len(run.sequence_faults) for run in runs),
        priced=all(run.prices for run in runs if run.requests),
    )


def _sum(totals: Sequence[Totals]) -> Totals:
    fields = {
        name: sum(getattr(each, name) for each in totals) for name in Totals.__struct_fields__
    }
    return Totals(**{**fields, "peak": max((each.peak for each in totals), default=0)})


def by_configuration(result: ReplayResult) -> list[Figures]:
    """Every configuration over all sessions."""
    if not result.sessions:
        return []
    several = zip(*(session.runs for session in result.sessions), strict=True)
    return [figures_of(runs) for runs in several]


COLUMNS = (
    ("configuration", False), ("tokens sent", True), ("largest", True), ("over window", True),
    ("folds", True), ("summaries", True), ("from cache", True), ("cache broken", True),
    ("paid again", True), ("cost", True), ("mended", True), ("refused", True),
    ("facts left", True), ("in window", True), ("reachable", True),
)  # fmt: skip
"""The columns of the table that compares configurations, and whether they hold numbers."""


def row_of(figures: Figures) -> tuple[str, ...]:
    """One configuration as a row of that table."""
    totals = figures.totals
    return (
        figures.name,
        f"{totals.sent:,}",
        f"{totals.peak:,}",
        f"{totals.above:,}" if totals.above else "-",
        f"{totals.folds:,}",
        f"{totals.summarizer_calls:,}",
        percent(totals.hit_share),
        f"{totals.busts:,}",
        f"{totals.rebilled:,}",
        money(totals.cost) if figures.priced else "?",
        f"{totals.repairs:,}",
        f"{figures.faults:,}" if figures.faults else "-",
        f"{figures.facts:,}",
        percent(figures.share("window")) if figures.facts else "",
        percent(figures.share("window", "uri", "search")) if figures.facts else "",
    )


def percent(share: float) -> str:
    """A share as whole per cent; never rounded up to all, or down to nothing."""
    if 0 < share < 0.01:
        return "<1%"
    return f"{min(round(share * 100), 99) if share < 1 else 100}%"


def money(amount: float) -> str:
    """US$ with as many digits as say something."""
    if amount >= 100:
        return f"${amount:,.0f}"
    return f"${amount:,.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.4f}"


def in_words(result: ReplayResult) -> list[str]:
    """What the result shows, one plain sentence or two for each configuration."""
    return [_sentence(figures) for figures in by_configuration(result)]


def _sentence(figures: Figures) -> str:
    totals = figures.totals
    cost = f" for {money(totals.cost)}" if figures.priced else ""
    parts = [f"{figures.name}: {totals.requests:,} requests, {totals.sent:,} tokens{cost}."]
    if figures.errors:
        parts.append(f"It stopped early: {figures.errors[0]}")
    if totals.above:
        parts.append(
            f"{_counted(totals.above, 'request')} would not fit the window and be refused."
        )
    elif figures.window is not None:
        parts.append(f"Every request fits the window of {figures.window:,} tokens.")
    if figures.faults:
        parts.append(f"The provider's rules are broken in {_counted(figures.faults, 'place')}.")
    if totals.folds:
        parts.append(
            f"Older messages left {_counted(totals.folds, 'time')}; of {figures.facts:,} facts in "
            f"them {percent(figures.share('window'))} are still in front of the model, "
            f"{percent(figures.share('uri', 'search'))} it can look up, "
            f"{percent(figures.share('lost'))} are lost."
        )
    prompt = totals.cache_read + totals.cache_written + totals.uncached
    if prompt:
        parts.append(f"{percent(totals.hit_share)} of the input came out of the prompt cache.")
    return " ".join(parts)


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def causes(session: SessionReplay) -> list[tuple[str, str, int, int]]:
    """Why the cache broke: configuration, cause, how often, tokens paid for again."""
    rows: list[tuple[str, str, int, int]] = []
    for run in session.runs:
        found: dict[str, list[int]] = {}
        for request in run.requests:
            for bust in request.busts:
                cause = f"{bust.cause} {bust.name}".strip()
                found.setdefault(cause, []).append(bust.rebilled)
        rows += [
            (run.configuration.name, cause, len(tokens), sum(tokens))
            for cause, tokens in sorted(found.items(), key=lambda item: (-sum(item[1]), item[0]))
        ]
    return rows


def kinds_table(figures: Sequence[Figures]) -> list[tuple[str, ...]]:
    """What became of each kind of fact: configuration, kind, and one column for each fate."""
    return [
        (each.name, kind, *(f"{each.counts[kind].get(fate, 0):,}" for fate in FATES))
        for each in figures
        for kind in FACT_KINDS
        if kind in each.counts
    ]
