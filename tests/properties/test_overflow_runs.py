"""Recorded sessions in a quarter of their room: a short run of `benchmarks/overflow_runs.py`."""

from __future__ import annotations

import pytest
from benchmarks.overflow_runs import STRATEGIES, TARGETS, long_traces, runs

from tests.shared_data import DATA, needs_data


@needs_data
@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_a_long_session_is_accepted_turn_by_turn(strategy: str) -> None:
    traces = [trace for trace in long_traces(DATA) if trace[0] == "claude-code-todo-app-sidechain5"]

    done = list(runs(traces, most=9, strategies=[strategy]))

    assert len(done) == len(TARGETS)
    for run in done:
        assert (run.refused, run.above) == (0, 0), (run.target, run.reasons)
        assert run.folds > 0
        assert run.sent < 0.8 * run.whole
        assert run.model.calls <= 2 * run.folds
