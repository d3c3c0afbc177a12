"""Lists of messages that are nearly the same each time: where they part, and sums over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

from context_chef.ir.message import Message

_STEP = 1024


def same_start(before: list[Message], now: list[Message]) -> int:
    """How many messages at the beginning are the same objects."""
    most = min(len(before), len(now))
    low = 0
    while low < most:
        high = min(low + _STEP, most)
        if all(map(is_, before[low:high], now[low:high])):
            low = high
            continue
        while before[low] is now[low]:
            low += 1
        return low
    return most


class RunningSum:
    """A figure summed over a list that is nearly the same each time: costs what is new."""

    def __init__(self, figure: Callable[[Message], float]) -> None:
        self._figure = figure
        self._messages: list[Message] = []
        self._sums: list[float] = []

    def total(self, messages: Sequence[Message]) -> float:
        """The sum over these messages."""
        now = list(messages)
        known = self._messages
        same = len(known)
        # Equal messages have equal figures, and equality is quick where they are the same.
        if now[:same] != known:
            same = equal_start(known, now)
            del known[same:], self._sums[same:]
        total = self._sums[-1] if self._sums else 0
        for message in now[same:]:
            total += self._figure(message)
            known.append(message)
            self._sums.append(total)
        return total

    def begins_with(self, message: Message) -> bool:
        """Whether the last list began with this very message."""
        return bool(self._messages) and self._messages[0] is message


def equal_start(before: list[Any], now: list[Any]) -> int:
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
