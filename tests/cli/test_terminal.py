"""Tables are read in a terminal of any usual width."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from context_chef.cli.terminal import show_table
from context_chef.replay.telling import COLUMNS

NAMES = ("everything", "drop", "clear+summarize", "background(clear+summarize)")
FIGURES = (
    "855,295", "21,642", "49", "0", "0", "97%", "0", "1,234,567", "$1,230.00", "0", "-", "121,345",
    "99%", "100%",
)  # fmt: skip


def _drawn(width: int, columns: list[tuple[str, bool]], rows: list[tuple[str, ...]]) -> str:
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=width, color_system=None)
    show_table(console, "All sessions", columns, rows)
    return out.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 120, 140, 160, 200])
def test_no_number_of_a_replay_is_broken_or_cut_in_a_terminal(width: int) -> None:
    """At 80 columns the figures used to be folded digit by digit."""
    drawn = _drawn(width, list(COLUMNS), [(name, *FIGURES) for name in NAMES])

    assert max(map(len, drawn.splitlines())) <= width
    for figure in FIGURES[:2] + FIGURES[7:9]:
        assert drawn.count(figure) == len(NAMES)
    assert "…" not in drawn


def test_a_long_table_is_squeezed_and_an_empty_one_is_drawn() -> None:
    columns = [("key", False), ("size", True), ("content", False)]
    rows = [(f"key {number}", f"{number:,}", "word " * 30) for number in range(1_000, 1_030)]

    assert _drawn(60, columns, rows).count("key ") >= 30
    assert "1,029" in _drawn(60, columns, rows)
    assert "content" in _drawn(60, columns, [])
