"""Tools as the model is told about them, and the calls it makes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from context_chef.ir.frozen import EMPTY, FrozenDict, frozen


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
    native: Mapping[str, Any] = EMPTY
    """Fields that only one provider knows, under that provider's name.

    A tool that exists only on one provider (server tools) is a definition whose native value holds
    its whole wire form under the key `definition`.
    """
    extra: Mapping[str, Any] = EMPTY
    """What came in under a name we have no field for: carried, never on a wire."""

    def __post_init__(self) -> None:
        for field in ("parameters", "native", "extra"):
            value = getattr(self, field)
            if value is not None and type(value) is not FrozenDict:
                msgspec.structs.force_setattr(self, field, frozen(value))


class ToolRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call to dispatch: the tool's name and what the model sent, as text or as an object."""

    name: str
    arguments: str | Mapping[str, Any] | None = None
