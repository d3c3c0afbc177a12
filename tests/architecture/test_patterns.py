"""Patterns that wait for their first use behave like those of `re`."""

from __future__ import annotations

import re

import pytest

from context_chef.patterns import regex


def test_a_pattern_is_compiled_when_it_is_first_asked() -> None:
    broken = regex("(")

    with pytest.raises(re.error):
        broken.search("text")


@pytest.mark.parametrize("method", ["search", "match", "fullmatch", "findall"])
def test_a_pattern_answers_as_re_does(method: str) -> None:
    ours, theirs = regex(r"a(b)?", re.IGNORECASE), re.compile(r"a(b)?", re.IGNORECASE)

    for _ in range(2):  # the second call goes straight to the compiled one
        assert str(getattr(ours, method)("AB")) == str(getattr(theirs, method)("AB"))
    assert ours.pattern == theirs.pattern
    assert ours.sub("-", "xaby") == theirs.sub("-", "xaby")
