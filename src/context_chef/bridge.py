"""The one place where sync meets async: `settle()` for plugged-in parts, `run_sync()` for twins."""

from __future__ import annotations

import inspect
import os.path
import sys
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, Final, NoReturn, TypeAlias, TypeVar

from context_chef.errors import AsyncRequiredError

T = TypeVar("T")
MaybeAwaitable: TypeAlias = T | Awaitable[T]
"""What a plugged-in part may answer: a value, or something to wait for."""

_OURS: Final = os.path.dirname(__file__)
_NOT_STEPPING: Final = object()
# A context variable, because strategies and stores settle without knowing who called them.
# It holds the loop around the sync call, so that a part may still run a loop of its own.
_stepped_within: ContextVar[object] = ContextVar("stepped_within", default=_NOT_STEPPING)


async def settle(value: MaybeAwaitable[T]) -> T:
    """Give back a plain value at once. Wait for an awaitable, or refuse it in a sync call."""
    if not inspect.isawaitable(value):
        return value
    if stepping():
        _refuse(value)
    return await value


def stepping() -> bool:
    """Whether a `*_sync()` call is what runs here, so that nothing may wait."""
    return _stepped_within.get() is _running_loop()


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Finish a coroutine that never has to wait, without an event loop.

    Raises AsyncRequiredError, naming the part, when something in it has to wait.
    """
    token = _stepped_within.set(_running_loop())
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    else:
        raise AsyncRequiredError(_waiting_part(work))
    finally:
        # Closing runs the part's own clean-up, which may settle: it is still a sync call.
        # A part that waits again while it is being closed must not hide the error above.
        with suppress(RuntimeError):
            work.close()
        _stepped_within.reset(token)


def _refuse(value: Awaitable[Any]) -> NoReturn:
    if inspect.iscoroutine(value):
        value.close()
    raise AsyncRequiredError(getattr(value, "__qualname__", type(value).__name__))


def _waiting_part(work: Coroutine[Any, Any, Any]) -> str:
    """Follow the awaits to the first coroutine that is not ours: a custom strategy, say."""
    part: Any = work
    while part.cr_code.co_filename.startswith(_OURS) and inspect.iscoroutine(part.cr_await):
        part = part.cr_await
    return part.cr_code.co_qualname


def _running_loop() -> object | None:
    # No loop runs where nobody has loaded asyncio, and loading it costs a program more than we do.
    current = getattr(sys.modules.get("asyncio.events"), "get_running_loop", None)
    try:
        return None if current is None else current()
    except RuntimeError:
        return None
