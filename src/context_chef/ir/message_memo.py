"""What was made of a message the last time: a message never changes, so neither does that.

A conversation is compiled again for every turn and is nearly the same each time. What was made of
its messages is kept as long as the messages live, by their identity, apart for each way of writing.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Final, Generic, TypeVar, cast

from context_chef.ir.message import Message

M = TypeVar("M")
T = TypeVar("T")

_KEPT_WAYS: Final = 4


class _Kept(weakref.ref[T], Generic[T, M]):
    """Something made of an object, on the weak reference to it: one small object an entry."""

    __slots__ = ("key", "made")
    key: int
    made: M


class ObjectMemo(Generic[T, M]):
    """Something for each object, by its identity, for as long as the object lives."""

    def __init__(self) -> None:
        kept: dict[int, _Kept[T, M]] = {}
        self._kept = kept

        def forget(entry: weakref.ref[T]) -> None:
            # The id may have been taken anew since, by an object that has an entry of its own.
            key = cast("_Kept[T, M]", entry).key
            if kept.get(key) is entry:
                del kept[key]

        self._forget = forget

    def get(self, of: T) -> M | None:
        """What is known of this very object; None when nothing is yet."""
        entry = self._kept.get(id(of))
        return entry.made if entry is not None and entry() is of else None

    def put(self, of: T, made: M) -> None:
        """Keep `made` until the object goes away."""
        entry = _Kept[T, M](of, self._forget)
        entry.key, entry.made = id(of), made
        self._kept[entry.key] = entry


class MessageMemo(ObjectMemo[Message, M]):
    """What was made of each message, for one way of writing."""


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
