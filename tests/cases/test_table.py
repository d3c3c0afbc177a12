"""Every field case has a test that exists, and the table says which."""

from __future__ import annotations

import pytest

from tests.cases import table as made
from tests.cases.notation import case_ids


def test_the_table_is_current() -> None:
    assert made.PAGE.read_text("utf-8") == made.table()


@pytest.mark.parametrize("case", case_ids())
def test_every_case_has_a_test(case: str) -> None:
    names = made.tests_of(case)
    assert names
    for name in names:
        file, _, function = name.partition("::")
        code = (made.FOLDER / file).read_text("utf-8")
        assert f"def {function}(" in code, name
