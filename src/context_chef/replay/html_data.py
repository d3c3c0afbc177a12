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


def packed(
    session: SessionReplay, cap: int, told: Sequence[Sequence[Sequence[int]]]
) -> dict[str, Any]:
    """One session as plain data: texts once, requests as what differs from the one before.

    `told` are the moves of each run, as `all_moves` finds them.
    """
    return {
        "name": session.name,
        "texts": [_text(row, cap) for row in session.texts],
        "runs": [_run(run, told[at]) for at, run in enumerate(session.runs)],
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


def _run(run: Run, told: Sequence[Sequence[int]]) -> dict[str, Any]:
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
        "moves": told,
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
        found.append(moves(spans, now, request.kept))
        spans = now
    return found


def moves(before: Sequence[int], now: Sequence[int], front: int = 0) -> list[int]:
    """Stretches: from where to copy, how many, how many new ones follow, and these.

    A change in the first span does not repeat those behind it, so that sessions whose prefix
    changes in every request stay small. `front` is how many are known to be the same.
    """
    stretches = _Stretches()
    stretches.copied(0, front)
    places: dict[int, list[int]] | None = None
    there = here = front
    while here < len(now):
        same = _alike(before, there, now, here)
        if same:
            stretches.copied(there, same)
            there, here = there + same, here + same
            continue
        if _at(before, there + 1) == _at(now, here + 1) != -1:  # one in place of another
            stretches.new.append(now[here])
            there, here = there + 1, here + 1
            continue
        if there >= len(before):
            stretches.new += now[here:]
            break
        if places is None:
            places = {}
            for at in range(front, len(before)):
                places.setdefault(before[at], []).append(at)
        known = places.get(now[here], ())
        later = bisect_left(known, there)
        if later < len(known):
            there = known[later]
        else:
            stretches.new.append(now[here])
            here += 1
    stretches.close()
    return stretches.done


def _at(spans: Sequence[int], place: int) -> int:
    return spans[place] if place < len(spans) else -1


def _alike(one: Sequence[int], at: int, other: Sequence[int], place: int) -> int:
    """How many spans are the same from these places on; whole stretches are compared at once."""
    most = min(len(one) - at, len(other) - place)
    low, step = 0, 1
    while low < most:
        high = min(low + step, most)
        if one[at + low : at + high] == other[place + low : place + high]:
            low, step = high, step * 2
        elif step == 1:
            break
        else:
            step = 1
            while one[at + low] == other[place + low]:
                low += 1
            break
    return low


def touched(told: Sequence[Sequence[int]]) -> Iterable[tuple[list[int], Sequence[int]]]:
    """For each request: the spans that are gone, and those that are new."""
    spans: list[int] = []
    for one in told:
        now: list[int] = []
        gone: list[int] = []
        new: list[int] = []
        end = at = 0
        while at < len(one):
            start, count, fresh = one[at : at + 3]
            gone += spans[end:start] if count else []
            end = start + count if count else end
            now += spans[start : start + count]
            now += one[at + 3 : at + 3 + fresh]
            new += one[at + 3 : at + 3 + fresh]
            at += 3 + fresh
        yield gone + spans[end:], new
        spans = now


class _Stretches:
    """Puts neighbours together."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.new: list[int] = []
        self._start = self._count = 0

    def copied(self, start: int, count: int) -> None:
        if not count:
            return
        if not self._count and not self.new:
            self._start = start
        if self.new or start != self._start + self._count:
            self.close()
            self._start = start
        self._count += count

    def close(self) -> None:
        if self._count or self.new:
            self.done += [self._start, self._count, len(self.new), *self.new]
        self._start = self._count = 0
        self.new = []
