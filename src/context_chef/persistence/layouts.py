"""How a namespace looks on disk: where its files are, what they are called, what is in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, NoReturn, cast

import msgspec

from context_chef.errors import SettingsError, StoreError, shown
from context_chef.persistence.backend import StoredEntry, byte_length, sendable
from context_chef.persistence.given import DEEPEST_META, is_too_deep


class FileTimes(NamedTuple):
    """What the file system knows about a file: bytes, and times in milliseconds."""

    bytes: int
    created_at: int
    updated_at: int


@dataclass(frozen=True, kw_only=True)
class FileSystemLayout:
    """How one namespace looks on disk. Everything left out is as it is without a layout."""

    dir: str | None = None
    """Where its files are, relative to the root; its own name when left out, `.` for the root."""
    format: Literal["raw", "json"] | None = None
    """`raw`: the file is the content. `json`: an envelope of content and meta."""
    encode: Callable[[str], str] | None = None
    """From a path to a file name, relative to `dir`."""
    decode: Callable[[str], str | None] | None = None
    """From a file name back to the path, or None for a file of somebody else."""
    serialize: Callable[[StoredEntry], str] | None = None
    deserialize: Callable[[str, FileTimes], StoredEntry | None] | None = None
    """None means that the text is no entry; the file then counts as damaged."""

    def __post_init__(self) -> None:
        if self.format not in (None, "raw", "json"):
            raise SettingsError(f"`format` must be 'raw' or 'json', not {shown(self.format)}.")
        if (self.encode is None) != (self.decode is None):
            missing = "encode" if self.encode is None else "decode"
            if missing == "decode":
                raise SettingsError("`encode` needs `decode`, or nothing could be listed.")
        if (self.serialize is None) != (self.deserialize is None):
            raise SettingsError("`serialize` and `deserialize` come together.")

    def file_of(self, path: str) -> str:
        """The file name of a path, relative to `dir`, as `encode` gives it."""
        return path if self.encode is None else self.encode(path)

    def path_of(self, file: str) -> str | None:
        """The path that a file name stands for; None when it is no entry of ours."""
        return file if self.decode is None else self.decode(file)

    def owns(self, path: str) -> bool:
        """Whether the path is one that this namespace would list."""
        return self.decode is None or self.decode(self.file_of(path)) == path


RAW_NAMESPACES: Final = frozenset(["vfs", "archive"])
"""Namespaces whose files are the content itself, unless a layout says otherwise."""


def _owned(prefix: str) -> FileSystemLayout:
    return FileSystemLayout(
        dir=".",
        format="raw",
        decode=lambda file: file if file.startswith(prefix) and "/" not in file else None,
    )


FLAT_VFS_LAYOUTS: Final[Mapping[str, FileSystemLayout]] = {
    "vfs": _owned("vfs_"),
    "archive": _owned("archive_"),
}
"""Offloaded output directly in the root, as the offloader keeps it in a directory of its own.

`vfs` owns the names that begin with `vfs_`, `archive` those that begin with `archive_`; neither
reads or lists anything else there.
"""


class Unreadable(Exception):
    """Bytes that are no entry. Whoever knows the file names it."""


def dump_entry(entry: StoredEntry, layout: FileSystemLayout, ns: str) -> bytes:
    """The bytes that stand for an entry on disk."""
    if layout.serialize is not None:
        return sendable(layout.serialize(entry)).encode()
    if is_raw(layout, ns):
        return sendable(entry.content).encode()
    return dump_json({"content": entry.content, "meta": dict(entry.meta)})


def load_entry(data: bytes, times: FileTimes, layout: FileSystemLayout, ns: str) -> StoredEntry:
    """The entry that the bytes stand for. Raises Unreadable when they stand for none."""
    text = data.decode("utf-8", "replace")
    if layout.deserialize is not None:
        try:
            entry = layout.deserialize(text, times)
        except Exception as error:
            raise Unreadable(f"its text is no entry ({shown(error)})") from error
        if entry is None:
            raise Unreadable("its text is no entry")
        check_depth(entry.meta)
        return entry
    if is_raw(layout, ns):
        meta = {
            "createdAt": times.created_at,
            "updatedAt": times.updated_at,
            "bytes": times.bytes,
        }
        return StoredEntry(content=text, meta=meta)
    envelope = load_json(data)
    if not isinstance(envelope, dict):
        raise Unreadable("it is no JSON object")
    fields = cast("dict[str, Any]", envelope)
    content, meta = fields.get("content"), fields.get("meta")
    if not isinstance(content, str):
        raise Unreadable("its `content` is no string")
    known = cast("dict[str, Any]", meta) if isinstance(meta, dict) else {}
    check_depth(known)
    known.setdefault("createdAt", times.created_at)
    known.setdefault("updatedAt", times.updated_at)
    return StoredEntry(content=sendable(content), meta=known)


def listed_meta(entry: StoredEntry) -> Mapping[str, Any]:
    """The metadata that a listing shows: the entry's own, with its size when it has none."""
    if "bytes" in entry.meta:
        return entry.meta
    return {**entry.meta, "bytes": byte_length(entry.content)}


def dump_json(value: object) -> bytes:
    """Compact JSON in UTF-8, non-ASCII as it is; half a surrogate pair becomes a `\\u` escape."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            f"`meta` must hold JSON values only, so that it can be stored ({error})."
        ) from error


def load_json(data: bytes) -> object:
    """Read JSON as leniently as it may have been written, but no other than JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, ValueError, RecursionError):
        pass
    try:
        # Halves of surrogate pairs and bytes that are no UTF-8 are damage that can be read.
        return json.loads(data.decode("utf-8", "replace"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"it is no JSON ({error})") from error


def load_meta(text: object) -> dict[str, Any] | None:
    """Metadata that was written as JSON; None for what is none."""
    try:
        meta = load_json(text.encode()) if isinstance(text, str) else None
        check_depth(meta)
    except Unreadable:
        return None
    return cast("dict[str, Any]", meta) if isinstance(meta, dict) else None


def check_depth(meta: object) -> None:
    """Raise Unreadable for metadata that is nested so deep that it could not even be copied."""
    if is_too_deep(meta):
        raise Unreadable(f"its `meta` is nested more than {DEEPEST_META} levels deep")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def is_raw(layout: FileSystemLayout, ns: str) -> bool:
    """Whether the files are the bare content."""
    return (layout.format or ("raw" if ns in RAW_NAMESPACES else "json")) == "raw"


def is_stat_only(layout: FileSystemLayout, ns: str) -> bool:
    """Whether a listing can do without reading the files."""
    return layout.deserialize is None and is_raw(layout, ns)
