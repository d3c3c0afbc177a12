"""Settings of overflow are judged when they are given."""

from __future__ import annotations

import math
from typing import Any

import pytest

from context_chef import ContextChef, SettingsError, background, chain, clear, server, summarize
from context_chef.selection import HandoffConfig, Janitor, JanitorConfig, OverflowConfig
from context_chef.testing.doubles import RecordingLogger, ScriptedModel


@pytest.mark.parametrize(
    "options",
    [
        {"context_window": 0},
        {"context_window": "200000"},
        {"context_window": math.nan},
        {"context_window": 100, "reserve_output": 100},
        {"context_window": 100, "reserve_output": -1},
        {"trigger_ratio": 0},
        {"trigger_ratio": 1.5},
        {"preserve_ratio": 0},
        {"preserve_recent_messages": 0},
        {"preserve_recent_messages": 1.5},
        {"min_shrink_ratio": -0.1},
        {"tool_result_stub_threshold": -1},
        {"usage_preference": "min"},
        {"compression_guidelines": "one line"},
        {"on_compress": 3},
        {"breaker_cooldown_seconds": -1},
        {"strategy": "summarize"},
    ],
)
def test_meaningless_figures_are_refused_with_the_value(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(reversed(options)))) as refused:
        JanitorConfig(**options)

    assert repr(next(iter(reversed(options.values())))) in str(refused.value)


@pytest.mark.parametrize("step", [None, "reset", object()])
def test_what_is_no_strategy_cannot_be_composed(step: Any) -> None:
    for compose in (chain, background, lambda inner: server(fallback=inner or 3)):
        with pytest.raises(SettingsError, match="a strategy has a `name`"):
            compose(step)


def test_numbers_of_clearing_and_summaries_are_judged_too() -> None:
    with pytest.raises(SettingsError, match=r"`clear.keep_recent`.*0"):
        clear(keep_recent=0)
    with pytest.raises(SettingsError, match=r"`preserve_ratio`.*2"):
        summarize(preserve_ratio=2)


def test_a_handoff_names_what_is_wrong_with_it() -> None:
    with pytest.raises(SettingsError, match=r"`handoff.budget_tokens`.*0"):
        OverflowConfig(handoff={"budget_tokens": 0})
    with pytest.raises(SettingsError, match="no setting 'budget'"):
        OverflowConfig(handoff={"budget": 5, "budget_tokens": 5})
    with pytest.raises(SettingsError, match="2000 UTF-8 bytes, not 2002"):
        HandoffConfig(budget_tokens=5, prompt="é" * 1001)


def test_a_janitor_without_a_window_warns_about_nothing() -> None:
    log = RecordingLogger()

    Janitor(logger=log)

    assert log.warnings == []


def test_a_window_without_a_model_is_warned_about() -> None:
    log = RecordingLogger()

    Janitor(JanitorConfig(context_window=1_000), logger=log)

    assert "No `compression_model` was given" in log.warnings[0]


def test_options_beside_an_explicit_strategy_are_named() -> None:
    log = RecordingLogger()
    config = JanitorConfig(
        context_window=1_000, compression_model=ScriptedModel("S"), min_shrink_ratio=0
    )

    Janitor(config, OverflowConfig(strategy=summarize()), logger=log)

    [warning] = log.warnings
    assert "`compression_model`, `min_shrink_ratio`" in warning


@pytest.mark.parametrize(
    "figure", [float("inf"), float("nan"), -1, -0.5, True, "5", None, 10**16, 1e300]
)
def test_usage_that_is_no_number_of_tokens_is_refused_with_the_value(figure: Any) -> None:
    chef = ContextChef()

    with pytest.raises(SettingsError, match="a finite number") as refused:
        chef.report_token_usage(figure)

    assert repr(figure) in str(refused.value)
    assert chef.report_token_usage(0) is chef
