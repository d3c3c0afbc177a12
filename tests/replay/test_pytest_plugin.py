"""A team holds its CI to its own recorded sessions with the fixture `replay`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from context_chef import SettingsError
from context_chef.pytest_plugin import Replays
from context_chef.replay.asserting import Replayed
from tests.replay.sessions import chat, write

pytest_plugins = ["pytester"]

_INSTALLED = any(ep.name == "context_chef" for ep in entry_points(group="pytest11"))
"""Whether pytest loads the plugin by itself: an older installation does not know it yet."""

TESTS = """
import pytest

def test_passes(replay):
    played = replay("session.json", config="chef.toml")
    played.assert_valid().assert_fits().assert_cost(at_most=1.0)
    played.assert_busts(at_most=0, allowing="fold").assert_retention(reachable=0.9)
    played.assert_repairs(at_most=5).assert_hit_share(at_least=0.05)
    assert played.totals.folds > 0
    assert replay("session.json", config="chef.toml") is played

def test_passes_by_name(replay):
    replay("session.json", strategy="reset", window="4k").assert_fits(within=4_000)

def test_costs_too_much(replay):
    replay("session.json", config="chef.toml").assert_cost(at_most=0.0001)

def test_breaks_the_cache(replay):
    replay("session.json", config="chef.toml").assert_busts()

def test_does_not_fit(replay):
    replay("session.json", strategy="everything", window=4_000).assert_fits()

def test_loses_something(replay):
    replay("session.json", strategy="drop", window=4_000).assert_retention(reachable=1)

def test_forgets(replay):
    replay("session.json", config="chef.toml").assert_kept("word0x7 word0x8")

def test_asks_for_nothing(replay):
    replay("session.json")
"""


def test_assertions_pass_or_fail_with_the_requests_that_are_to_blame(
    pytester: pytest.Pytester,
) -> None:
    write(pytester.path / "session.json", chat(14))
    (pytester.path / "chef.toml").write_text(
        'window = 4_000\ncache = "auto"\ntools = "unified"\n[janitor]\ntokenizer = "o200k_base"\n'
        '[overflow]\narchive = "vfs"\nstrategy = ["clear", "summarize"]\n',
        "utf-8",
    )
    pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(TESTS)
    load = [] if _INSTALLED else ["-p", "context_chef.pytest_plugin"]

    ran = pytester.runpytest_inprocess("-p", "no:cacheprovider", *load)

    ran.assert_outcomes(passed=2, failed=6)
    for line in (
        "*AssertionError: the sessions cost $*, more than $0.0001.*",
        "*AssertionError: the prompt cache was broken * times, and 0 are allowed.*",
        "*session, request *: fold *(* tokens paid again)*",
        "*AssertionError: * requests do not fit the window.*",
        "*AssertionError: * of the facts that left can be reached, less than 100%.*",
        "*AssertionError: 'word0x7 word0x8' is not in the last request of 'session'.*",
        "*SettingsError: a replay is of one configuration*",
    ):
        ran.stdout.fnmatch_lines([line])


def test_the_plugin_imports_nothing_before_it_is_asked() -> None:
    code = (
        "import sys, context_chef.pytest_plugin\n"
        "print([m for m in sys.modules if m.startswith(('context_chef.', 'msgspec', 'yaml'))])"
    )

    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert ran.stdout.strip() == "['context_chef.pytest_plugin']"


def test_the_plugin_is_announced_to_pytest() -> None:
    project = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8")

    assert 'context_chef = "context_chef.pytest_plugin"' in project


@pytest.mark.parametrize("field", ["faults", "sequence_faults", "error"])
def test_a_session_that_would_be_refused_is_not_valid(field: str, tmp_path: Path) -> None:
    from context_chef.replay import ReplayResult, replay

    data: dict[str, Any] = replay(write(tmp_path / "s.json", chat(1)), ["everything"]).to_dict()
    fault = {"rule": "openai/order", "where": "messages[1]", "message": "no result"}
    run = data["sessions"][0]["runs"][0]
    if field == "faults":
        run["requests"][0]["faults"] = [fault]
        run["totals"]["faults"] = 1
    else:
        run[field] = "request 2: no" if field == "error" else [fault]
    played = Replayed(ReplayResult.from_json(json.dumps(data)))

    with pytest.raises(AssertionError, match="no"):
        played.assert_valid()


@pytest.mark.parametrize(
    ("hold", "hint"),
    [
        (lambda played: played.assert_cost(at_most=float("nan")), "`at_most` is a number"),
        (lambda played: played.assert_hit_share(at_least=95), "0.95 for 95%"),
        (lambda played: played.assert_retention(reachable=95), "0.95 for 95%"),
        (lambda played: played.assert_retention(in_window=float("nan")), "`in_window`"),
        (lambda played: played.assert_retention(), "holds nothing"),
        (lambda played: played.assert_kept(), "holds nothing"),
        (lambda played: played.assert_busts(at_most=None), "`at_most` is a number"),
    ],
)
def test_a_demand_that_means_nothing_is_refused(
    tmp_path: Path, hold: Callable[[Replayed], object], hint: str
) -> None:
    played = Replays(tmp_path, {})(write(tmp_path / "session.json", chat(3)), strategy="reset")
    with pytest.raises(SettingsError, match=hint):
        hold(played)


def test_an_option_that_a_replay_does_not_have_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "session.json", chat(3))
    with pytest.raises(SettingsError, match="did you mean `prices`"):
        Replays(tmp_path, {})(path, strategy="reset", price="list.toml")
