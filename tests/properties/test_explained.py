"""An explanation accounts for the whole request, whatever was compiled for whom."""

from __future__ import annotations

import random

import pytest

from context_chef import Explanation, Payload, explain_body
from context_chef.explaining.explanation import value_at
from tests.properties.single_changes import base, compiled, single_change

SEEDS = range(16)


def accounts_for_everything(payload: Payload, explanation: Explanation) -> None:
    """Every block is the words of its spans, every key has a span, and the tokens add up."""
    prompt = explanation.prompt
    for index, block in enumerate(prompt.blocks):
        if block.setting and not block.tokens:
            continue
        path = prompt.path(index)
        mine = [span for span in explanation.spans if span.path == path]
        assert mine, f"{path} belongs to nobody"
        assert "".join(explanation.words(span) for span in mine) == block.text
        assert sum(span.tokens for span in mine) == block.tokens
        assert block.setting or value_at(payload.body, path) is not None
    told = {span.path.partition("[")[0].partition(".")[0] for span in explanation.spans}
    assert {key for key, value in payload.body.items() if value not in ([], "")} <= told
    assert explanation.tokens == prompt.tokens == sum(explanation.by_source.values())
    assert all(span.rule for span in explanation.spans)
    assert all(span.reason for span in explanation.out)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_part_of_a_payload_belongs_to_somebody(seed: int) -> None:
    payload = compiled(base(random.Random(seed)))

    explanation = payload.explain()

    accounts_for_everything(payload, explanation)
    sources = {span.source for span in explanation.spans}
    assert not sources & {"adapter", "slot", "repair", "caller"}
    assert {f"memory:key-{n}" for n in range(1)} <= sources
    assert {"system_prompt", "history[0]", "tool:tool_0", "announcement:note-0"} <= sources


@pytest.mark.parametrize("seed", range(0, 70, 5))
def test_whatever_was_done_to_a_payload_it_is_accounted_for(seed: int) -> None:
    _, _, after, _ = single_change(seed)
    payload = compiled(after)

    accounts_for_everything(payload, payload.explain())


@pytest.mark.parametrize("seed", SEEDS[::3])
def test_a_bare_body_is_explained_by_its_places(seed: int) -> None:
    config = base(random.Random(seed))
    payload = compiled(config)

    explanation = explain_body(payload.body, config["target"], model=config["model"])

    accounts_for_everything(payload, explanation)
    assert "memory:key-0" in explanation.by_source


def test_an_explanation_is_made_of_the_payload_as_it_is_and_changes_nothing() -> None:
    payload = compiled(base(random.Random(3)))
    before = payload.to_json()

    first, second = payload.explain(), payload.explain()

    assert payload.to_json() == before
    assert first.to_json() == second.to_json()
