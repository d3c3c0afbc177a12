"""Everything the next compile depends on, as one immutable value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.ir.transcript import Transcript
from context_chef.pipeline.binding import SentPrefixes
from context_chef.pipeline.last_request import Asked, LastRequest
from context_chef.pipeline.sent_request import SentRequest
from context_chef.placement.announcements import Announcement
from context_chef.placement.skills import Skill
from context_chef.placement.state_block import DynamicState
from context_chef.placement.tail import SentTail

if TYPE_CHECKING:
    from context_chef.placement.guardrails import Guardrails


class ChefState(msgspec.Struct, frozen=True, kw_only=True):
    """What a chef knows. A compile reads one of these and publishes another."""

    system_prompt: tuple[Message, ...] = ()
    transcript: Transcript = Transcript()
    dynamic_state: DynamicState = DynamicState()
    guardrails: Guardrails | None = None
    announcements: tuple[Announcement, ...] = ()
    skill: Skill | None = None
    new_contexts_requested: int = 0
    new_contexts_done: int = 0
    """How many of the requests for a new window compiles have taken up."""
    new_contexts_tried: int = 0
    """As many were requested when one was last tried and is still wanted."""
    handoff_noticed: str | None = None
    """The window that was told already that it ends."""
    sent_tails: tuple[SentTail, ...] = ()
    """Tails that stand in the conversation for good (`tail="append"`)."""
    sent_prefixes: SentPrefixes = SentPrefixes()
    """What stood in front of every thinking block when it was made."""
    sent_requests: Mapping[str, SentRequest] = EMPTY
    """What the last request for each target began with."""
    last_volatile_tokens: float = 0
    """What memory and injected context took in the last request: this one's are not known yet."""
    cache_anchor: int | None = None
    """The transcript item behind which the last request's newest breakpoint stood."""
    cache_anchor_before: int | None = None
    """The same of the request before that one."""
    last_request: LastRequest | None = None
    """The last request, as long as the caller has changed nothing since."""

    @property
    def new_context_requested(self) -> bool:
        """Whether the next compile closes the window, whatever room is left."""
        return self.new_contexts_requested > self.new_contexts_done


class CompileInputs(msgspec.Struct, frozen=True, kw_only=True):
    """What one compile works with, fixed when it is called."""

    state: ChefState
    tools: tuple[ToolDefinition, ...]
    toolkit_directory: str
    target: object
    model: str | None
    signal: object
    registered_tools: tuple[ToolDefinition, ...] = ()
    """The flat tools, pruned or not."""
    tool_repairs: tuple[Repair, ...] = ()
    """What was mended in the definitions when they were registered."""
    revision: int = 0
    """How often the caller had changed what the chef knows."""
    epoch: int = 0
    """How often a snapshot had been restored."""

    def asked(self, default_target: object) -> Asked:
        """What was asked for, for the next call to be compared with."""
        return Asked(
            target=self.target if self.target is not None else default_target,
            model=self.model,
            tools=self.tools,
            toolkit_directory=self.toolkit_directory,
            skill=self.state.skill,
        )
