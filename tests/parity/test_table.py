"""The table itself: it names what may differ, and covers nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from tests.parity.__main__ import run_scenarios
from tests.parity.deviations import PIPELINE_DEVIATIONS, deviation_of
from tests.parity.deviations_overflow import OVERFLOW_DEVIATIONS
from tests.parity.deviations_store import STORE_DEVIATIONS
from tests.parity.outcome import RAISED, Difference, Outcome, differences
from tests.parity.table import Deviation, uncovered

HERE = Path(__file__).parent
TABLES = {
    "pipeline": PIPELINE_DEVIATIONS,
    "overflow": OVERFLOW_DEVIATIONS,
    "store": STORE_DEVIATIONS,
}
Outcomes: TypeAlias = dict[str, dict[str, Outcome]]
GARBAGE = "total garbage"
CRASHES = ("IndexError", "TypeError", "KeyError", "AttributeError", "RuntimeError", "SettingsError")


def scenarios(kind: str) -> list[dict[str, Any]]:
    return json.loads((HERE / "scenarios" / f"{kind}.json").read_text("utf-8"))["scenarios"]


@pytest.fixture(scope="module")
def outcomes() -> Outcomes:
    """What became of every scenario, before the table is asked."""
    return {
        kind: {
            outcome.id: outcome
            for outcome in run_scenarios(
                json.loads((HERE / "scenarios" / f"{kind}.json").read_text("utf-8"))
            )
        }
        for kind in TABLES
    }


def roots(kind: str, scenario: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What was recorded, by the path that differences in it begin with."""
    if kind != "store":
        yield "$", scenario["expected"]
        return
    for number, (step, record) in enumerate(
        zip(scenario["input"]["steps"], scenario["expected"], strict=True)
    ):
        yield f"{step['op']}[{number}]", record


def within(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every value in a record, with its path."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from within(item, f"{path}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from within(item, f"{path}[{index}]")


def covered(kind: str, scenario: dict[str, Any], found: list[Difference]) -> list[str]:
    left = uncovered(TABLES[kind], scenario, found)[0]
    return [f"{scenario['id']}: {item.line}" for item in found if item not in left]


@pytest.mark.parametrize("kind", TABLES)
def test_an_outcome_without_a_place_is_never_explained(kind: str) -> None:
    for scenario in scenarios(kind):
        outcome = Outcome(id=scenario["id"], status="failed", detail=f"IndexError: {GARBAGE}")

        assert deviation_of(kind, scenario, outcome).status == "failed"


@pytest.mark.parametrize("kind", TABLES)
def test_a_crash_is_never_explained_at_any_step(kind: str) -> None:
    wrong: list[str] = []
    for scenario in scenarios(kind):
        for root, record in roots(kind, scenario):
            places = [path for path, value in within(record, root) if isinstance(value, dict)]
            wrong += covered(
                kind,
                scenario,
                [
                    Difference(at=path, kind="raised", was=record, now=f"{error}: {GARBAGE}")
                    for path in {root, *places}
                    for error in CRASHES
                ],
            )

    assert wrong == []


@pytest.mark.parametrize("kind", TABLES)
def test_one_wrong_character_is_never_explained(kind: str) -> None:
    wrong: list[str] = []
    for scenario in scenarios(kind):
        found = [
            Difference(at=path, kind="changed", was=value, now=changed)
            for root, record in roots(kind, scenario)
            for path, value in within(record, root)
            if isinstance(value, str)
            for changed in (f"{value}~", f"~{value}")
        ]
        wrong += covered(kind, scenario, found)

    assert wrong == []


@pytest.mark.parametrize("kind", TABLES)
def test_words_from_nowhere_are_never_explained(kind: str) -> None:
    wrong: list[str] = []
    for scenario in scenarios(kind):
        found: list[Difference] = []
        for root, record in roots(kind, scenario):
            for path, value in within(record, root):
                if isinstance(value, list):
                    for item in (GARBAGE, {"role": "user", "content": GARBAGE}, {"warn": GARBAGE}):
                        at = f"{path}[{len(value)}]"
                        found.append(Difference(at=at, kind="unexpected", now=item))
                elif isinstance(value, dict):
                    found.append(Difference(at=f"{path}.text", kind="unexpected", now=GARBAGE))
        wrong += covered(kind, scenario, found)

    assert wrong == []


@pytest.mark.parametrize("kind", TABLES)
def test_nothing_may_be_missing_from_what_passes(kind: str, outcomes: Outcomes) -> None:
    wrong: list[str] = []
    for scenario in scenarios(kind):
        flagged = scenario.get("peer_weakness") or scenario.get("weakness")
        if flagged or outcomes[kind][scenario["id"]].differences:
            continue
        for root, record in roots(kind, scenario):
            for path, value in within(record, root):
                if path != root and value not in ("", [], None):
                    gone = Difference(at=path, kind="missing", was=value)
                    wrong += covered(kind, scenario, [gone])

    # Nothing says in its words that it is found by parts of words only.
    assert wrong == ['I02: prune_by_task[1].tools[0]: missing, expected "a"'] * (kind == "store")


@pytest.mark.parametrize("kind", TABLES)
def test_a_difference_beside_the_deliberate_ones_is_a_failure(
    kind: str, outcomes: Outcomes
) -> None:
    beside = Difference(at="$.nowhere", kind="changed", was=1, now=2)
    for scenario in scenarios(kind):
        outcome = outcomes[kind][scenario["id"]]
        if outcome.differences:
            both = msgspec.structs.replace(outcome, differences=(*outcome.differences, beside))

            assert deviation_of(kind, scenario, outcome).status == "deviates"
            assert deviation_of(kind, scenario, both).status == "failed"


@pytest.mark.parametrize("kind", TABLES)
def test_every_row_is_needed_or_says_why_it_stands(kind: str, outcomes: Outcomes) -> None:
    needed: list[Deviation] = []
    for scenario in scenarios(kind):
        needed += uncovered(TABLES[kind], scenario, outcomes[kind][scenario["id"]].differences)[1]

    idle = [row.rule for row in TABLES[kind] if row not in needed and not row.held_back]
    said = [row.rule for row in TABLES[kind] if row in needed and row.held_back]

    assert (idle, said) == ([], [])


def test_lists_are_aligned_by_what_they_share() -> None:
    first, second, third = ({"role": "user", "content": text} for text in "abc")

    found = differences([first, third], [first, second, third])

    assert [(item.at, item.kind, item.now) for item in found] == [("$[1]", "unexpected", second)]


def test_a_crash_where_a_failure_was_recorded_is_no_failure_on_purpose() -> None:
    recorded = {"op": "compile", "throws": "Error"}

    refused = differences(recorded, {**recorded, RAISED: "SettingsError: no"})
    crashed = differences(recorded, {**recorded, RAISED: "IndexError: list index out of range"})

    assert refused == []
    assert [item.kind for item in crashed] == ["raised"]
