"""Whether a schema keeps to the form that Gemini takes as its own; all else goes as JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

TYPES: Final = {
    1: "STRING", 2: "NUMBER", 3: "INTEGER", 4: "BOOLEAN", 5: "ARRAY", 6: "OBJECT", 7: "NULL",
}  # fmt: skip
"""The numbers of types: Vertex AI takes them, the Developer API takes their names only."""


def gemini_form_fault(schema: Any, *, of_a_call: bool) -> str | None:
    """What Gemini would refuse in a schema under `parameters` or `response`; None for nothing."""
    # Only conversations of Gemini's own bring such schemas: the rules are not loaded for others.
    from context_chef.adaptation.wire_rules.gemini_view import one_spelling
    from context_chef.adaptation.wire_rules.json_schema import gemini_schema

    spelled: Any = one_spelling(schema)
    kind: Any = cast(Mapping[str, Any], spelled).get("type") if isinstance(spelled, dict) else None
    if of_a_call and not (isinstance(kind, str) and kind.lower() == "object"):
        return "parameters describe an object"
    for where, reason in gemini_schema(spelled, "$"):
        return f"{where}: {reason}"
    return None


def with_named_types(schema: Any) -> Any:
    """The schema with the names of types in place of their numbers."""
    if isinstance(schema, list):
        return [with_named_types(item) for item in cast(list[Any], schema)]
    if not isinstance(schema, Mapping):
        return schema
    found: dict[str, Any] = {}
    for key, value in cast(Mapping[str, Any], schema).items():
        if key == "type" and type(value) is int:
            found[key] = TYPES.get(value, value)
        elif key == "properties" and isinstance(value, Mapping):
            fields = cast(Mapping[str, Any], value)
            found[key] = {field: with_named_types(inner) for field, inner in fields.items()}
        elif key in ("items", "anyOf", "any_of"):
            found[key] = with_named_types(value)
        else:
            found[key] = value
    return found
