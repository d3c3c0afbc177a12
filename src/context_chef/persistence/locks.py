"""One change at a time for one entry, whether callers are threads or tasks of an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final, TypeAlias

from context_chef.bridge import stepping
from context_chef.errors import AsyncRequiredError, StoreError

_Key: TypeAlias = tuple[str, ...]

# Which locks the running call holds, so that a change that changes its own entry is told so
# instead of waiting for itself.
_holding: ContextVar[frozenset[tuple[int, _Key]]] = ContextVar("holding", default=frozenset())

_LONGEST_PAUSE: Final = 0.01


class EntryLocks:
    """Locks by name, made when needed and forgotten when nobody holds them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: set[_Key] = set()

    @asynccontextmanager
    async def hold(self, *key: str) -> AsyncGenerator[None]:
        """Wait for the others, then keep them out until the block ends."""
        mine = (id(self), key)
        if mine in _holding.get():
            raise StoreError(
                f"{'/'.join(key)!r} is being changed by this very call; "
                "return the new entry instead of writing it from within the change."
            )
        pause = 0.0
        while not self._take(key):
            await self._wait(key, pause)
            pause = min(pause + 0.0005, _LONGEST_PAUSE)
        token = _holding.set(_holding.get() | {mine})
        try:
            yield
        finally:
            _holding.reset(token)
            with self._guard:
                self._held.discard(key)

    def _take(self, key: _Key) -> bool:
        with self._guard:
            if key in self._held:
                return False
            self._held.add(key)
            return True

    async def _wait(self, key: _Key, pause: float) -> None:
        if not stepping():
            await asyncio.sleep(pause)
        elif _loop_is_running():
            # The holder may be a task of the loop around this very call: it could never finish.
            raise AsyncRequiredError(f"a change of {'/'.join(key)!r} that is under way")
        else:
            time.sleep(pause)


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
