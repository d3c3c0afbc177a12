"""`context-chef check`: what a provider would say of a finished request, whoever made it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.wire_rules import Fault, WireRule, all_rules
from context_chef.adaptation.wire_rules.checking import check_payload, check_sequence
from context_chef.cli.compiling import TARGETS, CommandError
from context_chef.cli.terminal import console, show_table
from context_chef.errors import MissingExtraError, shown

_DESCRIPTION = """\
Hold a finished request to the rules of its provider, and list what would be refused: where, by
which rule, why, and what repairs it. Nothing is sent anywhere.

FILE holds JSON: one request body (or the keyword arguments of the SDK call), a list of bodies, or
JSON Lines with one body a line. Several bodies are the turns of one session: the rules over turns
are asked too, and paths begin with the turn. A file that the fuzz harness wrote is read as well;
it says what its target is. Use - for standard input.

Exit codes: 0 nothing would be refused, 1 something would, 2 the question cannot be answered."""

_EPILOG = """\
examples:
  context-chef check body.json --target anthropic
  context-chef check session.jsonl --target openai-responses --model gpt-5.6-sol --json
  context-chef compile session.json --target gemini | context-chef check - --target gemini"""


class _Asked(NamedTuple):
    """What is to be judged."""

    target: str
    model: str | None
    payloads: list[dict[str, Any]]
    session: bool


def add_check_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],  # pyright: ignore[reportPrivateUsage]  # argparse has no public name for it
) -> None:
    """Add `check` to the commands."""
    parser = commands.add_parser(
        "check",
        help="list what a provider would refuse of a request",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="JSON or JSON Lines, or - for standard input")
    parser.add_argument("--target", choices=TARGETS, help="whose rules (required, but see FILE)")
    parser.add_argument("--model", help="the model's id, where the body names none or another")
    parser.add_argument(
        "--api-version", metavar="DATE", help="Anthropic's version header (default: the newest)"
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="the caller adds `model` and `max_tokens`: do not miss them in the body",
    )
    parser.add_argument(
        "--warnings", action="store_true", help="also list what is accepted but disputed"
    )
    parser.add_argument("--json", action="store_true", help="answer JSON instead of a table")
    parser.set_defaults(func=run)


def run(options: argparse.Namespace) -> int:
    """Judge as the options say."""
    try:
        asked = _asked(options)
    except CommandError as error:
        print(f"context-chef: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    settings: dict[str, Any] = {
        "model": asked.model,
        "api_version": options.api_version,
        "warnings": options.warnings,
        "partial": options.partial,
    }
    if asked.session:
        faults = check_sequence(asked.target, asked.payloads, **settings)
    else:
        faults = check_payload(asked.target, asked.payloads[0], **settings)
    try:
        if options.json:
            _print_json(asked, faults)
        else:
            _print_table(asked, faults)
    except MissingExtraError as error:
        # 1 would say that the request is refused.
        print(f"context-chef: {error} `--json` needs nothing more.", file=sys.stderr)
        return 2
    return 1 if any(fault.severity == "error" for fault in faults) else 0


# What is asked -----------------------------------------------------------------------------------


def _asked(options: argparse.Namespace) -> _Asked:
    where = "standard input" if options.file == "-" else options.file
    data: Any = _load(options.file, where)
    target, model = options.target, options.model
    if isinstance(data, Mapping) and isinstance(cast(Any, data).get("payloads"), list):
        container = cast("dict[str, Any]", data)
        target = target or container.get("target")
        model = model or container.get("model")
        data = container["payloads"]
    if target is None:
        raise CommandError(f"{where} does not say who it is for; add --target {'|'.join(TARGETS)}.")
    if target not in TARGETS:
        raise CommandError(f"{where} is for {shown(target)}; give --target {'|'.join(TARGETS)}.")
    session = isinstance(data, list)
    rows = cast("list[Any]", data if session else [data])
    if not rows:
        raise CommandError(f"{where} holds an empty list; a request body was expected.")
    for index, row in enumerate(rows):
        place = f"{where}, item {index}" if session else where
        if not isinstance(row, dict):
            raise CommandError(f"{place}: a request body is a JSON object, not {_kind(row)}.")
        if (
            session
            and ("role" in row or "type" in row)
            and not _is_body(cast("dict[str, Any]", row))
        ):
            raise CommandError(
                f"{place} is a message, not a request body; wrap the list in a body such as "
                '{"model": …, "messages": […]}, or compile it with `context-chef compile`.'
            )
    return _Asked(target, model, cast("list[dict[str, Any]]", rows), session)


def _is_body(row: Mapping[str, Any]) -> bool:
    return any(key in row for key in ("messages", "input", "contents", "model"))


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a text" if isinstance(value, str) else "a list" if _is_list(value) else "a number"


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _load(name: str, where: str) -> Any:
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"cannot read {name}: {error.strerror or error}.") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"cannot read {where}: it is not UTF-8 text.") from error
    if not text.strip():
        raise CommandError(f"{where} is empty; a request body was expected.")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        if len(lines) < 2:
            raise CommandError(f"{where} holds no JSON: {error}.") from error
        return [_line(line, number, where) for number, line in enumerate(lines, 1)]


def _line(line: str, number: int, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise CommandError(
            f"{where} holds neither JSON nor JSON Lines: line {number}: {error}."
        ) from error


# What is answered --------------------------------------------------------------------------------


def _rules() -> dict[str, WireRule]:
    return {rule.id: rule for rule in all_rules()}


def _print_json(asked: _Asked, faults: Sequence[Fault]) -> None:
    rules = _rules()
    problems = [
        {
            "rule": fault.rule,
            "path": fault.path,
            "message": fault.message,
            "severity": fault.severity,
            "repairable": rules[fault.rule].repairable,
            "repair": rules[fault.rule].repair,
            "source": rules[fault.rule].source,
        }
        for fault in faults
    ]
    answer = {
        "target": asked.target,
        "model": asked.model,
        "payloads": len(asked.payloads),
        "problems": problems,
    }
    sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")


def _print_table(asked: _Asked, faults: Sequence[Fault]) -> None:
    out = console()
    rules = _rules()
    many = len(asked.payloads)
    what = f"a session of {many:,} requests" if asked.session else "the request"
    if faults:
        rows = [
            (
                fault.severity,
                fault.rule.partition("/")[2],
                fault.path or "(payload)",
                fault.message,
                ("" if rules[fault.rule].repairable else "none: ") + rules[fault.rule].repair,
            )
            for fault in faults
        ]
        columns = [(name, False) for name in ("", "rule", "where", "why", "repair by a compile")]
        show_table(out, f"{asked.target}: {what}", columns, rows)
    errors = sum(fault.severity == "error" for fault in faults)
    warned = len(faults) - errors
    said = f"{errors:,} that would be refused" if errors else f"nothing wrong with {what}"
    out.print(said + (f", {warned:,} to be careful with" if warned else ""), markup=False)
    for line in _doubts(asked, faults):
        out.print(line, markup=False)


def _doubts(asked: _Asked, faults: Sequence[Fault]) -> list[str]:
    """Models that nobody knows, of which rules that depend on the model say nothing; and what a
    compile leaves to the caller."""
    named = {asked.model or _model_of(payload) for payload in asked.payloads}
    lines: list[str] = []
    for model in sorted(name for name in named if name):
        if profile_for(model, asked.target) is None:
            lines.append(f"note: model {model!r} is not known here; its own rules were not asked")
    if None in named:
        lines.append("note: no model is named; add --model to ask the rules that depend on it")
    if any(fault.path.rpartition("].")[2] in ("model", "max_tokens") for fault in faults):
        lines.append(
            "note: a compile leaves `model` and `max_tokens` to the call; add --partial for what "
            "it wrote"
        )
    return lines


def _model_of(payload: Mapping[str, Any]) -> str | None:
    model = payload.get("model")
    return model if isinstance(model, str) and model else None
