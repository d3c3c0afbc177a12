"""The outcomes of `benchmarks/peers.py` as a Markdown table and as a plot; no library needed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import Any

CASES = {
    "turn": "One message added to a warm session, room for everything",
    "cold": "From nothing: the rows read, the first request made",
    "full": "One message added, in a window of half the history, after it was made to fit once",
}
COLOURS = ("#c0392b", "#2c6fbb", "#2e8b57", "#8e5bb5", "#d98200", "#138d90", "#7a5230", "#b83280")


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one peer measured, and why it is not all where something is missing."""

    peer: str
    less: str
    versions: tuple[tuple[str, str], ...] = ()
    figures: tuple[Mapping[str, Any], ...] = ()
    """Each with way, case, size, and either ms, low, high, runs or a reason."""
    reason: str = ""

    def failed(self, reason: str) -> Outcome:
        return replace(self, reason=reason)

    def reading(self, lines: Iterable[str]) -> Outcome:
        """With what a driver printed; a line that was cut off is none."""
        versions = dict(self.versions)
        figures = list(self.figures)
        for line in lines:
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if not isinstance(said, dict):
                continue
            if "package" in said:
                versions[said["package"]] = said["version"]
                if "node" in said:
                    versions["node"] = said["node"]
            elif "case" in said:
                figures.append(said)
        return replace(self, versions=tuple(versions.items()), figures=tuple(figures))

    def plain(self) -> dict[str, Any]:
        """For a JSON file."""
        return asdict(self)

    def ways(self, case: str) -> list[str]:
        """The ways of feeding it that were tried in a case, in order."""
        return list(dict.fromkeys(each["way"] for each in self.figures if each["case"] == case))

    def figure(self, way: str, case: str, size: int) -> Mapping[str, Any] | None:
        for each in self.figures:
            if (each["way"], each["case"], each["size"]) == (way, case, size):
                return each
        return None


def as_markdown(outcomes: Sequence[Outcome], sizes: Sequence[int], where: Mapping[str, str]) -> str:
    """One table a case, medians with their quarter points, then what each peer does less of."""
    lines = [
        "# The same histories through peers",
        "",
        "`python -m benchmarks.peers`, one run: every library in a process of its own, offline, on",
        "the same recorded histories. Milliseconds: the median, in brackets the quarter points.",
        "What each one does less of stands below, and belongs to every figure.",
        "",
        "; ".join(f"{key} {value}" for key, value in where.items()) + ".",
        "",
        "![One message added, by length of the history](peers.svg)",
    ]
    for case, title in CASES.items():
        lines += ["", f"## {title}", ""]
        lines += _row("library", "way", *(f"{size:,} messages" for size in sizes))
        lines += ["|---|---|" + "---:|" * len(sizes)]
        for outcome in outcomes:
            lines += _case(outcome, case, sizes)
    lines += ["", "## What is compared", ""]
    lines += _row("library", "versions", "what it does less of", "not measured")
    lines += ["|---|---|---|---|"]
    for outcome in outcomes:
        versions = ", ".join(f"{name} {version}" for name, version in outcome.versions)
        lines += _row(outcome.peer, versions or "–", outcome.less, outcome.reason or "–")
    return "\n".join(lines) + "\n"


def _case(outcome: Outcome, case: str, sizes: Sequence[int]) -> list[str]:
    ways = outcome.ways(case)
    if not ways:
        return _row(
            outcome.peer, "–", *([outcome.reason or "no such case"] + [""] * (len(sizes) - 1))
        )
    return [
        line
        for way in ways
        for line in _row(outcome.peer, way, *(_cell(outcome, way, case, size) for size in sizes))
    ]


def _cell(outcome: Outcome, way: str, case: str, size: int) -> str:
    found = outcome.figure(way, case, size)
    if found is None:
        return outcome.reason or "–"
    if "ms" not in found:
        return str(found.get("reason", "–"))
    return f"{_ms(found['ms'])} ({_ms(found['low'])}–{_ms(found['high'])})"


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _row(*cells: str) -> list[str]:
    return ["| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"]


def as_svg(outcomes: Sequence[Outcome], sizes: Sequence[int], case: str = "turn") -> str:
    """The growth with the history, both axes logarithmic; a line for each library and way."""
    curves: list[tuple[str, list[tuple[int, float]]]] = []
    for outcome in outcomes:
        for way in outcome.ways(case):
            found = ((size, outcome.figure(way, case, size)) for size in sizes)
            points = [(size, each["ms"]) for size, each in found if each and each.get("ms")]
            if points:
                curves.append((f"{outcome.peer}: {way}", points))
    left, top, width, height = 70, 40, 480, 400
    values = [ms for _, points in curves for _, ms in points] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)
    first, last = math.log10(min(sizes)), math.log10(max(sizes))

    def x(size: float) -> float:
        return left + width * ((math.log10(size) - first) / ((last - first) or 1))

    def y(ms: float) -> float:
        return top + height * (high - math.log10(ms)) / (high - low)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 860 490" font-family="sans-serif" '
        'font-size="12">',
        '<rect width="860" height="490" fill="white"/>',
        f'<text x="{left}" y="22" font-size="14">{escape(CASES[case])} (ms)</text>',
    ]
    for power in range(low, high + 1):
        at = y(10.0**power)
        parts.append(f'<path d="M{left} {at:.1f}h{width}" stroke="#ddd"/>')
        label = f"{10.0**power:g}"
        parts.append(f'<text x="{left - 8}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    for size in sizes:
        at = x(size)
        parts.append(f'<path d="M{at:.1f} {top}v{height}" stroke="#eee"/>')
        parts.append(
            f'<text x="{at:.1f}" y="{top + height + 18}" text-anchor="middle">{size:,}</text>'
        )
    parts.append(f'<text x="{left + width / 2}" y="480" text-anchor="middle">messages</text>')
    for number, (name, points) in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        style = f'stroke="{colour}" stroke-width="2" fill="none"'
        if number >= len(COLOURS):
            style += ' stroke-dasharray="5 3"'
        path = " ".join(f"{x(size):.1f},{y(ms):.1f}" for size, ms in points)
        parts.append(f'<polyline points="{path}" {style}/>')
        parts += [
            f'<circle cx="{x(size):.1f}" cy="{y(ms):.1f}" r="3" fill="{colour}"/>'
            for size, ms in points
        ]
        at = top + 8 + number * 20
        parts.append(f'<path d="M570 {at}h24" {style}/>')
        parts.append(f'<text x="600" y="{at + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"
