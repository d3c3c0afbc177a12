"""What a request began with, kept for the next one to be compared with."""

from __future__ import annotations

import msgspec

from context_chef.ir.tools import ToolDefinition


class SentPart(msgspec.Struct, frozen=True):
    """One message of the prefix: who brought it, and a digest of what it says."""

    source: str
    digest: str


class ToolChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tools that came or went in the conversation, behind so many items of the transcript."""

    after: int
    added: tuple[ToolDefinition, ...] = ()
    removed: tuple[str, ...] = ()


class SentRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The beginning of the last request for one target."""

    model: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    """The list of the request, as it stands at its front."""
    changes: tuple[ToolChange, ...] = ()
    """What was said of tools since, in the conversation."""
    prefix: tuple[SentPart, ...] = ()
    items: int = 0
    """How long the transcript was."""

    @property
    def offered(self) -> dict[str, None]:
        """The names of the tools that may be called: the list, with all changes applied."""
        names = dict.fromkeys(tool.name for tool in self.tools)
        for change in self.changes:
            names |= dict.fromkeys(tool.name for tool in change.added)
            for name in change.removed:
                names.pop(name, None)
        return names
