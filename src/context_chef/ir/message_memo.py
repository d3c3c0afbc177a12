"""What was made of a message the last time: a message never changes, so neither does that.

A conversation is compiled again for every turn and is nearly the same each time. What was made of
its messages is kept as long as the messages live, by their identity, apart for each way of writing.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from context_chef.ir.message import Message

M = TypeVar("M")

_KEPT_WAYS: Final = 4


class MessageMemo(Generic[M]):
    """What was made of each message, for one way of writing."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[weakref.ref[Message], M]] = {}

    def get(self, message: Message) -> M | None:
        """What was made of this very message; None when nothing was yet."""
        entry = self._made.get(id(message))
        return entry[1] if entry is not None and entry[0]() is message else None

    def put(self, message: Message, made: M) -> None:
        """Keep `made` until the message goes away."""
        key, forget = id(message), self._made.pop
        self._made[key] = (weakref.ref(message, lambda _: forget(key, None)), made)


class Memos(Generic[M]):
    """A memo for each of the latest ways of writing. Writers may share it between threads."""

    def __init__(self) -> None:
        self._memos: dict[Hashable, MessageMemo[M]] = {}

    def of(self, way: Hashable) -> MessageMemo[M]:
        """The memo of that way of writing."""
        memo = self._memos.get(way)
        if memo is None:
            memo = MessageMemo[M]()
            self._memos = {**dict(list(self._memos.items())[1 - _KEPT_WAYS :]), way: memo}
        return memo
