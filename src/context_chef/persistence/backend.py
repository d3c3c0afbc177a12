"""What a storage backend is: four methods, the abilities it may add, and the data they speak."""

from __future__ import annotations

import copy
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, cast, runtime_checkable

import msgspec

from context_chef.bridge import MaybeAwaitable
from context_chef.errors import InputError, shown
from context_chef.persistence.given import check_mapping, check_meta, check_text

Clock: TypeAlias = Callable[[], int]
"""Answers the time in whole milliseconds since the epoch."""

_FLAT: Final = (str, int, float, bool, type(None))


def system_clock() -> int:
    """The time of this machine, in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a backend keeps: a text, and what is known about it.

    The keys of `meta` land on disk and keep their wire spelling: `createdAt` and `updatedAt` in
    milliseconds, sometimes `bytes`, and whatever the caller added.
    """

    content: str
    meta: Mapping[str, Any] = {}


class ListedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a listing: where the entry is, and what is known about it."""

    path: str
    meta: Mapping[str, Any] = {}


class ReadEntries(dict[str, StoredEntry]):
    """What `read_all` may answer to say what it left out: `damaged` is path to reason."""

    def __init__(
        self, entries: Mapping[str, StoredEntry] = {}, *, damaged: Mapping[str, str] = {}
    ) -> None:
        super().__init__(entries)
        self.damaged = dict(damaged)


class SearchHit(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of a search, best first."""

    path: str
    meta: Mapping[str, Any] = {}
    snippet: str | None = None
    """The part of the content that answers best: one line, cut between characters."""
    score: float | None = None
    """Higher is better. Comparable within one answer only."""
    line: int | None = None
    """The 1-based line where the snippet begins; for an archived span, within its message."""
    message: int | None = None
    """For an archived span: the 0-based position of the message that holds the snippet."""
    role: str | None = None
    """For an archived span: who said that message."""


class StorageBackend(Protocol):
    """Moves text in and out under a namespace and a path. Knows nothing of what it is for.

    Every method may answer a value or an awaitable. `prefix` is a plain prefix of the path, no
    directory boundary. Namespaces never see each other.
    """

    def read(self, ns: str, path: str, /) -> MaybeAwaitable[StoredEntry | None]:
        """The entry, or None where there is none. Damaged bytes raise CorruptStoreError."""
        ...

    def write(self, ns: str, path: str, entry: StoredEntry, /) -> MaybeAwaitable[None]:
        """Put the entry there, all of it or nothing. Once this returns it survives a crash."""
        ...

    def delete(self, ns: str, path: str, /) -> MaybeAwaitable[bool]:
        """Remove the entry. True when there was one."""
        ...

    def list(self, ns: str, prefix: str = "", /) -> MaybeAwaitable[Sequence[ListedEntry]]:
        """Every readable entry whose path begins with `prefix`, always in the same order."""
        ...


@runtime_checkable
class CanAppend(Protocol):
    """Adds to an entry in one step, creating it when absent; no concurrent append is lost."""

    def append(self, ns: str, path: str, content: str, /) -> MaybeAwaitable[None]: ...


@runtime_checkable
class CanSearch(Protocol):
    """Finds entries by what they say, best first.

    At most `limit` hits, after leaving out the first `offset`; only paths beginning with `prefix`.
    """

    def search(
        self, ns: str, query: str, /, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> MaybeAwaitable[Sequence[SearchHit]]: ...


@runtime_checkable
class CanReadAll(Protocol):
    """Reads a whole namespace at once, in the order of `list`.

    Damaged entries are left out; answering `ReadEntries` says which they are.
    """

    def read_all(
        self, ns: str, prefix: str = "", /
    ) -> MaybeAwaitable[Mapping[str, StoredEntry]]: ...


@runtime_checkable
class CanTellExistence(Protocol):
    """Says whether something complete is stored there, without reading it."""

    def exists(self, ns: str, path: str, /) -> MaybeAwaitable[bool]: ...


@runtime_checkable
class CanSnapshot(Protocol):
    """Copies a namespace out, in its order, sharing nothing with what is stored."""

    def snapshot(self, ns: str, /) -> MaybeAwaitable[Mapping[str, StoredEntry]]: ...


@runtime_checkable
class CanRestore(Protocol):
    """Replaces a whole namespace, keeping the order of `data`. On failure nothing is replaced."""

    def restore(self, ns: str, data: Mapping[str, StoredEntry], /) -> MaybeAwaitable[None]: ...


@runtime_checkable
class HasPhysicalPath(Protocol):
    """Says which file holds an entry, or would hold it; None where no file does."""

    def physical_path(self, ns: str, path: str, /) -> MaybeAwaitable[str | None]: ...


@runtime_checkable
class CanCompareAndSwap(Protocol):
    """Changes an entry only if it is still what the caller saw.

    `expected` is the entry exactly as `read` gave it (content and meta are compared), or None for
    "nothing is there". `new` replaces it, or None deletes it. True when the change was made; False,
    with nothing changed, when somebody else was there first. No other write, append, delete or swap
    of any thread or process falls between the comparison and the change.
    """

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None, /
    ) -> MaybeAwaitable[bool]: ...


CAPABILITIES: Final = (
    "read",
    "write",
    "delete",
    "list",
    "read_all",
    "exists",
    "append",
    "search",
    "snapshot",
    "restore",
    "physical_path",
    "compare_and_swap",
)
"""What a backend can be asked for, by the name of the method that does it."""


def supports(backend: StorageBackend, capability: str, ns: str | None = None) -> bool:
    """Whether `backend` has the method and, when it answers `supports`, says that it is real.

    A wrapper that must define methods it cannot honour says so with
    `supports(capability, ns) -> bool`.
    """
    if capability not in CAPABILITIES or not callable(getattr(backend, capability, None)):
        return False
    asked = getattr(backend, "supports", None)
    return bool(asked(capability, ns)) if callable(asked) else True


def waits(backend: StorageBackend, capability: str) -> bool:
    """Whether calling that method is known, before calling it, to give an awaitable."""
    return inspect.iscoroutinefunction(getattr(backend, capability, None))


def copy_entry(entry: StoredEntry) -> StoredEntry:
    """The same entry, sharing no mutable part with this one."""
    return StoredEntry(content=entry.content, meta=copy_meta(entry.meta))


def copy_meta(meta: Mapping[str, Any]) -> dict[str, Any]:
    """A dict of its own, however deep the values go."""
    if all(isinstance(value, _FLAT) for value in meta.values()):
        return dict(meta)
    return copy.deepcopy(dict(meta))


def sendable(text: str) -> str:
    """The same text as every encoder takes it: split surrogate pairs joined, lone ones U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def byte_length(text: str) -> int:
    """How many bytes the text takes in UTF-8."""
    return len(text) if text.isascii() else len(sendable(text).encode())


def check_entry(entry: object) -> None:
    """Refuse, with our own errors, what cannot be stored."""
    if not isinstance(entry, StoredEntry):
        raise InputError(f"`entry` is a StoredEntry, not {shown(entry)}.", path="$.entry")
    check_text(entry.content, "content")
    check_meta(entry.meta)


def check_entries(data: object) -> None:
    """Refuse, with our own errors, what is no mapping of paths to entries."""
    check_mapping(data, "data")
    for entry in cast("Mapping[str, object]", data).values():
        check_entry(entry)


def stored_form(entry: StoredEntry) -> StoredEntry:
    """A copy of `entry` as every backend keeps it: text that every encoder takes.

    Raises InputError for what is no entry, StoreError for metadata that JSON has no form for.
    """
    check_entry(entry)
    return StoredEntry(content=sendable(entry.content), meta=copy_meta(entry.meta))


def appended(entry: StoredEntry | None, content: str, now: int) -> StoredEntry:
    """What an entry becomes when `content` is added at its end at the time `now`."""
    if entry is None:
        meta: dict[str, Any] = {"createdAt": now, "updatedAt": now}
    else:
        meta = {**copy_meta(entry.meta), "updatedAt": now}
        content = entry.content + content
    content = sendable(content)
    return StoredEntry(content=content, meta={**meta, "bytes": byte_length(content)})
