"""Tool lists that were converted last: the same tools for the same model are converted once."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import Final, NamedTuple

import msgspec

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.tools import ConvertedTools, convert_tools
from context_chef.ir.blocks import Provider
from context_chef.ir.handed_out import handed_out
from context_chef.ir.tools import ToolDefinition

_KEPT: Final = 8


class _Known(NamedTuple):
    tools: tuple[ToolDefinition, ...]
    target: Provider
    profile: ModelProfile | None
    converted: ConvertedTools


class ToolLists:
    """`convert_tools` for lists that are nearly always the same. What it answers is shared."""

    def __init__(self) -> None:
        self._known: tuple[_Known, ...] = ()

    def convert(
        self, tools: Sequence[ToolDefinition], *, target: Provider, profile: ModelProfile | None
    ) -> ConvertedTools:
        """The list that `target` takes. Its `wire` is not to be changed: hand out a copy."""
        for known in self._known:
            # By identity, since equality takes `1`, `1.0` and `true` for one value.
            if (
                known.target == target
                and len(known.tools) == len(tools)
                and all(map(is_, known.tools, tools))
                and known.profile == profile
            ):
                return known.converted
        fresh = convert_tools(tools, target=target, profile=profile)
        converted = msgspec.structs.replace(fresh, wire=handed_out(fresh.wire))
        known = _Known(tuple(tools), target, profile, converted)
        self._known = (known, *self._known[: _KEPT - 1])
        return converted
