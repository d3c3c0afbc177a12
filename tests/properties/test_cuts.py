"""Recorded conversations, cut where a session may die, compiled: `benchmarks/cuts.py`, thinned."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle

from benchmarks.cuts import MODELS, Kitchen, Recorded, compiled, recordings

from context_chef.testing import check_payload
from tests.checker import refused
from tests.shared_data import needs_data

pytestmark = needs_data

SHORT = 10
"""Messages of a trace that is cut at every boundary; longer ones at two."""
EVERY = 15
"""One accepted request in so many is cut, at every boundary."""


def _cut() -> Iterator[tuple[Recorded, int]]:
    accepted = 0
    for recorded in recordings(rejected=False):
        length = len(recorded.conversation.history)
        step = 1
        if recorded.kind == "accepted":
            accepted += 1
            if accepted % EVERY:
                continue
        elif length > SHORT:
            step = (length + 1) // 2
        for end in range(length, 0, -step):
            yield recorded, end


def test_what_is_left_of_a_conversation_is_a_good_request_wherever_it_is_cut() -> None:
    """Each cut for one model, in turns; every fifth is judged by the independent checker too."""
    models = cycle([(target, model) for target, ids in MODELS.items() for model in ids])
    judged = 0
    for (recorded, end), (target, model) in zip(_cut(), models, strict=False):
        history = recorded.conversation.history[:end]
        sent = compiled(Kitchen(recorded.conversation).chef(model), history, target, model)
        where = (recorded.name, end, target, model)

        assert not isinstance(sent, str), (where, sent)
        assert check_payload(target, sent.request, model=model) == [], where
        if judged % 5 == 0:
            said = refused(target, sent.request, model=model if target == "gemini" else None)
            assert said == [], where
        judged += 1
    assert judged > 300
