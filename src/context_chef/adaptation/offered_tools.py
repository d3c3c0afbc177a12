"""The tools that a request to Anthropic offers, and the references to them in its messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, cast

REFERRING: Final = frozenset(
    {"tool_reference", "tool_addition", "tool_removal", "tool_search_tool_result", "compaction"}
)
"""Blocks that name tools of the request, or define some."""


class OfferedTools(NamedTuple):
    """The names on the wire, and the callers' names of those that had to change."""

    names: frozenset[str]
    renamed: frozenset[tuple[str, str]]
    remote: bool
    """There are tools that the list does not name: of an MCP server, or defined on the way."""

    def without_unknown(self, wire: dict[str, Any]) -> list[str]:
        """Put the names on the wire in place, and answer those that the request does not offer.

        Of what a search found these are taken out of the block; any other block cannot go.
        """
        content: Any = wire.get("content")
        if wire.get("type") == "compaction":
            return []
        if wire.get("type") != "tool_search_tool_result":
            change: Any = wire.get("tool")
            reference = wire if wire.get("type") == "tool_reference" else change
            return [] if self._is_offered(reference) else [_name(reference)]
        if not isinstance(content, dict):
            return []
        found: Any = cast("dict[str, Any]", content).get("tool_references")
        if not isinstance(found, list):
            return []
        rows = cast("list[Any]", found)
        gone = [row for row in rows if not self._is_offered(row)]
        cast("dict[str, Any]", content)["tool_references"] = [
            row for row in rows if not any(row is each for each in gone)
        ]
        return [_name(row) for row in gone]

    def _is_offered(self, reference: Any) -> bool:
        if not isinstance(reference, dict):
            return True
        row = cast("dict[str, Any]", reference)
        if row.get("type") != "tool_reference":
            return True
        key = "tool_name" if "tool_name" in row else "name"
        name = row.get(key)
        if name not in self.names:
            row[key] = dict(self.renamed).get(cast(str, name), name)
        return self.remote or row[key] in self.names


def offered_tools(
    wire: Iterable[Mapping[str, Any]], names: Mapping[str, str], *, more: bool
) -> OfferedTools:
    """What that list of tools offers; `names` are the callers' and those on the wire, `more` says
    that others are known to exist."""
    listed = list(wire)
    return OfferedTools(
        names=frozenset(str(tool.get("name")) for tool in listed if "name" in tool),
        renamed=frozenset((own, said) for own, said in names.items() if own != said),
        remote=more or any(tool.get("type") == "mcp_toolset" for tool in listed),
    )


def defines_tools(wire: Mapping[str, Any]) -> bool:
    """Whether the block defines a tool, which then stands in no list."""
    changes: Any = wire.get("tool_changes") if wire.get("type") == "compaction" else [wire]
    for change in cast("list[Any]", changes) if isinstance(changes, list) else ():
        tool: Any = cast("dict[str, Any]", change).get("tool") if isinstance(change, dict) else None
        if isinstance(tool, dict) and "definition" in tool:
            return True
    return False


def _name(reference: Any) -> str:
    row = cast("dict[str, Any]", reference)
    return str(row.get("tool_name", row.get("name")))
