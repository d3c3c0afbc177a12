"""Whatever is handed in, the checkers answer and do not raise."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.adaptation.wire_rules import RULES, all_rules, check_payload, check_sequence
from context_chef.adaptation.wire_rules.json_access import words

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary()
)
KEYS = st.sampled_from(
    words(
        "messages contents input role content parts type text tools name input_schema system model "
        "tool_calls id function arguments config thinking output_config tool_use_id schema"
    )
) | st.text(max_size=4)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
EXAMPLES = [
    (rule.target, payload, example.model)
    for rule in all_rules()
    for example in (rule.passing, rule.failing)
    for payload in example.payloads
    if len(payload.get("messages", ())) < 1000
]


def _replaced(value: Any, rng: random.Random, by: Any) -> Any:
    """The same data with one value somewhere inside replaced."""
    broken = copy.deepcopy(value)
    node, above, key = broken, None, None
    while isinstance(node, (dict, list)) and node and (above is None or rng.random() < 0.85):
        above = node
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        node = node[key]
    if above is not None:
        above[key] = by
    return broken


@pytest.mark.parametrize("target", list(RULES))
@given(payload=ANYTHING)
@settings(max_examples=150, deadline=None)
def test_no_payload_makes_them_raise(target: str, payload: Any) -> None:
    check_payload(target, payload, warnings=True)
    check_sequence(target, [payload, payload], warnings=True)


@given(st.data())
@settings(max_examples=800, deadline=None)
def test_no_value_in_a_sensible_payload_makes_them_raise(data: st.DataObject) -> None:
    target, payload, model = data.draw(st.sampled_from(EXAMPLES))
    rng = random.Random(data.draw(st.integers(0, 2**32)))
    for _ in range(data.draw(st.integers(1, 3))):
        payload = _replaced(payload, rng, data.draw(ANYTHING))
    check_payload(target, payload, model=model, warnings=True)
    check_sequence(target, [payload, payload], model=model)


@pytest.mark.parametrize("target", list(RULES))
def test_what_nests_without_end_is_a_fault(target: str) -> None:
    endless: dict[str, Any] = {"messages": []}
    endless["messages"].append(endless)
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    for payload in (endless, {"messages": deep}, {"input": deep}, deep):
        assert [fault.rule for fault in check_payload(target, payload)] == [f"{target}/shape"]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -(10**400), 10**400])
def test_numbers_of_no_size_are_faults_or_fine(number: float) -> None:
    schema = {"type": "object", "properties": {"a": {"minLength": number, "maximum": number}}}
    tool = {"type": "function", "function": {"name": "look", "parameters": schema, "strict": True}}
    payload = {"model": "gpt-4o", "messages": [], "temperature": number, "tools": [tool]}
    assert "openai/range" in {f.rule for f in check_payload("openai", payload)} or number != number
    declared = [{"functionDeclarations": [{"name": "look", "parameters": schema}]}]
    check_payload("gemini", {"contents": [], "tools": declared, "config": {"top_k": number}})


def test_a_payload_is_never_changed() -> None:
    for target, payload, model in EXAMPLES:
        before = copy.deepcopy(payload)
        check_payload(target, payload, model=model)
        assert payload == before
