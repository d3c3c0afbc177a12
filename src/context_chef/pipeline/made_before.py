"""What earlier compiles of a chef made and the next one uses again, as long as it is the same.

Nothing here changes what a compile answers: whatever is not found is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, TypeAlias

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.profiles import Profiles, profile_for
from context_chef.adaptation.sendable import Mender
from context_chef.adaptation.tool_lists import ToolLists
from context_chef.ir.message import Message
from context_chef.ir.message_memo import Memos
from context_chef.ir.running import Joined, Messages, RunningPlaces, RunningSum, Starts, same_start
from context_chef.ir.transcript import Transcript
from context_chef.persistence.known_offloads import KnownOffloads
from context_chef.pipeline.binding import ThinkingBinder
from context_chef.pipeline.sent_items import ItemsMet
from context_chef.placement.cache import marks_of
from context_chef.placement.tail import SentTail
from context_chef.selection.compacted import carries_summary

_KEPT_PROFILES: Final = 16

Tails: TypeAlias = tuple[SentTail, ...]


def moves_up(message: Message) -> bool:
    """Whether the message goes into the system prompt, wherever it stands."""
    return message.role == "system" and not message.positional


class LiveItems:
    """The items that no fold represents, as the same list as long as they are the same."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._items: Messages = ()
        self._folded = 0
        self._live: Messages = ()

    def of(self, transcript: Transcript) -> Messages:
        """Those of this transcript."""
        items, folded = transcript.items, transcript.folded
        if items is not self._items or folded != self._folded:
            live = transcript.live
            if folded == self._folded and self._live:
                same = self._starts.same(self._items, items) - folded
                self._starts.note(self._live, live, max(same, 0))
            self._items, self._folded, self._live = items, folded, live
        return self._live


class MadeBefore:
    """Memory of one chef's compiles, which run one after the other."""

    def __init__(self, starts: Starts | None = None) -> None:
        self.starts = starts or Starts()
        """Where the lists part that this compile and the last one made."""
        self._own: dict[Hashable, tuple[Message, ...]] = {}
        self._own_before: dict[Hashable, tuple[Message, ...]] = {}
        self._profiles: dict[tuple[str, str], ModelProfile | None] = {}
        self.forget()

    def forget(self) -> None:
        """Let go of the conversation."""
        starts = self.starts
        starts.forget()
        self.offloads = KnownOffloads(starts)
        self.live = LiveItems(starts)
        self.window = Joined(starts)
        """What is sent of the conversation."""
        self.assembled = Joined(starts)
        self.mender = Mender(starts)
        self.mender_of_bound = Mender(starts)
        """Mends what is left after thinking was taken out."""
        self.binder = ThinkingBinder(starts)
        self.items = ItemsMet()
        self.tool_lists = ToolLists()
        self.changed = Memos[tuple[Hashable, Message]]()
        """Messages in another form, by the way in which they were changed."""
        self._tailed: tuple[Messages, Tails, Messages, int] = ((), (), (), 0)
        self.marks = RunningSum(marks_of, starts)
        self.system_messages = RunningSum(moves_up, starts)
        self.generated = RunningPlaces(starts)
        self.systems_sent = RunningSum(moves_up, starts)
        self.summaries = RunningSum(carries_summary, starts)

    def tailed(self, history: Messages, tails: Tails, placed: Messages, shift: int) -> None:
        """`placed` is this history with tails that were sent; `shift` is the place of item 0."""
        before, self._tailed = self._tailed, (history, tails, placed, shift)
        known, old_tails, old_placed, old_shift = before
        if not known or shift != old_shift:
            return
        same = self.starts.same(known, history)
        agreed = same_start(old_tails, tails)
        for tail in (*old_tails[agreed : agreed + 1], *tails[agreed : agreed + 1]):
            same = min(same, tail.after + shift - 1)
        self.starts.note(old_placed, placed, max(same, 0))

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
