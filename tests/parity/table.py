"""How the table of deliberate deviations is read: a row names what may differ, and where.

A scenario deviates when every difference found in it is named by a row that applies to it. A row
applies by what is general (the kind of scenario, its area, the flag of the record, what the input
says); it names places, the kind of difference there, and what the record and we have there. Words
that stand neither in the input nor in the record are ours only where a row says what they are.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from tests.parity.outcome import Difference, Kind, Outcome


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One sort of difference at one sort of place."""

    at: re.Pattern[str]
    kinds: tuple[Kind, ...]
    was: re.Pattern[str] | None = None
    """Found in what was recorded there, as text or as JSON text."""
    now: re.Pattern[str] | None = None
    """The whole of what we have there, as text or as JSON text. Then the words may be ours."""
    holds: Callable[[Any, Any], bool] | None = None
    """What is true of the two."""

    def names(self, difference: Difference, known: Known) -> bool:
        """Whether the difference is of this sort."""
        if difference.kind not in self.kinds or not self.at.fullmatch(difference.at):
            return False
        if self.was is not None and not self.was.search(as_text(difference.was)):
            return False
        if self.holds is not None and not _true(self.holds, difference.was, difference.now):
            return False
        if self.now is not None:
            return self.now.fullmatch(as_text(difference.now)) is not None
        return difference.kind != "raised" and known.says(difference.now)


class Deviation(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that we do otherwise, on purpose."""

    rule: str
    """The weakness (W-…, §26.n, W<n>) or the rule of the design that it follows."""
    instead: str
    """What we do, in a sentence."""
    test: str
    """The test that asserts the better behaviour: file::name."""
    places: tuple[Place, ...]
    follows: tuple[Place, ...] = ()
    """What comes of it, from the step on in which one of `places` was found."""
    flags: tuple[str, ...] = ()
    """Weaknesses that the record has to name."""
    flagged: bool = False
    """The record has to be flagged as weak, whatever it says."""
    kinds: tuple[str, ...] = ()
    areas: tuple[str, ...] = ()
    given: re.Pattern[str] | None = None
    """Found in the input, as JSON text."""
    fits: Callable[[dict[str, Any], Difference], bool] | None = None
    """What is true of each difference at `places`, in view of the whole scenario."""
    held_back: str = ""
    """Why the row stands although no scenario here needs it."""

    def applies(self, scenario: dict[str, Any]) -> bool:
        """Whether the row is about scenarios like this."""
        weakness = scenario.get("peer_weakness") or scenario.get("weakness")
        kind = scenario.get("kind") or scenario["input"].get("kind", "")
        return (
            (not self.flags or weakness in self.flags)
            and (not self.flagged or bool(weakness))
            and (not self.kinds or kind in self.kinds)
            and (not self.areas or scenario.get("area") in self.areas)
            and (self.given is None or self.given.search(input_text(scenario)) is not None)
        )

    def named(
        self, differences: Sequence[Difference], known: Known, scenario: dict[str, Any]
    ) -> set[int]:
        """The indexes of those differences that this row explains."""
        own = {
            index
            for index, difference in enumerate(differences)
            if any(place.names(difference, known) for place in self.places)
            and (self.fits is None or _true(self.fits, scenario, difference))
        }
        if not own or not self.follows:
            return own
        first = min(step_of(differences[index]) for index in own)
        return own | {
            index
            for index, difference in enumerate(differences)
            if step_of(difference) >= first
            and any(place.names(difference, known) for place in self.follows)
        }


class Known:
    """The words of a scenario: what its input and its record say."""

    def __init__(self, scenario: dict[str, Any]) -> None:
        texts = [*_strings(scenario["input"]), *_strings(scenario["expected"])]
        texts += [
            text * int(times)
            for text, times in _RUN.findall("\n".join(text for text in texts if "{{RUN:" in text))
        ]
        self._all = "\n".join(sorted({line for text in texts for line in text.split("\n")}))

    def says(self, value: Any) -> bool:
        """Whether every text in the value is made of lines that the scenario has too."""
        return all(
            self._has(line) for text in _strings(value, keys=False) for line in text.split("\n")
        )

    def _has(self, line: str) -> bool:
        line = re.sub(r"^ *\d+\t", "", line)  # the number of a line that is viewed
        if not line.strip() or line in self._all or line in _STRUCTURE:
            return True
        if re.fullmatch(r"W\d+", line):  # the name of a window
            return True
        mask = re.fullmatch(r"\{\{[A-Z_0-9]+(?::(.*?))?\}?\}?\}?\}?", line)
        return mask is not None and (mask[1] is None or self.says(mask[1]))


_STRUCTURE = {
    "system", "user", "assistant", "tool", "model", "text", "function", "reasoning", "compress",
    "compress:start", "compress:end", "compile:done", "compression_model", "assemble",
    "pipeline:invariant", "message", "input_text", "input_image", "input_file", "image_url",
}  # fmt: skip
"""Words of the formats themselves."""


_RUN = re.compile(r"\{\{RUN:(.*?):(\d+)\}\}")


def uncovered(
    rows: Iterable[Deviation], scenario: dict[str, Any], differences: Sequence[Difference]
) -> tuple[list[Difference], list[Deviation]]:
    """The differences that no row explains, and the rows that explain the others."""
    known = Known(scenario)
    left = set(range(len(differences)))
    used: list[Deviation] = []
    for row in rows:
        if row.applies(scenario) and (found := row.named(differences, known, scenario)):
            used.append(row)
            left -= found
    return [differences[index] for index in sorted(left)], used


def judged(rows: Iterable[Deviation], scenario: dict[str, Any], outcome: Outcome) -> Outcome:
    """The outcome as `deviates` when the table explains all of it, as `failed` otherwise."""
    if outcome.status != "failed":
        return outcome
    if not outcome.differences:  # an outcome that names no place is explained by nothing
        return outcome
    left, used = uncovered(rows, scenario, outcome.differences)
    if left:
        more = f" (and {len(left) - 1} more)" if len(left) > 1 else ""
        return msgspec.structs.replace(outcome, detail=f"{left[0].line}{more}")
    rules = "; ".join(dict.fromkeys(row.rule for row in used))
    return msgspec.structs.replace(outcome, status="deviates", detail=f"[{rules}] {outcome.detail}")


def place(
    at: str,
    *kinds: Kind,
    was: str | None = None,
    now: str | None = None,
    holds: Callable[[Any, Any], bool] | None = None,
) -> Place:
    """A place by its path: `[]` is any index, `*` any name, `**` anything below or nothing.

    `|` parts alternatives within parentheses; `was` is searched for, `now` has to fit as a whole.
    """
    pattern = re.escape(at)
    for sign, meaning in (
        (r"\[\]", r"\[\d+\]"),
        (r"\*\*", r".*"),
        (r"\*", r"[^.\[\]]+"),
        (r"\(", "(?:"),
        (r"\)", ")"),
        (r"\|", "|"),
    ):
        pattern = pattern.replace(sign, meaning)
    return Place(
        at=re.compile(pattern, re.DOTALL),
        kinds=kinds or ("missing", "unexpected", "changed"),
        was=None if was is None else re.compile(was, re.DOTALL),
        now=None if now is None else re.compile(now, re.DOTALL),
        holds=holds,
    )


def _true(relation: Callable[..., bool], *values: Any) -> bool:
    """Whether the relation holds. It does not between values that it cannot be asked of."""
    try:
        return relation(*values)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def step_of(difference: Difference) -> int:
    """The step in which a difference was found; 0 where there are no steps."""
    if difference.at.startswith("$.in_background"):
        return sys.maxsize  # these stand apart from the steps
    found = re.match(r"\$\.(?:log|results)\[(\d+)\]|\w+\[(\d+)\]", difference.at)
    return 0 if found is None else int(found[1] or found[2])


def as_text(value: Any) -> str:
    """A text as it is, anything else as JSON text."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=repr)


def input_text(scenario: dict[str, Any]) -> str:
    """The input as JSON text."""
    return json.dumps(scenario["input"], ensure_ascii=False)


def _strings(value: Any, *, keys: bool = True) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and "$repeat" in value:
        text, times = value["$repeat"]
        yield text * times
    elif isinstance(value, dict):
        for key, item in value.items():
            if keys:
                yield str(key)
            yield from _strings(item, keys=keys)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, keys=keys)
