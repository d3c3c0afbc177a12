"""`context-chef replay`: recorded sessions under other settings, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

from context_chef.cli.compiling import CommandError
from context_chef.cli.terminal import console, counting, plain_table, show_table
from context_chef.errors import InputError
from context_chef.replay import (
    SESSION_FORMATS,
    RecordedSession,
    ReplayConfiguration,
    ReplayOptions,
    ReplayResult,
    SessionReplay,
    configuration,
    play_all,
    read_all,
    read_configurations,
    read_session,
)
from context_chef.replay.configuration import COMPARED, TARGETS
from context_chef.replay.html import html_page
from context_chef.replay.telling import (
    COLUMNS,
    by_configuration,
    causes,
    figures_of,
    in_words,
    kinds_table,
    row_of,
)

_MOST_SESSIONS_SHOWN = 5
_MOST_LOST_SHOWN = 8

_DESCRIPTION = """\
Play recorded agent sessions, request by request, through one or several configurations: what would
have been sent, what the prompt cache would have served, what it would have cost, what left the
window and whether the model could still reach it. Nothing calls a provider.

SESSION is a file, or a folder of them: Claude Code and pi logs (.jsonl), request bodies of OpenAI
Chat, OpenAI Responses, Anthropic and Gemini (JSON, or one body a line, with or without answers and
usage), lists of messages, and recordings of our own Recorder. Summaries are written by an offline
stand-in unless --summarizer names a real model."""

_EPILOG = """\
examples:
  context-chef replay session.jsonl --window 32k
  context-chef replay session.json --window 25% --strategy summarize --strategy clear+summarize
  context-chef replay ~/.claude/projects/mine --strategy "background(anchored)" --html report.html
  context-chef replay logs/ --config chef.toml --config other.toml --json result.json"""


class Commands(Protocol):
    """Where commands are added: what `add_subparsers` answers."""

    def add_parser(self, name: str, /, **options: Any) -> argparse.ArgumentParser: ...


def add_replay_command(commands: Commands) -> None:
    """Add `replay` to the commands."""
    parser = commands.add_parser(
        "replay",
        help="play recorded sessions under other settings, side by side",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_session_arguments(parser)
    parser.add_argument(
        "--strategy", action="append", default=[], metavar="NAME",
        help="everything, drop, clear, summarize, anchored, reset, server, joined with + or in "
        "background(...); repeat to compare",
    )  # fmt: skip
    parser.add_argument(
        "--config", action="append", default=[], metavar="FILE",
        help="settings in TOML or JSON, or several as [[configuration]]; repeat to compare",
    )  # fmt: skip
    parser.add_argument(
        "--json", nargs="?", const="-", metavar="FILE", help="the whole result as JSON"
    )
    parser.add_argument("--html", type=Path, metavar="FILE", help="a page that shows every request")
    parser.add_argument("--each", action="store_true", help="a table for every session")
    parser.set_defaults(func=run)


def add_session_arguments(parser: argparse.ArgumentParser) -> None:
    """What says which sessions, for whom, and how they are played."""
    parser.add_argument("sessions", nargs="+", metavar="SESSION", help="a file or a folder")
    parser.add_argument(
        "--format", default="auto", choices=SESSION_FORMATS, metavar="FORMAT",
        help=f"one of {', '.join(SESSION_FORMATS)}; told from the file by default",
    )  # fmt: skip
    parser.add_argument("--only", metavar="TEXT", help="sessions whose name contains this")
    parser.add_argument(
        "--target", action="append", default=[], choices=TARGETS,
        help="who the requests are for (default: whom the recorded agent asked)",
    )  # fmt: skip
    parser.add_argument(
        "--model", action="append", default=[], help="the model's id (default: the recorded one)"
    )
    parser.add_argument(
        "--window", action="append", default=[], metavar="TOKENS",
        help="the context window: 32000, 32k, or a share of the session as in 25%%",
    )  # fmt: skip
    parser.add_argument(
        "--summarizer", default="extractive", metavar="WHO",
        help="extractive (a stand-in that copies out), scripted (one that keeps nothing), or "
        "PROVIDER:MODEL with a key in the environment",
    )  # fmt: skip
    parser.add_argument("--prices", type=Path, metavar="FILE", help="prices of your own, in TOML")
    parser.add_argument(
        "--pause", type=float, default=15.0, metavar="SECONDS",
        help="time between requests where the recording does not tell (default: 15)",
    )  # fmt: skip
    parser.add_argument(
        "--check", default="auto", choices=("auto", "all", "none"),
        help="which requests are held to the provider's rules",
    )  # fmt: skip
    parser.add_argument(
        "--jobs", type=int, default=0, metavar="N", help="processes (default: one for each core)"
    )


def run(options: argparse.Namespace) -> int:
    """Replay as the options say."""
    for name in (options.json, options.html):
        if name is not None and str(name) != "-":
            may_be_written(Path(name))
    configurations = _configurations(options)
    sessions, skipped = read_all(options.sessions, options.format, only=options.only)
    result = played(sessions, configurations, options)
    if options.json is not None:
        _write(result.to_json() + b"\n", options.json)
    out = console(sys.stderr if options.json == "-" else sys.stdout)
    if options.json != "-":
        _show(out, result, each=options.each)
        for line in skipped:
            out.print(line, markup=False, soft_wrap=True)
    if options.html is not None:
        _write(html_page(result).encode("utf-8"), str(options.html))
        out.print(f"report written to {options.html}", markup=False, soft_wrap=True)
    return 0


def played(
    sessions: Sequence[RecordedSession],
    configurations: Sequence[ReplayConfiguration],
    options: argparse.Namespace,
) -> ReplayResult:
    """The sessions through the configurations, with progress on a terminal."""
    with _progress(len(sessions), len(configurations)) as step:
        return play_all(
            sessions,
            configurations,
            options=ReplayOptions(
                summarizer=options.summarizer,
                prices=options.prices,
                pause=options.pause,
                check=options.check,
            ),
            jobs=options.jobs,
            progress=step,
        )


@contextmanager
def _progress(sessions: int, configurations: int) -> Generator[Callable[[int, int], object]]:
    what = f"{_counted(sessions, 'session')}, {_counted(configurations, 'configuration')}"
    with counting(f"Replaying {what}") as step:
        yield step


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _configurations(options: argparse.Namespace) -> list[ReplayConfiguration]:
    """What the options compare: files as they are, strategies with every target and window."""
    files = [(path, read_configurations(path)) for path in options.config]
    names = [each.name for _, several in files for each in several]
    found: list[ReplayConfiguration] = []
    for path, several in files:
        for one in several:
            # Two versions of one file are told apart by where they lie.
            clear = names.count(one.name) == 1
            named = one if clear else replace(one, name=f"{one.name} ({path})")
            found.append(_overridden(named, options))
    strategies = options.strategy or ([] if found else list(COMPARED))
    varied = list(
        product(
            strategies, options.target or [None], options.model or [None], options.window or [None]
        )
    )
    for strategy, target, model, window in varied:
        name = [str(strategy)]
        name += [str(target)] if len(options.target) > 1 else []
        name += [str(model)] if len(options.model) > 1 else []
        name += [str(window)] if len(options.window) > 1 else []
        found.append(
            configuration(
                strategy,
                target=target,
                model=model,
                window=int(window) if window is not None and window.isdigit() else window,
                name=" ".join(name),
            )
        )
    return found


def _overridden(one: ReplayConfiguration, options: argparse.Namespace) -> ReplayConfiguration:
    for flag in ("target", "model", "window"):
        if len(getattr(options, flag)) > 1:
            raise CommandError(f"--{flag} may be given once together with --config.")
    target, model, window = (
        (getattr(options, flag) or [None])[0] for flag in ("target", "model", "window")
    )
    return ReplayConfiguration(
        name=one.name,
        target=target or one.target,
        model=model or one.model,
        window=window or one.window,
        settings=one.settings,
    )


def may_be_written(path: Path) -> None:
    """Raises CommandError for a file that cannot be written in the end, before the work begins.

    A recorded session is never written over: `--json SESSION` is a slip of the finger.
    """
    if path.is_dir():
        raise CommandError(f"cannot write {path}: it is a folder.")
    if not path.parent.is_dir():
        raise CommandError(f"cannot write {path}: there is no folder {path.parent}.")
    if not path.is_file():
        return
    try:
        read_session(path)
    except InputError:
        return
    raise CommandError(
        f"{path} holds a recorded session and is not written over; name another file behind the "
        "option, and sessions in front of it."
    )


def _write(data: bytes, name: str) -> None:
    if name == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        Path(name).write_bytes(data)
    except OSError as error:
        raise CommandError(f"cannot write {name}: {error.strerror}.") from error


def table(out: Any, title: str, columns: Any, rows: Any) -> None:
    """A table: boxed on a terminal, plain columns elsewhere."""
    if not rows:
        return
    if out.is_terminal:
        out.print()
        show_table(out, title, columns, rows)
    else:
        plain_table(out, title, columns, rows)


def _show(out: Any, result: ReplayResult, *, each: bool) -> None:
    def say(line: str) -> None:
        out.print(line, markup=False, soft_wrap=True)

    figures = by_configuration(result)
    for session in result.sessions[: None if each else _MOST_SESSIONS_SHOWN]:
        _head(say, session)
        if len(result.sessions) == 1 or each:
            table(out, session.name, COLUMNS, [row_of(figures_of([run])) for run in session.runs])
    more = len(result.sessions) - _MOST_SESSIONS_SHOWN
    if more > 0 and not each:
        say(f"… and {_counted(more, 'session')} more; --each shows every one.")
    if len(result.sessions) > 1:
        table(out, f"All {len(result.sessions)} sessions", COLUMNS, [row_of(f) for f in figures])
    say("\nIn short")
    for line in in_words(result):
        say(f"  {line}")
    table(
        out,
        "What became of the facts in messages that left the window",
        [("configuration", False), ("kind", False), ("in window", True), ("by address", True),
         ("by search", True), ("lost", True)],
        kinds_table(figures),
    )  # fmt: skip
    if len(result.sessions) == 1:
        _show_one(out, say, result.sessions[0])
    say("")
    for line in (result.summarizer, result.pauses, f"Tokens are counted with {result.counter}."):
        say(line)


def _head(say: Callable[[str], None], session: SessionReplay) -> None:
    model = f", {session.model}" if session.model else ""
    say(
        f"{session.name} ({session.format}{model}): {_counted(session.messages, 'message')}, "
        f"{_counted(session.requests, 'request')}"
    )
    recorded = session.recorded
    if recorded is not None and recorded.prompt:
        say(
            f"  as recorded: {recorded.prompt:,} prompt tokens in "
            f"{_counted(session.recorded_requests, 'request')}, {recorded.cache_read:,} of them "
            f"from the cache, {recorded.output:,} tokens answered"
        )
    for note in session.notes:
        say(f"  note: {note}")


def _show_one(out: Any, say: Callable[[str], None], session: SessionReplay) -> None:
    rows = [(name, cause, f"{n:,}", f"{tokens:,}") for name, cause, n, tokens in causes(session)]
    table(
        out,
        "Why the prompt cache broke",
        [("configuration", False), ("cause", False), ("times", True), ("tokens paid again", True)],
        rows,
    )
    for run in session.runs:
        lost = run.retention.lost[:_MOST_LOST_SHOWN]
        if lost:
            say(f"lost under {run.configuration.name}:")
            for fact in lost:
                say(f"  {fact.kind}: {fact.text}  (message {fact.message + 1})")
        for fault in (*(f for r in run.requests for f in r.faults), *run.sequence_faults)[:3]:
            say(f"refused under {run.configuration.name}: {fault.where}: {fault.message}")
        for note in run.notes[:4]:
            say(f"note on {run.configuration.name}: {note}")
