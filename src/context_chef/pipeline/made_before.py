"""What earlier compiles of a chef made and the next one uses again, as long as it is the same.

Nothing here changes what a compile answers: whatever is not found is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.profiles import Profiles, profile_for
from context_chef.adaptation.sendable import Mender
from context_chef.adaptation.tool_lists import ToolLists
from context_chef.ir.message import Message
from context_chef.ir.message_memo import Memos
from context_chef.ir.running import RunningSum
from context_chef.pipeline.binding import ThinkingBinder
from context_chef.pipeline.sent_items import ItemsMet
from context_chef.placement.cache import marks_of
from context_chef.selection.compacted import carries_summary

_KEPT_PROFILES: Final = 16


def moves_up(message: Message) -> bool:
    """Whether the message goes into the system prompt, wherever it stands."""
    return message.role == "system" and not message.positional


class MadeBefore:
    """Memory of one chef's compiles, which run one after the other."""

    def __init__(self) -> None:
        self._own: dict[Hashable, tuple[Message, ...]] = {}
        self._own_before: dict[Hashable, tuple[Message, ...]] = {}
        self._profiles: dict[tuple[str, str], ModelProfile | None] = {}
        self.forget()

    def forget(self) -> None:
        """Let go of the conversation."""
        self.mender = Mender()
        self.mender_of_bound = Mender()
        """Mends what is left after thinking was taken out."""
        self.binder = ThinkingBinder()
        self.items = ItemsMet()
        self.tool_lists = ToolLists()
        self.changed = Memos[tuple[Hashable, Message]]()
        """Messages in another form, by the way in which they were changed."""
        self.marks = RunningSum(marks_of)
        self.system_messages = RunningSum(moves_up)
        self.systems_sent = RunningSum(moves_up)
        self.summaries = RunningSum(carries_summary)

    def profile(self, model: str, target: str, profiles: Profiles) -> ModelProfile | None:
        """`profile_for` with profiles that are always the same ones."""
        key = model, target
        if key not in self._profiles:
            if len(self._profiles) >= _KEPT_PROFILES:
                self._profiles.clear()
            self._profiles[key] = profile_for(model, target, profiles=profiles)
        return self._profiles[key]

    def begin(self) -> None:
        """A compile begins: what the last one did not need is let go."""
        self._own_before, self._own = self._own, {}

    def own(self, key: Hashable, make: Callable[[], tuple[Message, ...]]) -> tuple[Message, ...]:
        """Messages of our own that say the same as last time: the same objects."""
        found = self._own.get(key) or self._own_before.get(key) or make()
        self._own[key] = found
        return found

    def form(
        self, way: Hashable, message: Message, make: Callable[[], Message], *, of: Hashable = None
    ) -> Message:
        """The message in another form, made once as long as it and `of` are the same."""
        memo = self.changed.of(way)
        known = memo.get(message)
        if known is not None and known[0] == of:
            return known[1]
        made = make()
        memo.put(message, (of, made))
        return made
