"""JSON text that is the same for equal values in every process, locale and hash seed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

import msgspec

from context_chef.given import json_alone
from context_chef.ir.frozen import in_order, thaw
from context_chef.ir.text import clean_text


@json_alone
def canonical_json(value: Any) -> str:
    """Compact JSON with keys sorted by code point, non-ASCII unescaped.

    Raises InputError for what is no JSON, holds itself or is nested too deeply.
    """
    return json.dumps(
        builtin_form(value),
        ensure_ascii=False,
        separators=(",", ":"),
        sort_keys=True,
        allow_nan=False,
    )


def compact_json(value: Any) -> str:
    """Compact JSON in the order given, non-ASCII unescaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@json_alone
def order_keys(value: Any) -> Any:
    """The same value with every mapping's keys sorted by code point; lists keep their order.

    A caller's own mark (`_cache_breakpoint`) is not looked into. Raises InputError for keys that
    are no texts, and for a value that holds itself or is nested too deeply.
    """
    return _ordered(value)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {
            key: fields[key] if key == "_cache_breakpoint" else _ordered(fields[key])
            for key in sorted(fields)
        }
    if isinstance(value, (list, tuple)):
        return [_ordered(item) for item in cast(Sequence[Any], value)]
    return value


@json_alone
def stringify_payload(value: Any) -> str:
    """Any payload as compact JSON text with its keys in code-point order.

    Raises InputError for what is no JSON, holds itself or is nested too deeply.
    """
    return compact_json(_ordered(thaw(builtin_form(value))))


def builtin_form(value: Any, **options: Any) -> Any:
    """`msgspec.to_builtins` with the members of every set in an order that is always the same."""
    value = _with_plain_keys(value)
    return _sets_in_order(value, msgspec.to_builtins(value, **options))


def _with_plain_keys(value: Any) -> Any:
    """The same value, where keys that are a subclass of `str` say what they hold."""
    if type(value) is dict:
        fields = cast(dict[Any, Any], value)
        return {
            clean_text(key) if isinstance(key, str) else key: _with_plain_keys(item)
            for key, item in fields.items()
        }
    if type(value) is list:
        return [_with_plain_keys(item) for item in cast(list[Any], value)]
    return value


def _sets_in_order(value: Any, plain: Any) -> Any:
    """`plain`, which was made of `value`, with what was a set in there put in order."""
    if isinstance(plain, list):
        items = cast(list[Any], plain)
        members = list(value) if _has_members(value, len(items)) else items
        done = [_sets_in_order(one, two) for one, two in zip(members, items, strict=True)]
        return in_order(done) if isinstance(value, AbstractSet) else done
    if isinstance(plain, dict):
        fields = cast(dict[str, Any], plain)
        origin = _origins(value, fields)
        return {key: _sets_in_order(origin(key), item) for key, item in fields.items()}
    return plain


def _has_members(value: Any, count: int) -> bool:
    return isinstance(value, (list, tuple, AbstractSet)) and len(cast(Any, value)) == count


def _origins(value: Any, plain: dict[str, Any]) -> Callable[[str], Any]:
    """Where the value of a field was, by its name in the plain form."""
    if isinstance(value, msgspec.Struct):
        encoded = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
        return lambda key: getattr(value, encoded.get(key, key), None)
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        value = dump(mode="python")
    elif dataclasses.is_dataclass(value):
        return lambda key: getattr(value, key, None)
    if isinstance(value, Mapping) and len(cast(Any, value)) == len(plain):
        same = dict(zip(plain, cast(Mapping[Any, Any], value).values(), strict=True))
        return same.get
    return lambda key: None
