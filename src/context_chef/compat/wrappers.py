"""Stores and file adapters of earlier versions, as backends of this one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar, cast

from typing_extensions import deprecated

from context_chef.bridge import MaybeAwaitable, settle
from context_chef.compat.deprecation import RenamedWarning
from context_chef.compat.stores import MemoryStore, flat_entry, stored_entry
from context_chef.errors import AsyncRequiredError, StoreCapabilityError
from context_chef.persistence import Clock, ListedEntry, Store, StoredEntry
from context_chef.persistence.address import fault_of_path
from context_chef.persistence.backend import byte_length, system_clock
from context_chef.persistence.notices import log_of_library

T = TypeVar("T")

_FOREIGN: Final = "context://"


class VFSAdapter(Protocol):
    """A file adapter of earlier versions.

    `exists(name)`, `list()`, `delete(name)` and `get_physical_path(name)` may come with it.
    """

    def write(self, name: str, content: str, /) -> MaybeAwaitable[Any]: ...
    def read(self, name: str, /) -> MaybeAwaitable[str | None]: ...


class MemoryStoreBackend:
    """A flat store as a backend.

    The namespace `memory` is the flat store itself. Entries of other namespaces are kept under
    their whole address as the key, so that notes never become memory. A key that no address can
    name, such as `../x`, and an entry that cannot be read are left out of listings, with one
    warning, and stay in the flat store.
    """

    def __init__(self, legacy: MemoryStore) -> None:
        self._legacy: Any = legacy
        self._warned: set[str] = set()
        self.__wrapped__ = legacy

    def supports(self, capability: str, ns: str | None = None) -> bool:
        if capability in ("snapshot", "restore"):
            return _has(self._legacy, "snapshot") and _has(self._legacy, "restore")
        return capability in ("read", "write", "delete", "list", "read_all")

    def read(self, ns: str, path: str) -> MaybeAwaitable[StoredEntry | None]:
        return _now_or_later(self._read(_key(ns, path)))

    def write(self, ns: str, path: str, entry: StoredEntry) -> MaybeAwaitable[None]:
        return self._legacy.set(_key(ns, path), flat_entry(entry))

    def delete(self, ns: str, path: str) -> MaybeAwaitable[bool]:
        return self._legacy.delete(_key(ns, path))

    def list(self, ns: str, prefix: str = "") -> MaybeAwaitable[Sequence[ListedEntry]]:
        return _now_or_later(self._list(ns, prefix))

    def read_all(self, ns: str, prefix: str = "") -> MaybeAwaitable[Mapping[str, StoredEntry]]:
        return _now_or_later(self._read_all(ns, prefix))

    def snapshot(self, ns: str) -> MaybeAwaitable[Mapping[str, StoredEntry]]:
        self._need("snapshot", ns)
        return _now_or_later(self._read_all(ns, ""))

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> MaybeAwaitable[None]:
        self._need("restore", ns)
        return _now_or_later(self._restore(ns, data))

    def _need(self, capability: str, ns: str) -> None:
        if not self.supports(capability):
            raise StoreCapabilityError(ns, [capability])

    async def _read(self, key: str) -> StoredEntry | None:
        entry = await settle(self._legacy.get(key))
        return None if entry is None else stored_entry(entry)

    async def _read_all(self, ns: str, prefix: str) -> dict[str, StoredEntry]:
        entries: dict[str, StoredEntry] = {}
        for key in list(await settle(self._legacy.keys())):
            path = _path(ns, key)
            if path is None or not path.startswith(prefix):
                continue
            if fault := fault_of_path(path):
                self._warn(key, fault)
                continue
            try:
                entry = await self._read(key)
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001 - one odd entry must not cost the others
                self._warn(key, repr(error))
                continue
            if entry is not None:
                entries[path] = entry
        return entries

    def _warn(self, key: str, why: str) -> None:
        if key not in self._warned:
            self._warned.add(key)
            log_of_library().warning(
                "The entry %r of a wrapped flat store is left out: %s. It stays there.", key, why
            )

    async def _list(self, ns: str, prefix: str) -> Sequence[ListedEntry]:
        entries = await self._read_all(ns, prefix)
        return [ListedEntry(path=path, meta=dict(entry.meta)) for path, entry in entries.items()]

    async def _restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        everything: Mapping[str, Any] = await settle(self._legacy.snapshot())
        known = await self._read_all(ns, "")
        kept = {key: entry for key, entry in everything.items() if _path(ns, key) not in known}
        fresh = {_key(ns, path): flat_entry(entry) for path, entry in data.items()}
        await settle(self._legacy.restore({**kept, **fresh}))


class VFSAdapterBackend:
    """A file adapter as a backend. The path is the file name, whatever the namespace."""

    def __init__(self, legacy: VFSAdapter, *, clock: Clock = system_clock) -> None:
        self._legacy: Any = legacy
        self.__wrapped__ = legacy
        self._clock = clock

    def supports(self, capability: str, ns: str | None = None) -> bool:
        known = _ADAPTER_METHODS.get(capability)
        return known is not None and _has(self._legacy, known)

    def read(self, ns: str, path: str) -> MaybeAwaitable[StoredEntry | None]:
        return _now_or_later(self._read(path))

    def write(self, ns: str, path: str, entry: StoredEntry) -> MaybeAwaitable[None]:
        return _now_or_later(self._ask("write", path, entry.content, answer=lambda _: None))

    def delete(self, ns: str, path: str) -> MaybeAwaitable[bool]:
        self._need("delete", ns)
        return _now_or_later(self._ask("delete", path, answer=lambda _: True))

    def list(self, ns: str, prefix: str = "") -> MaybeAwaitable[Sequence[ListedEntry]]:
        self._need("list", ns)
        return _now_or_later(self._list(prefix))

    def exists(self, ns: str, path: str) -> MaybeAwaitable[bool]:
        self._need("exists", ns)
        return _now_or_later(self._ask("exists", path, answer=bool))

    def physical_path(self, ns: str, path: str) -> MaybeAwaitable[str | None]:
        self._need("physical_path", ns)
        return self._legacy.get_physical_path(path)

    def _need(self, capability: str, ns: str) -> None:
        if not self.supports(capability):
            raise StoreCapabilityError(ns, [capability])

    async def _read(self, path: str) -> StoredEntry | None:
        content = await settle(self._legacy.read(path))
        if content is None:
            return None
        now = self._clock()
        meta = {"createdAt": now, "updatedAt": now, "bytes": byte_length(content)}
        return StoredEntry(content=content, meta=meta)

    async def _list(self, prefix: str) -> Sequence[ListedEntry]:
        names: Sequence[str] = await settle(self._legacy.list())
        return [ListedEntry(path=name) for name in names if name.startswith(prefix)]

    async def _ask(self, method: str, *args: str, answer: Callable[[Any], T]) -> T:
        return answer(await settle(getattr(self._legacy, method)(*args)))


_ADAPTER_METHODS: Final = {
    "read": "read",
    "write": "write",
    "exists": "exists",
    "list": "list",
    "delete": "delete",
    "physical_path": "get_physical_path",
}


@deprecated(
    "Use `Store(backend)` with a backend of this version; `from_memory_store` goes away in 2.0.",
    category=RenamedWarning,
)
def from_memory_store(legacy: MemoryStore, *, clock: Clock = system_clock) -> Store:
    """A Store over a flat store of earlier versions."""
    return Store(MemoryStoreBackend(legacy), clock=clock)


@deprecated(
    "Use `Store(backend)` with a backend of this version; `from_vfs_adapter` goes away in 2.0.",
    category=RenamedWarning,
)
def from_vfs_adapter(legacy: VFSAdapter, *, clock: Clock = system_clock) -> Store:
    """A Store over a file adapter of earlier versions."""
    return Store(VFSAdapterBackend(legacy, clock=clock), clock=clock)


class _Later(Generator[Any, Any, T]):
    """What is left of a coroutine that turned out to wait."""

    def __init__(self, work: Coroutine[Any, Any, T], first: Any) -> None:
        self._work = work
        self._first: list[Any] = [first]

    def __await__(self) -> Generator[Any, Any, T]:
        return self

    def send(self, value: Any, /) -> Any:
        return self._first.pop() if self._first else self._work.send(value)

    def throw(self, *error: Any) -> Any:
        return self._work.throw(*error)


def _now_or_later(work: Coroutine[Any, Any, T]) -> MaybeAwaitable[T]:
    """The value at once when nothing had to wait, else the rest to be awaited."""
    try:
        first = work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
    return _Later(work, first)


def _has(part: object, method: str) -> bool:
    return callable(getattr(part, method, None))


def _key(ns: str, path: str) -> str:
    if ns == "memory" and not path.startswith(_FOREIGN):
        return path
    return Store.uri(ns, path)


def _path(ns: str, key: str) -> str | None:
    """The path of a key in that namespace, or None when it is another's."""
    if key.startswith(_FOREIGN):
        own = Store.uri(ns, "")
        return key[len(own) :] if key.startswith(own) else None
    return key if ns == "memory" else None
