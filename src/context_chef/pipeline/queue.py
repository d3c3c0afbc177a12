"""Compiles of one chef run one after the other, whoever calls them: tasks, threads, or both."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import AsyncGenerator
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

from context_chef.bridge import stepping
from context_chef.errors import ContextChefError

_DEEPEST: Final = 16
"""How deep compiles may stand in each other's handlers."""


class _Running:
    """One compile that runs. Its handlers inherit it through their context."""

    def __init__(self, thread: int) -> None:
        self.active = True
        self.thread = thread


class CompileQueue:
    """First come, first served. A compile that a handler of a running one calls runs at once."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._running: _Running | None = None
        self._waiting: deque[tuple[Future[_Running], int]] = deque()
        # A handler's own tasks inherit it, so that nesting is known from who asks, not from when.
        self._mine: ContextVar[_Running | None] = ContextVar("running_compile", default=None)
        self._depth: ContextVar[int] = ContextVar("compiles_around", default=0)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[bool]:
        """Wait for one's turn. Yields whether this is a nested compile."""
        outer = self._mine.get()
        if outer is not None and outer.active:
            depth = self._depth.get() + 1
            if depth > _DEEPEST:
                raise ContextChefError(
                    f"A handler compiles its own chef, {_DEEPEST} compiles deep and without an "
                    "end: the inner compile runs the same handlers. Give the handler a way out, "
                    "or compile a `fork()`, which has no handlers."
                )
            token = self._depth.set(depth)
            try:
                yield True
            finally:
                self._depth.reset(token)
            return
        running = await self._acquire()
        mine = self._mine.set(running)
        try:
            yield False
        finally:
            self._mine.reset(mine)
            running.active = False
            self._release()

    async def _acquire(self) -> _Running:
        thread = threading.get_ident()
        with self._guard:
            if self._running is None and not self._waiting:
                self._running = _Running(thread)
                return self._running
            place: Future[_Running] = Future()
            self._waiting.append((place, thread))
            holder = self._running
        try:
            if not stepping():
                return await asyncio.wrap_future(place)
            if holder is not None and holder.thread == thread:
                raise ContextChefError(
                    "`compile_sync()` was called while `compile()` of the same chef is waiting in "
                    "this thread; await `compile()` instead."
                )
            return place.result()
        except BaseException:
            self._give_up(place)
            raise

    def _give_up(self, place: Future[_Running]) -> None:
        with self._guard:
            waiting = [entry for entry in self._waiting if entry[0] is place]
            if waiting:
                self._waiting.remove(waiting[0])
                return
            if place.cancelled():
                return
        self._release()  # the turn came at the very moment of giving up: pass it on

    def _release(self) -> None:
        with self._guard:
            self._running = None
            while self._waiting:
                place, thread = self._waiting.popleft()
                if place.set_running_or_notify_cancel():
                    self._running = _Running(thread)
                    place.set_result(self._running)
                    return
