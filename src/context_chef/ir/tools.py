"""Tools as the model is told about them, and the calls it makes."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, cast

import msgspec

from context_chef.errors import InputError, shown
from context_chef.ir.blocks import CacheBreakpoint
from context_chef.ir.frozen import EMPTY, FrozenDict, freeze_json, frozen, native_fields
from context_chef.ir.text import clean_fields


class ToolDefinition(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, weakref=True):
    """One tool, in no provider's dialect.

    `parameters` is a JSON Schema of type object, or None for a tool that takes nothing.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] | None = None
    tags: tuple[str, ...] = ()
    """For pruning. Never on a wire."""
    defer_loading: bool = False
    """Held back until the provider's tool search finds it, where the provider has one."""
    strict: bool | None = None
    cache: CacheBreakpoint | None = None
    """The prompt cache may be written behind this tool. Only Anthropic needs to be told."""
    native: Mapping[str, Any] = EMPTY
    """Fields that only one provider knows, under that provider's name.

    A tool that exists only on one provider (server tools) is a definition whose native value holds
    its whole wire form under the key `definition`.
    """
    extra: Mapping[str, Any] = EMPTY
    """What came in under a name we have no field for: carried, never on a wire."""

    def __post_init__(self) -> None:
        clean_fields(self, ("name", "description"))
        if type(self.tags) is not tuple or not all(type(tag) is str for tag in self.tags):
            msgspec.structs.force_setattr(self, "tags", _tags(self.tags))
        if self.parameters is not None:
            if not isinstance(self.parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
                raise InputError(
                    f"a JSON Schema is a mapping, not {shown(self.parameters)}.",
                    path="$.parameters",
                )
            schema = freeze_json(self.parameters, path="$.parameters")
            msgspec.structs.force_setattr(self, "parameters", schema)
        if self.native is not EMPTY:
            msgspec.structs.force_setattr(self, "native", native_fields(self.native))
        if type(self.extra) is not FrozenDict:
            msgspec.structs.force_setattr(self, "extra", frozen(self.extra))


def _tags(value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple, AbstractSet)):
        tags = cast("list[Any]", freeze_json(value, path="$.tags"))
        if all(isinstance(tag, str) for tag in tags):
            return tuple(tags)
    raise InputError(f"tags are a list of texts, not {shown(cast(Any, value))}.", path="$.tags")


class ToolRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call to dispatch: the tool's name and what the model sent, as text or as an object."""

    name: str
    arguments: str | Mapping[str, Any] | None = None
