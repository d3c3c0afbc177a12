"""JSON Schemas as draft 2020-12 has them, of what people write under that name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from context_chef.ir.blocks import Provider
from context_chef.ir.frozen import thaw

Schema: TypeAlias = dict[str, Any]

_TYPES: Final = frozenset({"object", "array", "string", "number", "integer", "boolean", "null"})
_TYPE_ALIASES: Final = {
    "dict": "object", "map": "object", "hashmap": "object", "struct": "object", "record": "object",
    "list": "array", "tuple": "array", "set": "array",
    "str": "string", "text": "string", "char": "string", "date": "string", "datetime": "string",
    "float": "number", "double": "number", "decimal": "number", "long": "integer",
    "int": "integer", "bool": "boolean", "none": "null",
}  # fmt: skip
_DEEPEST: Final = 60


class SchemaCleaner:
    """Walks one schema. Holds the whole of it, so that references can be followed.

    Every change is named in `notes`, with its place.
    """

    def __init__(self, whole: Mapping[str, Any], target: Provider) -> None:
        self._whole = whole
        self._target = target
        self.notes: list[str] = []

    def note(self, path: str, text: str) -> None:
        """Name a change."""
        self.notes.append(f"{path or '(top)'}: {text}")

    def resolve(self, ref: str) -> Any:
        """What a reference inside the schema leads to; None when it leads nowhere."""
        if not ref.startswith("#"):
            return None
        node: Any = self._whole
        for step in filter(None, ref[1:].split("/")):
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(node, Mapping):
                node = cast(Mapping[str, Any], node).get(step)
            elif isinstance(node, Sequence) and step.isdigit() and not isinstance(node, str):
                items = cast(Sequence[Any], node)
                node = items[int(step)] if int(step) < len(items) else None
            else:
                return None
        return node

    def schema(self, value: Any, path: str = "", depth: int = 0) -> Any:
        """The same subschema without what means nothing or means something else today."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, Mapping):
            self.note(path, f"a schema is an object, not {value!r}")
            return {}
        if depth > _DEEPEST:
            self.note(path, "nested too deep; anything is accepted here")
            return {}
        given = cast(Mapping[str, Any], value)
        out: Schema = {}
        for key, item in given.items():
            if key in ("items", "additionalItems"):
                continue
            cleaned = self._keyword(key, item, f"{path}.{key}" if path else key, depth)
            if cleaned is not _DROP:
                out[key] = cleaned
        self._items(given, out, path, depth)
        self._bounds(given, out, path)
        self._required(given, out, path)
        return out

    def _keyword(self, key: str, item: Any, path: str, depth: int) -> Any:
        if key in _SUBSCHEMAS:
            return self.schema(item, path, depth + 1)
        if key in _SUBSCHEMA_MAPS:
            if not isinstance(item, Mapping):
                return self._dropped(path, item)
            named = cast(Mapping[str, Any], item)
            return {
                name: self.schema(sub, f"{path}.{name}", depth + 1)
                for name, sub in named.items()
                if key != "patternProperties" or _is_pattern(name)
            }
        if key in _SUBSCHEMA_LISTS:
            if not isinstance(item, list) or not item:
                return self._dropped(path, item)
            subs = cast(list[Any], item)
            return [self.schema(sub, f"{path}[{i}]", depth + 1) for i, sub in enumerate(subs)]
        if key == "type":
            return self._type(item, path)
        if key == "$ref":
            if isinstance(item, str) and self.resolve(item) is not None:
                return item
            return self._dropped(path, item)
        check = _PLAIN.get(key)
        if check is not None and not check(item):
            return _DROP if key in _QUIET else self._dropped(path, item)
        return _finite(thaw(item))

    def _dropped(self, path: str, item: Any) -> Any:
        self.note(path, f"{_short(item)} means nothing here and was left out")
        return _DROP

    def _type(self, item: Any, path: str) -> Any:
        names = cast(list[Any], item) if isinstance(item, list) else [item]
        kinds: list[str] = []
        for name in names:
            lowered = name.strip().lower() if isinstance(name, str) else ""
            kind = lowered if lowered in _TYPES else _TYPE_ALIASES.get(lowered)
            if kind is None:
                self.note(path, f"{name!r} is no type; anything is accepted here")
                return _DROP
            if kind != name:
                self.note(path, f"{name!r} is now {kind!r}")
            if kind not in kinds:
                kinds.append(kind)
        if not kinds:
            return _DROP
        return kinds if isinstance(item, list) else kinds[0]

    def _items(self, given: Mapping[str, Any], out: Schema, path: str, depth: int) -> None:
        items = given.get("items")
        where = f"{path}.items" if path else "items"
        if isinstance(items, list):  # the tuple form of older drafts
            members = cast(list[Any], items)
            if members and "prefixItems" not in out:
                out["prefixItems"] = [
                    self.schema(item, f"{where}[{i}]", depth + 1) for i, item in enumerate(members)
                ]
            self.note(where, "a list of schemas is now `prefixItems`")
            items = given.get("additionalItems")
        if isinstance(items, (bool, Mapping)):
            out["items"] = self.schema(items, where, depth + 1)
        elif items is not None and not isinstance(given.get("items"), list):
            self.note(where, f"{_short(items)} means nothing here and was left out")
        kind = out.get("type")
        is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
        if (
            is_array
            and "items" not in out
            and "prefixItems" not in out
            and self._target != "anthropic"
        ):
            out["items"] = {}
            self.note(path, "an array names its items; anything is accepted")

    def _bounds(self, given: Mapping[str, Any], out: Schema, path: str) -> None:
        """`exclusiveMinimum: true` of older drafts belongs to the bound beside it."""
        for edge in ("Minimum", "Maximum"):
            plain = edge.lower()
            if given.get(f"exclusive{edge}") is True and _is_number(given.get(plain)):
                out[f"exclusive{edge}"] = given[plain]
                out.pop(plain, None)
                self.note(path, f"`exclusive{edge}` now holds the bound")

    def _required(self, given: Mapping[str, Any], out: Schema, path: str) -> None:
        names = given.get("required")
        if isinstance(names, list):
            listed = [name for name in cast(list[Any], names) if isinstance(name, str)]
            unique = list(dict.fromkeys(listed))
            if len(unique) != len(cast(list[Any], names)):
                self.note(path, "`required` names each property once")
            out["required"] = unique
        elif "required" in given:
            out.pop("required", None)
        properties = given.get("properties")
        if isinstance(properties, Mapping):  # `required: true` on the property, as draft 3 had it
            marked = [
                name
                for name, sub in cast(Mapping[str, Any], properties).items()
                if isinstance(sub, Mapping) and cast(Mapping[str, Any], sub).get("required") is True
            ]
            missing = [name for name in marked if name not in out.get("required", ())]
            if missing:
                out["required"] = [*out.get("required", ()), *missing]
                self.note(path, "`required` on a property is now a list beside the properties")


_DROP: Final = object()
_SUBSCHEMAS: Final = frozenset(
    {"additionalProperties", "not", "if", "then", "else", "contains", "propertyNames",
     "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
)  # fmt: skip
_SUBSCHEMA_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SUBSCHEMA_MAPS: Final = frozenset(
    {"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"}
)
_QUIET: Final = frozenset({"required", "exclusiveMinimum", "exclusiveMaximum"})  # mended beside


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and value == int(value)


def _is_step(value: Any) -> bool:
    return _is_number(value) and value > 0


def _is_pattern(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _is_dependency_map(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(names, list)
        and all(isinstance(name, str) for name in cast(list[Any], names))
        and len(set(cast(list[str], names))) == len(cast(list[str], names))
        for names in cast(dict[str, Any], value).values()
    )


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[^#]*#?", value) is not None


def _is_anchor(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[A-Za-z_][-A-Za-z0-9._]*", value) is not None


_PLAIN: Final[dict[str, Callable[[Any], bool]]] = {
    "title": _is_text, "description": _is_text, "format": _is_text, "$comment": _is_text,
    "contentEncoding": _is_text, "contentMediaType": _is_text, "$schema": _is_text,
    "$dynamicRef": _is_anchor, "$id": _is_id, "$anchor": _is_anchor, "$dynamicAnchor": _is_anchor,
    "deprecated": _is_flag, "readOnly": _is_flag, "writeOnly": _is_flag, "uniqueItems": _is_flag,
    "enum": _is_list, "examples": _is_list, "required": _is_list,
    "minimum": _is_number, "maximum": _is_number,
    "exclusiveMinimum": _is_number, "exclusiveMaximum": _is_number, "multipleOf": _is_step,
    "minLength": _is_count, "maxLength": _is_count, "minItems": _is_count, "maxItems": _is_count,
    "minProperties": _is_count, "maxProperties": _is_count, "minContains": _is_count,
    "maxContains": _is_count, "pattern": _is_pattern, "dependentRequired": _is_dependency_map,
    "$recursiveRef": lambda _: False, "$recursiveAnchor": lambda _: False,
    "$vocabulary": lambda _: False, "dependencies": lambda _: False,
}  # fmt: skip


def _finite(value: Any) -> Any:
    """The same value with what JSON has no number for turned into null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return [_finite(item) for item in cast(list[Any], value)]
    return value


def _short(value: Any) -> str:
    said = repr(value)
    return said if len(said) <= 60 else f"{said[:57]}…"
