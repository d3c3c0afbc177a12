"""Compiles of one chef run one after the other, whoever calls them: tasks, threads, or both."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from context_chef.bridge import stepping
from context_chef.errors import ContextChefError
from context_chef.persistence.forks import PerProcess

if TYPE_CHECKING:
    from concurrent.futures import Future

_DEEPEST: Final = 16
"""How deep compiles may stand in each other's handlers."""


class _Running:
    """One compile that runs. Its handlers inherit it through their context."""

    def __init__(self, thread: int) -> None:
        self.active = True
        self.thread = thread


class _Line:
    """Who runs and who waits, in one process: a child made by a fork begins with nobody."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self.running: _Running | None = None
        self.waiting: deque[tuple[Future[_Running], int]] = deque()


class CompileQueue:
    """First come, first served. A compile that a handler of a running one calls runs at once.

    A handler that starts a thread and waits for it must not compile the same chef in that thread:
    nothing says whose thread it is, so both would wait for each other. It compiles itself, or a
    `fork()` there. The same goes for two event loops whose handlers wait for each other's compile.
    """

    def __init__(self) -> None:
        self._lines = PerProcess(_Line)
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
        thread, line = threading.get_ident(), self._lines.get()
        with line.guard:
            if line.running is None and not line.waiting:
                line.running = _Running(thread)
                return line.running
            from concurrent.futures import Future  # not loaded where nobody ever waits

            place: Future[_Running] = Future()
            line.waiting.append((place, thread))
            holder = line.running
        try:
            if not stepping():
                import asyncio  # loaded already: a loop runs

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
        line = self._lines.get()
        with line.guard:
            waiting = [entry for entry in line.waiting if entry[0] is place]
            if waiting:
                line.waiting.remove(waiting[0])
                return
            if place.cancelled():
                return
        self._release()  # the turn came at the very moment of giving up: pass it on

    def _release(self) -> None:
        line = self._lines.get()
        with line.guard:
            line.running = None
            while line.waiting:
                place, thread = line.waiting.popleft()
                if place.set_running_or_notify_cancel():
                    line.running = _Running(thread)
                    place.set_result(line.running)
                    return
