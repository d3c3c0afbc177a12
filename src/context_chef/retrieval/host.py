"""`ContextHost`: everything a tool call may reach."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from context_chef.bridge import MaybeAwaitable
from context_chef.events import Logger
from context_chef.persistence.memory import Memory
from context_chef.persistence.namespace import NamespaceView
from context_chef.persistence.notices import log_of_library
from context_chef.persistence.offloader import Offloader
from context_chef.persistence.store import Store
from context_chef.retrieval.policy import ARCHIVE_NAMESPACE, VFS_NAMESPACE, ContextToolConfig


def _nothing() -> None:
    """Nobody asked for a new window to be possible."""


@dataclass(frozen=True, kw_only=True)
class ContextHost:
    """What the tools work on.

    `store` holds notes and every other namespace; `vfs` and `archive` are where the offloader keeps
    them, `memory` goes through `memory`, or is refused without one. `request_new_context` is called
    when the model asks for a new window.
    """

    store: Store
    offloader: Offloader
    memory: Memory | None = None
    config: ContextToolConfig = field(default_factory=ContextToolConfig)
    request_new_context: Callable[[], MaybeAwaitable[object]] = _nothing
    logger: Logger = field(default_factory=log_of_library)

    def view(self, ns: str) -> NamespaceView:
        """Where a namespace is kept."""
        if ns == VFS_NAMESPACE:
            return self.offloader.view
        if ns == ARCHIVE_NAMESPACE:
            return self.offloader.store.namespace(ARCHIVE_NAMESPACE)
        return self.store.namespace(ns)
