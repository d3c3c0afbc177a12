"""How memory and offloading tell the outside what happened, without knowing who listens."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TypeAlias

from context_chef.bridge import MaybeAwaitable
from context_chef.events import Event, LibraryLog, Logger

Emit: TypeAlias = Callable[[Event], MaybeAwaitable[object]]
"""Is given what happened. May be async: `Emitter.emit` is one."""


def log_of_library() -> Logger:
    """The logger used when none is given."""
    return LibraryLog()


async def tell(emit: Emit, event: Event) -> None:
    """Hand the event over, and wait until it was told.

    An emitter settles its observers itself, so its coroutine is no part that has to wait.
    """
    answer = emit(event)
    if inspect.isawaitable(answer):
        await answer


def emit_nothing(event: Event) -> None:
    """Nobody listens."""
