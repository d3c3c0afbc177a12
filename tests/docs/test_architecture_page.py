"""The architecture page says what the tables in the code say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from context_chef.events import EVENTS
from context_chef.pipeline.stages import STAGES
from context_chef.slots import SLOTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


ROWS = {
    "stages": [f"| `{s.name}` | {s.contract} | {'yes' if s.waits else 'no'} |" for s in STAGES],
    "slots": [f"| `{slot.name}` | {slot.contract} |" for slot in SLOTS.values()],
    "events": [
        f"| `{topic}` | {_first_sentence(event.__doc__)} |" for topic, event in EVENTS.items()
    ],
}


def rewritten(page: str) -> str:
    """The page with every table's rows as the code has them."""
    for name, rows in ROWS.items():
        head = rf"(<!-- {name}: begin[^\n]*-->\n\|[^\n]*\n\|[^\n]*\n)"
        pattern = head + rf"(?:\|[^\n]*\n)*(<!-- {name}: end -->)"
        table = "\n".join(rows)
        page = re.sub(pattern, lambda match, table=table: f"{match[1]}{table}\n{match[2]}", page)
    return page


@pytest.mark.parametrize("name", ROWS)
def test_every_entry_has_its_line_on_the_page(name: str) -> None:
    page = PAGE.read_text("utf-8")

    for row in ROWS[name]:
        assert row in page


def test_the_page_has_no_line_that_the_code_has_not() -> None:
    page = PAGE.read_text("utf-8")

    assert rewritten(page) == page, "run: python tests/docs/test_architecture_page.py"


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text("utf-8")), "utf-8")
