"""What a test may demand of replayed sessions: cost, busts, window, validity, retention."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, MutableMapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self

from context_chef.errors import SettingsError, shown
from context_chef.replay.configuration import (
    ReplayConfiguration,
    configuration,
    configurations_of,
    read_configurations,
)
from context_chef.replay.replaying import ReplayOptions, play_all, read_all
from context_chef.replay.result import ReplayResult, Run, Totals
from context_chef.replay.telling import Figures, figures_of, money, percent

_SHOWN = 5
_ASKED = ("config", "settings", "strategy", "target", "model", "window")


class Replayed:
    """Sessions as one configuration would have run them.

    Every `assert_…` answers the object itself, so that they chain, and raises AssertionError saying
    what was asked for, what it is, and the requests that are to blame.
    """

    def __init__(self, result: ReplayResult) -> None:
        self.result = result
        """Everything that is known."""
        self.runs: tuple[Run, ...] = tuple(session.runs[0] for session in result.sessions)
        """One run for each session."""
        self.figures: Figures = figures_of(self.runs)
        """All sessions added up."""

    def __repr__(self) -> str:
        totals = self.totals
        return (
            f"<Replayed {self.figures.name!r}: {totals.requests} requests, {totals.sent:,} tokens>"
        )

    @property
    def totals(self) -> Totals:
        """The figures of all sessions."""
        return self.figures.totals

    @property
    def cost(self) -> float:
        """US$ for all sessions, the summariser included."""
        return self.totals.cost

    def assert_cost(self, *, at_most: float) -> Self:
        """All sessions together cost no more than this, in US$."""
        __tracebackhide__ = True
        self.assert_complete()
        if not self.figures.priced:
            raise AssertionError(
                f"no price is known for {shown(self.figures.model)}; give `prices=` to the replay."
            )
        if not self.cost <= _limit("at_most", at_most):
            raise AssertionError(
                f"the sessions cost {money(self.cost)}, more than {money(at_most)}."
                + self._worst("costs", lambda request: request.cost, money)
            )
        return self

    def assert_busts(
        self, *, at_most: int = 0, allowing: Collection[str] | str = (), rebilled: int | None = None
    ) -> Self:
        """The prompt cache is broken no more often than this, and for no more tokens.

        Causes in `allowing` (such as `"fold"`, which overflow cannot do without) are not counted.
        """
        __tracebackhide__ = True
        self.assert_complete()
        _limit("at_most", at_most)
        allowed = {allowing} if isinstance(allowing, str) else set(allowing)
        busts = [
            (session.name, request.number, bust)
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for request in run.requests
            for bust in request.busts
            if bust.cause not in allowed
        ]
        tokens = sum(bust.rebilled for _, _, bust in busts)
        told = "".join(
            f"\n  {name}, request {number}: {bust.cause} {bust.name}".rstrip()
            + f" ({bust.rebilled:,} tokens paid again) {bust.message}".rstrip()
            for name, number, bust in sorted(busts, key=lambda each: -each[2].rebilled)[:_SHOWN]
        )
        if len(busts) > at_most:
            raise AssertionError(
                f"the prompt cache was broken {len(busts)} times, and {at_most} are allowed.{told}"
            )
        if rebilled is not None and tokens > _limit("rebilled", rebilled):
            raise AssertionError(
                f"{tokens:,} tokens were paid for again, and {rebilled:,} are allowed.{told}"
            )
        return self

    def assert_hit_share(self, *, at_least: float) -> Self:
        """At least this share of the input comes out of the prompt cache, 0 to 1."""
        __tracebackhide__ = True
        self.assert_complete()
        if not self.totals.hit_share >= _share("at_least", at_least):
            raise AssertionError(
                f"{percent(self.totals.hit_share)} of the input comes out of the cache, less than "
                f"{percent(at_least)}."
            )
        return self

    def assert_fits(self, *, within: int | None = None) -> Self:
        """Every request fits its window, or `within` tokens."""
        __tracebackhide__ = True
        self.assert_complete()
        above = [
            (session.name, request.number, request.tokens, limit)
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for request in run.requests
            if (limit := within if within is not None else request.limit) is not None
            and request.tokens > limit
        ]
        if above:
            told = "".join(
                f"\n  {name}, request {number}: {tokens:,} of {limit:,}"
                for name, number, tokens, limit in above[:_SHOWN]
            )
            raise AssertionError(f"{len(above)} requests do not fit the window.{told}")
        return self

    def assert_valid(self) -> Self:
        """No request, and no session, breaks a rule of the provider."""
        __tracebackhide__ = True
        self.assert_complete()
        faults = [
            f"\n  {session.name}, request {request.number}: {fault.where}: {fault.message} "
            f"[{fault.rule}]"
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for request in run.requests
            for fault in request.faults
        ]
        faults += [
            f"\n  {session.name}: {fault.where}: {fault.message} [{fault.rule}]"
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for fault in run.sequence_faults
        ]
        if faults:
            raise AssertionError(
                f"the provider would refuse this, for {len(faults)} reasons."
                + "".join(faults[:_SHOWN])
            )
        return self

    def assert_repairs(self, *, at_most: int = 0) -> Self:
        """No more than this had to be mended."""
        __tracebackhide__ = True
        self.assert_complete()
        _limit("at_most", at_most)
        mended = [
            f"\n  {session.name}, request {request.number}: {each.where}: {each.message}"
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for request in run.requests
            for each in request.repairs
        ]
        if len(mended) > at_most:
            raise AssertionError(
                f"{len(mended)} places were mended, and {at_most} are allowed."
                + "".join(mended[:_SHOWN])
            )
        return self

    def assert_retention(
        self, *, reachable: float | None = None, in_window: float | None = None
    ) -> Self:
        """At least these shares of the facts that left can still be reached, or are in front."""
        __tracebackhide__ = True
        if reachable is None and in_window is None:
            raise SettingsError(
                "`assert_retention` holds nothing: give `reachable` or `in_window`."
            )
        self.assert_complete()
        lost = "".join(
            f"\n  lost: {fact.kind}: {fact.text}"
            for fact in [fact for run in self.runs for fact in run.retention.lost][:_SHOWN]
        )
        share = self.figures.share("window", "uri", "search")
        if reachable is not None and share < _share("reachable", reachable):
            raise AssertionError(
                f"{percent(share)} of the facts that left can be reached, less than "
                f"{percent(reachable)}.{lost}"
            )
        share = self.figures.share("window")
        if in_window is not None and share < _share("in_window", in_window):
            raise AssertionError(
                f"{percent(share)} of the facts that left are still in the window, less than "
                f"{percent(in_window)}."
            )
        return self

    def assert_kept(self, *texts: str) -> Self:
        """Each of these texts is in the last request of every session, word for word."""
        __tracebackhide__ = True
        if not texts:
            raise SettingsError("`assert_kept` holds nothing: give the texts to look for.")
        self.assert_complete()
        for session, run in zip(self.result.sessions, self.runs, strict=True):
            spans = run.spans(len(run.requests))
            shown = "\n".join(session.texts[at].text for at in spans)
            for text in texts:
                if text not in shown:
                    raise AssertionError(
                        f"{text!r} is not in the last request of {session.name!r}."
                    )
        return self

    def assert_complete(self) -> Self:
        """No compile failed."""
        __tracebackhide__ = True
        if self.figures.errors:
            raise AssertionError("a compile failed: " + "; ".join(self.figures.errors))
        return self

    def _worst(self, what: str, of: Callable[[Any], float], shown: Callable[[float], str]) -> str:
        rows = [
            (of(request), session.name, request.number)
            for session, run in zip(self.result.sessions, self.runs, strict=True)
            for request in run.requests
        ]
        return "".join(
            f"\n  {name}, request {number} {what} {shown(figure)}"
            for figure, name, number in sorted(rows, key=lambda row: (-row[0], row[1:]))[:_SHOWN]
        )


def _limit(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isnan(value):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise SettingsError(f"`{name}` is a number, not {shown(value)}.")
    return value


def _share(name: str, value: float) -> float:
    """A threshold that nothing can reach, or that is no number, is a slip and no demand."""
    if not 0 <= _limit(name, value) <= 1:
        raise SettingsError(f"`{name}` is a share from 0 to 1 (0.95 for 95%), not {shown(value)}.")
    return value


def replayed(
    paths: Sequence[Path],
    *,
    config: Path | None,
    settings: Mapping[str, Any] | None,
    strategy: str | None,
    target: str | None,
    model: str | None,
    window: int | str | None,
    options: Mapping[str, Any],
    known: MutableMapping[Any, Replayed],
) -> Replayed:
    """What sessions do under one configuration: a file, settings, or a strategy by name.

    Raises SettingsError when none or several of the three are given.
    """
    known_options = [field.name for field in fields(ReplayOptions)]
    for name in options:
        if name not in known_options:
            near = get_close_matches(name, [*known_options, *_ASKED], 1)
            raise SettingsError(
                f"`{name}` is no option of a replay"
                + (f"; did you mean `{near[0]}`?" if near else ".")
                + f" Besides {', '.join(f'`{each}`' for each in _ASKED)} there are "
                + f"{', '.join(f'`{each}`' for each in known_options)}."
            )
    one = _configuration(config, settings, strategy)
    one = ReplayConfiguration(
        name=one.name,
        target=target or one.target,
        model=model or one.model,
        window=window or one.window,
        settings=one.settings,
    )
    key = (tuple(map(str, paths)), repr(one), repr(sorted(options.items())))
    if key not in known:
        sessions, _ = read_all(paths)
        known[key] = Replayed(play_all(sessions, [one], options=ReplayOptions(**options)))
    return known[key]


def _configuration(
    config: Path | None, settings: Mapping[str, Any] | None, strategy: str | None
) -> ReplayConfiguration:
    given = [each for each in (config, settings, strategy) if each is not None]
    if len(given) != 1:
        raise SettingsError(
            "a replay is of one configuration: give `config` (a file), `settings` or `strategy`."
        )
    if strategy is not None:
        return configuration(strategy)
    if settings is not None:
        return configurations_of(settings, name="settings")[0]
    assert config is not None
    found = read_configurations(config)
    if len(found) > 1:
        raise SettingsError(f"{config} holds {len(found)} configurations; a replay takes one.")
    return found[0]
