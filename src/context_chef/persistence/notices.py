"""How memory and offloading tell the outside what happened, without knowing who listens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeAlias

from context_chef.bridge import MaybeAwaitable
from context_chef.events import Event, Logger

Emit: TypeAlias = Callable[[Event], MaybeAwaitable[object]]
"""Is given what happened. May be async: `Emitter.emit` is one."""


def log_of_library() -> Logger:
    """The logger used when none is given."""
    return logging.getLogger("context_chef")


def emit_nothing(event: Event) -> None:
    """Nobody listens."""
