"""Runs scenarios of the `store.json` format through the public API."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from tests.parity.outcome import Difference, Outcome, outcome_of, raised
from tests.parity.store_operations import OPERATIONS, raising
from tests.parity.store_values import outcome_differences, resolve, words
from tests.parity.store_world import World


def run(scenario: dict[str, Any], document: dict[str, Any]) -> Outcome:
    """One scenario, in a fresh empty directory that is the working directory meanwhile."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory).resolve()
        os.chdir(root)
        try:
            found = asyncio.run(_steps(scenario, document, root))
        finally:
            os.chdir(before)
    return outcome_of(scenario["id"], found)


async def _steps(
    scenario: dict[str, Any], document: dict[str, Any], root: Path
) -> list[Difference]:
    given = scenario["input"]
    config = resolve(given.get("config") or {}, {}, str(root))
    world = World(root, document["clock_start_ms"], config)
    world.create_files(resolve(given.get("files", []), {}, str(root)))
    if not given.get("no_chef"):
        try:
            _ = world.chef
        except Exception as error:  # noqa: BLE001  # a refused configuration is an outcome
            return [raised(error, "construction")]
    found: list[Difference] = []
    for index, (step, expected) in enumerate(
        zip(given["steps"], scenario["expected"], strict=True)
    ):
        at = f"{step['op']}[{index}]"
        try:
            actual = await perform(world, step)
        except Exception as error:  # noqa: BLE001  # a step that cannot be run is a difference
            found.append(raised(error, at))
            continue
        recorded = words(resolve_root(expected, str(root)))
        found += outcome_differences(recorded, resolve_pid(actual), at)
    return found


async def perform(world: World, step: dict[str, Any]) -> dict[str, Any]:
    """One step; whatever it raises is its outcome."""
    arguments = resolve(step, world.saved, str(world.root))
    operation = OPERATIONS.get(step["op"])
    if operation is None:
        raise NotImplementedError(f"operation {step['op']!r}")
    if step["op"] == "parallel":
        outcomes = await asyncio.gather(*(perform(world, op) for op in step["ops"]))
        return {"outcomes": list(outcomes)}
    try:
        return await operation(world, arguments)
    except NotImplementedError:
        raise
    except Exception as error:  # noqa: BLE001  # the outcome of the step
        return raising(error)


def resolve_root(value: Any, root: str) -> Any:
    """Recorded outcomes with the directory of this run in them."""
    if isinstance(value, str):
        return value.replace("{{ROOT}}", root)
    if isinstance(value, list):
        return [resolve_root(item, root) for item in value]
    if isinstance(value, dict):
        return {key: resolve_root(item, root) for key, item in value.items()}
    return value


def resolve_pid(value: Any) -> Any:
    """Outcomes with the process id as it is recorded."""
    pid = str(os.getpid())
    if isinstance(value, str) and f".tmp_{pid}_" in value:
        return value.replace(f".tmp_{pid}_", ".tmp_{{PID}}_")
    if isinstance(value, list):
        return [resolve_pid(item) for item in value]
    if isinstance(value, dict):
        return {key: resolve_pid(item) for key, item in value.items()}
    return value
