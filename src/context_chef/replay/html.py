"""A replay as one page that needs nothing else: pictures, figures, and every request to look into.

Style and script come from `report.css` and `report.js` and stand in the page. A policy in it lets
only that script run and nothing be fetched, so that what a session says stays text.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files
from typing import Any, Final, NamedTuple

from context_chef.replay.html_charts import figure, scales_of, series_of, together
from context_chef.replay.html_data import all_moves, longest_text, packed, script_json
from context_chef.replay.html_kinds import KINDS, colours
from context_chef.replay.html_tables import (
    FATE_WORDS,
    comparison,
    events,
    facts_by_kind,
    index,
    lost_examples,
)
from context_chef.replay.html_words import (
    WORDS,
    Case,
    cases_of,
    counted,
    findings,
    lead,
    shown,
    verdict,
)
from context_chef.replay.result import FATES, ReplayResult, Run, SessionReplay

TEXT_BUDGET: Final = 4_000_000
"""Characters of all texts together; they are cut in the middle until they fit."""
PAGE_BUDGET: Final = 12_000_000
"""Characters of a page. Sessions behind it are told in the table only."""
_ALIKE: Final = 2
"""Up to this ratio of the largest requests, the runs are drawn to one scale at first."""


class _Drawn(NamedTuple):
    html: str
    data: str


def html_page(
    result: ReplayResult, *, text_budget: int = TEXT_BUDGET, page_budget: int = PAGE_BUDGET
) -> str:
    """The page. Equal results give equal pages, to the byte.

    It stays below about `page_budget` characters and a line for each session: texts are cut in the
    middle, and the last of many sessions are told in figures only. Where that is so, it says so.
    """
    sessions = result.sessions
    cap = longest_text(sessions, text_budget)
    drawn: list[_Drawn] = []
    room = page_budget
    for at, session in enumerate(sessions):
        one = _session(session, at, cap, alone=len(sessions) == 1)
        room -= len(one.html) + len(one.data)
        if room < 0 and drawn:
            break
        drawn.append(one)
    style = colours() + _file("report.css")
    script = _file("report.js")
    data = (
        '{"kinds":'
        + script_json([[kind.key, kind.label] for kind in KINDS])
        + f',"fates":{script_json([[fate, FATE_WORDS[fate]] for fate in FATES])}'
        + f',"sessions":[{",".join(one.data for one in drawn)}]}}'
    )
    cut = any(len(row.text) > cap for session in sessions for row in session.texts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(script)}">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">\n'
        f"<title>{_title(sessions)}</title>\n<style>{style}</style></head>\n<body>\n"
        f"{_head(result, cap if cut else None, len(drawn))}\n<main>\n"
        + "\n".join(one.html for one in drawn)
        + f"\n</main>\n{_foot()}\n{_DIALOG}\n"
        + f'<script type="application/json" id="data">{data}</script>\n'
        + f"<script>{script}</script>\n</body></html>\n"
    )


def _file(name: str) -> str:
    return files("context_chef.replay").joinpath(name).read_text("utf-8")


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _title(sessions: Sequence[SessionReplay]) -> str:
    if len(sessions) == 1:
        return f"{shown(sessions[0].name)}, replayed"
    return f"{counted(len(sessions), 'session')}, replayed"


def _head(result: ReplayResult, cap: int | None, detailed: int) -> str:
    sessions = result.sessions
    cases = cases_of(sessions)
    parts = [
        '<header class="top"><p class="mark-line"><b>ContextChef</b> replay report</p>',
        f"<h1>{_title(sessions)}</h1>",
        f'<p class="lead">{lead(result)}</p>' if sessions else "<p>No session was replayed.</p>",
        f'<p class="verdict">{best}</p>' if (best := verdict(cases)) else "",
        _findings(cases),
    ]
    if cases:
        parts.append(comparison(cases, caption="Configurations side by side"))
    if len(sessions) > 1:
        parts.append(f'<h2 id="sessions">The sessions</h2>{index(sessions, detailed)}')
        if detailed < len(sessions):
            parts.append(
                f'<p class="soft">The last {counted(len(sessions) - detailed, "session")} would '
                "make the page too large to open and stand in this table only; replay them by "
                "themselves to look into them.</p>"
            )
    parts.append(_method(result, cap))
    return "".join(parts) + "</header>"


def _findings(cases: Sequence[Case]) -> str:
    rows = "".join(
        f"<div><dt>{question}</dt><dd>{answer}</dd></div>" for question, answer in findings(cases)
    )
    return f'<dl class="findings">{rows}</dl>' if rows else ""


def _method(result: ReplayResult, cap: int | None) -> str:
    counter = f"Tokens are counted with {shown(result.counter)}." if result.counter else ""
    said = [shown(line) for line in (result.summarizer, result.pauses) if line]
    said += [counter] if counter else []
    prices = sorted({run.prices for session in result.sessions for run in session.runs} - {""})
    if prices:
        said.append(
            f"Costs are by {shown(' and '.join(prices))}, in US$. What is billed is more than the "
            "words: it holds what the provider puts around tools, calls and results."
        )
    if cap is not None:
        said.append(
            f"Texts longer than {cap:,} characters are cut in the middle on this page, with a mark "
            "that says how much; the figures are those of the whole, and <code>--json</code> "
            "writes everything."
        )
    words = "".join(f"<div><dt>{word}</dt><dd>{means}</dd></div>" for word, means in WORDS)
    return (
        f'<details class="method"><summary>How this was measured, and what the words mean</summary>'
        f'<p>{" ".join(said)}</p><dl class="words">{words}</dl></details>'
    )


def _session(session: SessionReplay, at: int, cap: int, *, alone: bool) -> _Drawn:
    told = [all_moves(run.requests) for run in session.runs]
    runs = [run for run in session.runs if run.requests]
    series = [
        series_of(run, session.texts, moves)
        for run, moves in zip(session.runs, told, strict=True)
        if run.requests
    ]
    own = [scales_of(one) for one in series]
    peaks = [scales.window for scales in own]
    shared = bool(peaks) and max(peaks) <= _ALIKE * min(peaks)
    same = together(own) if own else None
    cases = cases_of([session])
    parts = [
        f'<section class="session" id="s{at}" data-session="{at}" aria-labelledby="s{at}-name">',
        f'<h2 id="s{at}-name">{"Request by request" if alone else shown(session.name)}</h2>',
        f'<p class="soft">{_about(session)}</p>',
    ]
    if not alone:
        parts.append(_findings(cases))
        parts.append(comparison(cases, caption=f"Configurations on {shown(session.name)}"))
    parts.append(_facts(cases, session))
    if runs:
        parts.append(_legend(series, shared=shared, several=len(runs) > 1))
        parts.append(_steps(max(len(run.requests) for run in runs)))
    for number, run in enumerate(session.runs):
        id = f"s{at}r{number}"
        drawn = ""
        if run.requests and same is not None:
            place = runs.index(run)
            drawn = figure(run, series[place], own[place], same, id=id, shared=shared)
        parts.append(_run(run, id, drawn))
    parts.append("</section>")
    return _Drawn("".join(parts), script_json(packed(session, cap, told)))


def _about(session: SessionReplay) -> str:
    said = f"{counted(session.messages, 'message')} and {counted(session.requests, 'request')}"
    said += f" to {shown(session.model)}" if session.model else ""
    said += f", read from the {shown(session.format)} format."
    recorded = session.recorded
    if recorded is not None and recorded.prompt:
        said += (
            f" When it was recorded, the provider counted {recorded.prompt:,} input tokens in "
            f"{counted(session.recorded_requests, 'request')}, {recorded.cache_read:,} of "
            "them from the cache."
        )
    return " ".join([said, *(f"Note: {shown(note)}." for note in session.notes)])


def _facts(cases: Sequence[Case], session: SessionReplay) -> str:
    table = facts_by_kind(cases)
    if not table:
        return ""
    examples = "".join(lost_examples(run) for run in session.runs)
    return (
        '<details class="facts"><summary>What was said in messages that left, and where it is now'
        f"</summary>{table}{examples}</details>"
    )


def _legend(series: Sequence[Any], *, shared: bool, several: bool) -> str:
    there = [kind for at, kind in enumerate(KINDS) if any(any(one.by_kind[at]) for one in series)]
    keys = "".join(
        f'<li title="{kind.said}"><i class="key" style="background:var(--{kind.key})"></i>'
        f"{kind.label}</li>"
        for kind in there
    )
    prices = "".join(
        f'<li><i class="key" style="background:var(--{key})"></i>{label}</li>'
        for key, label in (
            ("read", "read from the cache"),
            ("written", "written to it"),
            ("uncached", "billed in full"),
        )
    )
    scale = (
        f'<label class="scale"><input type="checkbox"{" checked" if shared else ""}> '
        "draw all to one scale</label>"
        if several
        else ""
    )
    return (
        f'<div class="legend"><ul aria-label="colours of the window">{keys}</ul>'
        f'<ul aria-label="colours of the prices">{prices}</ul>{scale}</div>'
    )


def _steps(count: int) -> str:
    """What walks through the requests; the script brings it to life."""
    return (
        '<div class="steps js" hidden><button type="button" class="back" '
        'aria-label="request before">◀</button>'
        f'<input type="range" min="1" max="{count}" value="{count}" step="1" '
        'aria-label="request">'
        '<button type="button" class="forth" aria-label="next request">▶</button>'
        '<output class="where"></output>'
        '<button type="button" class="jump" data-lane="folds">next fold</button>'
        '<span class="keys" aria-hidden="true"><kbd>←</kbd><kbd>→</kbd> step, <kbd>F</kbd> fold, '
        "<kbd>B</kbd> cache break, <kbd>Enter</kbd> open</span></div>"
    )


def _run(run: Run, id: str, drawn: str) -> str:
    info = run.configuration
    window = "no window limit" if info.window is None else f"window {info.window:,}"
    about = [info.model or info.target, window]
    about += [info.strategy] if info.strategy != info.name else []
    notes = [f"Note: {note}" for note in run.notes]
    notes += [f"Over the turns, {f.where}: {f.message}" for f in run.sequence_faults[:5]]
    notes += [f"Stopped early: {run.error}"] if run.error else []
    told = "".join(f'<p class="note">{shown(note)}</p>' for note in notes)
    return (
        f'<article class="run" id="{id}" aria-labelledby="{id}-name"><header>'
        f'<h3 id="{id}-name">{shown(info.name)}</h3>'
        f'<p class="soft">{shown(" · ".join(about))}</p></header>'
        f'{drawn}<div class="now js" hidden></div>{told}'
        f"{events(run, id) if drawn else ''}</article>"
    )


def _foot() -> str:
    return (
        "<footer><noscript><p>Without JavaScript this page shows summary, tables and pictures; "
        "stepping through the requests and reading them needs it.</p></noscript>"
        "<p>Made by <code>context-chef replay --html</code>. The page is one file, fetches "
        "nothing and sends nothing.</p></footer>"
    )


_DIALOG: Final = (
    '<dialog id="viewer" aria-labelledby="viewer-name"><div class="sheet">'
    '<header><div class="title"><h2 id="viewer-name"></h2><p class="soft"></p></div>'
    '<button type="button" class="close" aria-label="close">✕</button>'
    '<nav aria-label="requests"><button type="button" class="back" aria-label="request before">◀'
    '</button><button type="button" class="forth" aria-label="next request">▶</button>'
    '<label class="which">configuration <select></select></label></nav></header>'
    '<div class="inside" tabindex="-1"></div></div></dialog>'
)
