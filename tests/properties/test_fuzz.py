"""The fuzz harness: its sessions are good ones, it sees what is not, and it cuts that down."""

from __future__ import annotations

import asyncio
import json
import os
import types
from pathlib import Path
from typing import Any

import pytest

from context_chef.cli import main as cli
from context_chef.testing.fuzz import Judge, Recipe, make_recipe, play
from context_chef.testing.fuzz import checkers as checkers_of_fuzz
from context_chef.testing.fuzz.__main__ import main
from context_chef.testing.fuzz.running import Failure, read_recipe, write_down
from context_chef.testing.fuzz.words import TARGETS
from tests.shared_data import TOOLS

CHECKER = str(TOOLS / "provider_check") if (TOOLS / "provider_check").is_dir() else None
SESSIONS = int(os.environ.get("CONTEXT_CHEF_FUZZED", "60"))
"""So many sessions are played here; the module itself plays as many as you like."""


@pytest.mark.parametrize("part", range(4))
def test_random_sessions_are_good_ones_by_all_checkers(part: int) -> None:
    judge = Judge(CHECKER)
    for case in range(part, SESSIONS, 4):
        played = asyncio.run(play(make_recipe(7, case), judge))
        assert [str(problem) for problem in played.problems] == [], case


def test_a_session_is_the_same_every_time() -> None:
    assert make_recipe(3, 5) == make_recipe(3, 5)
    assert make_recipe(3, 5) != make_recipe(3, 6)
    one, two = (asyncio.run(play(make_recipe(3, 5), Judge())) for _ in range(2))
    assert one.sent == two.sent


def test_sessions_go_to_every_target_and_hold_damage() -> None:
    recipes = [make_recipe(1, case) for case in range(60)]
    steps = [step for recipe in recipes for step in recipe.steps]
    assert {step["target"] for step in steps if step["do"] == "compile"} == set(TARGETS)
    assert {"cut", "drop", "edit", "swap", "restore", "tools", "state"} <= {
        step["do"] for step in steps
    }
    assert any("\ud83d" in str(step) or "\\ud83d" in str(step) for step in steps)


class Grumbler(types.ModuleType):
    """A checker that does not like one word."""

    @staticmethod
    def check(target: str, body: dict[str, Any], *, model: str | None = None) -> list[Any]:
        if "needle" not in json.dumps(body):
            return []
        return [types.SimpleNamespace(rule="own/needle", path="messages", message="a needle")]

    @staticmethod
    def check_sequence(target: str, bodies: list[dict[str, Any]]) -> list[Any]:
        return []


def _with_needle() -> Recipe:
    recipe = make_recipe(2, 3)
    said = {"role": "user", "blocks": [{"type": "text", "text": "x"} for _ in range(3)]}
    said["blocks"][1] = {"type": "text", "text": "needle"}
    last = recipe.steps[-1]
    return Recipe(
        seed=2, case=3, steps=(*recipe.steps, {"do": "extend", "rows": [said, said]}, last)
    )


def test_a_failure_is_cut_down_to_a_file_that_check_and_replay_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    grumbler = Grumbler("grumbler")
    monkeypatch.setattr(checkers_of_fuzz, "load_checker", lambda path: grumbler)
    recipe = _with_needle()
    played = asyncio.run(play(recipe, Judge("grumbler.py")))
    failure = Failure(recipe=recipe, problems=played.problems)
    path = write_down(failure, tmp_path / "out", "grumbler.py")

    assert path is not None
    least = read_recipe(path.read_text("utf-8"))
    assert [step["do"] for step in least.steps] == ["extend", "compile"]
    assert least.steps[0]["rows"] == [
        {"role": "user", "blocks": [{"type": "text", "text": "needle"}]}
    ]
    written = json.loads(path.read_text("utf-8"))
    assert written["problems"][0]["rule"] == "own/needle"
    assert cli(["check", str(path)]) == 0  # our own rules have nothing against a needle
    assert main(["--replay", str(path)]) == 0
    assert main(["--replay", str(path), "--checker", "grumbler.py"]) == 1
    assert "own/needle" in capsys.readouterr().out


def test_an_error_that_nobody_announced_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise KeyError("oops")

    monkeypatch.setattr("context_chef.adaptation.sendable.Mender.make_sendable", broken)
    played = asyncio.run(play(make_recipe(1, 1), Judge()))
    assert {problem.rule for problem in played.problems} == {"raised:KeyError"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--checker", "/nowhere/check.py"], "cannot be imported"),
        (["--replay", "/nowhere/failure.json"], "cannot read"),
    ],
)
def test_wrong_usage_is_said_in_one_line(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
