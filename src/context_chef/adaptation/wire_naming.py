"""How a tool list names things on the wire, as something that two compiles can compare."""

from __future__ import annotations

from collections.abc import Hashable

from context_chef.adaptation.tools import ConvertedTools


def way_of_naming(tools: ConvertedTools) -> Hashable:
    """Equal for two lists under which every call is written the same way."""
    renamed = tuple(sorted((name, wire) for name, wire in tools.names.items() if name != wire))
    arguments = tuple(
        sorted((name, tuple(sorted(fields.items()))) for name, fields in tools.arguments.items())
    )
    return renamed, arguments
