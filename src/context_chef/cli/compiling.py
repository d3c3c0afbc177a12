"""`context-chef compile`: a transcript or a recorded request becomes a payload for any provider."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, cast

from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.read_recording import FORMATS, read_recording
from context_chef.chef import ContextChef
from context_chef.cli.terminal import console, progress, show_table
from context_chef.errors import ContextChefError, InputError
from context_chef.ir.payload import Payload
from context_chef.ir.report import Report
from context_chef.pipeline.model_doubts import BEYOND_THE_MODEL, MODEL_DOUBTS

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
        conversation, found = read_session(options.file, options.format)
    with progress(f"Compiling {len(conversation.history)} messages for {options.target} …"):
        payload = compiled(conversation, options)
        report = payload.report
    out = console(sys.stdout if options.out else sys.stderr)
    _write(payload, options.out)
    sent = _messages_of(payload, options.target)
    out.print(
        f"{found} → {options.target}: {_counted(len(conversation.history), 'message')} in, "
        f"{_counted(sent, 'message')} out, {_counted(len(conversation.tools), 'tool')}, "
        f"{report.tokens:,} tokens (estimated)"
    )
    _show(out, report, every_span=options.report)
    for line in (*_doubts(report), *_notes(conversation, report)):
        out.print(line, markup=False)
    if options.out:
        out.print(f"payload written to {options.out}", markup=False)
    return 0


def compiled(conversation: Conversation, options: argparse.Namespace) -> Payload:
    """The payload of the conversation for the target, model and window of the options."""
    settings: dict[str, Any] = {"cache": "auto", "model": options.model}
    if options.window is not None:
        settings["janitor"] = {"context_window": options.window}
    chef = ContextChef(**settings)
    chef.set_system_prompt(conversation.system).set_history(conversation.history)
    chef.register_tools(conversation.tools)
    return chef.compile_sync(options.target)


def read_session(name: str, format: str) -> tuple[Conversation, str]:
    """The conversation in the file. Errors name the file and, below its top level, the place."""
    where = "standard input" if name == "-" else name
    data = load_json(name, where)
    if format == "gemini" and isinstance(data, dict) and "messages" in data:
        messages = cast("dict[str, Any]", data)["messages"]
        rows = cast("list[Any]", messages) if isinstance(messages, list) else []
        if not any(isinstance(row, dict) and "parts" in row for row in rows):
            raise CommandError(
                f"{where}: --from gemini does not fit: a Gemini request has `contents` with "
                "`parts`, and this has `messages`; leave --from out to have the format told."
            )
    try:
        conversation, found = read_recording(data, format)
    except InputError as error:
        said = str(error).removeprefix(f"{error.path}: ")
        place = error.path.removeprefix("$").removeprefix(".")
        raise CommandError(": ".join(part for part in (where, place, said) if part)) from error
    if not conversation.messages:
        raise CommandError(
            f"{where}: there is no message at all"
            + ("." if format == "auto" else f"; does --from {format} fit?")
        )
    return conversation, found


def load_json(name: str, where: str) -> Any:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror or error}.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"cannot read {name}: it is not UTF-8 text.") from error
    if not text.strip():
        raise CommandError(f"{where} is empty; a request body or a list of messages was expected.")
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        if _is_jsonl(text):
            raise CommandError(
                f"{where} holds no JSON but JSON Lines, one value per line; make a list of them "
                f"first, for example with `jq -s . {name}`."
            ) from error
        raise CommandError(f"{where} holds no JSON: {error}.") from error
    if value is None:
        raise CommandError(f"{where} holds JSON null; a request body or a list was expected.")
    return value


def _is_jsonl(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), dict) for line in lines[:3])
    except (ValueError, RecursionError):
        return False


class CommandError(ContextChefError):
    """What a command cannot do, in one line that names the file."""


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _messages_of(payload: Payload, target: str) -> int:
    """How many messages, items or contents go out."""
    key = {"openai-responses": "input", "gemini": "contents"}.get(target, "messages")
    sent: Any = payload.get(key)
    return len(cast("list[Any]", sent)) if isinstance(sent, list) else int(bool(sent))


def _doubts(report: Report) -> list[str]:
    """What the report says about the model: unknown, another provider's, or too small."""
    return [
        f"note: {note.message}" + ("; use --window" if note.code == BEYOND_THE_MODEL else "")
        for note in report.diagnostics
        if note.code in MODEL_DOUBTS
    ]


def _notes(conversation: Conversation, report: Report) -> list[str]:
    """What was not carried and what was mended, in one line each; what is equal is counted."""
    lines = [
        f"not carried as it was: {note.where}: {note.message}"
        for note in (*conversation.diagnostics, *report.diagnostics)
        if note.code not in MODEL_DOUBTS
    ]
    groups: dict[tuple[str, str], list[str]] = {}
    for repair in report.repairs:
        groups.setdefault((repair.rule, repair.message), []).append(repair.where)
    for (rule, message), places in groups.items():
        where = places[0] if len(places) == 1 else f"{places[0]} and {len(places) - 1} more"
        lines.append(f"mended: {where}: {message} [{rule}]")
    return [" ".join(line.split()) for line in lines]


def _write(payload: Payload, path: Path | None) -> None:
    data = payload.to_json() + b"\n"
    if path is None:
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}.") from error


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
    left = [span for span in report.spans if span.place == "out"]
    sent = [span for span in report.spans if span.place != "out"]
    if left:
        reasons = ", ".join(dict.fromkeys(span.reason for span in left if span.reason))
        out.print(
            f"left out: {_counted(len(left), 'span')}, {sum(s.tokens for s in left):,} tokens"
            + (f" ({reasons})" if reasons else ""),
            markup=False,
        )
    largest = sorted(sent, key=lambda span: -span.tokens)[:5]
    show_table(
        out,
        "The largest spans",
        [("source", False), ("role", False), ("tokens", True), ("text", False)],
        [(s.source, s.role or "", f"{s.tokens:,}", s.preview) for s in largest],
    )
