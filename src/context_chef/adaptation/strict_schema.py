"""What a schema may hold when the provider is to hold the model to it (`strict`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, cast

from context_chef.ir.blocks import Provider

_MAX_STRICT_TOOLS: Final = 20
_MAX_OPTIONAL: Final = 24
_MAX_UNIONS: Final = 16
_ANTHROPIC_REFUSES: Final = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
    "maxLength", "maxItems", "uniqueItems", "contains", "minProperties", "maxProperties",
    "patternProperties", "propertyNames", "dependentRequired", "dependentSchemas", "if", "then",
    "else", "not", "oneOf",
)  # fmt: skip
_OPENAI_REFUSES: Final = (
    "allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas",
    "patternProperties", "unevaluatedProperties", "propertyNames", "contains", "uniqueItems",
)  # fmt: skip
_TELLS_TYPE: Final = ("type", "$ref", "anyOf", "enum", "const")
_ONE: Final = (
    "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"
)  # fmt: skip
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "$defs", "definitions", "patternProperties")

_Schema = dict[str, Any]


class StrictBudget:
    """Judges the strict schemas of one request; they share limits on Anthropic."""

    def __init__(self, target: Provider) -> None:
        self._target = target
        self._tools = self._optional = self._unions = 0

    def fault(self, schema: _Schema) -> str | None:
        """Why this schema cannot be strict here; None when it can, and is then counted."""
        if self._target != "anthropic":
            return next(_openai_faults(schema), None)
        fault = next(_anthropic_faults(schema), None)
        if fault is not None:
            return fault
        optional, unions = _sizes(schema)
        if self._tools + 1 > _MAX_STRICT_TOOLS:
            return f"a request holds {_MAX_STRICT_TOOLS} strict tools"
        if self._optional + optional > _MAX_OPTIONAL:
            return f"the strict tools of a request have {_MAX_OPTIONAL} optional parameters"
        if self._unions + unions > _MAX_UNIONS:
            return f"the strict tools of a request have {_MAX_UNIONS} parameters with several types"
        self._tools += 1
        self._optional += optional
        self._unions += unions
        return None


def _walk(schema: Any, path: str = "") -> Iterator[tuple[str, _Schema]]:
    if not isinstance(schema, dict):
        return
    node = cast(_Schema, schema)
    yield path, node
    for key in _ONE:
        yield from _walk(node.get(key), f"{path}.{key}")
    for key in _MANY:
        branches = node.get(key)
        for index, sub in enumerate(
            cast(list[Any], branches) if isinstance(branches, list) else []
        ):
            yield from _walk(sub, f"{path}.{key}[{index}]")
    for key in _NAMED:
        named = node.get(key)
        for name, sub in (cast(_Schema, named) if isinstance(named, dict) else {}).items():
            yield from _walk(sub, f"{path}.{key}.{name}")


def _is_object(node: _Schema) -> bool:
    kind = node.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in node


def _properties(node: _Schema) -> _Schema:
    named = node.get("properties")
    return cast(_Schema, named) if isinstance(named, dict) else {}


def _openai_faults(schema: _Schema) -> Iterator[str]:
    if schema.get("type") != "object" or "anyOf" in schema:
        yield "the top is no plain object"
    for path, node in _walk(schema):
        where = path.lstrip(".") or "the top"
        for key in _OPENAI_REFUSES:
            if key in node:
                yield f"`{key}` at {where}"
        if "$ref" in node and len(node) > 1 and path:
            yield f"`$ref` with other keywords at {where}"
        if _is_object(node):
            if node.get("additionalProperties") is not False:
                yield f"`additionalProperties` is not false at {where}"
            required: list[Any] = node.get("required") or []
            missing = [name for name in _properties(node) if name not in required]
            if missing:
                yield f"{missing[0]!r} is optional at {where}"
        if path and not any(key in node for key in _TELLS_TYPE):
            yield f"no type at {where}"


def _anthropic_faults(schema: _Schema) -> Iterator[str]:
    refs: dict[str, set[str]] = {}
    for path, node in _walk(schema):
        where = path.lstrip(".") or "the top"
        if _is_object(node) and node.get("additionalProperties") is not False:
            yield f"`additionalProperties` is not false at {where}"
        for key in _ANTHROPIC_REFUSES:
            if key in node:
                yield f"`{key}` at {where}"
        if node.get("minItems", 0) not in (0, 1):
            yield f"`minItems` above 1 at {where}"
        for name, sub in _properties(node).items():
            if isinstance(sub, bool):
                yield f"{name!r} takes anything at {where}"
        ref = node.get("$ref")
        if isinstance(ref, str):
            found = _resolve(schema, ref)
            if found is None:
                yield f"`$ref` {ref!r} leads nowhere"
            refs[ref] = {sub["$ref"] for _, sub in _walk(found) if isinstance(sub.get("$ref"), str)}
    if _circular(refs):
        yield "a definition refers to itself"


def _resolve(schema: _Schema, ref: str) -> Any:
    if not ref.startswith("#"):
        return None
    node: Any = schema
    for step in filter(None, ref[1:].split("/")):
        step = step.replace("~1", "/").replace("~0", "~")
        node = cast(_Schema, node).get(step) if isinstance(node, dict) else None
    return node


def _circular(refs: dict[str, set[str]]) -> bool:
    for start in refs:
        seen: set[str] = set()
        todo = list(refs[start])
        while todo:
            step = todo.pop()
            if step == start:
                return True
            if step not in seen:
                seen.add(step)
                todo.extend(refs.get(step, ()))
    return False


def _sizes(schema: _Schema) -> tuple[int, int]:
    optional = unions = 0
    for _, node in _walk(schema):
        required: list[Any] = node.get("required") or []
        for name, sub in _properties(node).items():
            optional += name not in required
            if isinstance(sub, dict):
                unions += "anyOf" in sub or isinstance(cast(_Schema, sub).get("type"), list)
    return optional, unions
