"""The last resort: history that no strategy made fit is clipped and dropped until it does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from context_chef.errors import WindowFullError
from context_chef.ir.message import Message
from context_chef.ir.turns import group_into_turns, pinned_indexes
from context_chef.selection.clip import clip_arguments, clip_message
from context_chef.selection.cut import open_exchange
from context_chef.selection.summary_message import (
    dropped_marker,
    is_summary_message,
    is_synthetic,
)

Count = Callable[[Sequence[Message]], float]

AROUND_HISTORY: Final = "tools, system prompt and tail"
"""What a refusal calls the part of the request that is not history."""

_OUTSIZED: Final = 0.5
"""A tool result above this share of the room is clipped before anything leaves."""
_OUTSIZED_TO: Final = 0.25
_BREATH: Final = 0.85
"""What is dropped is dropped down to this share, so that the next turn does not drop again."""
_LEAST: Final = 64
"""Tokens that a clipped message keeps, where there is room at all."""


class Fitted(msgspec.Struct, frozen=True):
    """A history that fits, and what that took."""

    history: tuple[Message, ...]
    dropped: tuple[Message, ...] = ()
    replaced: Mapping[int, Message] = msgspec.field(default_factory=dict[int, Message])
    """The originals of the messages that were shortened, by the identity of their short form."""

    @property
    def clipped(self) -> tuple[Message, ...]:
        """The originals of the messages that were shortened."""
        replaced = self.replaced
        return tuple(replaced[id(m)] for m in self.history if id(m) in replaced)

    @property
    def left(self) -> tuple[Message, ...]:
        """Every original that the history no longer holds word for word."""
        return (*self.dropped, *self.clipped)


def fit_history(
    history: tuple[Message, ...],
    *,
    room: float,
    limit: float,
    overhead: float,
    count: Count,
    uri: str | None = None,
    lightened: Mapping[int, Message] | None = None,
    tolerance: float = 1.0,
) -> Fitted:
    """The history in at most `room` tokens. `lightened` holds forms that replace messages first.

    First outsized tool results are clipped, then the oldest turns go, then everything that is not
    pinned is clipped evenly. Pinned turns, system messages and calls with their results stay
    together. Raises WindowFullError when that does not do, and the whole is above `tolerance` times
    the limit: where tokens are only estimated, a request that may fit is not refused.
    """
    before = Fitted(history)
    if lightened:
        lighter = tuple(lightened.get(at, message) for at, message in enumerate(history))
        replaced = {id(form): history[at] for at, form in lightened.items()}
        before = Fitted(lighter, replaced=replaced)
    fit = _Fit(before.history, room, count, uri)
    if room <= 0 and fit.total() + overhead <= limit * tolerance:
        return fit.after(before)  # shortening what was said would not help
    if fit.total() > room:
        fit.clip_outsized()
    if fit.total() > room:
        fit.drop_oldest()
    if fit.total() > room:
        fit.clip_evenly(lambda message: message.role == "tool", clip_message)
    if fit.total() > room:
        fit.clip_evenly(lambda message: message.role != "system", clip_message)
    if fit.total() > room:
        fit.clip_evenly(lambda message: bool(message.tool_calls), clip_arguments)
    if fit.total() > room and fit.total() + overhead > limit * tolerance:
        raise refusal(fit.sent, limit=limit, overhead=overhead, count=count)
    return fit.after(before)


def refusal(
    history: Sequence[Message], *, limit: float, overhead: float, count: Count
) -> WindowFullError:
    """The error that says what takes the room."""
    pinned = pinned_indexes(history)
    groups: dict[str, list[Message]] = {
        "pinned messages": [],
        "system messages in the history": [],
        "other messages": [],
    }
    for at, message in enumerate(history):
        if at in pinned:
            groups["pinned messages"].append(message)
        elif message.role == "system":
            groups["system messages in the history"].append(message)
        else:
            groups["other messages"].append(message)
    parts = {name: count(group) if group else 0.0 for name, group in groups.items()}
    return WindowFullError(
        limit=limit,
        needed=count(list(history)) + overhead,
        parts={AROUND_HISTORY: overhead, **parts},
    )


class _Fit:
    def __init__(
        self, history: tuple[Message, ...], room: float, count: Count, uri: str | None
    ) -> None:
        self._room = room
        self._count = count
        self._uri = uri
        pinned = pinned_indexes(history)
        self._pinned = {id(history[at]) for at in pinned}
        stays = pinned | open_exchange(history)
        turns = group_into_turns(history)
        if turns:
            stays |= set(range(turns[-1].start, turns[-1].end))
        self._stays = {id(history[at]) for at in stays}
        self._messages = list(history)
        self._originals: dict[int, Message] = {}
        self._dropped: list[Message] = []

    def total(self) -> float:
        return self._count(self.sent)

    @property
    def sent(self) -> list[Message]:
        """The history with the note for what was dropped in front of it."""
        marker = [dropped_marker(len(self._dropped), self._uri)] if self._dropped else []
        return [*marker, *self._messages]

    @property
    def history(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def clip_outsized(self) -> None:
        for at, message in enumerate(self._messages):
            cost = self._count([message])
            if (
                message.role == "tool"
                and cost > self._room * _OUTSIZED
                and self._may_change(message)
            ):
                self._replace(at, self._room * _OUTSIZED_TO, clip_message)

    def drop_oldest(self) -> None:
        costs = [
            (turn, self._count(self._messages[turn.start : turn.end]))
            for turn in group_into_turns(self._messages)
        ]
        excess = self.total() - self._room * _BREATH
        gone: set[int] = set()
        for turn, cost in costs:
            if excess <= 0:
                break
            members = self._messages[turn.start : turn.end]
            # An old marker goes with what it stands for: its address is kept in the archive.
            if any(
                id(m) in self._stays or m.role == "system" or is_summary_message(m) for m in members
            ):
                continue
            gone.update(range(turn.start, turn.end))
            excess -= cost
        self._dropped = [
            self._originals.pop(id(m), m) for at, m in enumerate(self._messages) if at in gone
        ]
        self._messages = [m for at, m in enumerate(self._messages) if at not in gone]

    def clip_evenly(self, wanted: Callable[[Message], bool], clip: Callable[..., Message]) -> None:
        """Bring the largest of the wanted messages down to one height at which all fits."""
        places = [at for at, m in enumerate(self._messages) if wanted(m) and self._may_change(m)]
        costs = sorted((self._count([self._messages[at]]) for at in places), reverse=True)
        excess = self.total() - self._room
        height = _height(costs, excess)
        for at in places:
            if self._count([self._messages[at]]) > height:
                self._replace(at, max(height, _LEAST), clip)
        # What the notes cost comes on top: once more, a little lower.
        if self.total() > self._room and height > _LEAST:
            for at in places:
                if self._count([self._messages[at]]) > _LEAST:
                    self._replace(at, max(height * 0.7, _LEAST), clip)
        if self.total() > self._room:
            for at in places:
                self._replace(at, min(_LEAST, self._count([self._messages[at]]) * 0.5), clip)

    def result(self) -> Fitted:
        messages = tuple(self._messages)
        if self._dropped:
            at = next(
                (i for i, m in enumerate(messages) if m.role != "system" and not is_synthetic(m)),
                len(messages),
            )
            marker = dropped_marker(len(self._dropped), self._uri)
            messages = (*messages[:at], marker, *messages[at:])
        return Fitted(messages, tuple(self._dropped), dict(self._originals))

    def after(self, before: Fitted) -> Fitted:
        """The result in terms of what the history was before an earlier fitting."""
        own = self.result()
        first = before.replaced
        replaced = {
            **first,
            **{at: first.get(id(original), original) for at, original in own.replaced.items()},
        }
        dropped = tuple(first.get(id(m), m) for m in own.dropped)
        standing = set(map(id, own.history))
        replaced = {at: original for at, original in replaced.items() if at in standing}
        return Fitted(own.history, dropped, replaced)

    def _may_change(self, message: Message) -> bool:
        return id(message) not in self._pinned

    def _replace(self, at: int, target: float, clip: Callable[..., Message]) -> None:
        message = self._messages[at]
        original = self._originals.get(id(message), message)
        changed = clip(original, target, self._count, uri=self._uri)
        if changed is original or self._count([changed]) >= self._count([message]):
            return
        self._originals.pop(id(message), None)
        self._originals[id(changed)] = original
        if id(message) in self._stays:
            self._stays.add(id(changed))
        self._messages[at] = changed


def _height(costs: Sequence[float], excess: float) -> float:
    """The height that the largest costs come down to when `excess` is taken off them."""
    taken = 0.0
    for number, cost in enumerate(costs, 1):
        below = costs[number] if number < len(costs) else 0.0
        step = (cost - below) * number
        if taken + step >= excess:
            return cost - (excess - taken) / number
        taken += step
    return 0.0
