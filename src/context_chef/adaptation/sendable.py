"""`make_sendable()`: messages that the target takes, whatever strategies and handlers left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import is_
from typing import Any, Final, NamedTuple, cast, get_args

import msgspec

from context_chef.adaptation.blanks import drop_blanks, drop_misplaced_blocks
from context_chef.adaptation.call_ids import rename_ids
from context_chef.adaptation.image_size import MANY_IMAGES, most_media, too_old
from context_chef.adaptation.mending import (
    Facts,
    Ledger,
    MediaMet,
    Mending,
    Step,
    ThinkingMode,
)
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.plain_stretches import is_plain
from context_chef.adaptation.readable_media import note_unreadable_media
from context_chef.adaptation.server_tools import mend_server_blocks
from context_chef.adaptation.stretches import Cut, OpenBefore, OpenCall, settled_ends
from context_chef.adaptation.thinking_binding import (
    Unbound,
    check_thinking_start,
    drop_bound_thinking,
    mend_thinking,
    sign_calls,
)
from context_chef.adaptation.turns_order import (
    close_conversation,
    open_conversation,
    rename_tools,
    split_long_rounds,
)
from context_chef.errors import UnsendableError
from context_chef.given import check_choice, check_instance, check_mapping, read_list
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.repair import (
    DUPLICATE,
    MISSING,
    MOVED,
    ORPHAN,
    Placed,
    ensure_valid_history,
    pair_results,
)
from context_chef.ir.running import Messages, Starts

__all__ = [
    "Mender",
    "Sendable",
    "ThinkingMode",
    "Unbound",
    "drop_bound_thinking",
    "ensure_valid_history",
    "make_sendable",
    "thinking_mode",
]


class Sendable(NamedTuple):
    """Messages that a writer can put on the wire one by one, and what was mended in them."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


_PAIRING_RULES: Final[Mapping[Provider, Mapping[str, str]]] = {
    "anthropic": {},
    "openai": {
        ORPHAN: "tool-reply-orphan",
        DUPLICATE: "tool-reply-duplicate",
        MISSING: "tool-reply-missing",
        MOVED: "tool-reply-missing",
    },
    "openai-responses": {
        ORPHAN: "output-orphan",
        DUPLICATE: "call-id",
        MISSING: "call-unanswered",
        MOVED: "call-unanswered",
    },
    "gemini": {
        ORPHAN: "response-turn",
        DUPLICATE: "response-count",
        MISSING: "response-count",
        MOVED: "response-turn",
    },
}


def make_sendable(
    messages: Sequence[Message],
    *,
    target: Provider,
    profile: ModelProfile | None = None,
    thinking: ThinkingMode | None = None,
    names: Mapping[str, str] = EMPTY,
    stateful: bool = False,
    preserve_thinking_as_text: bool = False,
) -> Sendable:
    """The same messages, mended where `target` would answer 400. Nothing is changed in place.

    Calls and their results stand together, ids and tool names are legal and the same on both sides,
    blank text, reasoning that cannot be read and provider blocks without their partner are gone,
    the conversation begins and ends as the model wants it. What is fine is the same object, a
    second run changes nothing, and a longer conversation is mended the same way as far as the
    shorter one goes, but for its end and for results that came late.

    Without `profile` the choice is made that every model of the target accepts. `thinking` is the
    request's `thinking.type` (Anthropic), `names` the mapping that `convert_tools` returned,
    `stateful` says that the request goes on from one that the provider stored
    (`previous_response_id`), `preserve_thinking_as_text` that foreign reasoning is written as text.
    Raises UnsendableError, with every fault, when no request can be made; InputError and
    SettingsError for arguments of another kind.
    """
    check_choice(target, "target", tuple(_PAIRING_RULES))
    check_instance(profile, "profile", ModelProfile, optional=True)
    check_choice(thinking, "thinking", (None, *get_args(ThinkingMode)))
    check_mapping(names, "names")
    return Mender().make_sendable(
        read_list(messages, "messages", Message),
        target=target,
        profile=profile,
        thinking=thinking,
        names=names,
        stateful=stateful,
        preserve_thinking_as_text=preserve_thinking_as_text,
    )


class Mender:
    """`make_sendable` for a conversation that grows: what was mended once is not looked at again.

    Answers as `make_sendable` does, whatever it was asked before. Remembers, for each target, the
    last list by the identity of its messages. Not for several threads at once.
    """

    def __init__(self, starts: Starts | None = None) -> None:
        self._starts = starts or Starts()
        self._kept: dict[tuple[Provider, bool, bool], _Kept] = {}

    def make_sendable(
        self,
        messages: Sequence[Message],
        *,
        target: Provider,
        profile: ModelProfile | None = None,
        thinking: ThinkingMode | None = None,
        names: Mapping[str, str] = EMPTY,
        stateful: bool = False,
        preserve_thinking_as_text: bool = False,
    ) -> Sendable:
        """See the function of that name."""
        facts = Facts(
            target=target,
            profile=profile,
            thinking=thinking,
            names=names,
            stateful=stateful,
            reasoning_as_text=preserve_thinking_as_text,
        )
        listed = tuple(messages)
        sendable, met = self._run(facts, listed)
        if old := too_old(met.media, most_media(profile.context_window if profile else None)):
            # Only all of them tell which are too many: the oldest go.
            facts = msgspec.structs.replace(facts, old_media=old)
            sendable, met = self._run(facts, listed)
        if met.large_images and met.images > MANY_IMAGES:
            # Only all of them tell how large each may be: what is too large among many goes.
            many = msgspec.structs.replace(facts, many_images=True)
            sendable, _ = self._run(many, listed)
        return sendable

    def _run(self, facts: Facts, messages: Messages) -> tuple[Sendable, MediaMet]:
        """The run, and which media it met."""
        place = (facts.target, facts.many_images, facts.old_media > 0)
        kept = self._kept.get(place)
        if kept is None or kept.facts != facts:
            kept = self._kept[place] = _Kept(facts, self._starts)
        return kept.mend(messages), kept.media


_STRETCH: Final = 256
"""So many messages are mended in one go; an edit costs what comes after it, and so many more."""
_NEAR_STRETCH: Final = 8
"""The same for the last messages, of which some are other ones in every request."""
_NEAR: Final = 64


class _Settled(NamedTuple):
    """A stretch to which nothing that comes later makes a difference, but for a cut above it and a
    result that comes late."""

    end: int
    """How much of the messages lies before its end; likewise of the output and the repairs."""
    out: int
    repairs: int
    mark: int
    """Where the ledger stood before it."""
    as_given: bool
    """Up to its end, what came out is what came in."""


class _Kept:
    """The last run for one target."""

    def __init__(self, facts: Facts, starts: Starts) -> None:
        self.facts = facts
        self._starts = starts
        self._messages: Messages = ()
        self._settled: list[_Settled] = []
        self._out: list[Message] = []
        self._repairs: list[Repair] = []
        self._ledger = Ledger()
        self._open = OpenBefore()
        self.media = MediaMet()
        """What the last run met."""
        self._told: Messages = ()
        """The last answer."""
        self._kept = 0
        """So much of its beginning stands in `_out` since."""

    def mend(self, messages: Messages) -> Sendable:
        self._forget(self._starts.same(self._messages, messages))
        self._messages = messages
        last, cut = self._cut()
        self._kept = min(self._kept, len(self._out))
        for start, end in _stretches(last, cut.ends, len(messages)):
            self._settle(start, end)
            last = end
        self._open.add([call for call in cut.open if call.at < last])
        return self._finish(last)

    def _cut(self) -> tuple[int, Cut]:
        """Where the settled stretches end, and how the rest can be cut."""
        while True:
            start = self._settled[-1].end if self._settled else 0
            cut = settled_ends(self._messages, start, self.facts.target, self._open)
            if not isinstance(cut, OpenCall):
                return start, cut
            # A result came late: what was settled without it was not.
            self._forget(cut.at + 1)

    def whole(self, messages: Messages) -> tuple[tuple[Placed, ...], tuple[Repair, ...]]:
        """All of it in one go, with places."""
        self._messages = messages
        placed, mending = self._stretch(0, len(messages))
        return tuple(close_conversation(placed, mending)), tuple(mending.repairs)

    def _forget(self, common: int) -> None:
        """Keep only what was made of the first `common` messages."""
        while self._settled and self._settled[-1].end >= common:
            # Where a stretch ends is decided by the message behind it, which has to be the same.
            self._ledger.undo(self._settled.pop().mark)
        last = self._settled[-1] if self._settled else None
        del self._out[last.out if last else 0 :]
        del self._repairs[last.repairs if last else 0 :]
        self._open.forget(last.end if last else 0)

    def _settle(self, start: int, end: int) -> None:
        mark = self._ledger.mark()
        before = self._settled[-1].as_given if self._settled else True
        placed, mending = self._stretch(start, end)
        said = [entry.message for entry in placed]
        as_given = before and _are_same(said, self._messages[start:end])
        self._out += said
        self._repairs.extend(mending.repairs)
        self._settled.append(_Settled(end, len(self._out), len(self._repairs), mark, as_given))

    def _stretch(self, start: int, end: int) -> tuple[list[Placed], Mending]:
        messages = self._messages
        mending = Mending(
            self.facts,
            self._ledger,
            first=start == 0,
            final=end == len(messages),
            any_input=bool(messages),
            any_output=bool(self._out),
            follows_results=start > 0 and messages[start].role == "assistant",
        )
        placed = [Placed(at, messages[at]) for at in range(start, end)]
        for step in _PLAIN_STEPS if is_plain(messages[start:end], mending) else _STEPS:
            placed = step(placed, mending)
        # By place, so that it does not show how much was mended in one go.
        mending.repairs.sort(key=_place)
        return placed, mending

    def _finish(self, start: int) -> Sendable:
        """The stretch in progress, and what depends on the end."""
        mark = self._ledger.mark()
        placed, mending = self._stretch(start, len(self._messages))
        self.media = self._ledger.media
        self._ledger.undo(mark)
        # A stretch begins with the user or behind results, so that the end is in the last one.
        placed = close_conversation(placed, mending)
        messages = self._answer(start, [entry.message for entry in placed])
        if self.facts.thinking == "enabled" and self.facts.target == "anthropic":
            check_thinking_start(messages, mending)
        if mending.faults:
            raise UnsendableError(self.facts.target, mending.faults)
        return Sendable(messages, (*self._repairs, *mending.repairs))

    def _answer(self, start: int, said: list[Message]) -> Messages:
        """What is settled and this: the very list that came in, where nothing was mended."""
        as_given = self._settled[-1].as_given if self._settled else True
        if as_given and _are_same(said, self._messages[start:]):
            self._told, self._kept = self._messages, len(self._messages)
            return self._told
        settled = len(self._out)
        self._out += said
        told = tuple(self._out)
        del self._out[settled:]
        self._starts.note(self._told, told, self._kept)
        self._told, self._kept = told, len(told)
        return told


def _are_same(said: Sequence[Message], given: Sequence[Message]) -> bool:
    return len(said) == len(given) and all(map(is_, said, given))


def _stretches(start: int, ends: Sequence[int], length: int) -> Iterator[tuple[int, int]]:
    """The stretches from `start` on that are mended in one go."""
    last = start
    for end in ends:
        if end > length - _NEAR > last > start:
            yield start, last
            start = last
        last = end
        if last - start >= (_NEAR_STRETCH if last > length - _NEAR else _STRETCH):
            yield start, last
            start = last
    if last > start:
        yield start, last


def _place(repair: Repair) -> int:
    """The number of the message that a repair is about."""
    return int(repair.where.removeprefix("messages[").removesuffix("]"))


def _pair(placed: list[Placed], mending: Mending) -> list[Placed]:
    found: list[Repair] = []
    paired = pair_results(
        placed,
        found,
        keep_orphans=mending.stateful,
        tight=True,
        merged=mending.merges_neighbours,
        known=mending.ledger.known,
    )
    rules = _PAIRING_RULES[mending.target]
    for repair in found:
        rule = f"{mending.target}/{rules.get(repair.rule, repair.rule)}"
        mending.repairs.append(msgspec.structs.replace(repair, rule=rule))
    return paired


def _mend_thinking(placed: list[Placed], mending: Mending) -> list[Placed]:
    before = len(mending.repairs)
    mended = mend_thinking(placed, mending)
    # Of what went, a message may be left empty.
    return drop_blanks(mended, mending) if len(mending.repairs) > before else mended


_STEPS: Final[tuple[Step, ...]] = (
    drop_misplaced_blocks,
    _pair,
    note_unreadable_media,
    mend_server_blocks,
    drop_blanks,
    _mend_thinking,
    rename_ids,
    rename_tools,
    split_long_rounds,
    open_conversation,
)
_PLAIN_STEPS: Final[tuple[Step, ...]] = (sign_calls, open_conversation)
"""What may change messages of words and calls that `is_plain` finds nothing amiss with."""


def mended_from(
    messages: Sequence[Message],
    *,
    target: Provider,
    profile: ModelProfile | None = None,
    names: Mapping[str, str] = EMPTY,
    preserve_thinking_as_text: bool = False,
) -> tuple[tuple[Placed, ...], tuple[Repair, ...]]:
    """What `make_sendable` makes of the messages, each with the index of the one it came from."""
    facts = Facts(
        target=target,
        profile=profile,
        thinking=None,
        names=names,
        stateful=False,
        reasoning_as_text=preserve_thinking_as_text,
    )
    return _Kept(facts, Starts()).whole(tuple(messages))


def thinking_mode(request: Mapping[str, Any]) -> ThinkingMode | None:
    """The `thinking.type` that a request's other keys ask for; None when they do not say."""
    thinking: Any = request.get("thinking")
    if not isinstance(thinking, Mapping):
        return None
    kind: Any = cast(Mapping[str, Any], thinking).get("type")
    return kind if kind in ("enabled", "adaptive", "disabled") else None
