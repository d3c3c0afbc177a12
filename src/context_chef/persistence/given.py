"""What callers give to the store's objects, judged where it enters: types, before anything else."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.errors import AddressError, SettingsError, StoreError, shown
from context_chef.given import check_callable as check_callable  # one place to import all from
from context_chef.given import check_mapping, check_text, check_whole
from context_chef.given import file_path as file_path

DEEPEST_META: Final = 64
"""Levels of lists and objects in an entry's `meta`; what is deeper is refused."""

LONGEST_QUERY: Final = 2_000
"""Characters of a query that are searched for; what is longer is a text, and would cost seconds."""

_PLAIN: Final = (str, int, float, bool, type(None))
_LONGEST_WAIT: Final = 1_000_000.0
_MOST_BITS: Final = 4_096
"""Whole numbers beyond this cannot even be written down as JSON everywhere."""


def check_names(ns: object, path: object = "", *, what: str = "path") -> None:
    """Refuse, with AddressError, what is no text in place of a namespace, path or prefix."""
    if not isinstance(ns, str):
        raise AddressError(f"{shown(ns)} cannot be a namespace: a namespace is a string.")
    if not isinstance(path, str):
        raise AddressError(f"{shown(path)} cannot be a {what}: a {what} is a string.")


def check_search(query: object, prefix: object, limit: object, offset: object) -> None:
    """Refuse, with our own errors, what no search can be asked for."""
    check_text(query, "query")
    check_names("", prefix, what="prefix")
    check_whole(limit, "limit")
    check_whole(offset, "offset")


def check_seconds(value: object, name: str) -> None:
    """Refuse, with SettingsError, what is no time to wait."""
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else -1
    if not 0 <= number <= _LONGEST_WAIT:
        raise SettingsError(f"`{name}` is a number of seconds, 0 or more, not {shown(value)}.")


def check_meta(meta: object) -> None:
    """Refuse metadata that is no JSON, so that every backend keeps the same."""
    check_mapping(meta, "meta")
    if is_too_deep(meta):
        raise StoreError(
            f"`meta` is nested more than {DEEPEST_META} levels deep; store such data as `content`."
        )
    wrong = _no_json(meta)
    if wrong is not None:
        raise StoreError(
            f"`meta` must hold JSON values only, so that it can be stored, not {shown(wrong[0])}."
        )


def is_too_deep(value: object) -> bool:
    """Whether lists and objects are nested deeper than `DEEPEST_META`, or without an end."""
    level: dict[int, object] = {id(value): value}
    for _ in range(DEEPEST_META + 1):
        inner: dict[int, object] = {}
        for item in level.values():
            inner.update((id(part), part) for part in _parts(item) if not isinstance(part, _PLAIN))
        if not inner:
            return False
        level = inner
    return True


def is_cap(value: object) -> bool:
    """Whether this is a number that something can be compared with, infinity too."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return isinstance(value, int) or not math.isnan(value)


def _no_json(value: object) -> list[Any] | None:
    """The first part that JSON has no form for, in a list; None when there is none."""
    if isinstance(value, _PLAIN):
        too_long = isinstance(value, int) and value.bit_length() > _MOST_BITS
        return [value] if too_long else None
    if not isinstance(value, (Mapping, list, tuple)):
        return [value]
    if isinstance(value, Mapping):
        for key in cast("Mapping[object, object]", value):
            if not isinstance(key, str):
                return [key]
    parts = _parts(cast("object", value))
    return next((wrong for part in parts if (wrong := _no_json(part)) is not None), None)


def _parts(value: object) -> Sequence[object]:
    if isinstance(value, Mapping):
        return list(cast("Mapping[object, object]", value).values())
    return cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
