"""Tables and progress in a terminal: the one file that imports rich."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from context_chef.errors import MissingExtraError

if TYPE_CHECKING:
    from rich.console import Console


def console(stream: TextIO | None = None) -> Console:
    """A console on `stream` (stdout). Raises MissingExtraError when rich is not installed."""
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtraError("The command line", "cli") from error
    return Console(file=stream or sys.stdout, highlight=False)


def show_table(
    out: Console,
    title: str,
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    *,
    total: Sequence[str] | None = None,
) -> None:
    """A table; a column's flag says whether it holds numbers. Cells are plain text."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold")
    for name, numeric in columns:
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*[escape(cell) for cell in row])
    if total is not None:
        table.add_section()
        table.add_row(*[escape(cell) for cell in total], style="bold")
    out.print(table)


@contextmanager
def progress(message: str) -> Generator[None]:
    """Say on stderr what is going on: a spinner in a terminal, nothing elsewhere."""
    errors = console(sys.stderr)
    if not errors.is_terminal:
        yield
        return
    with errors.status(message):
        yield
