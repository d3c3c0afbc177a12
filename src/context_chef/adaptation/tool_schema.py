"""The arguments of a tool as each target takes them, whatever an MCP server wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

from context_chef.adaptation.json_schema import Schema, SchemaCleaner
from context_chef.ir.blocks import Provider
from context_chef.patterns import regex
from context_chef.prompts.repair import alternatives_note

_PROPERTY_NAME: Final = regex(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII)
_COMBINATIONS: Final = ("allOf", "anyOf", "oneOf")
_MOST_HOPS: Final = 8


class SchemaResult(NamedTuple):
    """A schema for the wire, what was changed in it, and properties that go by another name."""

    schema: Schema
    notes: tuple[str, ...]
    renamed: dict[str, str]
    """Wire property name to the original one."""


def schema_for(parameters: Mapping[str, Any] | None, target: Provider) -> SchemaResult:
    """The schema of a tool's arguments as `target` takes it. Never fails; names what it changed.

    A schema that is fine comes out equal. The result is the caller's own copy.
    """
    if parameters is None:
        return SchemaResult(empty_schema(), (), {})
    if not parameters and target in ("openai", "openai-responses"):
        return SchemaResult({}, (), {})  # there an empty object means no parameters
    cleaner = SchemaCleaner(parameters, target)
    schema = _Arguments(parameters, target, cleaner).schema()
    renamed: dict[str, str] = {}
    if target == "anthropic":
        schema, renamed = _rename_properties(schema, cleaner.notes)
    return SchemaResult(schema, tuple(cleaner.notes), renamed)


def has_odd_property(parameters: Mapping[str, Any] | None) -> bool:
    """Whether a target may hear of a property by another name than its own."""
    properties = (parameters or {}).get("properties")
    return isinstance(properties, Mapping) and any(
        _PROPERTY_NAME.fullmatch(name) is None for name in cast(Mapping[str, Any], properties)
    )


def empty_schema() -> Schema:
    """The schema of a tool that takes nothing."""
    return {"type": "object", "properties": {}}


class _Arguments:
    """The top of one schema: always an object, on most targets without alternatives."""

    def __init__(self, whole: Mapping[str, Any], target: Provider, cleaner: SchemaCleaner) -> None:
        self._whole = whole
        self._target = target
        self._cleaner = cleaner

    def schema(self) -> Schema:
        whole: Mapping[str, Any] = self._whole
        ref = whole.get("$ref")
        if isinstance(ref, str):
            found = self._cleaner.resolve(ref)
            rest = {key: value for key, value in whole.items() if key != "$ref"}
            if isinstance(found, Mapping):
                whole = {**cast(Mapping[str, Any], found), **rest}
            else:
                whole = rest
            self._cleaner.note("", "the reference at the top was put in place")
        cleaned = self._cleaner.schema(whole)
        schema = cast(Schema, cleaned) if isinstance(cleaned, dict) else {}
        if self._target != "gemini" and any(key in schema for key in _COMBINATIONS):
            schema = self._flattened(schema)
        return self._as_object(schema)

    def _as_object(self, schema: Schema) -> Schema:
        kind = schema.get("type")
        if kind == "object":
            return schema
        if isinstance(kind, str):
            self._cleaner.note("", f"arguments are an object, not {kind!r}")
            kept = ("description", "title", "properties", "required", "$defs", "definitions")
            schema = {key: value for key, value in schema.items() if key in kept}
        else:
            self._cleaner.note("", "`type` is now 'object'")
        rest = {key: value for key, value in schema.items() if key not in ("type", "properties")}
        return {"type": "object", "properties": schema.get("properties", {}), **rest}

    def _flattened(self, schema: Schema) -> Schema:
        """Without alternatives at the top: every property is named, and the words say the rest."""
        properties: dict[str, Any] = dict(schema.get("properties") or {})
        required: list[str] = list(schema.get("required") or [])
        choices: list[list[str]] = []
        for key in _COMBINATIONS:
            alternatives = cast("list[Any]", schema.get(key) or [])
            branches = [self._followed(branch) for branch in alternatives]
            needed = [_names(branch) for branch in branches]
            for branch in branches:
                for name, value in _properties(branch).items():
                    properties.setdefault(name, value)
            if key == "allOf":
                required.extend(name for names in needed for name in names)
            elif branches:
                shared = [name for name in needed[0] if all(name in names for names in needed)]
                required.extend(shared)
                choices.extend(names for names in needed if set(names) - set(shared))
        flat = {key: value for key, value in schema.items() if key not in _COMBINATIONS}
        flat["type"] = "object"
        flat["properties"] = properties
        required = [name for name in dict.fromkeys(required) if name in properties]
        if required:
            flat["required"] = required
        if choices:
            said = str(flat.get("description") or "")
            flat["description"] = "\n".join(filter(None, (said, alternatives_note(choices))))
        self._cleaner.note("", "alternatives at the top were merged into one object")
        return flat

    def _followed(self, branch: Any, hops: int = 0) -> Schema:
        """One alternative, with what it refers to and all its parts in one."""
        if not isinstance(branch, dict) or hops > _MOST_HOPS:
            return {}
        found: Schema = cast(Schema, branch)
        ref = found.get("$ref")
        if isinstance(ref, str):
            target = self._cleaner.resolve(ref)
            if isinstance(target, Mapping):
                return self._followed(self._cleaner.schema(target, "", 1), hops + 1)
        for part in cast(list[Any], found.get("allOf") or []):
            inner = self._followed(part, hops + 1)
            merged = {**_properties(inner), **_properties(found)}
            needed = list(dict.fromkeys([*_names(found), *_names(inner)]))
            found = {**found, "properties": merged, "required": needed}
        return found


def _properties(schema: Schema) -> dict[str, Any]:
    return cast("dict[str, Any]", schema.get("properties") or {})


def _names(schema: Schema) -> list[str]:
    return cast("list[str]", schema.get("required") or [])


def _rename_properties(schema: Schema, notes: list[str]) -> tuple[Schema, dict[str, str]]:
    """Property names that Anthropic refuses at the top go by another name."""
    properties = _properties(schema)
    bad = [name for name in properties if _PROPERTY_NAME.fullmatch(name) is None]
    if not bad:
        return schema, {}
    taken = set(properties) - set(bad)
    fresh: dict[str, str] = {}
    for name in bad:
        stem = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name, flags=re.ASCII)[:56].strip("_") or "property"
        candidate, number = stem, 2
        while candidate in taken:
            candidate, number = f"{stem}_{number}", number + 1
        taken.add(candidate)
        fresh[name] = candidate
        notes.append(f"properties: {name!r} goes as {candidate!r}")
    renamed = {fresh.get(name, name): value for name, value in properties.items()}
    required = [fresh.get(name, name) for name in _names(schema)]
    schema = {**schema, "properties": renamed}
    if "required" in schema:
        schema["required"] = required
    return schema, {wire: name for name, wire in fresh.items()}
