"""The tables of the report: configurations side by side, facts by kind, what happened when."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from context_chef.replay.html_charts import too_large
from context_chef.replay.html_words import Case, counted, shown
from context_chef.replay.result import (
    FACT_KINDS,
    FATES,
    Fate,
    FoldRecord,
    ReplayedRequest,
    Run,
    SessionReplay,
)
from context_chef.replay.telling import money, percent

MOST_EVENTS: Final = 200
_MOST_CAUSES: Final = 4

FATE_WORDS: Final[dict[Fate, str]] = {
    "window": "still in the window",
    "uri": "by address",
    "search": "by search",
    "lost": "lost",
}
_KIND_WORDS: Final = {
    "identifier": "identifiers",
    "number": "numbers",
    "path": "paths",
    "url": "addresses (URLs)",
    "error": "errors",
    "rule": "binding rules",
}


@dataclass(frozen=True)
class _Row:
    label: str
    said: str
    figure: Callable[[Case], float | None]
    told: Callable[[float], str]
    best: str = ""
    """`least` or `most`, where one is better than the other."""
    optional: bool = False
    """Left out when it is nothing everywhere."""


def _whole(value: float) -> str:
    return f"{value:,.0f}"


_SENT: Final = (
    _Row("requests", "", lambda c: c.figures.totals.requests, _whole),
    _Row("tokens sent", "all requests together", lambda c: c.figures.totals.sent, _whole,
         "least"),
    _Row("largest request", "tokens", lambda c: c.figures.totals.peak, _whole),
)  # fmt: skip
_COST: Final = (
    _Row("cost", "list price of input and output",
         lambda c: c.figures.totals.cost if c.figures.priced else None, money, "least"),
    _Row("of it for summaries", "calls of the summarizer",
         lambda c: c.figures.totals.summarizer_cost if c.figures.priced else None, money,
         optional=True),
    _Row("from the cache", "share of the input", lambda c: c.figures.totals.hit_share, percent,
         "most"),
    _Row("cache breaks", "", lambda c: c.figures.totals.busts, _whole, "least"),
    _Row("paid for again", "tokens, because of them", lambda c: c.figures.totals.rebilled,
         _whole, "least", optional=True),
)  # fmt: skip
_VALID: Final = (
    _Row("requests rejected", "too large, or against a rule", lambda c: c.rejected, _whole,
         "least"),
    _Row("places mended", "before they were sent", lambda c: c.figures.totals.repairs, _whole),
)  # fmt: skip
_LEAVING: Final = (
    _Row("folds", "times that messages left", lambda c: c.figures.totals.folds, _whole),
    _Row("summaries written", "", lambda c: c.figures.totals.summarizer_calls, _whole,
         optional=True),
    _Row("messages that left", "not there word for word", lambda c: c.figures.evicted, _whole),
    _Row("facts in them", "names, numbers, paths, errors, rules", lambda c: c.figures.facts,
         _whole),
)  # fmt: skip
_ROWS: Final = (
    ("What is sent", _SENT),
    ("What it costs", _COST),
    ("Is it valid", _VALID),
    ("What leaves the window", _LEAVING),
)


def comparison(cases: Sequence[Case], *, caption: str) -> str:
    """Every figure of every configuration, one column each."""
    head = "".join(
        f'<th scope="col"><span class="name">{shown(case.name)}</span>{_about(case)}</th>'
        for case in cases
    )
    body = "".join(
        f'<tbody><tr class="group"><th colspan="{len(cases) + 1}" scope="rowgroup">{title}</th>'
        f"</tr>{''.join(_row(row, cases) for row in rows)}"
        f"{_causes(cases) if title == 'What it costs' else ''}"
        f"{_fates(cases) if title == 'What leaves the window' else ''}</tbody>"
        for title, rows in _ROWS
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">'
        f'<table class="compare" style="min-width:{11 + 9.5 * len(cases):g}rem">'
        f'<caption class="sr">{caption}</caption><thead><tr>'
        f'<th scope="col"><span class="sr">figure</span></th>{head}</tr></thead>'
        f"{body}</table></div>"
    )


def _about(case: Case) -> str:
    state = (
        '<span class="chip good">runs</span>'
        if case.sound
        else '<span class="chip bad">would be rejected</span>'
        if case.rejected or case.everywhere
        else '<span class="chip bad">stopped early</span>'
    )
    return f'<span class="about">{shown(case.about)}</span>{state}'


def _row(row: _Row, cases: Sequence[Case]) -> str:
    values = [row.figure(case) for case in cases]
    if row.optional and not any(values):
        return ""
    known = [value for value in values if value is not None]
    alike = len(set(known)) < 2
    top = 0 if alike else max(known)
    best = None
    if row.best and not alike:
        able = [v for v, case in zip(values, cases, strict=True) if v is not None and case.sound]
        best = (min if row.best == "least" else max)(able or known)
    cells = "".join(_cell(value, top, row, best) for value in values)
    said = f"<small>{row.said}</small>" if row.said else ""
    return f'<tr><th scope="row">{row.label}{said}</th>{cells}</tr>'


def _cell(value: float | None, top: float, row: _Row, best: float | None) -> str:
    if value is None:
        return '<td class="none">not known</td>'
    bar = f'<span class="bar" style="width:{value / top:.1%}"></span>' if top else ""
    mark = value == best
    star = '<span class="sr"> (best)</span>' if mark else ""
    bad = row.label == "requests rejected" and value
    style = ' class="bad"' if bad else ' class="best"' if mark else ""
    return f"<td{style}><span class=n>{row.told(value)}</span>{star}{bar}</td>"


def _causes(cases: Sequence[Case]) -> str:
    if not any(case.causes for case in cases):
        return ""
    cells = "".join(
        f'<td class="causes">{_few(case.causes) if case.causes else "–"}</td>' for case in cases
    )
    return f'<tr><th scope="row">why it broke</th>{cells}</tr>'


def _few(causes: Sequence[tuple[str, int]]) -> str:
    told = [f"{shown(cause)} ({times:,}×)" for cause, times in causes[:_MOST_CAUSES]]
    more = len(causes) - _MOST_CAUSES
    return ", ".join([*told, *([f"{more:,} more"] if more > 0 else [])])


def _fates(cases: Sequence[Case]) -> str:
    if not any(case.figures.facts for case in cases):
        return ""
    bars = "".join(
        f"<td>{fate_bar([case.figures.of(fate) for fate in FATES])}</td>" for case in cases
    )
    rows = f'<tr class="fates"><th scope="row">where the model finds them</th>{bars}</tr>'
    for fate in FATES:
        cells = "".join(
            f'<td class="{"bad" if fate == "lost" and case.lost else ""}"><span class=n>'
            f"{case.figures.of(fate):,}</span> <small>{percent(case.figures.share(fate))}</small>"
            "</td>"
            if case.figures.facts
            else "<td>–</td>"
            for case in cases
        )
        rows += (
            f'<tr class="sub"><th scope="row"><i class="key fate-{fate}"></i>{FATE_WORDS[fate]}'
            f"</th>{cells}</tr>"
        )
    return rows


def fate_bar(counts: Sequence[int]) -> str:
    """What became of facts, as one bar."""
    total = sum(counts)
    if not total:
        return "–"
    said = ", ".join(
        f"{count:,} {FATE_WORDS[fate]}" for fate, count in zip(FATES, counts, strict=True) if count
    )
    parts = "".join(
        f'<i class="fate-{fate}" style="flex-grow:{count}"></i>'
        for fate, count in zip(FATES, counts, strict=True)
        if count
    )
    return f'<span class="fate-bar" role="img" aria-label="{said}" title="{said}">{parts}</span>'


def facts_by_kind(cases: Sequence[Case]) -> str:
    """What became of each kind of fact."""
    left = [case for case in cases if case.figures.facts]
    if not left:
        return ""
    head = "".join(f'<th scope="col">{shown(case.name)}</th>' for case in left)
    rows = "".join(
        f'<tr><th scope="row">{_KIND_WORDS[kind]}</th>'
        + "".join(
            f"<td>{fate_bar(counts)}<small>{_lost(counts)}</small></td>"
            for case in left
            for counts in [[case.figures.counts.get(kind, {}).get(fate, 0) for fate in FATES]]
        )
        + "</tr>"
        for kind in FACT_KINDS
        if any(kind in case.figures.counts for case in left)
    )
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="facts by kind">'
        f'<table class="kinds"><thead><tr><th scope="col">kind</th>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _lost(counts: Sequence[int]) -> str:
    total = sum(counts)
    return f"{counts[-1]:,} of {total:,} lost" if counts[-1] else f"{total:,}, none lost"


def lost_examples(run: Run, most: int = 12) -> str:
    """Some of what is lost, word for word."""
    facts = run.retention.lost[:most]
    if not facts:
        return ""
    rows = "".join(
        f'<li><span class="chip">{fact.kind}</span> <q>{shown(fact.text)}</q> '
        f"<small>message {fact.message + 1:,}</small></li>"
        for fact in facts
    )
    more = run.retention.total("lost") - len(facts)
    tail = f"<p class=soft>and {more:,} more</p>" if more > 0 else ""
    return (
        f"<h4>Lost under {shown(run.configuration.name)}, for example</h4>"
        f'<ul class="lost">{rows}</ul>{tail}'
    )


def events(run: Run, id: str) -> str:
    """Everything that happened in a run, in order, one line for each request."""
    eventful = [r for r in run.requests if r.folds or r.busts or r.repairs or r.faults]
    if not eventful:
        large = run.totals.above
        return f"<p class=soft>Nothing happened on the way{', but for size' if large else ''}.</p>"
    rows = "".join(_event(request, id) for request in eventful[:MOST_EVENTS])
    more = len(eventful) - MOST_EVENTS
    tail = (
        f"<p class=soft>{counted(more, 'later request')} with such lines "
        f"{'is' if more == 1 else 'are'} left out of this list; the pictures mark them all.</p>"
        if more > 0
        else ""
    )
    totals = run.totals
    head = [
        counted(totals.folds, "fold"),
        counted(totals.busts, "cache break"),
        f"{totals.repairs:,} mended",
    ]
    if totals.faults:
        head.append(counted(totals.faults, "broken rule"))
    return (
        f'<details class="events"><summary>What happened: {", ".join(head)}</summary>'
        f"<ol>{rows}</ol>{tail}</details>"
    )


def _event(request: ReplayedRequest, id: str) -> str:
    lines = "".join(f"<li>{line}</li>" for line in _lines(request))
    n = request.number
    return (
        f'<li id="{id}e{n}"><a class="go" href="#{id}-figure" data-run="{id}" data-n="{n}">'
        f"request {n:,}</a><ul>{lines}</ul></li>"
    )


def _lines(request: ReplayedRequest) -> Iterable[str]:
    for fold in request.folds:
        yield f'<i class="key mark-folds"></i>{_folded(fold)}'
    for bust in request.busts:
        why = f"{bust.cause} {bust.name}".strip()
        yield (
            f'<i class="key mark-busts"></i>The cache broke: {shown(why)}'
            f"{f', {shown(bust.message)}' if bust.message else ''}; "
            f"{bust.rebilled:,} tokens are paid for again."
        )
    for repair in request.repairs:
        yield (
            f'<i class="key mark-repairs"></i>Mended at <code>{shown(repair.where)}</code>: '
            f"{shown(repair.message)}."
        )
    for fault in request.faults:
        yield (
            f'<i class="key mark-faults"></i>Refused at <code>{shown(fault.where)}</code>: '
            f"{shown(fault.message)}"
        )
    if too_large(request):
        yield '<i class="key mark-faults"></i>It is larger than the window.'


def _folded(fold: FoldRecord) -> str:
    where = (
        "in full at " + ", ".join(f"<code>{shown(uri)}</code>" for uri in fold.uris)
        if fold.uris
        else "kept nowhere"
    )
    return (
        f"{counted(len(fold.left), 'message')} of {fold.tokens_left:,} tokens left "
        f"({shown(fold.strategy)}), {where}."
    )


def index(sessions: Sequence[SessionReplay], detailed: int) -> str:
    """All sessions, a line each: what is on the page and where."""
    if not sessions:
        return ""
    names = [run.configuration.name for run in sessions[0].runs]
    head = "".join(f'<th scope="col">{shown(name)}</th>' for name in names)
    rows = "".join(_indexed(session, at, at < detailed) for at, session in enumerate(sessions))
    return (
        '<div class="scroll" tabindex="0" role="region" aria-label="sessions">'
        '<table class="index"><thead><tr><th scope="col">session</th>'
        f'<th scope="col">requests</th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _indexed(session: SessionReplay, at: int, detailed: bool) -> str:
    name = shown(session.name)
    linked = f'<a href="#s{at}">{name}</a>' if detailed else name
    cells = "".join(f"<td>{_in_short(run)}</td>" for run in session.runs)
    return f'<tr><th scope="row">{linked}</th><td>{session.requests:,}</td>{cells}</tr>'


def _in_short(run: Run) -> str:
    totals = run.totals
    bad = totals.above or totals.faults or run.sequence_faults or run.error
    cost = f"{money(totals.cost)} · " if run.prices else ""
    lost = run.retention.total("lost")
    extra = f" · {lost:,} lost" if lost else ""
    mark = ' <span class="chip bad">rejected</span>' if bad else ""
    return f"{cost}{totals.sent:,} tokens{extra}{mark}"
