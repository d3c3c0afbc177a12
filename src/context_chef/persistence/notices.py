"""How memory and offloading tell the outside what happened, without knowing who listens."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, Literal, Protocol, TypeAlias

import msgspec

from context_chef.bridge import MaybeAwaitable

Emit: TypeAlias = Callable[[str, Any], MaybeAwaitable[object]]
"""Is given a topic such as `memory:changed`, and its payload. May be async."""


class Logs(Protocol):
    """Anything with a `warning` method: `logging.Logger`, or an object of your own."""

    def warning(self, message: str, /) -> object: ...


def log_of_library() -> Logs:
    """The logger used when none is given."""
    return logging.getLogger("context_chef")


def emit_nothing(topic: str, payload: Any) -> None:
    """Nobody listens."""


MEMORY_CHANGED: Final = "memory:changed"
MEMORY_EXPIRED: Final = "memory:expired"
OFFLOAD_CREATED: Final = "offload:created"


class MemoryChange(msgspec.Struct, frozen=True, kw_only=True):
    """An entry was set, deleted, or expired. Values are None where there is none."""

    type: Literal["set", "delete", "expire"]
    key: str
    value: str | None
    old_value: str | None


class Offloaded(msgspec.Struct, frozen=True, kw_only=True):
    """A text was left out of the window; `uri` is where it is."""

    uri: str
