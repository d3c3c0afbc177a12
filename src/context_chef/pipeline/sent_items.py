"""Items of OpenAI Responses and the reasoning that they were met behind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from context_chef.ir.running import equal_start


class ItemsMet:
    """Judges the items of a request. What was judged before, and is the same, is not looked at."""

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._sent: Mapping[str, str] | None = None
        """What was known when these rows were judged, if nothing of it was against them."""
        self._once = True

    def judge(
        self, rows: list[Any], sent: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[int, str]]:
        """Which items are met behind reasoning for the first time, and which have lost theirs."""
        start = self._same(rows, sent)
        met: dict[str, str] = {}
        lost: dict[int, str] = {}
        twice = False
        previous = _reasoning(rows[start - 1]) if start else None
        for index in range(start, len(rows)):
            row = rows[index]
            behind, previous = previous, _reasoning(row)
            identifier = _id(row)
            if identifier is None or previous is not None:
                continue
            if (wanted := sent.get(identifier, behind)) != behind:
                lost[index] = f"its reasoning item {wanted!r} does not stand before it any more"
            elif behind is not None and identifier not in sent:
                twice = twice or met.get(identifier, behind) != behind
                met[identifier] = behind
        self._rows, self._sent = rows, None if lost or met else sent
        self._once = not lost and not twice
        return met, lost

    def remembered(self, sent: Mapping[str, str]) -> None:
        """What was met is known from now on, with all that was known before."""
        self._sent = sent if self._once else None

    def _same(self, rows: list[Any], sent: Mapping[str, str]) -> int:
        """How many rows at the beginning were found to be right, by what is known now."""
        if self._sent is not sent:
            return 0
        return equal_start(self._rows, rows)


def _id(row: Any) -> str | None:
    identifier = cast("dict[str, Any]", row).get("id") if isinstance(row, dict) else None
    return identifier if isinstance(identifier, str) and identifier else None


def _reasoning(row: Any) -> str | None:
    """The id of the reasoning that this item is, or refers to."""
    identifier = _id(row)
    if identifier is None:
        return None
    kind = row.get("type")
    refers = kind == "item_reference" and identifier.startswith("rs")
    return identifier if kind == "reasoning" or refers else None
