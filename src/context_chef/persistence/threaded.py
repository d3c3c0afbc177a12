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
        """The entry, as a copy of the caller's own, or None where there is none.

        In a thread; errors are the wrapped backend's.
        """
        return await self._run("read", ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        """Put the entry there, in place of what was there, all of it or nothing.

        In a thread; errors are the wrapped backend's.
        """
        await self._run("write", ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        """Remove the entry. True when there was one.

        In a thread; errors are the wrapped backend's.
        """
        return await self._run("delete", ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        """Path and meta of every readable entry below `prefix`, always in the same order."""
        return await self._run("list", ns, prefix)

    async def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
        """Path to entry of everything below `prefix`, in the order of `list`; copies."""
        return await self._run("read_all", ns, prefix)

    async def exists(self, ns: str, path: str) -> bool:
        """Whether an entry is stored under exactly this path, without reading it."""
        return await self._run("exists", ns, path)

    async def append(self, ns: str, path: str, content: str) -> None:
        """Add text at the end of the entry, creating it when absent; no concurrent one is lost."""
        await self._run("append", ns, path, content)

    async def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """Entries that match `query`, best first: at most `limit`, after `offset` others."""
        return await self._run("search", ns, query, prefix=prefix, limit=limit, offset=offset)

    async def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        """Path to entry of the whole namespace, in its order; copies."""
        return await self._run("snapshot", ns)

    async def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        """Put `data` in place of the whole namespace, in its order, or nothing on failure."""
        await self._run("restore", ns, data)

    async def physical_path(self, ns: str, path: str) -> str | None:
        """The file that holds the entry, or would hold it; None where no file does."""
        return await self._run("physical_path", ns, path)

    async def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        """Put `new` there (None: delete) only if what is there equals `expected` (None: absent).

        Answers whether it was done. Nothing changes when it was not.
        """
        return await self._run("compare_and_swap", ns, path, expected, new)

    async def _run(self, method: str, ns: str, /, *args: object, **options: object) -> Any:
        if not self.supports(method, ns):
            raise StoreCapabilityError(ns, [method])
        call = getattr(self.backend, method)
        answer = await asyncio.to_thread(call, ns, *args, **options)
        # A method may turn out to answer an awaitable although it is no coroutine function.
        return await answer if asyncio.iscoroutine(answer) else answer
