"""What became of one recorded scenario, and every place where it parted from the record."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from typing import Any, Literal, TypeAlias

import msgspec

from context_chef import errors

Kind: TypeAlias = Literal["missing", "unexpected", "changed", "raised"]

_ABSENT: Any = object()

RAISED = "_raised"
"""The key under which a runner says what was raised: the type and the text."""
_SAYS_RAISED = ("throws", "error", "construct_error")
_ON_PURPOSE = {
    *(name for name, item in vars(errors).items() if isinstance(item, type)),
    "RuntimeError",  # what the stand-ins raise
    "ValueError",
}
"""Errors that somebody raised on purpose. Any other is a crash, and no recorded failure is one."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place where an outcome parts from the record.

    `at` leads there by the record's indexes, or by ours for what is `unexpected`. `raised` means
    that there is an error of ours where none was recorded; `now` is then its type and its text.
    """

    at: str
    kind: Kind
    was: Any = None
    now: Any = None

    @property
    def line(self) -> str:
        """The difference in one line."""
        match self.kind:
            case "missing":
                return f"{self.at}: missing, expected {shown(self.was)}"
            case "unexpected":
                return f"{self.at}: unexpected {shown(self.now)}"
            case "raised":
                return f"{self.at}: raised {self.now}"
            case _:
                return f"{self.at}: expected {shown(self.was)}, found {shown(self.now)}"


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`deviates` is a difference that the table of deliberate deviations names."""

    id: str
    status: Literal["passed", "deviates", "failed"]
    detail: str = ""
    differences: tuple[Difference, ...] = ()
    """All of them: a deviation has to explain each one."""


def outcome_of(scenario_id: str, found: list[Difference], note: str = "") -> Outcome:
    """`passed` when nothing was found, otherwise `failed` with the first difference as detail."""
    if not found:
        return Outcome(id=scenario_id, status="passed")
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    detail = f"{found[0].line}{more}{note}"
    return Outcome(id=scenario_id, status="failed", detail=detail, differences=tuple(found))


def described(error: BaseException) -> str:
    """An error by its type and its text."""
    return f"{type(error).__name__}: {error}"


def raised(error: BaseException, at: str = "$") -> Difference:
    """The difference that an error is."""
    return Difference(at=at, kind="raised", now=described(error))


def differences(expected: Any, actual: Any, path: str = "$") -> list[Difference]:
    """Every place where two JSON-like values part; lists are aligned by what they share."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        error = actual.get(RAISED)
        if error is not None:
            actual = {key: item for key, item in actual.items() if key != RAISED}
            if not any(key in expected for key in _SAYS_RAISED):
                rest = {key: item for key, item in actual.items() if key not in _SAYS_RAISED}
                found = [Difference(at=path, kind="raised", now=error)]
                return found if "throws" in actual else found + differences(expected, rest, path)
            if error.split(":")[0] not in _ON_PURPOSE:
                return [Difference(at=path, kind="raised", now=error)]
        found: list[Difference] = []
        for key in [*expected, *(key for key in actual if key not in expected)]:
            left, right = expected.get(key, _ABSENT), actual.get(key, _ABSENT)
            found += _parted(left, right, f"{path}.{key}")
        return found
    if isinstance(expected, list) and isinstance(actual, list):
        return _lists(expected, actual, path)
    if isinstance(expected, bool) is isinstance(actual, bool) and expected == actual:
        return []
    return [Difference(at=path, kind="changed", was=expected, now=actual)]


_BY_INDEX = (".results", ".result", ".outcomes")
"""Lists of outcomes: one for each step."""


def _parted(left: Any, right: Any, path: str) -> list[Difference]:
    if left is _ABSENT:
        return [Difference(at=path, kind="unexpected", now=right)]
    if right is _ABSENT:
        return [Difference(at=path, kind="missing", was=left)]
    return differences(left, right, path)


def _lists(expected: list[Any], actual: list[Any], path: str) -> list[Difference]:
    found: list[Difference] = []
    if path.endswith(_BY_INDEX) and len(expected) == len(actual):
        pairs = [(index, index) for index in range(len(expected))]
    else:
        pairs = aligned(expected, actual)
    for left, right in pairs:
        if left is None:
            assert right is not None
            at = f"{path}[{right}]"
            found.append(Difference(at=at, kind="unexpected", now=actual[right]))
        elif right is None:
            at = f"{path}[{left}]"
            found.append(Difference(at=at, kind="missing", was=expected[left]))
        else:
            found += differences(expected[left], actual[right], f"{path}[{left}]")
    return found


def aligned(expected: list[Any], actual: list[Any]) -> list[tuple[int | None, int | None]]:
    """Pairs of indexes: equal items, then items of one sort; None where there is no counterpart."""
    pairs: list[tuple[int | None, int | None]] = []
    matcher = SequenceMatcher(None, _texts(expected), _texts(actual), autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(range(i1, i2), range(j1, j2), strict=True)
        else:
            pairs += _by_sort(expected, actual, range(i1, i2), range(j1, j2))
    return pairs


def _by_sort(
    expected: list[Any], actual: list[Any], left: range, right: range
) -> list[tuple[int | None, int | None]]:
    """Pairs within a stretch that differs: items of one sort belong together, in order."""
    lefts = [_sort(expected[i]) for i in left]
    rights = [_sort(actual[j]) for j in right]
    pairs: list[tuple[int | None, int | None]] = []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, lefts, rights, autojunk=False).get_opcodes():
        if tag == "equal":
            pairs += zip(left[i1:i2], right[j1:j2], strict=True)
        else:
            pairs += [(i, None) for i in left[i1:i2]]
            pairs += [(None, j) for j in right[j1:j2]]
    return pairs


_SORTS = (
    "role",
    "type",
    "event",
    "hook",
    "warn",
    "op",
    "step",
    "at",
    "handler",
    "kind",
    "tool_call_id",
    "requested",
)


def _sort(value: Any) -> str:
    """What makes two items counterparts: the facts that say what they are."""
    if not isinstance(value, dict):
        return type(value).__name__
    if "warn" in value:
        return "warn"
    said = [f"{name}={value[name]}" for name in _SORTS if isinstance(value.get(name), (str, int))]
    return ";".join(said) if said else ",".join(sorted(value))


def _texts(items: list[Any]) -> list[str]:
    return [json.dumps(item, sort_keys=True, ensure_ascii=False, default=repr) for item in items]


def shown(value: Any) -> str:
    """A value for a line, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 300 else f"{text[:300]}…"
