"""`context-chef tune`: which settings to use, by what recorded sessions cost and kept."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from context_chef.cli.compiling import CommandError
from context_chef.cli.replaying import Commands, add_session_arguments, may_be_written, table
from context_chef.cli.terminal import console, counting
from context_chef.errors import SettingsError, shown
from context_chef.replay import ReplayOptions, as_toml, read_all
from context_chef.replay.curve import svg, text
from context_chef.replay.telling import money, percent
from context_chef.replay.tuning import MEASURES, STRATEGIES, Trial, Tuning, grid, tune

_SHOWN = 5

_DESCRIPTION = """\
Play recorded sessions through a grid of settings (strategies, windows, triggers), and say which to
use: the ones that keep most for a given cost, or cost least for a given retention. Writes a
chef.toml for `ContextChef.from_settings`, and a picture of the trade-off. Nothing calls a provider.

Retention is measured over the facts (identifiers, numbers, paths, URLs, errors, binding rules) in
messages that left the window: those still in front of the model, plus half of those that it can
look up; --measure changes that."""

_EPILOG = """\
examples:
  context-chef tune session.jsonl --max-cost 0.40
  context-chef tune logs/ --window 64k --min-retention 60% --out chef.toml --plot tuning.svg"""


def add_tune_command(commands: Commands) -> None:
    """Add `tune` to the commands."""
    parser = commands.add_parser(
        "tune",
        help="find the settings that keep most, or cost least, over recorded sessions",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_session_arguments(parser)
    parser.add_argument(
        "--max-cost", type=float, metavar="DOLLARS", help="what all sessions may cost together"
    )
    parser.add_argument(
        "--min-retention", metavar="SHARE", help="what has to be kept: 0.6, or 60%%"
    )
    parser.add_argument("--measure", choices=MEASURES, default="score", help="how it is measured")
    parser.add_argument(
        "--strategy", action="append", default=[], metavar="NAME",
        help=f"strategies to try (default: {', '.join(STRATEGIES)})",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, default=Path("chef.toml"), metavar="FILE",
        help="where the settings go (default: chef.toml)",
    )  # fmt: skip
    parser.add_argument(
        "--plot", type=Path, default=Path("tuning.svg"), metavar="FILE",
        help="where the picture goes (default: tuning.svg)",
    )  # fmt: skip
    parser.add_argument("--force", action="store_true", help="write over files that are there")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Tune as the options say; 1 when nothing keeps to what was asked for."""
    for path in (options.out, options.plot):
        if path.exists() and not options.force:
            raise CommandError(f"{path} is there already; choose another name, or give --force.")
        may_be_written(path)
    for flag in ("target", "model", "window"):
        if len(getattr(options, flag)) > 1:
            raise CommandError(f"--{flag} may be given once.")
    wanted = None if options.min_retention is None else _share(options.min_retention)
    sessions, skipped = read_all(options.sessions, options.format, only=options.only)
    configurations = grid(
        sessions,
        target=(options.target or [None])[0],
        model=(options.model or [None])[0],
        window=_window((options.window or [None])[0]),
        strategies=options.strategy or STRATEGIES,
    )
    with counting(f"Trying {len(configurations)} configurations") as step:
        tuning = tune(
            sessions,
            configurations,
            max_cost=options.max_cost,
            min_retention=wanted,
            measure=options.measure,
            options=ReplayOptions(
                summarizer=options.summarizer,
                prices=options.prices,
                pause=options.pause,
                check=options.check,
            ),
            jobs=options.jobs,
            progress=step,
        )
    _show(tuning, skipped)
    _write(options.plot, svg(tuning))
    print(f"picture written to {options.plot}")
    if not tuning.best:
        print(_nothing(tuning, options.max_cost, wanted), file=sys.stderr)
        return 1
    best = tuning.best[0]
    _write(options.out, as_toml(best.info))
    print(f"settings of {best.info.name!r} written to {options.out}:\n")
    print(as_toml(best.info))
    return 0


def _window(given: str | None) -> int | str | None:
    return int(given) if given is not None and given.isdigit() else given


def _share(given: str) -> float:
    try:
        bare = given.strip()
        return float(bare[:-1]) / 100 if bare.endswith("%") else float(bare)
    except ValueError:
        raise SettingsError(
            f"`--min-retention` is a share such as 0.6 or 60%, not {shown(given)}."
        ) from None


def _show(tuning: Tuning, skipped: list[str]) -> None:
    out = console()
    count = len(tuning.result.sessions)
    tried, failed = len(tuning.trials), sum(not trial.usable for trial in tuning.trials)
    out.print(
        f"{tried} configurations over {count} session{'' if count == 1 else 's'}"
        + (f"; {failed} do not fit or would be refused" if failed else ""),
        markup=False,
        soft_wrap=True,
    )
    out.print("\n" + text(tuning), markup=False, highlight=False, soft_wrap=True)
    columns = [
        ("", True), ("configuration", False), ("cost" if tuning.priced else "tokens", True),
        ("kept", True), ("in window", True), ("reachable", True), ("from cache", True),
        ("folds", True), ("largest", True),
    ]  # fmt: skip
    best = [_row(str(place), trial, tuning) for place, trial in enumerate(tuning.best[:_SHOWN], 1)]
    table(out, "The best", columns, best)
    front = [_row("", trial, tuning) for trial in tuning.front]
    table(out, "Those that no other beats, from cheap to complete", columns, front)
    result = tuning.result
    for line in ("", result.summarizer, result.pauses, *skipped):
        out.print(line, markup=False, soft_wrap=True)


def _row(place: str, trial: Trial, tuning: Tuning) -> tuple[str, ...]:
    figures = trial.figures
    return (
        place,
        trial.info.name,
        money(trial.cost) if tuning.priced else f"{trial.cost:,.0f}",
        percent(trial.retention),
        percent(figures.share("window")),
        percent(figures.share("window", "uri", "search")),
        percent(figures.totals.hit_share),
        f"{figures.totals.folds:,}",
        f"{figures.totals.peak:,}",
    )


def _nothing(tuning: Tuning, max_cost: float | None, min_retention: float | None) -> str:
    usable = [trial for trial in tuning.trials if trial.usable]
    if not usable:
        return "No configuration fits: give a larger --window."
    cheapest = min(usable, key=lambda trial: trial.cost)
    fullest = max(usable, key=lambda trial: trial.retention)
    said = ["No configuration keeps to that."]
    if max_cost is not None:
        said.append(f"The cheapest costs {money(cheapest.cost)}.")
    if min_retention is not None:
        said.append(f"The most that is kept is {percent(fullest.retention)}.")
    return " ".join(said)


def _write(path: Path, content: str) -> None:
    try:
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}.") from error
