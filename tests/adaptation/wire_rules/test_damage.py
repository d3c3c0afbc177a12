"""Accepted requests, broken on purpose: both checkers see it, for the same reason."""

from __future__ import annotations

import copy
import json
import os
import random

import pytest

from tests.adaptation.wire_rules.damage import DAMAGES
from tests.adaptation.wire_rules.recorded import Recorded, accepted, agree, needs_checker

pytestmark = needs_checker

_LARGEST = 8_000
_SAMPLE = int(os.environ.get("CONTEXT_CHEF_DAMAGED", "25"))
"""How many recordings a target are broken, each in every way. All of them take minutes."""

# Where we say more, and why we may: each refused by the real API by report or documentation.
_OURS_ALONE = {
    "openai/strict-schema",  # `required` lists what is no property
    "openai-responses/strict-schema",
    "openai-responses/output-orphan",  # an output ahead of the client's own tool search call
    "openai-responses/tool-search-model",
    "openai-responses/shape",  # `type: null` on a message that has an id
    "anthropic/strict-schema",  # in the older `output_format` too
    "anthropic/shape",  # likewise
    "anthropic/prefill-unsupported",
    "anthropic/max-tokens",  # models under a router's spelling are known to us
    "anthropic/system-role-model",
    "anthropic/tool-search-model",  # by the model lists of the documentation
    "anthropic/tool-reference-unknown",  # in the results of the server's own search
    "gemini/inline-data",  # in the parts of a function response
    "gemini/schema",  # a property whose schema is null is no property
    "gemini/part-data",  # a part that is null
}
# Where they say more: what a reference points at may be the call, an index may be null, and a
# model's id in capitals is known to us.
_THEIRS_ALONE = {
    "openai/shape",
    "openai/audio-model",
    "openai/search-model",
    "openai-responses/shape",
    "openai-responses/output-orphan",
}


def _judged(target: str) -> list[Recorded]:
    """Accepted requests in which neither checker finds anything, the large ones left out."""
    fitting = [
        each
        for each in accepted()
        if each.target == target
        and len(json.dumps(each.payload)) < _LARGEST
        and ("model" in each.payload or target == "gemini")
    ]
    return [each for each in fitting if not each.ours() and not each.theirs()]


@pytest.mark.parametrize("target", ["anthropic", "openai", "openai-responses", "gemini"])
def test_both_checkers_see_the_damage(target: str) -> None:
    compared, differing = 0, []
    judged = _judged(target)
    for each in random.Random(target).sample(judged, k=min(_SAMPLE, len(judged))):
        rng = random.Random(each.name)
        for name, damage in DAMAGES.items():
            broken = list(damage(copy.deepcopy(each.payload), rng))
            if not broken:
                continue
            payload = rng.choice(broken)
            ours, theirs = each.ours(payload), each.theirs(payload)
            compared += 1
            if not agree(ours, theirs):
                differing.append((name, each.name, ours, theirs))
    unexplained = [
        case
        for case in differing
        if not (case[2] and not case[3] and case[2] <= _OURS_ALONE)
        and not (case[3] and not case[2] and case[3] <= _THEIRS_ALONE)
    ]
    assert unexplained == []
    assert compared > 20 * _SAMPLE
    assert len(differing) < compared / 50


def test_there_are_many_ways_to_break_a_request() -> None:
    assert len(DAMAGES) >= 35
