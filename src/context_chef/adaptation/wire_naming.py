"""How a tool list names things on the wire, as something that two compiles can compare."""

from __future__ import annotations

from collections.abc import Hashable

from context_chef.adaptation.tools import ConvertedTools


def way_of_naming(tools: ConvertedTools) -> Hashable:
    """Equal for two lists under which every call is written the same way."""
    arguments = tuple(
        sorted((name, tuple(sorted(fields.items()))) for name, fields in tools.arguments.items())
    )
    return renamed_tools(tools), arguments


def renamed_tools(tools: ConvertedTools) -> tuple[tuple[str, str], ...]:
    """The tools that have another name on the wire, in an order of their own."""
    return tuple(sorted((name, wire) for name, wire in tools.names.items() if name != wire))
