"""What importing loads: every program that uses us pays for it before it does anything."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import json, sys
steps = {}

def step(name):
    steps[name] = sorted(set(sys.modules) - before)

before = set(sys.modules)
import context_chef
step("package")
from context_chef import ContextChef
step("chef")
chef = ContextChef().set_system_prompt("Be brief.").append({"role": "user", "content": "hi"})
chef.compile_sync("openai").to_json()
step("compile")
print(json.dumps(steps))
"""
SDKS = {"openai", "anthropic", "google", "pydantic", "tiktoken", "rich", "jsonschema", "httpx",
        "numpy", "filelock", "yaml", "opentelemetry"}  # fmt: skip
HEAVY = {"asyncio", "concurrent.futures", "email", "html.parser", "http", "logging", "pathlib",
         "multiprocessing", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "tomllib",
         "unittest", "urllib.parse", "urllib.request", "xml", "zipfile"}  # fmt: skip
ELSEWHERE = {"adaptation.anthropic", "adaptation.gemini", "adaptation.openai_responses",
             "adaptation.wire_rules", "cli", "costs", "explaining", "integrations",
             "persistence.file_system", "persistence.memory", "persistence.sqlite",
             "placement.skill_files", "recording", "replay", "retrieval.dispatch",
             "selection.strategies.anchored", "snapshot", "testing"}  # fmt: skip
"""Of ours: what a chef for one target and without settings does not need."""
MOST_OF_OURS = 185
"""Modules of ours that `from context_chef import ContextChef` loads: 179 today."""


@pytest.fixture(scope="module")
def loaded() -> dict[str, set[str]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return {step: set(modules) for step, modules in json.loads(done.stdout).items()}


@pytest.mark.parametrize("step", ["package", "chef", "compile"])
def test_nothing_heavy_is_loaded_by(step: str, loaded: dict[str, set[str]]) -> None:
    # A loop can only run where the program has loaded asyncio, and SQLite is for those who search.
    assert loaded[step] & (SDKS | HEAVY) == set()


def test_the_chef_is_loaded_without_what_only_some_use(loaded: dict[str, set[str]]) -> None:
    ours = {name.removeprefix("context_chef.") for name in loaded["compile"]}

    assert ours & ELSEWHERE == set()


def test_no_new_module_is_loaded_by_everybody_unseen(loaded: dict[str, set[str]]) -> None:
    ours = [name for name in loaded["chef"] if name.startswith("context_chef")]

    assert len(ours) <= MOST_OF_OURS, "load it where it is used, or argue for the new figure"


@pytest.mark.parametrize(
    "package",
    ["adaptation", "compat", "persistence", "placement", "retrieval", "selection", "wiring"],
)
def test_no_public_name_is_called_like_a_module_of_its_package(package: str) -> None:
    """Once that module is loaded, Python would answer the module instead of the name."""
    module: Any = importlib.import_module(f"context_chef.{package}")
    modules = {found.name for found in pkgutil.iter_modules(module.__path__)}

    assert modules & set(module.__all__) == set()
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        module.nonsense  # noqa: B018  # asking is the point
