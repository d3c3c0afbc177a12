"""One change at a time for one entry, whether callers are threads or tasks of an event loop."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from context_chef.bridge import stepping
from context_chef.errors import AsyncRequiredError, StoreError, shown
from context_chef.persistence.forks import PerProcess

_Key: TypeAlias = tuple[str, ...]

# Which locks the running call holds, so that a change that changes its own entry is told so
# instead of waiting for itself.
_holding: ContextVar[frozenset[tuple[int, _Key]]] = ContextVar("holding", default=frozenset())

_LONGEST_PAUSE: Final = 0.01
_MOST_WRAPPERS: Final = 100


class _Held:
    """What is locked in one process, and by which thread."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.by: dict[_Key, int] = {}


class EntryLocks:
    """Locks by name, made when needed and forgotten when nobody holds them.

    `of` is what the entries belong to; it lives as long as its locks.
    """

    def __init__(self, of: object = None) -> None:
        self.of = of
        self._held = PerProcess(_Held)

    @asynccontextmanager
    async def hold(self, *key: str) -> AsyncGenerator[None]:
        """Wait for the others, then keep them out until the block ends.

        A sync call waits for other threads. It raises AsyncRequiredError when it is a task of its
        own event loop that holds the lock, which could not go on while the call waits.
        """
        self.refuse_own(*key)
        mine = (id(self), key)
        pause = 0.0
        while (holder := self._take(key)) is not None:
            await _wait(key, holder, pause)
            pause = min(pause + 0.0005, _LONGEST_PAUSE)
        token = _holding.set(_holding.get() | {mine})
        try:
            yield
        finally:
            _holding.reset(token)
            held = self._held.get()
            with held.guard:
                held.by.pop(key, None)

    def refuse_own(self, *key: str) -> None:
        """Raise StoreError when it is the running call that holds the lock."""
        if (id(self), key) in _holding.get():
            raise StoreError(
                f"{shown('/'.join(key))} is being changed by this very call; "
                "return the new entry instead of writing it from within the change."
            )

    def _take(self, key: _Key) -> int | None:
        """Take the lock, or answer which thread holds it."""
        held = self._held.get()
        with held.guard:
            holder = held.by.get(key)
            if holder is None:
                held.by[key] = threading.get_ident()
            return holder


async def _wait(key: _Key, holder: int, pause: float) -> None:
    if not stepping():
        import asyncio  # loaded already: a loop runs

        await asyncio.sleep(pause)
    elif holder == threading.get_ident():
        # The holder is a task of the loop around this very call: it could never finish.
        raise AsyncRequiredError(f"a change of {shown('/'.join(key))} that is under way")
    else:
        time.sleep(pause)


# By the identity of the backend, which may be neither hashable nor weakly referable. An entry goes
# with its last user, and keeps the backend alive until then, so no identity is ever taken twice.
_by_backend: Final[weakref.WeakValueDictionary[int, EntryLocks]] = weakref.WeakValueDictionary()
_registering: Final = PerProcess(threading.Lock)


def locks_of(backend: object) -> EntryLocks:
    """The locks that everybody in this process who uses that backend object shares.

    A wrapper that keeps nothing itself names what it wraps in `__wrapped__`.
    """
    for _ in range(_MOST_WRAPPERS):
        wrapped: object = getattr(backend, "__wrapped__", None)
        if wrapped is None:
            break
        backend = wrapped
    with _registering.get():
        locks = _by_backend.get(id(backend))
        if locks is None:
            locks = _by_backend[id(backend)] = EntryLocks(backend)
        return locks
