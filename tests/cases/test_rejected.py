"""Every recorded refusal: the input is refused, or mended, or its fault is named before it is sent."""

from __future__ import annotations

from tests.adaptation.wire_rules.test_recorded import QUOTED, REFUSED
from tests.cases import rejected as made
from tests.shared_data import needs_data

pytestmark = needs_data


def test_the_page_of_rejected_bodies_is_current() -> None:
    assert made.PAGE.read_text("utf-8") == made.page()


def test_what_a_provider_refused_is_never_compiled_into_the_same_fault() -> None:
    for each in made.rejected():
        if each.genuine:
            assert each.problems == (), each.name
            assert (each.outcome == "elsewhere") == (not each.rules), each.name


def test_the_reason_is_the_one_that_the_provider_gave() -> None:
    by_name = {each.name: each for each in made.rejected()}
    for name, rule in {**REFUSED, **QUOTED}.items():
        each = by_name[name]
        assert rule in each.rules, name
        assert each.outcome != "named" or rule in each.why, name


SETTINGS = {"sampling", "range", "reasoning-params", "strict-schema", "thinking-first"}
"""Rules of what the caller sends beside the request; the schema is that of a response."""


def test_only_settings_of_the_caller_are_left_to_be_named() -> None:
    """What a compile writes itself it mends or refuses."""
    for each in made.rejected():
        if each.genuine and each.outcome == "named":
            assert {rule.partition("/")[2] for rule in each.why.split(", ")} <= SETTINGS, each.name


def test_a_history_that_was_too_long_fits_once_the_window_is_told() -> None:
    [each] = [body for body, _ in made.bodies() if "context-overflow-streaming" in body.name]

    payload = made.chef_for(each, window=512).compile_sync("openai")

    assert payload.report.tokens <= 512
    assert "history-cut" in {note.code for note in payload.report.diagnostics}
