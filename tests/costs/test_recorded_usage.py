"""What the cost model says agrees with what providers reported for recorded requests."""

from __future__ import annotations

import statistics

import pytest

from tests.costs.recorded import Recorded, Turn, cassettes, error, sessions
from tests.shared_data import needs_data

pytestmark = needs_data


@pytest.fixture(scope="module")
def recorded() -> list[Recorded]:
    return list(cassettes())


@pytest.fixture(scope="module")
def turns() -> list[Turn]:
    return [turn for turn in sessions() if turn.before is not None]


def test_the_size_of_a_request_is_what_was_reported_or_near_it(recorded: list[Recorded]) -> None:
    off = [
        error(one.cold.simulated.input, one.cold.reported.input)
        for one in recorded
        if one.cold.simulated and one.cold.reported and one.cold.reported.input >= 500
    ]

    assert len(off) > 80
    assert statistics.median(off) < 0.10


def test_what_was_reported_wins_and_the_difference_is_stated(recorded: list[Recorded]) -> None:
    for one in recorded:
        cold = one.cold
        assert cold.reported is not None
        assert cold.simulated is not None
        assert (cold.input, cold.read) == (cold.reported.input, cold.reported.read)
        assert cold.differences.get("input", 0) == cold.reported.input - cold.simulated.input


def test_the_size_of_a_first_write_is_what_was_reported_or_near_it(
    recorded: list[Recorded],
) -> None:
    writes = [
        (one.cold.simulated.written, one.cold.reported.written)
        for one in recorded
        if one.target != "gemini" and one.cold.simulated and one.cold.reported
        if one.cold.reported.written and not one.cold.reported.read
    ]

    off = [error(sum(said.values()), sum(seen.values())) for said, seen in writes]
    lifetimes = [set(said) == set(seen) for said, seen in writes if said]

    assert len(writes) > 18
    assert statistics.median(off) < 0.15
    assert sum(lifetimes) >= 0.9 * len(lifetimes), "5 minutes and an hour are told apart"


def test_every_turn_of_a_recorded_session_hits_where_the_rules_say_so(turns: list[Turn]) -> None:
    alike = sum(turn.hit == turn.expected for turn in turns)

    assert len(turns) > 300
    assert alike / len(turns) > 0.97


def test_a_session_reads_what_the_rules_say_to_within_a_few_tokens_in_a_hundred(
    turns: list[Turn],
) -> None:
    off = [
        error(turn.billed.simulated.read, turn.billed.reported.read)
        for turn in turns
        if turn.hit and turn.expected and turn.billed.simulated and turn.billed.reported
    ]

    assert statistics.median(off) < 0.07
