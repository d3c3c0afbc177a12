"""What a child made by a fork must not share with its parent: locks, and SQLite's state."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final, Generic, Protocol, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """A value that every process makes for itself, when it first asks.

    A fork copies locks as they are at that instant; one that another thread holds then stays locked
    in the child for ever. What the parent made is kept, never used and never closed by the child,
    because closing may need a lock as well.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[int, T] = {}

    def get(self) -> T:
        """The value of this process."""
        process = os.getpid()
        made = self._made.get(process)
        # `setdefault` is one step, so threads that ask at the same time get the same value.
        return self._made.setdefault(process, self._make()) if made is None else made


class ForkGate:
    """Holds a fork back while SQLite is at work, and has connections closed before it.

    SQLite keeps locks and lock counts that all its connections in a process share. A child takes
    over whatever state they are in, so that it may wait for ever, or believe to hold locks that
    only its parent holds.
    """

    def __init__(self) -> None:
        self._users: weakref.WeakSet[ClosesBeforeFork] = weakref.WeakSet()
        self._start()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._shut, after_in_parent=self._open, after_in_child=self._start
            )

    def add(self, user: ClosesBeforeFork) -> None:
        """Have `user.close()` called before every fork, for as long as it lives."""
        with self._changed:
            self._users.add(user)

    @contextmanager
    def inside(self) -> Generator[None]:
        """No fork happens until the block ends, unless it takes very long."""
        thread = threading.get_ident()
        inside, changed = self._inside, self._changed
        with changed:
            # Who forks may be made to clear up on the way, and must not wait for itself.
            changed.wait_for(lambda: not self._forks or thread in inside or thread in self._forking)
            inside[thread] = inside.get(thread, 0) + 1
        try:
            yield
        finally:
            with changed:
                inside[thread] -= 1
                if not inside[thread]:
                    del inside[thread]
                changed.notify_all()

    def _start(self) -> None:
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}
        self._forks = 0
        self._forking: set[int] = set()

    def _shut(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._forks += 1
            self._forking.add(me)
            self._changed.wait_for(lambda: self._inside.keys() <= {me}, _PATIENCE)
            users = list(self._users)
        for user in users:
            # A fork goes on after whatever is raised here, so it must not be lost either way.
            with suppress(Exception):
                user.close()

    def _open(self) -> None:
        with self._changed:
            self._forks -= 1
            self._forking.discard(threading.get_ident())
            self._changed.notify_all()


class ClosesBeforeFork(Protocol):
    """Something with connections that must not be open while the process forks."""

    def close(self) -> None: ...


_PATIENCE: Final = 5.0
"""Seconds that a fork waits for those inside, who may wait for another process themselves."""

SQLITE: Final = ForkGate()
"""One for the process, as SQLite's own state is."""
