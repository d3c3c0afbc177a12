"""What became of one recorded scenario."""

from __future__ import annotations

import json
from typing import Any, Literal

import msgspec


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`deviates` is a difference that the table of deliberate deviations names."""

    id: str
    status: Literal["passed", "deviates", "failed"]
    detail: str = ""
    repairs: tuple[str, ...] = ()
    """Rules that the compiles of this scenario reported as mended."""


def first_difference(expected: Any, actual: Any, path: str = "$") -> str | None:
    """Where two JSON-like values part, in one line; None when they are equal."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in expected:
            if key not in actual:
                return f"{path}.{key}: missing, expected {_short(expected[key])}"
            if found := first_difference(expected[key], actual[key], f"{path}.{key}"):
                return found
        for key in actual:
            if key not in expected:
                return f"{path}.{key}: unexpected {_short(actual[key])}"
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
            if found := first_difference(left, right, f"{path}[{index}]"):
                return found
        if len(expected) != len(actual):
            return f"{path}: {len(expected)} expected, {len(actual)} found: {_short(actual)}"
        return None
    if isinstance(expected, bool) is isinstance(actual, bool) and expected == actual:
        return None
    return f"{path}: expected {_short(expected)}, found {_short(actual)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 300 else f"{text[:300]}…"
