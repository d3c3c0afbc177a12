"""Lists of messages that are nearly the same each time: where they part, and sums over them."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import compress, count
from operator import is_, is_not
from typing import Any, Final, TypeAlias

from context_chef.ir.message import Message

Messages: TypeAlias = tuple[Message, ...]

_KEPT: Final = 12
"""So many pairs of lists are known at a time: those of one compile and of the one before."""


def same_start(before: Sequence[Any], now: Sequence[Any]) -> int:
    """How many items at the beginning are the same objects."""
    most = min(len(before), len(now))
    if before is now:
        return most
    return next(compress(count(), map(is_not, before, now)), most)


class Starts:
    """Where lists part, known to those who made them of one another: nobody has to compare.

    A list is made of another one several times on its way through a compile, and everybody who
    remembers the last one asks what is new. Whoever makes one tells; where nobody has, the lists
    are compared. Lists are held only as long as they are among the latest.
    """

    def __init__(self) -> None:
        self._pairs: tuple[tuple[Messages, Messages, int], ...] = ()

    def note(self, one: Messages, other: Messages, same: int) -> None:
        """The first `same` items of both are the same objects; perhaps more are."""
        if one is not other:
            self._pairs = ((one, other, same), *self._pairs[: _KEPT - 1])

    def same(self, one: Messages, other: Messages) -> int:
        """So many items at the beginning are the same objects. A few more may be."""
        if one is other:
            return len(one)
        if not one or not other:
            return 0
        for a, b, same in self._pairs:
            if (a is one and b is other) or (a is other and b is one):
                return same
        same = self._told(one, other)
        if same is None:
            same = same_start(one, other)
        self.note(one, other, same)
        return same

    def _told(self, one: Messages, other: Messages) -> int | None:
        """What follows from what is known of lists between these two."""
        best = {id(one): len(one)}
        pairs = self._pairs
        found = True
        while found:
            found = False
            for a, b, same in pairs:
                from_a, from_b = best.get(id(a), -1), best.get(id(b), -1)
                if min(from_a, same) > from_b:
                    best[id(b)], found = min(from_a, same), True
                elif min(from_b, same) > from_a:
                    best[id(a)], found = min(from_b, same), True
        return best.get(id(other))

    def forget(self) -> None:
        """Know nothing any more."""
        self._pairs = ()


class Joined:
    """Parts put behind one another; where they are those of the last time, so is the whole."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._parts: tuple[Messages, ...] = ()
        self._whole: Messages = ()

    def of(self, *parts: Messages) -> Messages:
        """One list of them all. What it has in common with the last one is noted."""
        before, last = self._parts, self._whole
        if len(before) == len(parts) and all(map(is_, before, parts)):
            return last
        filled = [part for part in parts if part]
        whole: Messages = filled[0] if filled else ()
        for part in filled[1:]:
            whole += part
        same = 0
        for known, part in zip(before, parts, strict=False):
            common = self._starts.same(known, part)
            same += common
            if common < len(known) or common < len(part):
                break
        self._parts, self._whole = parts, whole
        if last:
            self._starts.note(last, whole, same)
        return whole


class RunningSum:
    """A figure summed over a list that is nearly the same each time: costs what is new."""

    def __init__(self, figure: Callable[[Message], float], starts: Starts | None = None) -> None:
        self._figure = figure
        self._starts = starts or Starts()
        self._messages: Messages = ()
        self._sums = array("d")

    def total(self, messages: Sequence[Message], starts: Starts | None = None) -> float:
        """The sum over these messages."""
        now = tuple(messages)  # of a tuple, that very one
        sums = self._sums
        if now is not self._messages:
            same = (starts or self._starts).same(self._messages, now)
            self._messages = ()  # should the figure fail
            del sums[same:]
            total = sums[-1] if sums else 0.0
            for message in now[same:]:
                total += self._figure(message)
                sums.append(total)
            self._messages = now
        return sums[-1] if sums else 0

    def begins_with(self, message: Message) -> bool:
        """Whether the last list began with this very message."""
        return bool(self._messages) and self._messages[0] is message


class RunningPlaces:
    """Where certain messages stand in a list that is nearly the same each time."""

    def __init__(self, starts: Starts) -> None:
        self._starts = starts
        self._messages: Messages = ()
        self._places: list[int] = []

    def of(self, messages: Messages, is_one: Callable[[Message], bool]) -> list[int]:
        """The places of the messages for which `is_one` is true, as it is for good."""
        same = self._starts.same(self._messages, messages)
        places = self._places
        del places[bisect_left(places, same) :]
        places += [at for at in range(same, len(messages)) if is_one(messages[at])]
        self._messages = messages
        return list(places)


def equal_start(before: Sequence[Any], now: Sequence[Any]) -> int:
    """How many items at the beginning are equal. Quick where they are the same objects."""
    high = min(len(before), len(now))
    if before[:high] == now[:high]:
        return high
    low = 0
    high -= 1
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == now[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
