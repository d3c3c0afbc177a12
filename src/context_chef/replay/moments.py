"""Times as recordings write them: ISO text, seconds or milliseconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

_MILLISECONDS_FROM: Final = 100_000_000_000
"""Larger figures are milliseconds: as seconds they would lie in the year 5138."""


def seconds(value: Any) -> float | None:
    """Seconds, of any of these; None for what is no time."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if value != value or value in (float("inf"), float("-inf")):
            return None
        return float(value) / 1000 if value >= _MILLISECONDS_FROM else float(value)
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
