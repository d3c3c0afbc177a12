"""Tables and progress in a terminal: the one file that imports rich."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO, TypeAlias

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
    """A table; a column's flag says whether it holds numbers. Cells are plain text.

    Numbers stay whole: where the terminal is narrow the lines go first, then a short table is
    turned, so that what stood side by side stands below one another.
    """
    from rich.box import SIMPLE
    from rich.cells import cell_len
    from rich.markup import escape
    from rich.table import Table

    shown = [[harmless(cell) for cell in row] for row in rows]
    cells = [*shown, *([[harmless(cell) for cell in total]] if total is not None else [])]
    least, natural = _widths(columns, cells, cell_len)
    lean = sum(least) + 3 * len(least) + 1 > out.width
    room = out.width - sum(least) - (2 if lean else 3) * len(least) - 1
    if room < 0 and len(cells) <= _MOST_TURNED:
        turned = _turned(columns, cells, out.width, cell_len)
        for part, (heads, lines) in enumerate(turned):
            show_table(out, title if part == 0 else f"{title} (going on)", heads, lines)
        if turned:
            return
    look: dict[str, Any] = {"title": title, "title_justify": "left", "title_style": "bold"}
    if lean:
        look |= {"box": SIMPLE, "show_edge": False, "pad_edge": False, "padding": (0, 1, 0, 0)}
    table = Table(**look)
    for (name, numeric), width, most in zip(columns, least, natural, strict=True):
        more = max(0, min(room, most - width))
        room -= more
        # Where nothing fits, rich squeezes as well as it can.
        wide = None if room < 0 else width + more
        justify = "right" if numeric else "left"
        table.add_column(name, justify=justify, overflow="fold", width=wide)
    for row in rows:
        table.add_row(*[escape(harmless(cell)) for cell in row])
    if total is not None:
        table.add_section()
        table.add_row(*[escape(harmless(cell)) for cell in total], style="bold")
    out.print(table)


_FOLDED_AT: Final = 14
"""Texts may be folded to this width; numbers never are."""
_MOST_TURNED: Final = 12
"""Longer tables are easier to read squeezed than turned."""
_Part: TypeAlias = tuple[list[tuple[str, bool]], list[list[str]]]


def _widths(
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    length: Callable[[str], int],
) -> tuple[list[int], list[int]]:
    """How narrow each column may be, so that numbers and the words of its head stay whole; and how
    wide it would be."""
    least: list[int] = []
    natural: list[int] = []
    for at, (name, numeric) in enumerate(columns):
        longest = max((length(row[at]) for row in rows), default=0)
        head = max((len(word) for word in name.split()), default=1)
        least.append(max(head, longest if numeric else min(longest, _FOLDED_AT)))
        natural.append(max(len(name), longest))
    return least, natural


def _turned(
    columns: Sequence[tuple[str, bool]],
    rows: Sequence[Sequence[str]],
    width: int,
    length: Callable[[str], int],
) -> list[_Part]:
    """The rows as columns, in as many tables as the width asks for; none where one is too much."""
    names = [name for name, _ in columns[1:]]
    left = width - max(map(len, names), default=0) - 4
    parts: list[list[Sequence[str]]] = [[]]
    room = left
    for row in rows:
        need = 3 + max(map(length, row))
        if need > left:
            return []
        if need > room:
            parts.append([])
            room = left
        parts[-1].append(row)
        room -= need
    return [
        (
            [("", False), *((row[0], True) for row in part)],
            [[name, *(row[at] for row in part)] for at, name in enumerate(names, 1)],
        )
        for part in parts
        if part
    ]


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
