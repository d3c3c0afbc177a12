"""What the providers ask of JSON Schemas: well-formed, and each one's strict subset."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from context_chef.adaptation.wire_rules.gemini_shapes import SCHEMA_KEYS
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, words

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_ONE = words(
    "items additionalProperties contains propertyNames not if then else unevaluatedItems "
    "unevaluatedProperties contentSchema"
)
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = words(
    "minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains"
)
_TEXTS = ("$ref", "$id", "$schema", "$anchor", "title", "description", "format", "pattern")

Found = tuple[str, str]
"""A path, and what is wrong there."""


def subschemas(schema: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The schema and every schema inside it, with paths."""
    pending = [(path, schema)]
    while pending:
        where, node = pending.pop()
        yield where, node
        if not isinstance(node, Mapping):
            continue
        node = cast("Mapping[str, Any]", node)
        inner: list[tuple[str, Any]] = []
        for key in _NAMED:
            if isinstance(children := node.get(key), Mapping):
                named = cast("Mapping[str, Any]", children)
                inner += [(f"{where}.{key}.{name}", child) for name, child in named.items()]
        for key in _MANY:
            if isinstance(children := node.get(key), list):
                listed = cast("list[Any]", children)
                inner += [(f"{where}.{key}[{i}]", child) for i, child in enumerate(listed)]
        for key in _ONE:
            child: Any = node.get(key)
            if isinstance(child, (Mapping, bool)):
                inner.append((f"{where}.{key}", cast("Any", child)))
        pending += reversed(inner)


def objects_in(schema: Any, path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every schema inside that is an object, not a bare boolean."""
    for where, node in subschemas(schema, path):
        if isinstance(node, Mapping):
            yield where, cast("Mapping[str, Any]", node)


def types_of(node: Mapping[str, Any]) -> list[str]:
    """The schema's types as a list, whichever way they are written."""
    value = node.get("type")
    listed = as_list(value) or [value]
    return [item for item in listed if isinstance(item, str)]


def describes_object(node: Mapping[str, Any]) -> bool:
    """Whether this schema describes an object."""
    return "object" in types_of(node) or ("type" not in node and "properties" in node)


def malformed(schema: Mapping[str, Any], path: str) -> Iterator[Found]:
    """Where the schema is no JSON Schema (draft 2020-12)."""
    for where, node in objects_in(schema, path):
        yield from _malformed_node(node, where)


def _is_schema(value: Any) -> bool:
    return isinstance(value, (Mapping, bool))


def _malformed_node(node: Mapping[str, Any], where: str) -> Iterator[Found]:
    if "type" in node:
        value: Any = node["type"]
        names = cast("list[Any]", value if isinstance(value, list) else [value])
        unknown = [name for name in names if name not in _TYPES]
        if unknown or not names:
            yield f"{where}.type", f"{value!r} is no JSON type"
    for key in _NAMED:
        if key in node:
            named = node[key]
            if not isinstance(named, Mapping):
                yield f"{where}.{key}", "an object of schemas is expected"
                continue
            for name, child in cast("Mapping[str, Any]", named).items():
                if not _is_schema(child):
                    yield f"{where}.{key}.{name}", "a schema is expected"
    for key in _ONE:
        if key in node and not _is_schema(node[key]):
            yield f"{where}.{key}", "a schema is expected"
    for key in _MANY:
        if key in node:
            listed: Any = node[key]
            if not as_list(listed) or not all(map(_is_schema, as_list(listed))):
                yield f"{where}.{key}", "a list of schemas is expected"
    if "required" in node:
        required: Any = node["required"]
        if not isinstance(required, list) or not all(
            isinstance(name, str) for name in cast("list[Any]", required)
        ):
            yield f"{where}.required", "a list of names is expected"
        elif len(set(cast("list[str]", required))) < len(cast("list[str]", required)):
            yield f"{where}.required", "names are repeated"
    if "enum" in node and not isinstance(node["enum"], list):
        yield f"{where}.enum", "a list is expected"
    for key in _NUMBERS:
        value = node.get(key)
        if key in node and (isinstance(value, bool) or not isinstance(value, (int, float))):
            yield f"{where}.{key}", "a number is expected"
    for key in _COUNTS:
        value = node.get(key)
        if key in node and (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or value < 0
            or value % 1 != 0
        ):
            yield f"{where}.{key}", "a count is expected"
    for key in _TEXTS:
        if key in node and not isinstance(node[key], str):
            yield f"{where}.{key}", "text is expected"
    for key in ("uniqueItems", "readOnly", "writeOnly", "deprecated"):
        if key in node and not isinstance(node[key], bool):
            yield f"{where}.{key}", "true or false is expected"


def resolve(root: Mapping[str, Any], ref: str) -> Any:
    """What a `$ref` inside the document points at; None when it leads nowhere or outside."""
    if ref == "#":
        return root
    if not ref.startswith("#/"):
        return None
    node: Any = root
    for part in ref[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and part in node:
            node = cast("Mapping[str, Any]", node)[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(cast("Any", node)):
            node = cast("list[Any]", node)[int(part)]
        else:
            return None
    return node


def bad_references(root: Mapping[str, Any], path: str) -> Iterator[Found]:
    """References that lead outside the schema or nowhere."""
    for where, node in objects_in(root, path):
        ref = node.get("$ref")
        if isinstance(ref, str) and resolve(root, ref) is None:
            yield f"{where}.$ref", f"{ref!r} is external or leads nowhere"


def recursive_reference(root: Mapping[str, Any]) -> str | None:
    """A `$ref` through which a definition contains itself; None when there is none."""
    edges: dict[str, set[str]] = {}

    def references(node: Any) -> set[str]:
        return {
            ref
            for _, inner in objects_in(node, "")
            if isinstance(ref := inner.get("$ref"), str) and resolve(root, ref) is not None
        }

    pending = list(references(root))
    while pending:
        ref = pending.pop()
        if ref not in edges:
            edges[ref] = references(resolve(root, ref))
            pending += edges[ref]
    for start in sorted(edges):
        seen: set[str] = set()
        ahead = list(edges[start])
        while ahead:
            ref = ahead.pop()
            if ref == start:
                return start
            if ref not in seen:
                seen.add(ref)
                ahead += edges[ref]
    return None


def function_schema(schema: Mapping[str, Any], path: str) -> Iterator[Found]:
    """What OpenAI asks of any function's parameters."""
    if not schema:
        return
    faults = list(malformed(schema, path))
    yield from faults
    if schema.get("type") != "object":
        yield f"{path}.type", f'the type must be "object", not {schema.get("type")!r}'
    for where, node in objects_in(schema, path):
        if "array" in types_of(node) and "items" not in node and "prefixItems" not in node:
            yield where, "an array schema needs `items`"


_OPENAI_STRICT_REFUSED = words(
    "allOf oneOf not if then else patternProperties uniqueItems dependentRequired "
    "dependentSchemas propertyNames contains minContains maxContains unevaluatedProperties "
    "unevaluatedItems minProperties maxProperties"
)


def openai_strict(schema: Mapping[str, Any], path: str) -> Iterator[Found]:
    """What OpenAI asks of a strict schema on top."""
    if schema.get("type") != "object" or "anyOf" in schema:
        yield path, 'the root must be of type "object", without `anyOf`'
    for where, node in objects_in(schema, path):
        for key in _OPENAI_STRICT_REFUSED:
            if key in node:
                yield f"{where}.{key}", f"`{key}` is not permitted"
        if not any(key in node for key in ("type", "anyOf", "$ref", "enum", "const", "properties")):
            yield where, "a `type` is needed"
        if not describes_object(node):
            continue
        if node.get("additionalProperties") is not False:
            yield where, "`additionalProperties` must be given as false"
        named = as_map(node.get("properties"))
        listed = [name for name in as_list(node.get("required")) if isinstance(name, str)]
        missing = [name for name in named if name not in listed]
        if missing:
            yield where, f"`required` must list every property; missing: {', '.join(missing)}"
        extra = [name for name in listed if name not in named]
        if extra:
            yield where, f"`required` lists what is no property: {', '.join(extra)}"


_ANTHROPIC_STRICT_REFUSED = words(
    "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength maxItems "
    "uniqueItems contains minContains maxContains minProperties maxProperties oneOf not if then "
    "else patternProperties propertyNames dependentRequired dependentSchemas "
    "unevaluatedItems unevaluatedProperties"
)


def anthropic_strict(schema: Mapping[str, Any], path: str) -> Iterator[Found]:
    """What Anthropic asks of a strict schema on top."""
    yield from bad_references(schema, path)
    if (ref := recursive_reference(schema)) is not None:
        yield path, f"the definition {ref!r} contains itself"
    for where, node in subschemas(schema, path):
        if isinstance(node, bool):
            if not where.endswith("additionalProperties"):
                yield where, "a boolean schema is not supported"
            continue
        node = as_map(node)
        for key in _ANTHROPIC_STRICT_REFUSED:
            if key in node:
                yield f"{where}.{key}", f"`{key}` is not supported"
        if node.get("minItems", 0) not in (0, 1):
            yield f"{where}.minItems", "only 0 and 1 are supported"
        if describes_object(node) and node.get("additionalProperties") is not False:
            yield where, "`additionalProperties` must be given as false"


def optional_parameters(schema: Mapping[str, Any]) -> int:
    """How many properties at all levels are not required."""
    count = 0
    for _, node in objects_in(schema, ""):
        listed = as_list(node.get("required"))
        count += sum(name not in listed for name in as_map(node.get("properties")))
    return count


def union_parameters(schema: Mapping[str, Any]) -> int:
    """How many schemas at all levels may be of several types."""
    return sum(
        "anyOf" in node or isinstance(node.get("type"), list) for _, node in objects_in(schema, "")
    )


_GEMINI_TYPES = (*_TYPES, "type_unspecified")


def gemini_schema(schema: Any, path: str) -> Iterator[Found]:
    """Where a schema leaves Gemini's own subset. Keys are in camelCase, null counts as absent."""
    pending = [(path, schema)]
    while pending:
        where, node = pending.pop()
        if not isinstance(node, Mapping):
            yield where, "a schema object is expected"
            continue
        node = {
            key: item for key, item in cast("Mapping[str, Any]", node).items() if item is not None
        }
        yield from _gemini_node(node, where)
        if isinstance(properties := node.get("properties"), Mapping):
            named = cast("Mapping[str, Any]", properties)
            pending += [(f"{where}.properties.{name}", child) for name, child in named.items()]
        if "items" in node:
            pending.append((f"{where}.items", node["items"]))
        if isinstance(choices := node.get("anyOf"), list):
            listed = cast("list[Any]", choices)
            pending += [(f"{where}.anyOf[{i}]", child) for i, child in enumerate(listed)]


def _gemini_node(node: Mapping[str, Any], where: str) -> Iterator[Found]:
    for key in node:
        if key not in SCHEMA_KEYS:
            yield f"{where}.{key}", f"`{key}` is no known name here; use `parametersJsonSchema`"
    kind: Any = node.get("type")
    if kind is not None and not (isinstance(kind, str) and kind.lower() in _GEMINI_TYPES):
        yield f"{where}.type", f"one type name is expected, not {kind!r}"
    name = kind.lower() if isinstance(kind, str) else ""
    if name == "array" and "items" not in node:
        yield where, "an array needs `items`"
    if "properties" in node and not isinstance(node["properties"], Mapping):
        yield f"{where}.properties", "an object of schemas is expected"
    if "anyOf" in node and not isinstance(node["anyOf"], list):
        yield f"{where}.anyOf", "a list of schemas is expected"
    if "enum" in node:
        enum: Any = node["enum"]
        if not isinstance(enum, list) or not all(
            isinstance(item, str) and item for item in cast("list[Any]", enum)
        ):
            yield f"{where}.enum", "values are texts that are not empty"
    for key in ("required", "propertyOrdering"):
        if key in node:
            names: Any = node[key]
            if not isinstance(names, list) or not all(
                isinstance(item, str) for item in cast("list[Any]", names)
            ):
                yield f"{where}.{key}", "a list of names is expected"
                continue
            known = as_map(node.get("properties"))
            unknown = [item for item in cast("list[str]", names) if item not in known]
            if unknown and key == "required":
                yield f"{where}.{key}", f"not a property: {', '.join(unknown)}"
    for key in ("title", "description", "format", "pattern"):
        if key in node and not isinstance(node[key], str):
            yield f"{where}.{key}", "text is expected"
    if "nullable" in node and not isinstance(node["nullable"], bool):
        yield f"{where}.nullable", "true or false is expected"
    for key in ("minimum", "maximum"):
        value = node.get(key)
        if key in node and (isinstance(value, bool) or not isinstance(value, (int, float))):
            yield f"{where}.{key}", "a number is expected"
    for key in ("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"):
        value = node.get(key)
        text = isinstance(value, str) and re.fullmatch(r"\d+", value) is not None
        if key in node and not text and (isinstance(value, bool) or not isinstance(value, int)):
            yield f"{where}.{key}", "a count is expected"
