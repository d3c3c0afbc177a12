"""A conversation that was written down once: the next request writes what is new, and its end.

Each writer goes through the messages one by one. Where nothing that comes later can change what it
has written so far, it sets a mark; the next time it goes back to the last mark in front of the
first message that is another one, and writes on from there.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from context_chef.adaptation.notes import Notes
from context_chef.ir.message import Message
from context_chef.ir.running import Messages, Starts

_EVERY: Final = 6
"""So many messages lie between two marks at least."""
_KEPT_WAYS: Final = 3

L = TypeVar("L")
V = TypeVar("V")


class _Mark(NamedTuple):
    at: int
    """The message in front of which it stands."""
    diagnostics: int
    repairs: int
    state: Any
    """What the writer needs to go on from here."""


class Line(ABC):
    """What was written of the last messages. One request at a time."""

    def __init__(self, target: str) -> None:
        self.notes = Notes(target)
        self._messages: Messages = ()
        self._marks: list[_Mark] = []
        self._next_mark = 0

    @abstractmethod
    def _state(self) -> Any:
        """What `_go_back` needs, now."""

    @abstractmethod
    def _go_back(self, state: Any) -> None:
        """Be as it was when `_state()` answered that; None is the very beginning."""

    def _resume(self, messages: Sequence[Message], starts: Starts | None) -> int:
        """Go back as far as needed. Answers the number of the first message to write."""
        now = tuple(messages)
        same = (starts or Starts()).same(self._messages, now)
        self._messages = now
        marks = self._marks
        # The message behind a mark tells that what is in front of it is finished.
        while marks and marks[-1].at >= same:
            marks.pop()
        mark = marks[-1] if marks else _Mark(0, 0, 0, None)
        del self.notes.diagnostics[mark.diagnostics :]
        del self.notes.repairs[mark.repairs :]
        self._next_mark = mark.at + _EVERY
        self._go_back(mark.state)
        return mark.at

    def _mark(self, index: int) -> None:
        """What was written before this message stands, when this message follows."""
        if index >= self._next_mark:
            notes = self.notes
            self._marks.append(
                _Mark(index, len(notes.diagnostics), len(notes.repairs), self._state())
            )
            self._next_mark = index + _EVERY


class Lines(Generic[L]):
    """A line for each of the latest ways of writing. Whoever takes one out has it alone."""

    def __init__(self) -> None:
        self._lines: list[tuple[Hashable, L]] = []
        self._guard = threading.Lock()

    def take(self, way: Hashable, new: Callable[[], L]) -> L:
        """The line of that way, or a new one."""
        with self._guard:
            for at, (known, line) in enumerate(self._lines):
                if known == way:
                    del self._lines[at]
                    return line
        return new()

    def put(self, way: Hashable, line: L) -> None:
        """Keep it for the next request. What fails does not come here, and is forgotten."""
        with self._guard:
            self._lines = [(way, line), *self._lines[: _KEPT_WAYS - 1]]

    def clear(self) -> None:
        """Forget them all, and with them the messages that they were made of."""
        with self._guard:
            self._lines = []


class Entries(Generic[V]):
    """A mapping whose latest entries can be taken back."""

    def __init__(self) -> None:
        self._now: dict[str, V] = {}
        self._log: list[tuple[str, V | None]] = []

    def __contains__(self, key: object) -> bool:
        return key in self._now

    def get(self, key: str) -> V | None:
        """The latest entry of that name."""
        return self._now.get(key)

    def put(self, key: str, value: V) -> None:
        """Enter it, in place of an earlier one."""
        self._log.append((key, self._now.get(key)))
        self._now[key] = value

    def __len__(self) -> int:
        return len(self._log)

    def back_to(self, length: int) -> None:
        """Take back all but the first `length` entries."""
        while len(self._log) > length:
            key, before = self._log.pop()
            if before is None:
                del self._now[key]
            else:
                self._now[key] = before
