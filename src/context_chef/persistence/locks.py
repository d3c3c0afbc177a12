"""One change at a time for one entry, whether callers are threads or tasks of an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from context_chef.bridge import stepping
from context_chef.errors import AsyncRequiredError


class EntryLocks:
    """Locks by name, made when needed and forgotten when nobody holds or wants them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._held: dict[tuple[str, ...], object] = {}

    @asynccontextmanager
    async def hold(self, *key: str) -> AsyncGenerator[None]:
        """Wait for the others, then keep them out until the block ends."""
        owner = _owner()
        pause = 0.0
        while not self._take(key, owner):
            if not stepping():
                await asyncio.sleep(pause)
            elif self._held.get(key) == owner:
                # The holder is a task of the loop around this very call: it could never finish.
                raise AsyncRequiredError(f"a change of {'/'.join(key)} that is already under way")
            else:
                time.sleep(pause)
            pause = min(pause + 0.0005, 0.01)
        try:
            yield
        finally:
            with self._guard:
                del self._held[key]

    def _take(self, key: tuple[str, ...], owner: object) -> bool:
        with self._guard:
            if key in self._held:
                return False
            self._held[key] = owner
            return True


def _owner() -> object:
    return threading.get_ident()
