"""The same request again, as for a retry: it is made from where the first one began.

A compile leaves marks in what the chef knows: a tail that stays where it was sent, the size of what
is known only at the end, the place of a cache breakpoint. The next request builds on them. The same
request once more must not, or it would be another one; so what stood before is kept beside them
until the caller changes something.
"""

from __future__ import annotations

from typing import Any

import msgspec

from context_chef.ir.tools import ToolDefinition
from context_chef.pipeline.binding import SentPrefixes
from context_chef.pipeline.sent_request import SentRequest
from context_chef.placement.announcements import Announcement
from context_chef.placement.skills import Skill
from context_chef.placement.tail import SentTail


class Asked(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a compile was asked for, beside what the chef's setters said."""

    target: Any
    """A name, or an adapter."""
    model: str | None = None
    tools: tuple[ToolDefinition, ...] = ()
    toolkit_directory: str = ""
    skill: Skill | None = None

    def is_same(self, other: Asked) -> bool:
        """Whether both ask for the same request. An adapter is the same only as itself."""
        one, two = self.target, other.target
        named = isinstance(one, str) and isinstance(two, str)
        return (
            (one == two if named else one is two)
            and _shown(self.skill) == _shown(other.skill)
            and all(
                getattr(self, name) == getattr(other, name)
                for name in ("model", "tools", "toolkit_directory")
            )
        )


def _shown(skill: Skill | None) -> tuple[str, str] | None:
    """What a request has of a skill. A restored one may have nothing else."""
    return None if skill is None else (skill.name, skill.instructions)


class LastRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last request, with what was known when it was begun."""

    asked: Asked
    target_name: str
    sent_tails: tuple[SentTail, ...] = ()
    sent_prefixes: SentPrefixes = SentPrefixes()
    sent_request: SentRequest | None = None
    """What the request for the same target before it began with."""
    last_volatile_tokens: float = 0
    cache_anchor: int | None = None
    cache_anchor_before: int | None = None
    handoff: Announcement | None = None
    """The notice that it said, where such a notice stays."""
    settled: bool = False
    """The strategy had its say and the window holds what came of it: it is not asked again."""
    forced: bool = False
    """A new window was asked for, and the request hands that on to the server."""
