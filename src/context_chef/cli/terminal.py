"""Tables and progress in a terminal: the one file that imports rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from context_chef.errors import MissingExtraError
from context_chef.explaining.as_text import harmless

if TYPE_CHECKING:
    from rich.console import Console


def console(stream: TextIO | None = None) -> Console:
    """A console on `stream` (stdout). Raises MissingExtraError when rich is not installed."""
    try:
        from rich.console import Console
    except ImportError as error:
        raise MissingExtraError("The command line", "cli") from error

    class Harmless(Console):
        """A console that shows what a session says, and never obeys it."""

        def print(self, *objects: Any, **options: Any) -> None:
            super().print(
                *(harmless(each) if isinstance(each, str) else each for each in objects), **options
            )

    return Harmless(file=stream or sys.stdout, highlight=False)


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
        table.add_row(*[escape(harmless(cell)) for cell in row])
    if total is not None:
        table.add_section()
        table.add_row(*[escape(harmless(cell)) for cell in total], style="bold")
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


def plain_table(
    out: Console, title: str, columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]
) -> None:
    """The same as aligned text without lines or colours, as wide as it has to be."""
    cells = [[name for name, _ in columns], *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    out.print(f"\n{title}", markup=False, soft_wrap=True)
    for row in cells:
        padded = [
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, (_, numeric) in zip(row, widths, columns, strict=True)
        ]
        out.print("  ".join(padded).rstrip(), markup=False, soft_wrap=True)


@contextmanager
def counting(message: str) -> Generator[Callable[[int, int], object]]:
    """A bar on stderr, moved by what is yielded: how many are done, of how many."""
    errors = console(sys.stderr)
    if not errors.is_terminal:
        yield lambda done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(message), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task(message, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
