"""`tune()`: a grid of settings over recorded sessions, and which of them to use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from context_chef.errors import SettingsError, nearest, shown
from context_chef.replay.configuration import (
    ReplayConfiguration,
    configuration,
    read_window,
    tokenizer_name,
    whole_size,
)
from context_chef.replay.replaying import Progress, ReplayOptions, play_all
from context_chef.replay.result import ConfigurationInfo, ReplayResult
from context_chef.replay.session import RecordedSession
from context_chef.replay.telling import Figures, by_configuration
from context_chef.selection.counting import resolve_tokenizer

Measure: TypeAlias = Literal["score", "window", "reachable"]
MEASURES: Final[tuple[Measure, ...]] = ("score", "window", "reachable")
"""How retention is measured, over the facts in what left the window: `window` is the share that is
still in front of the model, `reachable` adds what it can look up, `score` counts that half."""

STRATEGIES: Final = (
    "drop", "summarize", "anchored", "clear+summarize", "background(clear+summarize)", "clear+reset"
)  # fmt: skip
_SHARES: Final = (1.0, 0.5, 0.25)
_TRIGGERS: Final = (0.5, 0.7, 0.9)
_LEAST_WINDOW: Final = 2_000


class Trial(NamedTuple):
    """One configuration of the grid, and how it did over all sessions."""

    figures: Figures
    info: ConfigurationInfo
    retention: float
    cost: float
    """US$; tokens sent where a price is not known."""

    @property
    def usable(self) -> bool:
        """Whether every request fits, and would be accepted."""
        totals = self.figures.totals
        return not (self.figures.errors or self.figures.faults or totals.above)


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What a grid of settings came to."""

    result: ReplayResult
    trials: tuple[Trial, ...]
    """Every configuration, in the order of the grid."""
    front: tuple[Trial, ...]
    """Those that no other beats in both cost and retention, the cheapest first."""
    best: tuple[Trial, ...]
    """Those that keep to what was asked for, the best first."""
    measure: Measure
    priced: bool


def grid(
    sessions: Sequence[RecordedSession],
    *,
    target: str | None = None,
    model: str | None = None,
    window: int | str | None = None,
    strategies: Sequence[str] = STRATEGIES,
) -> list[ReplayConfiguration]:
    """Every strategy in the whole window, half and a quarter of it, with three triggers.

    A window beyond what the longest session needs is cut down to that. Raises SettingsError.
    """
    counter = resolve_tokenizer(tokenizer_name())
    longest = max(whole_size(session, counter) for session in sessions)
    windows: dict[int, None] = {}
    whole = _whole_window(sessions, longest, target=target, model=model, window=window)
    for share in _SHARES:
        windows[max(_LEAST_WINDOW, int(whole * share))] = None
    found: list[ReplayConfiguration] = []
    for strategy, tokens, trigger in product(strategies, windows, _TRIGGERS):
        made = configuration(
            strategy,
            target=target,
            model=model,
            window=tokens,
            name=f"{strategy} {tokens:,} at {trigger:.0%}",
        )
        janitor: dict[str, Any] = {**made.settings["janitor"], "trigger_ratio": trigger}
        settings = {**made.settings, "janitor": janitor}
        found.append(
            ReplayConfiguration(
                name=made.name, target=target, model=model, window=tokens, settings=settings
            )
        )
    return found


def _whole_window(
    sessions: Sequence[RecordedSession],
    longest: int,
    *,
    target: str | None,
    model: str | None,
    window: int | str | None,
) -> int:
    if window is not None:
        read = read_window(window)
        return read if isinstance(read, int) else max(_LEAST_WINDOW, int(longest * read))
    one = configuration("summarize", target=target, model=model)
    known = [one.for_session(session).window for session in sessions]
    given = min((tokens for tokens in known if tokens is not None), default=longest)
    return min(given, longest)


def tune(
    sessions: Sequence[RecordedSession],
    configurations: Sequence[ReplayConfiguration],
    *,
    max_cost: float | None = None,
    min_retention: float | None = None,
    measure: Measure = "score",
    options: ReplayOptions | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Tuning:
    """Play every session through every configuration and say which to use.

    With `max_cost` (US$ for all sessions) the best keep most within it; with `min_retention` (0 to
    1) they cost least and keep that much; with both they do both; with neither they are the front,
    best first by what they keep for each dollar more. Raises SettingsError for a meaningless
    figure, and for `max_cost` where no price is known.
    """
    if measure not in MEASURES:
        raise SettingsError(f"`measure` cannot be {shown(measure)}. {nearest(measure, MEASURES)}")
    if min_retention is not None and not 0 <= min_retention <= 1:
        raise SettingsError(f"`min_retention` is a share from 0 to 1, not {shown(min_retention)}.")
    if max_cost is not None and not max_cost > 0:
        raise SettingsError(f"`max_cost` is an amount above 0, not {shown(max_cost)}.")
    result = play_all(sessions, configurations, options=options, jobs=jobs, progress=progress)
    figures = by_configuration(result)
    priced = all(each.priced for each in figures)
    if max_cost is not None and not priced:
        raise SettingsError(
            "`max_cost` needs prices, and none is known for the model; give `prices`, or "
            "`min_retention` alone."
        )
    infos = [run.configuration for run in result.sessions[0].runs]
    trials = tuple(
        Trial(
            figures=each,
            info=info,
            retention=_retention(each, measure),
            cost=each.totals.cost if priced else float(each.totals.sent),
        )
        for each, info in zip(figures, infos, strict=True)
    )
    front = _front([trial for trial in trials if trial.usable])
    return Tuning(
        result=result,
        trials=trials,
        front=front,
        best=_best(trials, front, max_cost, min_retention),
        measure=measure,
        priced=priced,
    )


def _retention(figures: Figures, measure: Measure) -> float:
    kept = figures.share("window")
    if not figures.facts or measure == "window":
        return kept
    reached = figures.share("uri", "search")
    return kept + (reached if measure == "reachable" else reached / 2)


def _front(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    front: list[Trial] = []
    for trial in sorted(trials, key=lambda each: (each.cost, -each.retention, each.info.name)):
        if not front or trial.retention > front[-1].retention:
            front.append(trial)
    return tuple(front)


def _best(
    trials: Sequence[Trial],
    front: Sequence[Trial],
    max_cost: float | None,
    min_retention: float | None,
) -> tuple[Trial, ...]:
    if max_cost is None and min_retention is None:
        return tuple(sorted(front, key=_knee(front)))
    kept = [
        trial
        for trial in trials
        if trial.usable
        and (max_cost is None or trial.cost <= max_cost)
        and (min_retention is None or trial.retention >= min_retention)
    ]
    if min_retention is not None:
        return tuple(sorted(kept, key=lambda each: (each.cost, -each.retention, each.info.name)))
    return tuple(sorted(kept, key=lambda each: (-each.retention, each.cost, each.info.name)))


def _knee(front: Sequence[Trial]) -> Any:
    """Nearest to the corner where nothing costs anything and everything is kept."""
    costs = [trial.cost for trial in front]
    kept = [trial.retention for trial in front]
    wide = (max(costs, default=0) - min(costs, default=0)) or 1
    high = (max(kept, default=0) - min(kept, default=0)) or 1

    def distance(trial: Trial) -> tuple[float, str]:
        across = (trial.cost - min(costs)) / wide
        down = (max(kept) - trial.retention) / high
        return (across**2 + down**2, trial.info.name)

    return distance
