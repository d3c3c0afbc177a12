"""Records an agent session: a scripted model drives real tools over a small repository.

The program builds the repository, plays the model's script against it and writes what was said as
a chat-completions transcript. Everything but the model is real: files, shell, failures.

    python examples/record_session.py --out examples/session.json
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

SYSTEM = (
    "You are a careful engineer working in a small Python repository. Read before you change. "
    "Never edit files under vendor/. Run the tests before you say that something is fixed."
)

TASK = (
    "The nightly stock report crashes for some warehouses, ticket INV-2291. Find out why, fix it, "
    "and make sure the tests cover it. The report has to keep its exit code 3 for unknown "
    "warehouses; the scheduler depends on it."
)

FILES = {
    "inventory/__init__.py": "",
    "inventory/stock.py": '''"""Stock levels per warehouse."""

from dataclasses import dataclass


@dataclass
class Item:
    sku: str
    quantity: int
    reorder_at: int


def load(lines):
    items = []
    for line in lines:
        sku, quantity, reorder_at = line.strip().split(",")
        items.append(Item(sku, int(quantity), int(reorder_at)))
    return items


def days_left(item, sold_per_day):
    return item.quantity / sold_per_day[item.sku]


def to_reorder(items):
    return [item for item in items if item.quantity < item.reorder_at]
''',
    "inventory/report.py": '''"""Nightly report: python -m inventory.report WAREHOUSE [--verbose]"""

import sys
from pathlib import Path

from inventory.stock import days_left, load, to_reorder

DATA = Path(__file__).resolve().parent.parent / "data"


def main(arguments):
    name = arguments[0]
    source = DATA / f"{name}.csv"
    if not source.exists():
        print(f"unknown warehouse: {name}", file=sys.stderr)
        return 3
    items = load(source.read_text().splitlines())
    sold = {}
    for line in (DATA / "sales.csv").read_text().splitlines():
        sku, per_day = line.split(",")
        sold[sku] = float(per_day)
    for item in items:
        if "--verbose" in arguments:
            print(f"checking {item.sku} quantity={item.quantity} reorder_at={item.reorder_at}")
        print(f"{item.sku}: {days_left(item, sold):.1f} days")
    print(f"to reorder: {len(to_reorder(items))}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
''',
    "tests/__init__.py": "",
    "tests/test_stock.py": """import unittest

from inventory.stock import Item, days_left, load, to_reorder


class StockTest(unittest.TestCase):
    def test_load(self):
        self.assertEqual(load(["A-1,5,2"]), [Item("A-1", 5, 2)])

    def test_days_left(self):
        self.assertEqual(days_left(Item("A-1", 10, 2), {"A-1": 2.0}), 5.0)

    def test_to_reorder(self):
        self.assertEqual(to_reorder([Item("A-1", 1, 2), Item("B-1", 9, 2)]), [Item("A-1", 1, 2)])


if __name__ == "__main__":
    unittest.main()
""",
    "README.md": "# inventory\n\nNightly stock reports. Exit code 3 means: unknown warehouse.\n",
    "vendor/README.md": "Third-party code. Do not edit.\n",
}


def build_repository(root: Path) -> None:
    """Write the repository and its data: `south` has what the report trips over."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    data = root / "data"
    data.mkdir()
    north = [f"N-{number:03d},{(number * 37) % 90 + 4},{12}" for number in range(1, 121)]
    south = [f"S-{number:03d},{(number * 53) % 70 + 1},{15}" for number in range(1, 161)]
    (data / "north.csv").write_text("\n".join(north) + "\n")
    (data / "south.csv").write_text("\n".join(south) + "\n")
    sales = [f"N-{number:03d},{(number % 7) + 1}" for number in range(1, 121)]
    sales += [
        f"S-{number:03d},{0 if number == 97 else (number % 5) + 1}" for number in range(1, 161)
    ]
    (data / "sales.csv").write_text("\n".join(sales) + "\n")


_TEST_TIME = re.compile(r"^(Ran \d+ tests? in )\d+\.\d+s$", re.MULTILINE)
"""How long the tests took, which differs from run to run."""

_FROZEN_LINE = re.compile(r"(File \"<frozen runpy>\", line )\d+")
"""Lines of Python's own starter, which differ from version to version."""


class Tools:
    """The tools of the agent, working on the repository."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def run(self, name: str, arguments: dict[str, Any]) -> str:
        """The text of the result; what went wrong is text as well, as it would be for a model."""
        tool: Callable[..., str] = getattr(self, name)
        try:
            return tool(**arguments)
        except OSError as error:
            return f"Error: {error.strerror}: {error.filename}".replace(str(self._root), ".")

    def list_files(self, path: str = ".") -> str:
        found = sorted(item for item in (self._root / path).rglob("*") if item.is_file())
        names = [str(item.relative_to(self._root)) for item in found]
        return "\n".join(name for name in names if "__pycache__" not in name)

    def read_file(self, path: str) -> str:
        return (self._root / path).read_text(encoding="utf-8")

    def write_file(self, path: str, text: str) -> str:
        (self._root / path).write_text(text, encoding="utf-8")
        return f"wrote {len(text)} characters to {path}"

    def replace_in_file(self, path: str, old: str, new: str) -> str:
        text = (self._root / path).read_text(encoding="utf-8")
        if text.count(old) != 1:
            return f"Error: the text to replace occurs {text.count(old)} times in {path}"
        (self._root / path).write_text(text.replace(old, new), encoding="utf-8")
        return f"replaced 1 occurrence in {path}"

    def shell(self, command: str) -> str:
        done = subprocess.run(
            command.replace("python ", f"{sys.executable} "),
            shell=True,
            cwd=self._root,
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONNODEBUGRANGES": "1"},  # markers differ between versions
        )
        output = (done.stdout + done.stderr).replace(str(self._root), "/repo")
        output = _TEST_TIME.sub(r"\1#.###s", output)  # else every recording has other bytes
        output = _FROZEN_LINE.sub(r"\1#", output)
        output = output.replace(sys.base_prefix, "/python").replace(sys.prefix, "/python")
        return f"{output}exit code {done.returncode}"


def _tool(name: str, description: str, **parameters: str) -> dict[str, Any]:
    properties = {key: {"type": "string", "description": text} for key, text in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    function = {"name": name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


TOOLS = [
    _tool("list_files", "List the files below a folder.", path="Folder, relative to the root."),
    _tool("read_file", "Read a whole file.", path="File, relative to the root."),
    _tool("write_file", "Write a whole file.", path="File to write.", text="Its new content."),
    _tool(
        "replace_in_file",
        "Replace a text that occurs exactly once.",
        path="File to change.",
        old="The text as it stands.",
        new="The text to put there.",
    ),
    _tool("shell", "Run a command in the root folder.", command="The command line."),
]

Call = tuple[str, dict[str, Any]]

_SAFE_DAYS_LEFT = '''def days_left(item, sold_per_day):
    """Days until the item is sold out; infinity when it does not sell."""
    per_day = sold_per_day.get(item.sku, 0.0)
    return item.quantity / per_day if per_day else float("inf")
'''

_NEW_TEST = '''    def test_days_left_of_an_item_that_does_not_sell(self):
        """INV-2291: the report crashed for warehouses with unsold items."""
        self.assertEqual(days_left(Item("A-1", 10, 2), {"A-1": 0.0}), float("inf"))
        self.assertEqual(days_left(Item("A-1", 10, 2), {}), float("inf"))

    def test_to_reorder(self):
'''

SCRIPT: list[str | tuple[str, list[Call]]] = [
    ("I'll look at the repository first.", [("list_files", {"path": "."})]),
    (
        "The report and the stock module are what matters. Reading both, and running the tests.",
        [
            ("read_file", {"path": "inventory/report.py"}),
            ("read_file", {"path": "inventory/stock.py"}),
            ("shell", {"command": "python -m unittest -v"}),
        ],
    ),
    ("The tests pass, so they miss it. Is there a log of the crash?",
     [("read_file", {"path": "logs/nightly.log"})]),
    (
        "No log here. I'll run the report for both warehouses, verbosely for the second.",
        [
            ("shell", {"command": "python -m inventory.report north"}),
            ("shell", {"command": "python -m inventory.report south --verbose"}),
        ],
    ),
    (
        "ZeroDivisionError at S-097: an item with zero sales per day. Checking the data, and what "
        "an unknown warehouse does today.",
        [
            ("shell", {"command": "grep -n ',0$' data/sales.csv"}),
            ("shell", {"command": "python -m inventory.report west"}),
        ],
    ),
    (
        "S-097 sells 0 a day, and a SKU missing from sales.csv would raise KeyError as well. "
        "Exit code 3 for unknown warehouses is there and has to stay. Fixing `days_left`.",
        [
            (
                "replace_in_file",
                {
                    "path": "inventory/stock.py",
                    "old": "def days_left(item, sold_per_day):\n"
                    "    return item.quantity / sold_per_day[item.sku]\n",
                    "new": _SAFE_DAYS_LEFT,
                },
            ),
            (
                "replace_in_file",
                {
                    "path": "tests/test_stock.py",
                    "old": "    def test_to_reorder(self):\n",
                    "new": _NEW_TEST,
                },
            ),
        ],
    ),
    (
        "Now everything once more: tests, both warehouses, and the exit code.",
        [
            ("shell", {"command": "python -m unittest -v"}),
            ("shell", {"command": "python -m inventory.report south | tail -n 5"}),
            ("shell", {"command": "python -m inventory.report west"}),
        ],
    ),
    "Fixed. INV-2291: `days_left` divided by the daily sales of S-097, which are 0. Items that do "
    "not sell, or are missing from data/sales.csv, now last for ever (`inf days`). A test covers "
    "both, all 4 tests pass, the south report ends with exit code 0, and an unknown warehouse "
    "still gives exit code 3. Nothing under vendor/ was touched.",
]  # fmt: skip

FOLLOW_UP = "Thanks. Which SKUs in south are to be reordered first? Keep it short."


def record(root: Path) -> dict[str, Any]:
    """Play the script over the repository at `root`; answer the whole request body."""
    build_repository(root)
    tools = Tools(root)
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": TASK},
    ]
    number = 0
    for step in SCRIPT:
        if isinstance(step, str):
            messages.append({"role": "assistant", "content": step})
            continue
        text, calls = step
        made: list[dict[str, Any]] = []
        results: list[dict[str, Any]] = []
        for name, arguments in calls:
            number += 1
            identifier = f"call_{number:02d}"
            function = {"name": name, "arguments": json.dumps(arguments)}
            made.append({"id": identifier, "type": "function", "function": function})
            output = tools.run(name, arguments)
            results.append({"role": "tool", "tool_call_id": identifier, "content": output})
        messages.append({"role": "assistant", "content": text, "tool_calls": made})
        messages.extend(results)
    messages.append({"role": "user", "content": FOLLOW_UP})
    return {"model": "scripted", "messages": messages, "tools": TOOLS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("session.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        session = record(Path(folder).resolve())
    options.out.write_text(json.dumps(session, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(session['messages'])} messages written to {options.out}")


if __name__ == "__main__":
    main()
