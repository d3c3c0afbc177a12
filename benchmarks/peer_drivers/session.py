"""What every Python driver shares: a session is opened on a history, stepped, and timed.

A driver runs in an environment of its own, beside nothing but its library, so this file imports
the standard library only. It is called `python with_….py HISTORY.json …` and prints one line of
JSON a history.
"""

from __future__ import annotations

import gc
import json
import logging
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

Row = dict[str, Any]
Step = Callable[[Row | None], Any]
"""Add the row to the conversation (nothing, the first time) and make the request of it."""

Open = Callable[[str, list[Row], float], Step]
"""A session on (system prompt, history, room): 0.5 is a window of half of it, 2.0 a roomy one."""

ALL = ("turn", "cold", "full")
CASES = {"cold": 2.0, "turn": 2.0, "full": 0.5}
ROOMY = 50_000_000  # tokens: nothing is counted beforehand to say that there is room
RUNS = {"cold": 5, "turn": 15, "full": 15}
PATIENCE = 4.0  # seconds for the runs of one case, once there are three


def drive(package: str, ways: dict[str, tuple[Open, tuple[str, ...]]]) -> None:
    """Time each way of opening a session, in each of its cases, on each history of the line."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    print(json.dumps({"package": package, "version": metadata.version(package)}), flush=True)
    # The case that matters most first, on every history: a slow peer is stopped at some time.
    for case in ALL:
        for path in sys.argv[1:]:
            with open(path, encoding="utf-8") as file:
                given = json.load(file)
            for way, (opener, cases) in ways.items():
                if case not in cases:
                    continue
                found = {"way": way, "case": case, "size": len(given["rows"])}
                try:
                    found |= _timed(case, opener, given)
                except Exception as error:  # noqa: BLE001 - a peer's failure is a row of the table
                    found["reason"] = f"{type(error).__name__}: {error}"[:200]
                print(json.dumps(found), flush=True)


def _timed(case: str, opener: Open, given: dict[str, Any]) -> dict[str, Any]:
    system, room = given["system"], CASES[case]
    rows: list[Row] = given["rows"]
    more = iter(json.loads(json.dumps(given["more"])))

    def fresh() -> list[Row]:
        return json.loads(json.dumps(rows))

    if case == "cold":

        def prepare() -> Any:
            return fresh()

        def work(mine: Any) -> None:
            opener(system, mine, room)(None)
    else:
        step = opener(system, fresh(), room)
        step(None)

        def prepare() -> Any:
            return next(more)

        def work(mine: Any) -> None:
            step(mine)

    return spread(_figures(work, prepare, RUNS[case]))


def _figures(work: Callable[[Any], None], prepare: Callable[[], Any], runs: int) -> list[float]:
    figures: list[float] = []
    start = time.perf_counter()
    while len(figures) < runs:
        if len(figures) >= 3 and time.perf_counter() - start > PATIENCE:
            break
        given = prepare()
        gc.collect()
        begun = time.perf_counter()
        work(given)
        figures.append((time.perf_counter() - begun) * 1000)
    return figures


def spread(figures: list[float]) -> dict[str, Any]:
    """The median in milliseconds, the quarter points and how many runs there were."""
    figures = sorted(figures)
    last = len(figures) - 1
    return {
        "ms": statistics.median(figures),
        "low": figures[last // 4],
        "high": figures[last - last // 4],
        "runs": len(figures),
    }
