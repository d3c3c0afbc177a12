"""The commands of `context-chef`, and what their errors look like in a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import cast

from context_chef.cli.checking import add_check_command
from context_chef.cli.compiling import add_compile_command
from context_chef.cli.explaining import add_explain_commands
from context_chef.cli.replaying import add_replay_command
from context_chef.cli.store import add_store_commands
from context_chef.cli.tuning import add_tune_command
from context_chef.errors import ContextChefError
from context_chef.explaining.as_text import harmless

_DESCRIPTION = """\
Compiles what an agent knows into the best request that fits, for OpenAI Chat, OpenAI Responses,
Anthropic and Gemini. Nothing here calls a provider: everything works offline."""

_EPILOG = """\
examples:
  context-chef compile session.json --target anthropic --model claude-sonnet-4-5 --out payload.json
  cat body.json | context-chef compile - --target gemini --report
  context-chef replay session.jsonl --window 32k --html report.html
  context-chef check body.json --target anthropic
  context-chef store search "error E1234" --store .context/context.db"""


def run_command(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Answers the exit code: 0 done, 1 could not be done, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        prog="context-chef",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    add_compile_command(commands)
    add_explain_commands(commands)
    add_check_command(commands)
    add_replay_command(commands)
    add_tune_command(commands)
    add_store_commands(commands)
    options = parser.parse_args(arguments)
    run = cast(Callable[[argparse.Namespace], int], options.func)
    try:
        return run(options)
    except ContextChefError as error:
        print(f"context-chef: {harmless(' '.join(str(error).split()))}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 1


def _version() -> str:
    try:
        return version("context-chef")
    except PackageNotFoundError:
        return "(not installed)"
