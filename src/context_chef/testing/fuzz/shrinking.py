"""Cuts a failing session down to the least that still fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar, cast

import msgspec

from context_chef.testing.fuzz.recipe import Recipe
from context_chef.testing.fuzz.speaking import Row

T = TypeVar("T")
Fails = Callable[[Recipe], Awaitable[bool]]
"""Whether a session still fails."""


async def shrink(recipe: Recipe, fails: Fails, *, seconds: float = 60) -> Recipe:
    """A smaller session for which `fails` is true: of fewer steps, messages, blocks and settings.

    Goes on until nothing more can be taken away, or the time is up.
    """
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidates in (_fewer_steps, _fewer_handlers, _fewer_settings, _less_said):
            again = True
            while again:
                again = False
                for candidate in candidates(recipe):
                    if time.monotonic() > end:
                        return recipe
                    if await fails(candidate):
                        recipe, again, smaller = candidate, True, True
                        break
    return recipe


def _with(recipe: Recipe, **changes: Any) -> Recipe:
    return msgspec.structs.replace(recipe, **changes)


def _without_stretches(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """The items without one stretch: halves first, single ones last; ends before beginnings."""
    size = len(items) // 2
    while size >= 1:
        for start in range(len(items) - size, -1, -size):
            yield items[:start] + items[start + size :]
        size //= 2
    if len(items) == 1:
        yield ()


def _fewer_steps(recipe: Recipe) -> Iterator[Recipe]:
    for steps in _without_stretches(recipe.steps):
        yield _with(recipe, steps=steps)


def _fewer_handlers(recipe: Recipe) -> Iterator[Recipe]:
    for handlers in _without_stretches(recipe.handlers):
        yield _with(recipe, handlers=handlers)


_TOGETHER = ("window", "strategy", "oversize", "archive", "keep", "handoff")


def _fewer_settings(recipe: Recipe) -> Iterator[Recipe]:
    settings = recipe.settings
    if "window" in settings:
        kept = {name: value for name, value in settings.items() if name not in _TOGETHER}
        yield _with(recipe, settings=kept)
    for name in settings:
        if name not in ("window", "strategy"):
            kept = {key: value for key, value in settings.items() if key != name}
            yield _with(recipe, settings=kept)


def _less_said(recipe: Recipe) -> Iterator[Recipe]:
    for number, step in enumerate(recipe.steps):
        for smaller in _smaller_steps(step):
            steps = (*recipe.steps[:number], smaller, *recipe.steps[number + 1 :])
            yield _with(recipe, steps=steps)


def _smaller_steps(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("rows", "tools"):
        for fewer in _without_stretches(tuple(_list(step, key))):
            yield {**step, key: list(fewer)}
    rows = _list(step, "rows")
    for place, row in enumerate(rows):
        for smaller in _smaller_rows(row):
            yield {**step, "rows": [*rows[:place], smaller, *rows[place + 1 :]]}


def _smaller_rows(row: Row) -> Iterator[Row]:
    blocks = _list(row, "blocks")
    for fewer in _without_stretches(tuple(blocks)):
        yield {**row, "blocks": list(fewer)}
    for place, block in enumerate(blocks):
        text: Any = block.get("text")
        if isinstance(text, str) and len(text) > 12:
            shorter = {**block, "text": text[:8]}
            yield {**row, "blocks": [*blocks[:place], shorter, *blocks[place + 1 :]]}
    for key in ("cache", "pinned", "is_error", "name"):
        if key in row:
            yield {name: value for name, value in row.items() if name != key}


def _list(step: dict[str, Any], key: str) -> list[Row]:
    found: Any = step.get(key)
    return cast("list[Row]", found) if isinstance(found, list) else []
