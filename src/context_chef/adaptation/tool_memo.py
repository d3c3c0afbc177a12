"""Schemas that were mended once, as long as their tools live."""

from __future__ import annotations

import weakref
from typing import Any, Final, NamedTuple

import msgspec

from context_chef.adaptation.tool_schema import SchemaResult, schema_for
from context_chef.ir.blocks import Provider
from context_chef.ir.frozen import thaw
from context_chef.ir.tools import ToolDefinition


class _Mended(NamedTuple):
    tool: weakref.ref[ToolDefinition]
    schema: bytes | dict[str, Any]
    notes: tuple[str, ...]
    renamed: dict[str, str]


# A mended schema is a function of a definition that cannot change, so everybody may share it.
# Kept by identity, since equality takes `1`, `1.0` and `true` for one value.
_KNOWN: Final[dict[tuple[int, Provider], _Mended]] = {}


def mended_schema(tool: ToolDefinition, target: Provider) -> SchemaResult:
    """`schema_for` the tool's parameters. The schema is the caller's own copy each time."""
    key = (id(tool), target)
    found = _KNOWN.get(key)
    if found is None or found.tool() is not tool:
        fresh = schema_for(tool.parameters, target)
        reference = weakref.ref(tool, lambda _: _KNOWN.pop(key, None))
        found = _Mended(reference, _packed(fresh.schema), fresh.notes, fresh.renamed)
        _KNOWN[key] = found
    return SchemaResult(_unpacked(found.schema), found.notes, found.renamed)


def _packed(schema: dict[str, Any]) -> bytes | dict[str, Any]:
    """As JSON, which is the quickest way to a copy; as it is where JSON has no form for it."""
    try:
        packed = msgspec.json.encode(schema)
        return packed if msgspec.json.decode(packed) == schema else schema
    except (TypeError, ValueError, msgspec.MsgspecError, RecursionError):
        return schema


def _unpacked(schema: bytes | dict[str, Any]) -> dict[str, Any]:
    return msgspec.json.decode(schema) if isinstance(schema, bytes) else thaw(schema)
