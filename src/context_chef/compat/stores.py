"""Stores of earlier versions: they read and write the files of those versions, and stay inside."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias, cast

from typing_extensions import deprecated

from context_chef.bridge import MaybeAwaitable
from context_chef.compat.deprecation import RenamedWarning
from context_chef.errors import AddressError, CorruptStoreError
from context_chef.persistence import (
    FileSystemBackend,
    FileSystemLayout,
    FileTimes,
    InMemoryBackend,
    StoredEntry,
)
from context_chef.persistence.directories import Directory
from context_chef.persistence.layouts import Unreadable, dump_json, load_json

MemoryStoreEntry: TypeAlias = Mapping[str, Any]
"""An entry of a flat store, in its wire spelling: `value`, `createdAt`, `updatedAt`, …"""

_NS: Final = "memory"
_INDEX: Final = "_index.json"
_SUFFIX: Final = ".mem"


class MemoryStore(Protocol):
    """A flat store of earlier versions. `snapshot()` and `restore(data)` may come with it."""

    def get(self, key: str, /) -> MaybeAwaitable[MemoryStoreEntry | None]: ...
    def set(self, key: str, entry: MemoryStoreEntry, /) -> MaybeAwaitable[None]: ...
    def delete(self, key: str, /) -> MaybeAwaitable[bool]: ...
    def keys(self) -> MaybeAwaitable[Sequence[str]]: ...


class _FlatStore:
    """A flat store over one namespace of a backend."""

    def __init__(
        self,
        backend: InMemoryBackend | FileSystemBackend,
        *,
        path_of: Callable[[str], str] = str,
        key_of: Callable[[str], str] = str,
    ) -> None:
        self._backend = backend
        self._path_of = path_of
        self._key_of = key_of

    def get(self, key: str) -> dict[str, Any] | None:
        """The entry, or None; also None for one that is damaged."""
        try:
            entry = self._backend.read(_NS, self._path_of(key))
        except CorruptStoreError:
            return None
        return None if entry is None else flat_entry(entry)

    def set(self, key: str, entry: MemoryStoreEntry) -> None:
        self._backend.write(_NS, self._path_of(key), stored_entry(entry))

    def delete(self, key: str) -> bool:
        return self._backend.delete(_NS, self._path_of(key))

    def keys(self) -> list[str]:
        return [self._key_of(listed.path) for listed in self._backend.list(_NS)]

    def snapshot(self) -> dict[str, dict[str, Any]]:
        entries = self._backend.snapshot(_NS)
        return {self._key_of(path): flat_entry(entry) for path, entry in entries.items()}

    def restore(self, data: Mapping[str, MemoryStoreEntry]) -> None:
        entries = {self._path_of(key): stored_entry(entry) for key, entry in data.items()}
        self._backend.restore(_NS, entries)


@deprecated("Use `InMemoryBackend`; `InMemoryStore` goes away in 2.0.", category=RenamedWarning)
class InMemoryStore(_FlatStore):
    """A flat store in this process, in the order of first writing."""

    def __init__(self) -> None:
        super().__init__(InMemoryBackend())


@deprecated(
    "Use `FileSystemBackend` or `SQLiteBackend`; `VFSMemoryStore` goes away in 2.0.",
    category=RenamedWarning,
)
class VFSMemoryStore(_FlatStore):
    """A flat store of one file a key, in the layout of earlier versions.

    A file is the base64url of the key without padding, plus `.mem`, and holds the bare entry as
    JSON. `_index.json` names the keys for people; nothing reads it.
    """

    def __init__(self, dir: str | os.PathLike[str] = ".context_memory") -> None:
        self._dir = Path(dir)
        # The backend sees file names, which are safe whatever the key is; `../x` is a key here.
        super().__init__(
            FileSystemBackend(dir, layouts={_NS: _MEM_FILES}),
            path_of=_file_of,
            key_of=lambda file: _key_of(file) or "",
        )

    def set(self, key: str, entry: MemoryStoreEntry) -> None:
        super().set(key, entry)
        self._write_index()

    def delete(self, key: str) -> bool:
        removed = super().delete(key)
        if removed:
            self._write_index()
        return removed

    def keys(self) -> list[str]:
        keys = super().keys()
        if self._dir.is_dir() and not (self._dir / _INDEX).exists():
            self._write_index()
        return keys

    def restore(self, data: Mapping[str, MemoryStoreEntry]) -> None:
        super().restore(data)
        self._write_index()

    def _write_index(self) -> None:
        directory = Directory.open(self._dir)
        if directory is None:
            return
        with directory:
            keys = [_key_of(listed.name) for listed in directory.names() if listed.is_file]
            text = dump_json([key for key in keys if key is not None])
            directory.write(_INDEX, text, updated_at=None, durable=False)


@deprecated(
    "Use `FileSystemBackend`; `FileSystemAdapter` goes away in 2.0.", category=RenamedWarning
)
class FileSystemAdapter:
    """Bare files in one directory, as the offloader of earlier versions kept them.

    Names that lead outside are refused on writing and name nothing on reading.
    """

    def __init__(self, dir: str | os.PathLike[str]) -> None:
        layout = FileSystemLayout(dir=".", format="raw")
        self._backend = FileSystemBackend(dir, layouts={"vfs": layout})
        Path(dir).mkdir(parents=True, exist_ok=True, mode=0o700)

    def write(self, name: str, content: str) -> None:
        self._backend.write("vfs", name, StoredEntry(content=content))

    def read(self, name: str) -> str | None:
        try:
            entry = self._backend.read("vfs", name)
        except AddressError:
            return None
        return None if entry is None else entry.content

    def exists(self, name: str) -> bool:
        return self.read(name) is not None

    def list(self) -> list[str]:
        """The offloaded files: names that begin with `vfs_`, in code-point order."""
        listed = self._backend.list("vfs", "vfs_")
        return [entry.path for entry in listed if "/" not in entry.path]

    def delete(self, name: str) -> None:
        """Remove the file; one that is not there is fine."""
        self._backend.delete("vfs", name)

    def get_physical_path(self, name: str) -> str | None:
        return self._backend.physical_path("vfs", name)


def flat_entry(entry: StoredEntry) -> dict[str, Any]:
    """A stored entry in the flat form: the content is its `value`, the rest its metadata."""
    return {"value": entry.content, **entry.meta}


def stored_entry(entry: MemoryStoreEntry) -> StoredEntry:
    """A flat entry as a backend keeps it."""
    meta = {name: value for name, value in entry.items() if name != "value"}
    return StoredEntry(content=str(entry["value"]), meta=meta)


def _file_of(key: str) -> str:
    data = key.encode("utf-8", "replace")
    return base64.urlsafe_b64encode(data).decode().rstrip("=") + _SUFFIX


def _key_of(file: str) -> str | None:
    """The key that a file is named after; None for a file of somebody else."""
    name = file.removesuffix(_SUFFIX)
    try:
        key = base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)).decode()
    except (binascii.Error, ValueError):
        return None
    return key if _file_of(key) == file else None


def _dump(entry: StoredEntry) -> str:
    return dump_json(flat_entry(entry)).decode()


def _load(text: str, times: FileTimes) -> StoredEntry | None:
    try:
        fields = load_json(text.encode())
    except Unreadable:
        return None
    if not isinstance(fields, dict):
        return None
    entry = cast("dict[str, Any]", fields)
    return stored_entry(entry) if isinstance(entry.get("value"), str) else None


_MEM_FILES: Final = FileSystemLayout(
    dir=".",
    decode=lambda file: None if _key_of(file) is None else file,
    serialize=_dump,
    deserialize=_load,
)
