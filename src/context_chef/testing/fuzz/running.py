"""Plays many sessions over all cores, keeps count, and writes what failed to files."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from context_chef.errors import InputError
from context_chef.testing.fuzz.checkers import Judge, Problem
from context_chef.testing.fuzz.playing import Played, play
from context_chef.testing.fuzz.recipe import Recipe, make_recipe
from context_chef.testing.fuzz.shrinking import shrink

FORMAT = "context-chef-fuzz/1"
_BATCH = 20
"""So many sessions are played in one go."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A session that went wrong."""

    recipe: Recipe
    problems: tuple[Problem, ...]

    @property
    def kind(self) -> str:
        """What went wrong: failures of one kind are written down once."""
        return ", ".join(sorted({problem.rule for problem in self.problems}))


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """What came of some sessions."""

    sessions: int
    compiles: int
    refused: dict[str, int]
    failures: tuple[Failure, ...]


@dataclass
class Tally:
    """What came of all sessions so far."""

    sessions: int = 0
    compiles: int = 0
    failed: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    kinds: Counter[str] = field(default_factory=Counter[str])
    files: list[Path] = field(default_factory=list[Path])


def run(
    *,
    seed: int,
    seconds: float | None = None,
    compiles: int | None = None,
    jobs: int = 1,
    out: Path | None = None,
    checker: str | None = None,
    tell: Callable[[Tally, float], None] | None = None,
) -> Tally:
    """Play sessions of that seed until the time is up or so many requests were made.

    Session n of a seed is the same whatever `jobs` is. The first failure of each kind is cut down
    and written to `out`. `tell` is called now and then with the count and the seconds it took.
    """
    tally = Tally()
    began = time.monotonic()
    end = None if seconds is None else began + seconds
    following = 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        max_workers=jobs, mp_context=context, initializer=_end_with_parent
    ) as pool:
        batches: set[Future[Batch]] = set()
        shrinking: set[Future[Path | None]] = set()
        while True:
            over = (end is not None and time.monotonic() >= end) or (
                compiles is not None and tally.compiles >= compiles
            )
            while not over and len(batches) < jobs + 1:
                batches.add(pool.submit(play_batch, seed, following, _BATCH, checker))
                following += _BATCH
            if not batches and not shrinking:
                return tally
            waiting: set[Future[Any]] = {*batches, *shrinking}
            done, _ = wait(waiting, timeout=5, return_when=FIRST_COMPLETED)
            for future in [each for each in batches if each in done]:
                batches.discard(future)
                for failure in _count(tally, future.result()):
                    shrinking.add(pool.submit(write_down, failure, out, checker))
            for written in [each for each in shrinking if each in done]:
                shrinking.discard(written)
                if (path := written.result()) is not None:
                    tally.files.append(path)
            if tell is not None:
                tell(tally, time.monotonic() - began)


def _end_with_parent() -> None:
    """A process that plays sessions does not outlive the one that counts them."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _count(tally: Tally, batch: Batch) -> list[Failure]:
    """Add it up. Answers the failures of kinds that were not met before."""
    tally.sessions += batch.sessions
    tally.compiles += batch.compiles
    tally.failed += len(batch.failures)
    tally.refused.update(batch.refused)
    new: list[Failure] = []
    for failure in batch.failures:
        if failure.kind not in tally.kinds:
            new.append(failure)
        tally.kinds[failure.kind] += 1
    return new


def play_batch(seed: int, first: int, count: int, checker: str | None) -> Batch:
    """Sessions `first` and following of that seed."""
    return asyncio.run(_play_batch(seed, first, count, Judge(checker)))


async def _play_batch(seed: int, first: int, count: int, judge: Judge) -> Batch:
    refused: Counter[str] = Counter()
    failures: list[Failure] = []
    compiles = 0
    for case in range(first, first + count):
        recipe = make_recipe(seed, case)
        played = await play(recipe, judge)
        compiles += played.compiles
        refused.update(played.refused)
        if played.problems:
            failures.append(Failure(recipe=recipe, problems=played.problems))
    return Batch(sessions=count, compiles=compiles, refused=dict(refused), failures=tuple(failures))


def write_down(failure: Failure, out: Path | None, checker: str | None) -> Path | None:
    """Cut the session down and write it to a file that `context-chef check` reads."""
    if out is None:
        return None
    judge = Judge(checker)
    rules = {problem.rule for problem in failure.problems}

    async def least() -> tuple[Recipe, Played]:
        async def fails(recipe: Recipe) -> bool:
            played = await play(recipe, judge)
            return any(problem.rule in rules for problem in played.problems)

        recipe = await shrink(failure.recipe, fails)
        return recipe, await play(recipe, judge)

    recipe, played = asyncio.run(least())
    out.mkdir(parents=True, exist_ok=True)
    name = "-".join(sorted(rules)[0].replace("/", "-").replace(":", "-").split())
    path = out / f"{name}-{recipe.seed}-{recipe.case}.json"
    path.write_text(failure_text(recipe, played), encoding="utf-8")
    return path


def failure_text(recipe: Recipe, played: Played) -> str:
    """A failing session as JSON: what was sent, what is wrong with it, and how to play it again.

    `target` and `payloads` are the requests of the target that went wrong.
    """
    problems = played.problems
    at = problems[0].compile if problems else 0
    sent = next((each for each in played.sent if each.number == at), None)
    target = sent.target if sent else (played.sent[-1].target if played.sent else "openai")
    requests = [each.request for each in played.sent if each.target == target]
    models = {each.model for each in played.sent if each.target == target}
    written: dict[str, Any] = {
        "format": FORMAT,
        "target": target,
        "model": models.pop() if len(models) == 1 else None,
        "problems": [msgspec.to_builtins(problem) for problem in problems],
        "payloads": requests,
        "recipe": msgspec.to_builtins(recipe),
    }
    return json.dumps(written, indent=1) + "\n"


def read_recipe(text: str) -> Recipe:
    """The recipe in a failure's file, or one that stands alone. Raises InputError."""
    try:
        given: Any = json.loads(text)
        recipe = given.get("recipe", given)
        return msgspec.convert(recipe, Recipe)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"no recipe of a fuzzed session is in it: {error}.") from error
