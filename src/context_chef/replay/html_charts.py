"""The pictures of the report: the window over time, cache and cost by request, as still SVG.

The pictures are drawn in tokens and requests; the page stretches them to the room there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from context_chef.replay.html_data import touched
from context_chef.replay.html_kinds import KINDS, kind_of
from context_chef.replay.result import ReplayedRequest, Run, SpanText
from context_chef.replay.telling import money

MOST_COLUMNS: Final = 1_000
"""Requests are put together to columns when there are more: the largest of each is drawn."""
_MOST_MARKS: Final = 160
_NEAR: Final = 1.7
"""A limit further above the largest request than this is told in words."""
_AIR: Final = 1.06

LANES: Final = (
    ("folds", "left window", "messages left the window"),
    ("busts", "cache broke", "the prompt cache broke"),
    ("repairs", "mended", "something was mended"),
    ("faults", "refused", "the provider would refuse it"),
)


class Series(NamedTuple):
    """One run, ready to be drawn: what each request holds of each kind, in tokens."""

    by_kind: list[list[int]]
    """A row for each kind, a column for each request."""
    cache: list[list[int]]
    """Tokens out of the cache, written to it, and billed in full."""
    cost: list[list[float]]
    """Money for the requests, and for the summaries they took."""
    limit: int | None
    trigger: int | None


def series_of(run: Run, texts: Sequence[SpanText], told: Sequence[Sequence[int]]) -> Series:
    """The run in rows. `told` are its moves, as `all_moves` finds them."""
    kinds = [kind_of(row) for row in texts]
    held = [0] * len(KINDS)
    columns: list[list[int]] = []
    for gone, new in touched(told):
        for span in gone:
            held[kinds[span]] -= texts[span].tokens
        for span in new:
            held[kinds[span]] += texts[span].tokens
        columns.append(held.copy())
    requests = run.requests
    limits = [r.limit for r in requests if r.limit is not None]
    triggers = [r.trigger for r in requests if r.trigger is not None]
    return Series(
        by_kind=[[column[at] for column in columns] for at in range(len(KINDS))],
        cache=[
            [r.cache_read for r in requests],
            [r.cache_written for r in requests],
            [r.uncached for r in requests],
        ],
        cost=[
            [max(r.cost - r.summarizer_cost, 0.0) for r in requests],
            [r.summarizer_cost for r in requests],
        ],
        limit=max(limits, default=None),
        trigger=max(triggers, default=None),
    )


class Scales(NamedTuple):
    """How high the pictures of a run are."""

    window: float
    cache: float
    cost: float


def scales_of(one: Series) -> Scales:
    """The heights that this run needs for itself."""
    peak = _highest(one.by_kind)
    if one.limit is not None and one.limit <= peak * _NEAR:
        peak = max(peak, one.limit)
    return Scales(peak * _AIR or 1.0, _highest(one.cache) * _AIR or 1.0,
                  _highest(one.cost) * _AIR or 1.0)  # fmt: skip


def _highest(rows: Sequence[Sequence[float]]) -> float:
    return max((sum(column) for column in zip(*rows, strict=True)), default=0)


def together(scales: Sequence[Scales]) -> Scales:
    """The heights that are enough for every run."""
    return Scales(*(max(column) for column in zip(*scales, strict=True)))


def figure(run: Run, one: Series, own: Scales, same: Scales, *, id: str, shared: bool) -> str:
    """The three pictures of a run, one below the other, with the marks of what happened."""
    count = len(run.requests)
    name = escape(run.configuration.name)
    kinds = [f"var(--{kind.key})" for kind in KINDS]
    parts = [
        f'<div class="figure" id="{id}-figure" data-run="{id}">',
        _plot("window", "tokens in the window", one.by_kind, kinds, own.window, same.window,
              shared, limits=(("limit", one.limit), ("trigger", one.trigger)), told=tokens_short),
        _lanes(run, id),
        _plot("cache", "input tokens by price", one.cache,
              ["var(--read)", "var(--written)", "var(--uncached)"], own.cache, same.cache, shared,
              told=tokens_short),
    ]  # fmt: skip
    if run.prices:
        parts.append(_plot("cost", "cost of each request", one.cost, ["var(--money)",
                     "var(--summary)"], own.cost, same.cost, shared, told=money_short))  # fmt: skip
    parts.append(
        f'<div class="span-axis" aria-hidden="true"><span>request 1</span>'
        f"<span>{count:,}</span></div>"
    )
    if (step := _step(count)) > 1:
        parts.append(
            f'<p class="soft">One column stands for {step} requests, drawn as high as the highest '
            "of them.</p>"
        )
    parts.append(
        f'<p class="sr">{name}: {escape(_said(run, one))}</p>'
        '<div class="cursor" hidden></div></div>'
    )
    return "".join(parts)


def _said(run: Run, one: Series) -> str:
    """The picture in a sentence, for those who do not see it."""
    totals = run.totals
    said = f"{totals.requests:,} requests, the largest of {totals.peak:,} tokens"
    if one.limit is not None:
        said += f", in a window of {one.limit:,}"
    return f"{said}; {totals.folds:,} folds, {totals.busts:,} cache breaks."


def _plot(
    kind: str,
    title: str,
    rows: Sequence[Sequence[float]],
    colours: Sequence[str],
    own: float,
    same: float,
    shared: bool,
    *,
    told: Callable[[float], str],
    limits: Iterable[tuple[str, int | None]] = (),
) -> str:
    height = same if shared else own
    columns, drawn = _columns(rows)
    unit = _unit(max(own, same))
    paths = "".join(_bands(drawn, colours, unit))
    limits = list(limits)
    return (
        f'<div class="plot {kind}"><span class="plot-name">{title}</span>'
        f"{_ticks('own', own, told, limits)}{_ticks('same', same, told, limits)}"
        f'<svg viewBox="{_box(columns, height, unit)}" data-own="{_box(columns, own, unit)}" '
        f'data-same="{_box(columns, same, unit)}" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false">{paths}</svg></div>'
    )


def _box(columns: int, height: float, unit: float) -> str:
    top = max(round(height / unit), 1)
    return f"0 {-top} {max(columns, 1)} {top}"


def _unit(height: float) -> float:
    """What one step of the drawing stands for: whole numbers stay short, money stays visible."""
    return max(height / 20_000, 1.0) if height > 1_000 else height / 20_000


def _step(count: int) -> int:
    """How many of so many requests one column of a picture stands for."""
    return -(-count // MOST_COLUMNS) or 1


def _columns(rows: Sequence[Sequence[float]]) -> tuple[int, list[list[float]]]:
    """The rows with at most `MOST_COLUMNS` columns: of several, the one that stands highest."""
    count = len(rows[0]) if rows else 0
    step = _step(count)
    if step == 1:
        return count, [list(row) for row in rows]
    chosen = [
        max(range(at, min(at + step, count)), key=lambda n: sum(row[n] for row in rows))
        for at in range(0, count, step)
    ]
    return len(chosen), [[row[n] for n in chosen] for row in rows]


def _bands(rows: Sequence[Sequence[float]], colours: Sequence[str], unit: float) -> Iterable[str]:
    """Each row as one path on top of those before it. Drawn from zero, the highest first, so that
    no seam shows between neighbours."""
    tops: list[list[int]] = []
    sums = [0.0] * (len(rows[0]) if rows else 0)
    for row in rows:
        sums = [below + value for below, value in zip(sums, row, strict=True)]
        tops.append([round(value / unit) for value in sums])
    for at in reversed(range(len(rows))):
        if any(rows[at]):
            yield f'<path fill="{colours[at]}" d="{_steps(tops[at])}"/>'


def _steps(heights: Sequence[int]) -> str:
    """A flight of steps over zero, one column each."""
    path = ["M0 0"]
    before, width = 0, 0
    for height in heights:
        if height != before:
            if width:
                path.append(f"h{width}")
            path.append(f"v{before - height}")
            before, width = height, 0
        width += 1
    return "".join([*path, f"h{width}V0z"])


def _ticks(
    scale: str,
    height: float,
    told: Callable[[float], str],
    limits: Iterable[tuple[str, int | None]],
) -> str:
    lines = "".join(
        f'<i style="bottom:{value / height:.2%}"><b>{told(value)}</b></i>'
        for value in _nice(height)
    )
    for what, value in limits:
        if value is not None and value <= height:
            words = "window" if what == "limit" else "folds from here"
            lines += (
                f'<i class="{what}" style="bottom:{value / height:.2%}">'
                f"<em>{words} {told(value)}</em></i>"
            )
    return f'<div class="ticks {scale}" aria-hidden="true">{lines}</div>'


def _nice(height: float) -> list[float]:
    """Two to four round values to read the height by."""
    size = 10.0 ** _magnitude(height / 2)
    step = next(size * factor for factor in (5, 2, 1, 0.5) if size * factor <= height / 2)
    return [step * n for n in range(1, int(height / step) + 1)]


def _magnitude(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def _lanes(run: Run, id: str) -> str:
    found: list[str] = []
    for lane, label, said in LANES:
        numbers = [r.number for r in run.requests if happened(r, lane)]
        if numbers:
            marks = "".join(_marks(numbers, len(run.requests), lane, said, id))
            found.append(
                f'<div class="lane {lane}"><span>{label}</span>'
                f'<div class="marks">{marks}</div></div>'
            )
    return "".join(found)


def happened(request: ReplayedRequest, lane: str) -> bool:
    """Whether something of this lane happened in a request; too large counts as refused."""
    if lane == "faults" and too_large(request):
        return True
    return bool(getattr(request, lane))


def too_large(request: ReplayedRequest) -> bool:
    """Whether it is larger than the window."""
    return request.limit is not None and request.tokens > request.limit


def _marks(numbers: Sequence[int], count: int, lane: str, said: str, id: str) -> Iterable[str]:
    """A mark for each request; those that would cover each other are one."""
    room = max(count / _MOST_MARKS, 1.0)
    groups: list[list[int]] = []
    for number in numbers:
        if groups and number - groups[-1][0] < room:
            groups[-1].append(number)
        else:
            groups.append([number])
    for group in groups:
        first = group[0]
        title = f"request {first:,}: {said}"
        if len(group) > 1:
            title += f", and {len(group) - 1:,} more times up to request {group[-1]:,}"
        yield (
            f'<a class="mark" href="#{id}e{first}" data-n="{first}" data-lane="{lane}" '
            f'tabindex="-1" style="left:{(first - 0.5) / count:.3%}" title="{title}">'
            f'<span class="sr">{title}</span></a>'
        )


def tokens_short(value: float) -> str:
    """Tokens with as few digits as can be read."""
    if value >= 1_000_000:
        return f"{value / 1_000_000:.3g}M"
    return f"{value / 1_000:.3g}k" if value >= 1_000 else f"{value:,.0f}"


def money_short(value: float) -> str:
    """US$ with as few digits as can be read."""
    if value >= 0.1:
        return money(value)
    return f"${value:.2g}" if value >= 0.001 else f"${value:.6f}".rstrip("0")
