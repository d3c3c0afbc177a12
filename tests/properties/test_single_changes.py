"""Whatever single thing differs between two compiles, `diff` calls it by its name."""

from __future__ import annotations

import pytest

from context_chef import diff
from tests.properties.single_changes import CHANGES, compiled, single_change

CASES = 500
"""Seeded changes in all; `CASES / len(CHANGES)` or one more of every kind."""


@pytest.mark.parametrize("kind", range(len(CHANGES)), ids=[change.name for change in CHANGES])
def test_the_cause_of_a_single_change_is_called_by_its_name(kind: int) -> None:
    for seed in range(kind, CASES, len(CHANGES)):
        _, before, after, (cause, name) = single_change(seed)

        found = diff(compiled(before), compiled(after)).cause

        assert found is not None, f"seed {seed}: no difference was found"
        assert found.kind == cause, f"seed {seed}: {found}"
        assert not name or found.name == name, f"seed {seed}: {found}"


@pytest.mark.parametrize("seed", [10266, 10371])
def test_what_only_moved_is_not_blamed_for_what_moved_it(seed: int) -> None:
    _, before, after, _ = single_change(seed)  # a handler's message joins those of the tail

    found = diff(compiled(before), compiled(after)).cause

    assert found is not None
    assert (found.kind, found.name) == ("handler", "add_reminder")


@pytest.mark.parametrize("seed", range(0, 60, 7))
def test_the_same_compile_twice_has_no_difference(seed: int) -> None:
    _, before, _, _ = single_change(seed)

    found = diff(compiled(before), compiled(before))

    assert found.same
    assert found.rebilled_tokens == 0
    assert found.text() == "The two requests are the same."
