"""Calling a backend in one namespace: what it offers, sync or async, and what it lacks."""

from __future__ import annotations

from typing import Any

from context_chef.bridge import settle, stepping
from context_chef.errors import AsyncRequiredError, StoreCapabilityError, shown
from context_chef.persistence.backend import StorageBackend, StoredEntry, supports, waits


class BackendCalls:
    """The methods of a backend for one namespace, settled for either kind of caller."""

    def __init__(self, backend: StorageBackend, ns: str) -> None:
        self._backend = backend
        self._ns = ns

    def offers(self, capability: str) -> bool:
        """Whether the backend offers that in this namespace."""
        return supports(self._backend, capability, self._ns)

    def reads_at_once(self) -> bool:
        """Whether several reads may be under way at the same time."""
        return not stepping() and waits(self._backend, "read")

    def need(self, *capabilities: str) -> None:
        """Raise StoreCapabilityError for what is missing."""
        missing = [name for name in capabilities if not self.offers(name)]
        if missing:
            raise StoreCapabilityError(self._ns, missing)

    def refuse_waiting(self, *methods: str) -> None:
        """Decide before the backend is touched, so that a refused call has done nothing."""
        if not stepping():
            return
        for method in methods:
            if waits(self._backend, method):
                raise AsyncRequiredError(
                    f"{type(self._backend).__name__}.{method}() for namespace {shown(self._ns)}"
                )

    async def __call__(self, method: str, /, *args: object, **options: object) -> Any:
        self.refuse_waiting(method)
        answer: Any = getattr(self._backend, method)(self._ns, *args, **options)
        return await settle(answer)

    async def swap(self, path: str, before: StoredEntry | None, after: StoredEntry | None) -> bool:
        """Put `after` where `before` is; False when it is not there any more.

        Where the backend cannot compare, the caller keeps others out.
        """
        if before == after:
            return True
        if self.offers("compare_and_swap"):
            return bool(await self("compare_and_swap", path, before, after))
        if after is None:
            await self("delete", path)
        else:
            await self("write", path, after)
        return True
