"""Where the messages of one compile come from, for the report and for whoever has to know."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import overload

from context_chef.ir.message import Message


class Sources:
    """Sources by the identity of the messages, which are kept alive here.

    Those of the conversation are looked up when they are asked for: mostly nobody does.
    """

    def __init__(self) -> None:
        self._items: tuple[Message, ...] = ()
        self._start = 0
        self._known: dict[int, str | int] = {}
        """A source, or the identity of the message that it is the source of."""
        self._seen: list[Message] = []
        self._followed: list[tuple[tuple[Message, ...], tuple[Message, ...]]] = []

    def open(self, items: tuple[Message, ...], start: int) -> None:
        """The conversation: from item `start` on, items stand for themselves."""
        self._items, self._start = items, start

    def credit(self, messages: Iterable[Message], source: str) -> None:
        """These messages are brought by that source."""
        for message in messages:
            self._known[id(message)] = source
            self._seen.append(message)

    def succeed(self, old: Message, new: Message) -> None:
        """`new` comes from where `old` comes from."""
        self._known[id(new)] = id(old)
        self._seen += (old, new)

    def follow(self, before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
        """Each of `after` comes from where the one at its place came from."""
        self._followed.append((before, after))

    def _look(self) -> None:
        for before, after in self._followed:
            for old, new in zip(before, after, strict=True):
                if new is not old:
                    self._known.setdefault(id(new), id(old))
                    self._seen += (old, new)
        self._followed = []

    @overload
    def get(self, key: int, default: str) -> str: ...
    @overload
    def get(self, key: int, default: None = None) -> str | None: ...
    def get(self, key: int, default: str | None = None) -> str | None:
        """The source of the message of that identity."""
        found = self._known.get(key)
        if found is None or isinstance(found, int):
            self._look()
            found = self._known.get(key)
        steps = 0
        while isinstance(found, int) and steps < 100:
            key, steps = found, steps + 1
            found = self._known.get(key)
        if isinstance(found, str):
            return found
        index = self._places.get(key)
        return default if index is None else f"history[{index}]"

    def credited(self) -> dict[int, str]:
        """The sources of all that is not of the conversation itself, by identity."""
        self._look()
        found: dict[int, str] = {}
        for key in self._known:
            source = self._known.get(key)
            steps = 0
            while isinstance(source, int) and steps < 100:
                source, steps = self._known.get(source), steps + 1
            if isinstance(source, str):
                found[key] = source
        return found

    def brought_by(self, message: Message) -> str | None:
        """Who was credited with this very message; None for one of the conversation's."""
        found = self._known.get(id(message))
        return found if isinstance(found, str) else None

    def name(self, message: Message) -> str:
        """The source of the message; `slot` for one that a handler brought."""
        return self.get(id(message), "slot")

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(self._items[at]): at for at in range(self._start, len(self._items))}
