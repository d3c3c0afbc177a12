"""Sessions that grow, rewind, edit, switch, fail and are cancelled: every request is a good one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.sessions import MODELS, STRATEGIES, Session, play


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(STRATEGIES)),
    st.sampled_from(["auto", "append", "replace"]),
)
def test_every_request_of_every_session_is_a_good_one(seed: int, strategy: str, tail: str) -> None:
    assert play(Session(seed=seed, strategy=strategy, tail=tail)) == []


@pytest.mark.parametrize("tail", ["append", "replace"])
@pytest.mark.parametrize("target", sorted(MODELS))
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(sorted(STRATEGIES)))
def test_a_session_that_only_grows_stands_still_between_folds(
    target: str, tail: Any, seed: int, strategy: str
) -> None:
    session = Session(seed=seed, strategy=strategy, tail=tail, stable=True)
    session.target = (target, MODELS[target][0])

    assert play(session) == []


def test_a_request_that_stays_is_not_summarised_again_in_every_pass() -> None:
    """The session that found it: what it was asked stayed open over several folds."""
    session = Session(seed=481, strategy="anchored", tail="append", stable=True)
    session.target = ("anthropic", MODELS["anthropic"][0])

    assert play(session) == []
