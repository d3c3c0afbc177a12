"""A host for tool calls, with a clock that stands still and a log."""

from __future__ import annotations

import json
from typing import Any

from context_chef.persistence import InMemoryBackend, Memory, MemoryConfig, OffloadConfig, Offloader
from context_chef.persistence.store import Store
from context_chef.prompts.vocabulary import UNIFIED_VOCABULARY
from context_chef.retrieval import ContextHost, ContextToolConfig, dispatch_context_tool_sync
from tests.persistence.memory_doubles import Clock, Log


class Tools:
    """Calls as a model makes them, answers as it reads them."""

    def __init__(
        self,
        backend: Any = None,
        *,
        memory: dict[str, Any] | None = None,
        with_memory: bool = True,
        vfs: dict[str, Any] | None = None,
        **config: Any,
    ) -> None:
        self.clock, self.log = Clock(), Log()
        self.store = Store(backend or InMemoryBackend(clock=self.clock), clock=self.clock)
        self.memory = Memory(
            self.store, MemoryConfig(**(memory or {})), clock=self.clock, logger=self.log
        )
        self.offloader = Offloader(
            self.store,
            OffloadConfig(
                **{"threshold": 5, "tail_chars": 0, "only_if_shorter": False, **(vfs or {})}
            ),
            vocabulary=UNIFIED_VOCABULARY,
            logger=self.log,
        )
        self.asked_for_new_context = 0
        self.host = ContextHost(
            store=self.store,
            offloader=self.offloader,
            memory=self.memory if with_memory else None,
            config=ContextToolConfig(**config),
            request_new_context=self._ask,
            logger=self.log,
        )

    def _ask(self) -> None:
        self.asked_for_new_context += 1

    def __call__(self, command: str, path: str = "", /, **more: Any) -> str:
        """A call of `context`."""
        return self.call("context", {"command": command, "path": path, **more})

    def call(self, name: str, arguments: Any = None) -> str:
        """A call of any tool, its arguments as the model would send them."""
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments)
        return dispatch_context_tool_sync(self.host, {"name": name, "arguments": arguments})

    def native(self, command: str, /, **arguments: Any) -> str:
        """A call of Anthropic's memory tool."""
        return self.call("memory", {"command": command, **arguments})

    def put(self, address: str, content: str) -> None:
        """Store something as the host, past every rule."""
        ns, _, path = address.partition("/")
        self.store.namespace(ns).put_sync(path, content)

    def stored(self, address: str) -> str | None:
        ns, _, path = address.partition("/")
        entry = self.store.namespace(ns).get_sync(path)
        return None if entry is None else entry.content
