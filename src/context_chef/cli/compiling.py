"""`context-chef compile`: a transcript or a recorded request becomes a payload for any provider."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from context_chef.adaptation.read_recording import FORMATS, read_recording
from context_chef.chef import ContextChef
from context_chef.cli.terminal import console, progress, show_table
from context_chef.errors import InputError
from context_chef.ir.payload import Payload
from context_chef.ir.report import Report

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")

_DESCRIPTION = """\
Read a transcript or a recorded request body, and write the request for another provider.

FILE holds JSON: a request body of OpenAI Chat, OpenAI Responses, Anthropic or Gemini, a bare list
of messages, or a container {"format": ..., "system": ..., "tools": ..., "messages": [...]}. Use -
for standard input. The payload goes to --out (or to standard output), and a table shows where the
tokens went. What had to be mended, and what could not be carried, is listed below it."""

_EPILOG = """\
examples:
  context-chef compile session.json --target anthropic --model claude-opus-5-5 --out payload.json
  context-chef compile body.json --from gemini --target openai-responses --report
  context-chef compile - --target gemini < body.json > payload.json"""


def add_compile_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],  # pyright: ignore[reportPrivateUsage]  # argparse has no public name for it
) -> None:
    """Add `compile` to the commands."""
    parser = commands.add_parser(
        "compile",
        help="compile a transcript or request body for a provider",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="JSON file, or - for standard input")
    parser.add_argument(
        "--from",
        dest="format",
        default="auto",
        choices=(*FORMATS, "responses"),
        help="what FILE holds; told from its shape by default",
    )
    parser.add_argument("--target", required=True, choices=TARGETS, help="who the request is for")
    parser.add_argument("--model", help="the model's id; without it the safe choice is made")
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="where the payload goes (default: standard output)"
    )
    parser.add_argument(
        "--report", action="store_true", help="show every span of the request, not only the sums"
    )
    parser.add_argument(
        "--window", type=int, metavar="TOKENS", help="the context window the request has to fit"
    )
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Compile as the options say."""
    with progress(f"Reading {options.file} …"):
        conversation, found = read_recording(_load(options.file), options.format)
    settings: dict[str, Any] = {"cache": "auto", "model": options.model}
    if options.window is not None:
        settings["janitor"] = {"context_window": options.window}
    chef = ContextChef(**settings)
    chef.set_system_prompt(conversation.system).set_history(conversation.history)
    chef.register_tools(conversation.tools)
    with progress(f"Compiling {len(conversation.history)} messages for {options.target} …"):
        payload = chef.compile_sync(options.target)
        report = payload.report
    out = console(sys.stdout if options.out else sys.stderr)
    _write(payload, options.out)
    out.print(
        f"{found} → {options.target}: {len(conversation.history)} messages, "
        f"{len(conversation.tools)} tools, {report.tokens:,} tokens (estimated)"
    )
    _show(out, report, every_span=options.report)
    for note in (*conversation.diagnostics, *report.diagnostics):
        out.print(f"not carried as it was: {note.where}: {note.message}", markup=False)
    for repair in report.repairs:
        out.print(f"mended: {repair.where}: {repair.message} [{repair.rule}]", markup=False)
    if options.out:
        out.print(f"payload written to {options.out}", markup=False)
    return 0


def _load(name: str) -> Any:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot read {name}: {reason}.") from error
    try:
        return json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{name} holds no JSON: {error}.") from error


def _write(payload: Payload, path: Path | None) -> None:
    data = payload.to_json() + b"\n"
    if path is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}.") from error


def _show(out: Any, report: Report, *, every_span: bool) -> None:
    total = max(report.tokens, 1)
    if every_span:
        rows = [
            (span.place, span.source, span.role or "", f"{span.tokens:,}", span.preview)
            for span in report.spans
        ]
        columns = [
            ("place", False), ("source", False), ("role", False), ("tokens", True), ("text", False)
        ]  # fmt: skip
        show_table(out, "Every span", columns, rows)
    rows = [
        (place, f"{tokens:,}", f"{tokens / total:.0%}") for place, tokens in report.sections.items()
    ]
    show_table(
        out,
        "Where the tokens go",
        [("place", False), ("tokens", True), ("share", True)],
        rows,
        total=("all", f"{report.tokens:,}", "100%"),
    )
    largest = sorted(report.spans, key=lambda span: -span.tokens)[:5]
    show_table(
        out,
        "The largest spans",
        [("source", False), ("role", False), ("tokens", True), ("text", False)],
        [(s.source, s.role or "", f"{s.tokens:,}", s.preview) for s in largest],
    )
