"""Replays of real recorded sessions: a table of strategies, and how long a long replay takes.

    python -m benchmarks.replay_runs [--data DIR] [--window 25%]      the table of strategies
    python -m benchmarks.replay_runs --thousand [--window 32k]        1,000 requests, ten ways

The table plays every recorded session of at least 20 requests through each strategy in the same
share of its own size. `--thousand` puts the longest recordings behind one another until there are
1,000 requests, plays them through ten configurations over all cores, and prints the time.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Sequence

import msgspec

from benchmarks.overflow_runs import data_folder
from context_chef.replay import RecordedSession, ReplayResult, configuration, play_all, read_all
from context_chef.replay.session import SessionRequest
from context_chef.replay.telling import COLUMNS, by_configuration, row_of

STRATEGIES = (
    "everything", "drop", "clear", "reset", "summarize", "anchored", "clear+summarize",
    "clear+anchored", "clear+summarize+reset", "background(clear+summarize)",
)  # fmt: skip
LEAST_REQUESTS = 20


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or the time of the long replay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="folder of the recorded sessions")
    parser.add_argument("--window", help="tokens, or a share of each session")
    parser.add_argument("--thousand", action="store_true", help="1,000 requests, ten ways")
    parser.add_argument("--jobs", type=int, default=0, help="processes (default: every core)")
    parser.add_argument("--summarizer", default="extractive")
    options = parser.parse_args(arguments)
    read, _ = read_all([data_folder(options.data) / "traces"])
    long = [session for session in read if len(session.requests) >= LEAST_REQUESTS]
    sessions = [thousand(long)] if options.thousand else long
    window = options.window or ("32k" if options.thousand else "25%")
    configurations = [configuration(name, window=window) for name in STRATEGIES]
    began = time.perf_counter()
    result = play_all(sessions, configurations, jobs=options.jobs)
    took = time.perf_counter() - began
    spent = sum(
        resource.getrusage(who).ru_utime + resource.getrusage(who).ru_stime
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    requests = sum(len(session.requests) for session in sessions) * len(configurations)
    print(table(result))
    print(f"\n{len(sessions)} sessions, {requests:,} requests, {result.summarizer}")
    print(f"{took:.1f} s on the clock, {spent:.1f} s of processor", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
