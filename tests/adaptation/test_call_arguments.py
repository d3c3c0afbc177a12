"""Argument text as an object, whatever the model wrote."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef.adaptation.call_arguments import RAW_ARGUMENTS, parse_arguments, parse_json

steadily = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault of what is tested."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\x00")),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@steadily
@given(
    st.dictionaries(st.text(st.characters(codec="utf-8", exclude_characters="\x00")), json_values)
)
def test_an_object_is_itself(value: dict[str, object]) -> None:
    assert parse_arguments(json.dumps(value, ensure_ascii=False))[1] is None
    parsed, _ = parse_arguments(json.dumps(value))
    assert list(parsed) == list(value)


@steadily
@given(st.text())
def test_no_text_raises_and_none_is_lost(text: str) -> None:
    parsed, fault = parse_arguments(text)

    json.dumps(parsed, allow_nan=False)
    if fault:
        assert list(parsed) == [RAW_ARGUMENTS]
    if fault and "valid" in fault:
        assert parsed[RAW_ARGUMENTS] == text


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_no_text_is_no_arguments(text: str) -> None:
    assert parse_arguments(text) == ({}, None)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "1e999", "-Infinity", "NaN", "{,}"]
)
def test_what_could_not_be_written_back_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # the words are for nobody
        parse_json(text)


def test_numbers_keep_their_value_and_keys_their_order() -> None:
    parsed = parse_json('{"b":123456789012345678901234567890,"a":1.0}')

    assert list(parsed.items()) == [("b", 123456789012345678901234567890), ("a", 1.0)]


def test_what_no_request_can_carry_is_replaced() -> None:
    assert parse_json('{"a":"x\\ud800y\\u0000"}') == {"a": "x\ufffdy\ufffd"}
    assert parse_json('"\\ud83d\\ude00"') == "😀"
