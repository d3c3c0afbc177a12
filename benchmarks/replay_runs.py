"""Replays of real recorded sessions: a table of strategies, and how long a long replay takes.

    python -m benchmarks.replay_runs [--data DIR] [--window 25%] [--out FILE]
    python -m benchmarks.replay_runs --thousand [--window 32k]        1,000 requests, ten ways

The first plays every recorded session of at least 20 requests through each strategy in the same
share of its own size, and writes the table `benchmarks/results/replay_runs.md`. `--thousand` puts
the longest recordings behind one another until there are 1,000 requests, plays them through ten
configurations over all cores, and prints the time.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.measuring import machine
from benchmarks.overflow_runs import data_folder
from context_chef.costs import PriceTable
from context_chef.replay import (
    RecordedSession,
    ReplayOptions,
    ReplayResult,
    configuration,
    play_all,
    read_all,
)
from context_chef.replay.session import SessionRequest
from context_chef.replay.telling import (
    COLUMNS,
    Figures,
    by_configuration,
    figures_of,
    money,
    percent,
    row_of,
)

STRATEGIES = (
    "everything", "drop", "clear", "reset", "summarize", "anchored", "clear+summarize",
    "clear+anchored", "clear+summarize+reset", "background(clear+summarize)",
)  # fmt: skip
LEAST_REQUESTS = 20
STAND_INS = {"openai": "gpt-4.1", "anthropic": "claude-sonnet-4-5", "gemini": "gemini-2.5-pro"}
"""Whose rules and prices count where a recording names no model that has any."""
RESULTS = Path(__file__).resolve().parent / "results" / "replay_runs.md"
FIGURES = (
    "tokens sent", "largest request", "over window", "folds", "from cache", "cost", "facts left",
    "in window", "by URI", "by search", "lost",
)  # fmt: skip


def thousand(sessions: Sequence[RecordedSession], requests: int = 1_000) -> RecordedSession:
    """One session of so many requests: recordings behind one another, the longest first."""
    joined: list[SessionRequest] = []
    before: RecordedSession | None = None
    ordered = sorted(sessions, key=lambda session: -len(session.requests))
    first = ordered[0]
    while len(joined) < requests:
        for session in ordered:
            for number, request in enumerate(session.requests):
                said = () if before is None or number else before.rest
                request = msgspec.structs.replace(
                    request, keep=None, system=None, tools=None, at=None,
                    add=(*said, *request.add),
                )  # fmt: skip
                joined.append(request)
            before = session
    front = first.requests[0]
    joined[0] = msgspec.structs.replace(joined[0], system=front.system, tools=front.tools)
    return msgspec.structs.replace(
        first, name="thousand", requests=tuple(joined[:requests]), rest=()
    )


def table(result: ReplayResult) -> str:
    """The strategies over all sessions, in Markdown."""
    names = [name for name, _ in COLUMNS]
    lines = [
        f"| {' | '.join(names)} |",
        f"|{'|'.join('---:' if numeric else '---' for _, numeric in COLUMNS)}|",
    ]
    lines += [f"| {' | '.join(row_of(each))} |" for each in by_configuration(result)]
    return "\n".join(lines)


def played(
    sessions: Sequence[RecordedSession], window: str, jobs: int, summarizer: str
) -> ReplayResult:
    """Every strategy over every session, on the model of the recording if that has a price."""
    prices = PriceTable.default()
    options = ReplayOptions(summarizer=summarizer)
    groups: dict[str | None, list[RecordedSession]] = {}
    for session in sessions:
        probe = configuration("everything").for_session(session)
        known = prices.of(probe.model, target=probe.target) is not None
        groups.setdefault(None if known else STAND_INS[probe.target], []).append(session)
    done: ReplayResult | None = None
    for model, group in groups.items():
        ways = [configuration(name, window=window, model=model) for name in STRATEGIES]
        result = play_all(group, ways, options=options, jobs=jobs)
        if done is None:
            done = result
        else:
            done = msgspec.structs.replace(
                done,
                sessions=(*done.sessions, *result.sessions),
                pauses=" ".join(dict.fromkeys((done.pauses, result.pauses))),
            )
    assert done is not None
    ordered = sorted(done.sessions, key=lambda each: (-each.requests, each.name))
    return msgspec.structs.replace(done, sessions=tuple(ordered))


def cells(figures: Figures) -> tuple[str, ...]:
    """The figures of one row of the page."""
    totals, facts = figures.totals, figures.facts
    return (
        f"{totals.sent:,}",
        f"{totals.peak:,}",
        f"{totals.above:,}",
        f"{totals.folds:,}",
        percent(totals.hit_share),
        money(totals.cost) if figures.priced else "?",
        f"{facts:,}",
        *(
            percent(figures.share(fate)) if facts else ""
            for fate in ("window", "uri", "search", "lost")
        ),
    )


def page(result: ReplayResult, window: str) -> str:
    """The result as a page in Markdown: all sessions together, then each."""
    return "\n".join(_lines(result, window)) + "\n"


def _lines(result: ReplayResult, window: str) -> Iterator[str]:
    where = machine("rs-bpe")
    sessions = [each for each in result.sessions if not any(run.error for run in each.runs)]
    stopped = [each for each in result.sessions if any(run.error for run in each.runs)]
    result = msgspec.structs.replace(result, sessions=tuple(sessions))
    requests = sum(session.requests for session in sessions)
    models = dict.fromkeys(
        str(run.configuration.model) for session in sessions for run in session.runs
    )
    yield "# Recorded sessions under ten strategies"
    yield ""
    yield (
        f"`python -m benchmarks.replay_runs --window {window}`: every recorded session of at least "
        f"{LEAST_REQUESTS} requests ({len(sessions)} sessions, {requests:,} requests; "
        f"{len(stopped)} more are named at the end), replayed "
        f"offline in a window of {window} of its own size."
    )
    yield (
        f"{result.summarizer} {result.pauses} Counted by {result.counter}. Models: "
        f"{', '.join(models)}; where a recording names none that has a price, one of "
        f"{', '.join(STAND_INS.values())} stands in for it."
    )
    yield (
        "`everything` has no limit and is held against the window. *over window* counts requests "
        "that would be refused for their size, and *facts left* the identifiers, numbers, paths, "
        "URLs, errors and rules of messages that left the window by the end of the session; then "
        "where those are: word for word in the window, behind an address that it shows, found by "
        "a search of the store, or lost. Cost is US$ by list prices, the summariser included."
    )
    yield ""
    yield f"Made on {', '.join(f'{name} {value}' for name, value in where.items())}."
    yield ""
    yield "## All sessions together"
    yield ""
    yield from _table(("strategy",), [((each.name,), each) for each in by_configuration(result)])
    yield ""
    longest = sessions[0]
    rest = msgspec.structs.replace(result, sessions=tuple(sessions[1:]))
    if rest.sessions:
        yield f"## Without the longest, `{longest.name}`"
        yield ""
        yield from _table(("strategy",), [((each.name,), each) for each in by_configuration(rest)])
        yield ""
    yield "## Each session"
    yield ""
    rows = [
        (
            (session.name, f"{session.requests:,}", f"{run.configuration.window or 0:,}",
             run.configuration.name),
            figures_of([run]),
        )
        for session in sessions
        for run in session.runs
    ]  # fmt: skip
    yield from _table(("session", "requests", "window", "strategy"), rows)
    if stopped:
        yield ""
        yield "## Sessions that are in no table"
        yield ""
        yield (
            f"In {window} of their size there is no room for their tools and their system prompt, "
            "so that no strategy could send a request:"
        )
        yield ""
    for session in stopped:
        error = next(run.error for run in session.runs if run.error)
        yield f"- `{session.name}`: {error}"


def _table(names: Sequence[str], rows: Sequence[tuple[Sequence[str], Figures]]) -> Iterator[str]:
    yield f"| {' | '.join((*names, *FIGURES))} |"
    yield "|" + "---|" * len(names) + "---:|" * len(FIGURES)
    for head, figures in rows:
        yield f"| {' | '.join((*head, *cells(figures)))} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the time of the long replay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="folder of the recorded sessions")
    parser.add_argument("--window", help="tokens, or a share of each session")
    parser.add_argument("--thousand", action="store_true", help="1,000 requests, ten ways")
    parser.add_argument("--jobs", type=int, default=0, help="processes (default: every core)")
    parser.add_argument("--summarizer", default="extractive")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the page that is written")
    options = parser.parse_args(arguments)
    read, _ = read_all([data_folder(options.data) / "traces"])
    long = [session for session in read if len(session.requests) >= LEAST_REQUESTS]
    window = options.window or ("32k" if options.thousand else "25%")
    began = time.perf_counter()
    if options.thousand:
        sessions = [thousand(long)]
        ways = [configuration(name, window=window) for name in STRATEGIES]
        how = ReplayOptions(summarizer=options.summarizer)
        result = play_all(sessions, ways, options=how, jobs=options.jobs)
        print(table(result))
        requests = len(sessions[0].requests) * len(ways)
        print(f"\n{requests:,} requests. {result.summarizer}")
    else:
        result = played(long, window, options.jobs, options.summarizer)
        options.out.write_text(page(result, window), "utf-8")
        print(table(result))
    took = time.perf_counter() - began
    spent = sum(
        resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    print(f"{took:.1f} s on the clock, {spent:.1f} s of processor", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
