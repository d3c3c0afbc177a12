"""Threaded: a blocking backend moved off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from context_chef.errors import SettingsError, StoreCapabilityError
from context_chef.persistence.backend import (
    CAPABILITIES,
    ListedEntry,
    SearchHit,
    StorageBackend,
    StoredEntry,
    supports,
    waits,
)


class Threaded:
    """The same backend with every call in a worker thread, so that a slow disk stalls no loop.

    Offers exactly what `backend` offers; every method has to be awaited. A call that is cancelled
    runs to its end in its thread, so that nothing is left half done.
    """

    def __init__(self, backend: StorageBackend) -> None:
        for method in CAPABILITIES:
            if waits(backend, method):
                raise SettingsError(
                    f"`backend` must be a blocking one, but `{type(backend).__name__}.{method}` "
                    "is async already; use it as it is."
                )
        self.backend = backend
        self.__wrapped__ = backend

    def supports(self, capability: str, ns: str | None = None) -> bool:
        """What the wrapped backend says."""
        return supports(self.backend, capability, ns)

    async def read(self, ns: str, path: str) -> StoredEntry | None:
        return await self._run("read", ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        await self._run("write", ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        return await self._run("delete", ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return await self._run("list", ns, prefix)

    async def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
        return await self._run("read_all", ns, prefix)

    async def exists(self, ns: str, path: str) -> bool:
        return await self._run("exists", ns, path)

    async def append(self, ns: str, path: str, content: str) -> None:
        await self._run("append", ns, path, content)

    async def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        return await self._run("search", ns, query, prefix=prefix, limit=limit, offset=offset)

    async def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        return await self._run("snapshot", ns)

    async def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        await self._run("restore", ns, data)

    async def physical_path(self, ns: str, path: str) -> str | None:
        return await self._run("physical_path", ns, path)

    async def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        return await self._run("compare_and_swap", ns, path, expected, new)

    async def _run(self, method: str, ns: str, /, *args: object, **options: object) -> Any:
        if not self.supports(method, ns):
            raise StoreCapabilityError(ns, [method])
        call = getattr(self.backend, method)
        answer = await asyncio.to_thread(call, ns, *args, **options)
        # A method may turn out to answer an awaitable although it is no coroutine function.
        return await answer if asyncio.iscoroutine(answer) else answer
