"""The recorded scenarios of the contract: each passes, or the table says why it does not."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.parity.__main__ import run_document
from tests.parity.deviations import PIPELINE_DEVIATIONS
from tests.parity.deviations_overflow import OVERFLOW_DEVIATIONS
from tests.parity.deviations_store import STORE_DEVIATIONS

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.parametrize("name", ["pipeline", "overflow", "store"])
def test_every_scenario_passes_or_is_a_deliberate_deviation(name: str) -> None:
    document = json.loads((HERE / "scenarios" / f"{name}.json").read_text("utf-8"))

    outcomes = run_document(document)

    assert [f"{o.id}: {o.detail}" for o in outcomes if o.status == "failed"] == []
    assert sum(o.status == "passed" for o in outcomes) > len(outcomes) // 2


@pytest.mark.parametrize(
    "reference",
    sorted({row.test for row in (*PIPELINE_DEVIATIONS, *OVERFLOW_DEVIATIONS, *STORE_DEVIATIONS)}),
)
def test_every_deviation_names_a_test_that_exists(reference: str) -> None:
    file, _, path = reference.partition("::")

    assert path, "a deviation is asserted by a test, not by a file"
    text = (ROOT / file).read_text("utf-8")
    name = re.escape(path.split("::")[-1])
    assert re.search(rf"def {name}\(", text), reference
