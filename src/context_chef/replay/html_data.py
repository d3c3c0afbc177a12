"""What the report's script is given: every request and text of a session, small and harmless."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any, Final

from context_chef.replay.html_kinds import kind_of, label_of
from context_chef.replay.result import (
    FATES,
    FoldRecord,
    FoundFault,
    MendedPlace,
    ReplayedRequest,
    Run,
    SessionReplay,
    SpanText,
)

CAPS: Final = (20_000, 8_000, 4_000, 2_000, 1_000, 400, 160)
"""Characters to which texts are cut, the largest that keeps all of them within the budget."""

_HEAD: Final = 2 / 3
"""The part of what is kept that comes from the beginning of a text."""
_HARMFUL: Final = re.compile("[<>&\u2028\u2029\u007f\ud800-\udfff]")
_MOST_DIGITS: Final = 7


def longest_text(sessions: Iterable[SessionReplay], budget: int) -> int:
    """To how many characters texts are cut so that all of them together stay within the budget."""
    lengths = [len(row.text) for session in sessions for row in session.texts]
    for cap in CAPS:
        if sum(min(length, cap) for length in lengths) <= budget:
            return cap
    return CAPS[-1]


def packed(session: SessionReplay, cap: int) -> dict[str, Any]:
    """One session as plain data. Texts are told once; requests say how they differ from the last."""
    return {
        "name": session.name,
        "texts": [_text(row, cap) for row in session.texts],
        "runs": [_run(run) for run in session.runs],
    }


def script_json(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it closes the element or a line."""
    plain = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", plain)


def _text(row: SpanText, cap: int) -> list[Any]:
    told: list[Any] = [kind_of(row), label_of(row), row.role or "", row.tokens]
    if len(row.text) <= cap:
        return [*told, row.text]
    head = int(cap * _HEAD)
    return [*told, row.text[:head], len(row.text) - cap, row.text[len(row.text) - (cap - head) :]]


def _run(run: Run) -> dict[str, Any]:
    requests = run.requests
    events = {str(r.number): happened for r in requests if (happened := _events(r))}
    return {
        "name": run.configuration.name,
        "priced": bool(run.prices),
        "at": [round(r.at) for r in requests],
        "messages": [r.messages for r in requests],
        "tokens": [r.tokens for r in requests],
        "limit": max((r.limit for r in requests if r.limit is not None), default=None),
        "read": [r.cache_read for r in requests],
        "written": [r.cache_written for r in requests],
        "uncached": [r.uncached for r in requests],
        "output": [r.output for r in requests],
        "cost": [round(r.cost, _MOST_DIGITS) for r in requests],
        "summaries": [round(r.summarizer_cost, _MOST_DIGITS) for r in requests],
        "size": [r.size for r in requests],
        "digest": [r.digest for r in requests],
        "moves": all_moves(requests),
        "events": events,
    }


def _events(request: ReplayedRequest) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if request.folds:
        found["folds"] = [_fold(fold) for fold in request.folds]
    if request.busts:
        found["busts"] = [
            {"cause": b.cause, "name": b.name, "message": b.message, "tokens": b.rebilled}
            for b in request.busts
        ]
    if request.repairs:
        found["repairs"] = [_place(repair) for repair in request.repairs]
    if request.faults:
        found["faults"] = [_place(fault) for fault in request.faults]
    return found


def _fold(fold: FoldRecord) -> dict[str, Any]:
    return {
        "strategy": fold.strategy,
        "left": list(fold.left),
        "uris": list(fold.uris),
        "summary": fold.summary,
        "tokens": fold.tokens_left,
        "calls": fold.calls,
        "facts": [fold.facts.get(fate, 0) for fate in FATES],
    }


def _place(found: MendedPlace | FoundFault) -> dict[str, str]:
    return {"rule": found.rule, "where": found.where, "message": found.message}


def all_moves(requests: Sequence[ReplayedRequest]) -> list[list[int]]:
    """How the spans of each request come out of those of the one before. See `moves`."""
    spans: list[int] = []
    found: list[list[int]] = []
    for request in requests:
        now = [*spans[: request.kept], *request.added]
        found.append(moves(spans, now))
        spans = now
    return found


def moves(before: Sequence[int], now: Sequence[int]) -> list[int]:
    """Stretches: from where to copy, how many, how many new ones follow, and these.

    A change in the first span does not repeat those behind it, so that sessions whose prefix
    changes in every request stay small.
    """
    places: dict[int, list[int]] = {}
    for at, span in enumerate(before):
        places.setdefault(span, []).append(at)
    found: list[int] = []
    new: list[int] = []
    start = count = cursor = 0
    for span in now:
        at = cursor
        if cursor >= len(before) or before[cursor] != span:
            known = places.get(span, ())
            later = bisect_left(known, cursor)
            if later == len(known):
                new.append(span)
                continue
            at = known[later]
        if new or at != start + count:
            if count or new:
                found += [start, count, len(new), *new]
            start, count, new = at, 0, []
        count += 1
        cursor = at + 1
    if count or new:
        found += [start, count, len(new), *new]
    return found
