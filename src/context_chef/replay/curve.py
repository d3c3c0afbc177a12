"""The trade-off of a tuning as a picture: SVG for a file, characters for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from context_chef.replay.telling import money, percent
from context_chef.replay.tuning import Trial, Tuning

_WIDTH: Final = 760
_HEIGHT: Final = 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 30, 60, 60
_TEXT_WIDTH: Final = 64
_TEXT_HEIGHT: Final = 16
_LABELLED: Final = 5
_MEASURES: Final = {
    "score": "facts kept (in the window, plus half of what can be looked up)",
    "window": "facts still in the window",
    "reachable": "facts in the window or to be looked up",
}


class _Scale:
    """Where a trial lies, from 0 to 1 in both directions."""

    def __init__(self, trials: Sequence[Trial]) -> None:
        costs = [trial.cost for trial in trials] or [0.0]
        self.most = max(costs) * 1.05 or 1.0
        kept = [trial.retention for trial in trials] or [0.0]
        self.least_kept = max(0.0, min(kept) - 0.05)
        self.most_kept = min(1.0, max(kept) + 0.05)

    def x(self, cost: float) -> float:
        return cost / self.most

    def y(self, retention: float) -> float:
        span = self.most_kept - self.least_kept or 1.0
        return (retention - self.least_kept) / span


def svg(tuning: Tuning) -> str:
    """The trade-off as a picture of its own: every trial, the front, the best with their names."""
    trials = [trial for trial in tuning.trials if trial.usable]
    scale = _Scale(trials)
    front = {trial.info.name for trial in tuning.front}
    best = tuning.best[:_LABELLED]
    height = _HEIGHT + 16 + 20 * len(best)

    def x(cost: float) -> float:
        return round(_LEFT + scale.x(cost) * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(retention: float) -> float:
        return round(_HEIGHT - _BOTTOM - scale.y(retention) * (_HEIGHT - _TOP - _BOTTOM), 1)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        'aria-labelledby="title desc" font-family="system-ui, sans-serif" font-size="13">',
        '<title id="title">Cost and what is kept, by settings</title>',
        f'<desc id="desc">{escape(_described(tuning))}</desc>',
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="28" font-size="17" fill="#1c2733">What it costs, and what is '
        "kept</text>",
        f'<text x="{_LEFT}" y="46" fill="#51606e">Each point is one configuration; the line joins '
        "those that no other beats.</text>",
    ]
    for step in range(5):
        kept = scale.least_kept + (scale.most_kept - scale.least_kept) * step / 4
        cost = scale.most * step / 4
        parts.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y(kept)}" y2="{y(kept)}" '
            'stroke="#e3e8ec"/>'
            f'<text x="{_LEFT - 8}" y="{y(kept) + 4}" text-anchor="end" fill="#51606e">'
            f"{percent(kept)}</text>"
            f'<text x="{x(cost)}" y="{_HEIGHT - _BOTTOM + 20}" text-anchor="middle" '
            f'fill="#51606e">{_amount(cost, tuning)}</text>'
        )
    line = " ".join(f"{x(trial.cost)},{y(trial.retention)}" for trial in tuning.front)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0b6e99" stroke-width="2"/>')
    for trial in trials:
        name = trial.info.name
        colour = "#0b6e99" if name in front else "#b7c1ca"
        parts.append(
            f'<circle cx="{x(trial.cost)}" cy="{y(trial.retention)}" r="4" fill="{colour}">'
            f"<title>{escape(_said(trial, tuning))}</title></circle>"
        )
    for place, trial in reversed(list(enumerate(best, 1))):
        parts.append(
            f'<circle cx="{x(trial.cost)}" cy="{y(trial.retention)}" r="9" fill="#b3470b" '
            f'stroke="#ffffff"><title>{escape(_said(trial, tuning))}</title></circle>'
            f'<text x="{x(trial.cost)}" y="{y(trial.retention) + 4}" text-anchor="middle" '
            f'font-size="11" font-weight="600" fill="#ffffff">{place}</text>'
        )
    for place, trial in enumerate(best, 1):
        parts.append(
            f'<text x="{_LEFT}" y="{_HEIGHT + 2 + place * 20}" fill="#1c2733">{place}. '
            f"{escape(_said(trial, tuning))}</text>"
        )
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 16}" text-anchor="middle" fill="#1c2733">'
        f"{_cost_said(tuning)}</text>"
        f'<text x="18" y="{_HEIGHT / 2}" text-anchor="middle" fill="#1c2733" '
        f'transform="rotate(-90 18 {_HEIGHT / 2})">facts kept</text></svg>\n'
    )
    return "\n".join(parts)


def text(tuning: Tuning) -> str:
    """The same in characters: numbers are the best, `o` the front, `.` the others."""
    trials = [trial for trial in tuning.trials if trial.usable]
    scale = _Scale(trials)
    cells = [[" "] * _TEXT_WIDTH for _ in range(_TEXT_HEIGHT)]

    def put(trial: Trial, mark: str) -> None:
        column = min(_TEXT_WIDTH - 1, int(scale.x(trial.cost) * _TEXT_WIDTH))
        row = min(_TEXT_HEIGHT - 1, int(scale.y(trial.retention) * _TEXT_HEIGHT))
        cells[_TEXT_HEIGHT - 1 - row][column] = mark

    for trial in trials:
        put(trial, ".")
    for trial in tuning.front:
        put(trial, "o")
    for place, trial in reversed(list(enumerate(tuning.best[:_LABELLED], 1))):
        put(trial, str(place))
    lines = [_MEASURES[tuning.measure]]
    for number, row in enumerate(cells):
        kept = scale.most_kept - (scale.most_kept - scale.least_kept) * number / (_TEXT_HEIGHT - 1)
        label = percent(kept) if number % 5 == 0 else ""
        lines.append(f"{label:>5} │{''.join(row)}".rstrip())
    lines.append(f"      └{'─' * _TEXT_WIDTH}")
    right = _amount(scale.most, tuning)
    lines.append(f"       {_amount(0, tuning)}{right:>{_TEXT_WIDTH - len(_amount(0, tuning))}}")
    lines.append(f"       {_cost_said(tuning):^{_TEXT_WIDTH}}".rstrip())
    return "\n".join(lines)


def _said(trial: Trial, tuning: Tuning) -> str:
    return f"{trial.info.name}: {_amount(trial.cost, tuning)}, {percent(trial.retention)} kept"


def _cost_said(tuning: Tuning) -> str:
    return "cost of all sessions, US$" if tuning.priced else "tokens sent (no price is known)"


def _amount(cost: float, tuning: Tuning) -> str:
    return money(cost) if tuning.priced else f"{cost:,.0f}"


def _described(tuning: Tuning) -> str:
    said = "; ".join(_said(trial, tuning) for trial in tuning.front)
    return f"The configurations that no other beats. {said}."
