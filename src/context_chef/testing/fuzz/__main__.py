"""`python -m context_chef.testing.fuzz`: plays random sessions, exit code 1 when any went wrong."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from context_chef.errors import ContextChefError
from context_chef.testing.fuzz.checkers import CHECKER_VARIABLE, Judge
from context_chef.testing.fuzz.playing import play
from context_chef.testing.fuzz.running import Tally, read_recipe, run

_DESCRIPTION = """\
Plays random sessions through a chef: histories that are well-formed, damaged and adversarial,
under every strategy, slot handler, target and model. Every request is judged by our own wire
rules, alone and as part of its session, and by an independent checker where one is given. The
first failure of each kind is cut down and written to a file, for `context-chef check FILE` and for
--replay FILE. Exit codes: 0 nothing went wrong, 1 something did, 2 wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run as the arguments say. Answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m context_chef.testing.fuzz",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--seconds", type=float, metavar="N", help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which sessions")
    parser.add_argument(
        "--cases", type=int, metavar="N", help="stop after N requests; no time limit then"
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="where failures go (default: ./fuzz-failures)"
    )
    parser.add_argument(
        "--checker",
        metavar="PATH",
        default=os.environ.get(CHECKER_VARIABLE) or None,
        help="an independent checker: a module with `check` and `check_sequence` "
        f"(default: ${CHECKER_VARIABLE})",
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: every core)")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="play one failure again")
    options = parser.parse_args(arguments)
    for name in ("seconds", "cases", "jobs"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            parser.error(f"--{name} has to be above 0, not {value}")
    try:
        if options.replay is not None:
            return _replay(options.replay, options.checker)
        return _run(options)
    except ContextChefError as error:
        print(f"fuzz: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fuzz: interrupted", file=sys.stderr)
        return 130


def _run(options: argparse.Namespace) -> int:
    Judge(options.checker)  # what is wrong with it is said here, not by each process
    seconds = options.seconds
    if seconds is None and options.cases is None:
        seconds = 60.0
    tally = run(
        seed=options.seed,
        seconds=seconds,
        compiles=options.cases,
        jobs=options.jobs or os.cpu_count() or 1,
        out=options.out or Path("fuzz-failures"),
        checker=options.checker,
        tell=_Progress(),
    )
    print(_line(tally))
    judges = "our rules" if options.checker is None else f"our rules and {options.checker}"
    print(f"seed {options.seed}, judged by {judges}")
    for name, times in tally.refused.most_common():
        print(f"refused with {name}: {times:,}")
    for kind, times in tally.kinds.most_common():
        print(f"FAILED {times:,} times: {kind}")
    for path in tally.files:
        print(f"written to {path}")
    return 1 if tally.failed else 0


def _line(tally: Tally) -> str:
    return (
        f"{tally.compiles:,} requests in {tally.sessions:,} sessions, "
        f"{tally.failed:,} of them with problems"
    )


class _Progress:
    """One line that is written over in a terminal; elsewhere one every minute."""

    def __init__(self) -> None:
        self._said = 0.0

    def __call__(self, tally: Tally, seconds: float) -> None:
        live = sys.stderr.isatty()
        if not live and seconds - self._said < 60:
            return
        self._said = seconds
        line = f"{seconds:,.0f} s: {_line(tally)}"
        print(f"\r{line}\x1b[K" if live else line, end="" if live else "\n", file=sys.stderr)
        sys.stderr.flush()


def _replay(path: Path, checker: str | None) -> int:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        print(f"fuzz: cannot read {path}: {error.strerror or error}.", file=sys.stderr)
        return 2
    played = asyncio.run(play(read_recipe(text), Judge(checker)))
    for problem in played.problems:
        print(problem)
    print(f"{played.compiles:,} requests, {len(played.problems):,} problems")
    return 1 if played.problems else 0


if __name__ == "__main__":
    sys.exit(main())
