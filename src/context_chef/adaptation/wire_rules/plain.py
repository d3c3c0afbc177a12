"""Any payload as plain JSON data: SDK objects opened, bytes encoded, what is too deep refused."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, cast

import msgspec

DEEPEST = 100
"""Levels of nesting that are followed. No provider takes more."""


class TooDeep(ValueError):
    """The payload nests deeper than any provider takes, or holds itself."""


def plain(value: Any, depth: int = 0) -> Any:
    """The value as dicts, lists, texts and numbers.

    Objects of the official SDKs become what they send; bytes become base64 text. What is no JSON
    stays as it is. Raises TooDeep.
    """
    kind = cast("type[Any]", type(value))
    if kind is str or value is None or isinstance(value, (str, bool, int, float)):
        return value if kind is str or not isinstance(value, Enum) else value.value
    if depth > DEEPEST:
        raise TooDeep
    if kind is list:
        return [plain(item, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        return {
            key if type(key) is str else str(key): plain(item, depth + 1)
            for key, item in items.items()
        }
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(bytes(value)).decode("ascii")
    if isinstance(value, Sequence):
        return [plain(item, depth + 1) for item in cast("Sequence[Any]", value)]
    if isinstance(value, Enum):
        return plain(value.value, depth + 1)
    if isinstance(value, msgspec.Struct):
        return plain(msgspec.to_builtins(value), depth + 1)
    dump = getattr(cast(object, value), "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        try:
            dumped = dump(by_alias=True, exclude_unset=True)
        except (TypeError, ValueError):
            return value
        return plain(dumped, depth + 1)
    return value
