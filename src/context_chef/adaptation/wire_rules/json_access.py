"""Reading JSON data whose types are not certain: the wanted kind, or an empty one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

_NOTHING: Mapping[str, Any] = {}


def as_map(value: Any) -> Mapping[str, Any]:
    """The object, or an empty one."""
    # `type` first: asking an abstract class is many times slower.
    if type(value) is dict or isinstance(value, Mapping):
        return cast("Mapping[str, Any]", value)
    return _NOTHING


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def as_text(value: Any) -> str:
    """The text, or an empty one."""
    return value if isinstance(value, str) else ""


def as_number(value: Any) -> float | None:
    """The number, or None. True and false are none; what no float can hold is infinite."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int) and abs(value) > 10**300:
        return math.inf if value > 0 else -math.inf
    return value


def words(text: str) -> tuple[str, ...]:
    """The words of a text: how long lists of names are written down."""
    return tuple(text.split())
