"""JSON text that is the same for equal values in every process, locale and hash seed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from context_chef.ir.frozen import thaw


def canonical_json(value: Any) -> str:
    """Compact JSON with keys sorted by code point, non-ASCII unescaped."""
    return json.dumps(
        msgspec.to_builtins(value),
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
        allow_nan=False,
    )


def compact_json(value: Any) -> str:
    """Compact JSON in the order given, non-ASCII unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def order_keys(value: Any) -> Any:
    """The same value with every mapping's keys sorted by code point; lists keep their order.

    A caller's own mark (`_cache_breakpoint`) is not looked into.
    """
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {
            key: fields[key] if key == "_cache_breakpoint" else order_keys(fields[key])
            for key in sorted(fields)
        }
    if isinstance(value, (list, tuple)):
        return [order_keys(item) for item in cast(Sequence[Any], value)]
    return value


def stringify_payload(value: Any) -> str:
    """Any payload as compact JSON text with its keys in code-point order."""
    return compact_json(order_keys(thaw(msgspec.to_builtins(value))))
