"""The digest of what a thinking block stands behind is the same in one go and block by block."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from context_chef.ir.message import Message
from context_chef.pipeline import binding
from tests.histories import any_history


@given(history=any_history)
@settings(max_examples=40, deadline=None)
def test_words_and_calls_are_told_in_one_go(history: tuple[Message, ...]) -> None:
    found, value = binding._Digests().of(history, ())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binding, "_is_words", lambda _: False)
        assert (found, value) == binding._Digests().of(history, ())
