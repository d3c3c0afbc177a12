"""`context-chef explain` and `context-chef diff`: what is in a request, and why two part."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from context_chef.adaptation.read_recording import FORMATS
from context_chef.cli.compiling import (
    TARGETS,
    CommandError,
    compiled,
    load_json,
    read_session,
)
from context_chef.cli.terminal import progress
from context_chef.errors import InputError
from context_chef.explaining import Explanation, diff, explain_body

_EXPLAIN = """\
Say for every part of a request who brought it, why, how many tokens it is and whether the
provider keeps it in its prompt cache; and what was left out, why, and where it can be read.

With --target, FILE is a transcript or request body as for `compile`, and is compiled first.
Without it, FILE is a request body that is explained as it stands."""

_DIFF = """\
Say where two requests part, in the order in which the provider hashes them, what made them part,
and how many tokens are billed again for it when the second is sent after the first.

A and B are request bodies. With --target they are transcripts or bodies as for `compile`, and are
compiled first, so that causes have names."""

_EXPLAIN_EPILOG = """\
examples:
  context-chef explain session.json --target anthropic --model claude-sonnet-4-5
  context-chef explain body.json --json
  context-chef explain session.json --target gemini --html explained.html"""

_DIFF_EPILOG = """\
examples:
  context-chef diff before.json after.json
  context-chef diff before.json after.json --model claude-opus-5 --seconds 400 --json
  context-chef diff monday.json tuesday.json --target openai-responses --html diff.html"""


def add_explain_commands(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],  # pyright: ignore[reportPrivateUsage]  # argparse has no public name for it
) -> None:
    """Add `explain` and `diff` to the commands."""
    explain = commands.add_parser(
        "explain",
        help="say what is in a request, who brought it and what it costs",
        description=_EXPLAIN,
        epilog=_EXPLAIN_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    explain.add_argument("file", metavar="FILE", help="JSON file, or - for standard input")
    _add_options(explain)
    explain.add_argument(
        "--short", action="store_true", help="only the sums, not every span (text only)"
    )
    explain.set_defaults(func=run_explain)
    differ = commands.add_parser(
        "diff",
        help="say where two requests part, and why",
        description=_DIFF,
        epilog=_DIFF_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    differ.add_argument("before", metavar="A", help="JSON file of the request that was sent first")
    differ.add_argument("after", metavar="B", help="JSON file of the request that came after it")
    _add_options(differ)
    differ.add_argument(
        "--seconds",
        type=float,
        default=0.0,
        metavar="N",
        help="how long after A the request B was sent (default: 0)",
    )
    differ.add_argument(
        "--prices", type=Path, metavar="FILE", help="a TOML file of prices laid over the built-in"
    )
    differ.set_defaults(func=run_diff)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="format",
        default="auto",
        choices=(*FORMATS, "responses"),
        help="what the file holds; told from its shape by default",
    )
    parser.add_argument(
        "--target", choices=TARGETS, help="compile for this target first; without it, bodies as is"
    )
    parser.add_argument("--model", help="the model's id, for its cache rules and prices")
    parser.add_argument(
        "--window", type=int, metavar="TOKENS", help="the context window to compile for"
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true", help="write JSON to standard output")
    how.add_argument("--html", type=Path, metavar="FILE", help="write one HTML page to FILE")


def run_explain(options: argparse.Namespace) -> int:
    """Explain as the options say."""
    explanation = _explained(options.file, options)
    if options.json:
        _say(explanation.to_json())
    elif options.html:
        _write(options.html, explanation.html())
    else:
        _say(explanation.text(every_span=not options.short))
    return 0


def run_diff(options: argparse.Namespace) -> int:
    """Compare as the options say."""
    before, after = _explained(options.before, options), _explained(options.after, options)
    found = diff(before, after, seconds=options.seconds, prices=options.prices)
    if options.json:
        _say(found.to_json())
    elif options.html:
        _write(options.html, found.html())
    else:
        _say(found.text())
    return 0


def _explained(name: str, options: argparse.Namespace) -> Explanation:
    if options.target is None and options.window is not None:
        raise CommandError("--window is for compiling: give --target as well.")
    if options.target is not None:
        with progress(f"Compiling {name} for {options.target} …"):
            conversation, _ = read_session(name, options.format)
            return compiled(conversation, options).explain()
    where = "standard input" if name == "-" else name
    data = load_json(name, where)
    if not isinstance(data, Mapping):
        raise CommandError(
            f"{where}: a request body is a JSON object, and this is none; "
            "give --target to have it compiled first."
        )
    body = cast("Mapping[str, Any]", data)
    form = None if options.format == "auto" else options.format
    if isinstance(body.get("request"), Mapping):  # a recording holds the body in an envelope
        form = form or str(body.get("format") or "") or None
        body = body["request"]
    form = {"responses": "openai-responses", "openai_responses": "openai-responses"}.get(
        form or "", form
    )
    try:
        return explain_body(body, form, model=options.model)
    except InputError as error:
        raise CommandError(f"{where}: {error}") from error


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}.") from error
    print(f"written to {path}", file=sys.stderr)
