"""`context-chef`: the library's main jobs from a shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Answers the exit code: 0 done, 1 could not be done, 2 wrong usage."""
    try:
        # Imported here, so that Ctrl-C while it loads ends in a line as well.
        from context_chef.cli.commands import run_command

        return run_command(arguments)
    except KeyboardInterrupt:
        print("context-chef: interrupted", file=sys.stderr)
        return 130
