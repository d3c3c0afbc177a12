"""OverlayBackend: what is written stays here, what is not here is read from below."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from context_chef.bridge import MaybeAwaitable
from context_chef.persistence.backend import (
    ListedEntry,
    StorageBackend,
    StoredEntry,
)
from context_chef.persistence.given import check_names
from context_chef.persistence.in_memory import InMemoryBackend

T = TypeVar("T")
R = TypeVar("R")


class OverlayBackend:
    """A branch of another backend, kept in this process.

    The backend below is only read. A namespace in `owned` is cut off from it: it begins with the
    entries given, and nothing that happens below is seen. In the others a later write below shows
    wherever nothing was written here; what is deleted here stays away.
    """

    def __init__(
        self, below: StorageBackend, *, owned: Mapping[str, Mapping[str, StoredEntry]] | None = None
    ) -> None:
        self._below = below
        self._here = InMemoryBackend()
        self._gone: dict[str, set[str]] = {}
        self._owned = frozenset(owned or ())
        for ns, entries in (owned or {}).items():
            self._here.restore(ns, entries)

    def read(self, ns: str, path: str) -> MaybeAwaitable[StoredEntry | None]:
        here = self._here.read(ns, path)
        if here is not None or self._hides(ns, path):
            return here
        return self._below.read(ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._here.write(ns, path, entry)
        self._gone.get(ns, set()).discard(path)

    def delete(self, ns: str, path: str) -> MaybeAwaitable[bool]:
        here = self._here.delete(ns, path)
        if self._hides(ns, path):
            return here

        def hide(below: StoredEntry | None) -> bool:
            self._gone.setdefault(ns, set()).add(path)
            return here or below is not None

        return _then(self._below.read(ns, path), hide)

    def list(self, ns: str, prefix: str = "") -> MaybeAwaitable[Sequence[ListedEntry]]:
        check_names(ns, prefix, what="prefix")
        if ns in self._owned:
            return self._here.list(ns, prefix)

        def merged(below: Sequence[ListedEntry]) -> Sequence[ListedEntry]:
            here = {entry.path: entry for entry in self._here.list(ns, prefix)}
            gone = self._gone.get(ns, set())
            found = [here.pop(e.path, e) for e in below if e.path not in gone]
            return [*found, *here.values()]

        return _then(self._below.list(ns, prefix), merged)

    def _hides(self, ns: str, path: str) -> bool:
        return ns in self._owned or path in self._gone.get(ns, ())


def _then(value: MaybeAwaitable[T], change: Callable[[T], R]) -> MaybeAwaitable[R]:
    """`change` of a value that is there already, or once it is."""
    if not inspect.isawaitable(value):
        return change(cast(T, value))
    awaited = cast(Awaitable[T], value)

    async def later() -> R:
        return change(await awaited)

    return cast(Any, later())
