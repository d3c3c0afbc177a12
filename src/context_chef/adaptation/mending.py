"""What every step of `make_sendable` knows about the request, and where it reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.ir.blocks import Block, CacheBreakpoint, Opaque, Provider
from context_chef.ir.diagnostics import Repair
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed

ThinkingMode: TypeAlias = Literal["enabled", "adaptive", "disabled"]

SERVER_USES: Final = frozenset({"server_tool_use", "mcp_tool_use"})


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the request that the messages go into."""

    target: Provider
    profile: ModelProfile | None
    thinking: ThinkingMode | None
    names: Mapping[str, str]
    """Tool names as `convert_tools` mapped them."""
    stateful: bool
    """Earlier turns are stored with the provider: not everything has to be here."""
    reasoning_as_text: bool
    """Reasoning of other providers is written as text."""
    many_images: bool = False
    """So many images are sent that each has to be smaller (Anthropic)."""
    old_media: int = 0
    """So many of the oldest images and documents are too many (Anthropic)."""


class MediaMet(NamedTuple):
    """How many media a conversation holds, as far as it was looked at."""

    media: int = 0
    """Images and documents that can be sent."""
    images: int = 0
    """Images that are sent."""
    large_images: int = 0
    """Those among them that are too large where there are many."""


class Ledger:
    """What a conversation has used up so far. What was entered last can be taken back."""

    def __init__(self) -> None:
        self.taken = _Logged(self)
        """Ids on the wire."""
        self.known = _Logged(self)
        """Ids of calls, as they came in."""
        self.thoughts = _Logged(self)
        """Signatures of thinking that is bound to its place."""
        self.opened = False
        """Somebody has spoken."""
        self.media = MediaMet()
        self._made: dict[str, int] = {}
        self._log: list[tuple[Callable[..., object], Any]] = []
        """How to take back what was entered: a function and what it is given."""

    def count(self, seed: str) -> int:
        """How many ids were made of that seed, this one included."""
        before = self._made.get(seed, 0)
        self._made[seed] = before + 1
        self._log.append((self._made.update, {seed: before}))
        return before + 1

    def open(self) -> None:
        """From here on there is a conversation."""
        self.opened = True
        self._log.append((self._close, None))

    def count_media(self, *, image: bool, large: bool) -> None:
        """One more image or document can be sent; `image` and `large` say of what is sent."""
        before = self.media
        self._log.append((self._count_again, before))
        self.media = MediaMet(before.media + 1, before.images + image, before.large_images + large)

    def _count_again(self, before: MediaMet) -> None:
        self.media = before

    def log(self, undo: Callable[[Any], object], given: object) -> None:
        """Note how to take back what was just done."""
        self._log.append((undo, given))

    def mark(self) -> int:
        """A place to come back to."""
        return len(self._log)

    def undo(self, mark: int) -> None:
        """Take back everything that was entered since `mark`."""
        while len(self._log) > mark:
            undo, given = self._log.pop()
            undo(given)

    def _close(self, _: object) -> None:
        self.opened = False


class _Logged:
    """A set of ids that remembers the order of its additions in the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ids: set[str] = set()
        self._discard = self._ids.discard  # one for the whole log

    def __contains__(self, identifier: object) -> bool:
        return identifier in self._ids

    def add(self, identifier: str) -> None:
        if identifier not in self._ids:
            self._ids.add(identifier)
            self._ledger.log(self._discard, identifier)


class Mending:
    """One stretch of one run: the request's facts, and what was found so far."""

    def __init__(
        self,
        facts: Facts,
        ledger: Ledger,
        *,
        first: bool = True,
        final: bool = True,
        follows_results: bool = False,
        any_input: bool = True,
        any_output: bool = False,
    ) -> None:
        self.target: Provider = facts.target
        self.profile = facts.profile
        self.thinking = facts.thinking
        self.names = facts.names
        self.stateful = facts.stateful
        self.reasoning_as_text = facts.reasoning_as_text
        self.many_images = facts.many_images
        self.old_media = facts.old_media
        self.ledger = ledger
        self.first = first
        """This stretch begins the list."""
        self.final = final
        """Nothing comes after this stretch."""
        self.follows_results = follows_results
        """The stretch before this one ended with results."""
        self.any_input = any_input
        """There are messages at all."""
        self._any_output = any_output
        self.repairs: list[Repair] = []
        self.faults: list[str] = []

    def any_output(self, placed: Sequence[Placed]) -> bool:
        """Whether there is anything to send, from stretches before or from this one."""
        return self._any_output or bool(placed)

    def repair(self, rule: str, at: int, message: str) -> None:
        """Report a change at the message that came in as number `at`."""
        self.repairs.append(
            Repair(rule=f"{self.target}/{rule}", where=f"messages[{at}]", message=message)
        )

    def tidy(self, rule: str, at: int, message: str) -> None:
        """Report a change that no rule of the provider's asks for."""
        self.repairs.append(Repair(rule=rule, where=f"messages[{at}]", message=message))

    def sends_media(self, kind: str, *, large: bool = False) -> bool:
        """Count an image or a document; whether it is none of those that are too many."""
        if self.target != "anthropic" or kind not in ("image", "document"):
            return True
        sent = self.ledger.media.media >= self.old_media
        self.ledger.count_media(image=sent and kind == "image", large=sent and large)
        return sent

    @property
    def merges_neighbours(self) -> bool:
        """Whether neighbours of one role are one turn for the provider."""
        return self.target != "openai"

    @property
    def takes_open_end(self) -> bool:
        """Whether the conversation may end with the assistant's own words."""
        if self.target in ("openai", "openai-responses"):
            return True
        if self.profile is None or not self.profile.prefill:
            return False
        return self.target != "anthropic" or self.thinking not in ("enabled", "adaptive")


Step: TypeAlias = Callable[[list[Placed], Mending], list[Placed]]


def own_opaque(block: Block, target: Provider) -> Opaque | None:
    """The block, when it is one that only the target reads."""
    return block if isinstance(block, Opaque) and block.provider == target else None


def is_server_result(kind: str) -> bool:
    """Whether that is what a tool run by Anthropic gave back."""
    return kind.endswith("_tool_result") and kind != "tool_result"


def without_blocks(message: Message, dropped: set[int]) -> Message:
    """The message without those blocks; a breakpoint on one moves to its neighbour."""
    kept: list[Block] = []
    waiting: CacheBreakpoint | None = None
    for index, block in enumerate(message.content):
        if index not in dropped:
            if waiting is not None and block.cache is None:
                block = msgspec.structs.replace(block, cache=waiting)
            waiting = None
            kept.append(block)
        elif block.cache is not None:
            if kept:
                if kept[-1].cache is None:
                    kept[-1] = msgspec.structs.replace(kept[-1], cache=block.cache)
            else:
                waiting = block.cache
    return message.replace(content=tuple(kept))
