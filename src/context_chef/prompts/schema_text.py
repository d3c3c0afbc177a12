"""A JSON Schema as an indented list that a model reads as easily as a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import thaw

_MAX_DEPTH: Final = 6
_MAX_CHOICES: Final = 30
_STEP: Final = "    "

Schema = Mapping[str, Any]


def parameter_lines(schema: Schema | None, *, indent: str = "") -> list[str]:
    """One line for each parameter: name, type, whether it is required, choices, what it is for.

    Members of objects, and of objects in lists, follow one step further in. References within the
    schema are followed, up to six levels.
    """
    if not schema:
        return []
    return _Describer(schema).members(schema, indent, 0)


class _Describer:
    """Walks one schema. Holds the whole of it, so that references can be followed."""

    def __init__(self, whole: Schema) -> None:
        self._whole = whole

    def members(self, schema: Schema, indent: str, depth: int) -> list[str]:
        schema = self._resolved(schema)
        required = _texts(schema.get("required"))
        lines: list[str] = []
        for key, value in self._properties(schema).items():
            member = self._resolved(value)
            kind = self._kind(member, depth)
            facts = [kind, *(["required"] if key in required else []), *_facts(member)]
            words = member.get("description")
            purpose = f": {' '.join(words.split())}" if isinstance(words, str) and words else ""
            lines.append(f"{indent}- {key} ({', '.join(facts)}){purpose}")
            if depth < _MAX_DEPTH:
                lines += self._inside(member, indent + _STEP, depth + 1)
        return lines

    def _inside(self, schema: Schema, indent: str, depth: int) -> list[str]:
        """The members of the object that this is, lists or offers as an alternative."""
        if self._properties(schema):
            return self.members(schema, indent, depth)
        items = schema.get("items")
        inner = [items] if items is not None else _schemas(schema, "anyOf", "oneOf")
        lines: list[str] = []
        for option in inner if depth < _MAX_DEPTH else []:
            lines += self._inside(self._resolved(option), indent, depth + 1)
        return lines

    def _properties(self, schema: Schema) -> Schema:
        found = dict(_mapping(schema.get("properties")))
        for part in _schemas(schema, "allOf"):
            found.update(_mapping(self._resolved(part).get("properties")))
        return found

    def _resolved(self, value: Any, hops: int = 8) -> Schema:
        """The schema itself; what a local `$ref` leads to, with what stands beside it on top."""
        schema = _mapping(value)
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#") or not hops:
            return schema
        target: Any = self._whole
        for step in reference.removeprefix("#").split("/")[1:]:
            target = _mapping(target).get(step.replace("~1", "/").replace("~0", "~"))
        beside = {key: item for key, item in schema.items() if key != "$ref"}
        return {**self._resolved(target, hops - 1), **beside}

    def _kind(self, schema: Schema, depth: int) -> str:
        if depth > _MAX_DEPTH:
            return "any"
        if "const" in schema:
            return f"always {_json(schema['const'])}"
        options = _schemas(schema, "anyOf", "oneOf")
        if options and "type" not in schema:
            kinds = [self._kind(self._resolved(option), depth + 1) for option in options]
            return " or ".join(dict.fromkeys(kinds))
        declared = schema.get("type")
        kinds = _texts(declared) if not isinstance(declared, str) else [declared]
        if not kinds:
            kinds = ["object"] if self._properties(schema) else ["any"]
        return " or ".join(self._with_items(kind, schema, depth) for kind in kinds)

    def _with_items(self, kind: str, schema: Schema, depth: int) -> str:
        if kind == "array" and schema.get("items"):
            items = self._resolved(schema["items"])
            inner = self._kind(items, depth + 1)
            return f"array of {', '.join([inner, *_facts(items)])}"
        extra = schema.get("additionalProperties")
        if kind == "object" and isinstance(extra, Mapping) and extra:
            return f"object of {self._kind(self._resolved(extra), depth + 1)}"
        return kind


def _facts(schema: Schema) -> list[str]:
    """What limits a value, beyond its type."""
    facts: list[str] = []
    choices = schema.get("enum")
    if isinstance(choices, (list, tuple)) and choices:
        known = cast(Sequence[Any], choices)
        shown = [_json(choice) for choice in known[:_MAX_CHOICES]]
        more = f" or {len(known) - _MAX_CHOICES} more" if len(known) > _MAX_CHOICES else ""
        facts.append("one of " + " | ".join(shown) + more)
    for key, word in (("format", "format"), ("minimum", "at least"), ("maximum", "at most")):
        if isinstance(schema.get(key), (str, int, float)):
            facts.append(f"{word} {schema[key]}")
    if schema.get("default") is not None:
        facts.append(f"default {_json(schema['default'])}")
    return facts


def _json(value: Any) -> str:
    try:
        return compact_json(thaw(value))
    except (TypeError, ValueError):
        return str(value)


def _mapping(value: Any) -> Schema:
    return cast(Schema, value) if isinstance(value, Mapping) else {}


def _texts(value: Any) -> list[str]:
    if not isinstance(value, (list, tuple)):
        return []
    return [item for item in cast(Sequence[Any], value) if isinstance(item, str)]


def _schemas(schema: Schema, *keys: str) -> list[Any]:
    found: list[Any] = []
    for key in keys:
        options = schema.get(key)
        if isinstance(options, (list, tuple)):
            found += list(cast(Sequence[Any], options))
    return found
