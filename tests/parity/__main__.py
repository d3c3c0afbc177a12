"""`python -m tests.parity FILE… [--only ID] [--json]`: run recorded scenarios, one line each."""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from context_chef.errors import RenamedWarning
from tests.parity.deviations import deviation_of
from tests.parity.outcome import Outcome


def kind_of(document: dict[str, Any]) -> str:
    """Which of the three formats a file is in, told by its scenarios' own shape."""
    scenarios = document.get("scenarios") or []
    if any("kind" in scenario for scenario in scenarios):
        return "pipeline"
    if any("kind" in scenario.get("input", {}) for scenario in scenarios):
        return "overflow"
    return "store"


def run_scenarios(document: dict[str, Any], only: str | None = None) -> list[Outcome]:
    """Every scenario of a file of any of the three formats, as it came out."""
    kind = kind_of(document)
    if kind == "pipeline":
        from tests.parity.pipeline_runner import run
    elif kind == "overflow":
        from tests.parity.overflow_runner import run
    else:
        from tests.parity.store_runner import run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RenamedWarning)  # the records use old options too
        return [
            run(scenario, document)
            for scenario in document["scenarios"]
            if only is None or scenario["id"] == only
        ]


def run_document(document: dict[str, Any], only: str | None = None) -> list[Outcome]:
    """The same, judged by the table of deliberate deviations."""
    kind = kind_of(document)
    by_id = {scenario["id"]: scenario for scenario in document["scenarios"]}
    return [
        deviation_of(kind, by_id[outcome.id], outcome) for outcome in run_scenarios(document, only)
    ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.parity", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--only", metavar="ID", help="run this scenario only")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for file in options.files:
        document = json.loads(file.read_text("utf-8"))
        for outcome in run_document(document, options.only):
            counts[outcome.status] += 1
            if options.json:
                fields = {"id": outcome.id, "status": outcome.status, "detail": outcome.detail}
                print(json.dumps(fields, ensure_ascii=False))
            else:
                print(f"{outcome.status:8}  {outcome.id}  {outcome.detail}".rstrip())
    summary = f"{counts['passed']} passed, {counts['deviates']} deviate, {counts['failed']} failed"
    print(summary, file=sys.stderr if options.json else sys.stdout)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
