"""The estimate against the exact counter, over texts of many kinds, alone and mixed."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef import estimate
from context_chef.ir.text import clean_text
from context_chef.selection.exact import exact_tokenizer
from tests.shared_data import DATA, needs_data
from tests.texts import HOSTILE, ORDINARY

EXACT = exact_tokenizer("o200k_base")


@pytest.mark.parametrize("kind", [*HOSTILE, *ORDINARY])
@settings(max_examples=4, deadline=None)
@given(st.integers(0, 2**32))
def test_no_kind_of_text_is_counted_too_low(kind: str, seed: int) -> None:
    text = clean_text((HOSTILE | ORDINARY)[kind](random.Random(seed)))

    assert estimate(text) >= EXACT.count(text)


@pytest.mark.parametrize("kind", ORDINARY)
@settings(max_examples=3, deadline=None)
@given(st.integers(0, 2**32))
def test_what_people_write_is_counted_at_most_a_third_too_high(kind: str, seed: int) -> None:
    text = ORDINARY[kind](random.Random(seed))

    assert estimate(text) <= 1.35 * EXACT.count(text)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from([*HOSTILE, *ORDINARY]), min_size=2))
def test_no_mixture_is_counted_too_low(seed: int, kinds: list[str]) -> None:
    chance = random.Random(seed)
    text = clean_text("\n".join((HOSTILE | ORDINARY)[kind](chance)[:300] for kind in kinds[:6]))

    assert estimate(text) >= EXACT.count(text)


@pytest.mark.parametrize("letter", "adqxAGXZé")
@pytest.mark.parametrize("length", [65, 81, 500, 5_001])
def test_a_long_run_of_one_letter_is_counted_as_such(letter: str, length: int) -> None:
    exact = EXACT.count(letter * length)

    assert exact <= estimate(letter * length) <= 2.3 * exact + 2


@needs_data
def test_texts_of_recorded_sessions_are_counted_neither_too_low_nor_a_third_too_high() -> None:
    wrong: list[tuple[str, float]] = []
    for file in sorted((DATA / "traces").glob("*/*.json"))[::4]:
        for text in _texts(json.loads(file.read_text("utf-8"))["messages"]):
            exact = EXACT.count(text := clean_text(text[:20_000]))
            if exact > 200 and not 1 <= estimate(text) / exact <= 1.36:
                wrong.append((file.name, estimate(text) / exact))

    assert wrong == []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []
