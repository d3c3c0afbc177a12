"""NamespaceFolders: the folder of each namespace, opened without following links, and locked."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from context_chef.errors import AddressError, StoreError, shown
from context_chef.persistence.address import check_namespace, check_path
from context_chef.persistence.directories import Directory
from context_chef.persistence.file_tree import FileTree
from context_chef.persistence.forks import PerProcess
from context_chef.persistence.given import check_names
from context_chef.persistence.layouts import FileSystemLayout
from context_chef.persistence.names import LOCK_NAME, names_of
from context_chef.prompts.store_faults import BUSY, FULL, IN_THE_WAY, READ_ONLY

if TYPE_CHECKING:
    from filelock import FileLock

_POLL: Final = 0.001
_DEEPEST: Final = 100
"""Folders on the way to a file are held open, and a process may hold so many only."""


class NamespaceFolders:
    """Finds, opens and locks the folders below `root`; OSError comes out as a StoreError."""

    def __init__(
        self, root: Path, layouts: Mapping[str, FileSystemLayout], *, lock_timeout: float
    ) -> None:
        self._root = root
        self._layouts = dict(layouts)
        self._lock_timeout = lock_timeout
        self._locks = PerProcess(_Locks)
        self._blurred: bool | None = None

    def layout(self, ns: str) -> FileSystemLayout:
        """How the namespace looks on disk."""
        return self._layouts.get(ns, _PLAIN)

    def folder(self, ns: str) -> Path:
        """Where its files are."""
        named = self.layout(ns).dir
        return self._root.joinpath(*(names_of(ns) if named is None else (named,)))

    def segments(self, ns: str, path: str) -> list[str] | None:
        """The segments of the file; None for a path that can name no file of this namespace."""
        check_names(ns, path)
        if self.layout(ns).dir is None:
            check_namespace(ns)
        check_path(path, ns)
        if "\\" in path or path.startswith("/"):
            raise AddressError(
                f"{shown(path)} cannot be a path in namespace {shown(ns)}: it is relative "
                "to the namespace, "
                "with `/` between its parts."
            )
        layout = self.layout(ns)
        if not layout.owns(path):
            return None
        file = layout.file_of(path)
        check_path(file, ns)
        segments: list[str] = []
        for segment in file.split("/"):
            if segment == "..":
                segments.pop()
            elif segment != ".":
                segments.append(segment)
        if len(segments) > _DEEPEST:
            raise AddressError(
                f"{shown(path)} cannot be a path in namespace {shown(ns)}: it is nested more than "
                f"{_DEEPEST} folders deep."
            )
        return segments if any(segments) else None

    def refuse_name(self, ns: str, path: str) -> NoReturn:
        """Say why the path can name no file of this namespace."""
        if not self.layout(ns).owns(path):
            raise AddressError(
                f"{shown(path)} is no name that the layout of namespace {shown(ns)} gives "
                "to its files."
            )
        raise AddressError(
            f"{shown(path)} names no entry in namespace {shown(ns)}; give it a name."
        )

    @contextmanager
    def opened(self, ns: str, path: str = "") -> Generator[FileTree | None]:
        """Its files, for reading; None where there is no folder yet."""
        self.segments(ns, path)
        with self._explaining(ns, path), ExitStack() as stack:
            base = self._open_folder(ns, stack)
            yield None if base is None else FileTree(base, stack, blurred=self._is_blurred(base))

    @contextmanager
    def changing(self, ns: str, path: str = "") -> Generator[FileTree]:
        """Its files with everybody else kept out; the folder is made when it is not there."""
        self.segments(ns, path)
        with self._explaining(ns, path), ExitStack() as stack:
            base = self._open_folder(ns, stack) or self._make_folder(ns, stack)
            self._lock(base, stack)
            yield FileTree(base, stack, blurred=self._is_blurred(base))

    def _open_folder(self, ns: str, stack: ExitStack) -> Directory | None:
        anchor, names = self._way_to(ns)
        root = Directory.open(anchor)
        if root is None:
            return None
        folder: Directory | None = stack.enter_context(root)
        for name in names:
            folder = None if folder is None else folder.folder(name)
            if folder is not None:
                stack.enter_context(folder)
        return folder

    def _make_folder(self, ns: str, stack: ExitStack) -> Directory:
        anchor, names = self._way_to(ns)
        anchor.mkdir(parents=True, exist_ok=True, mode=0o700)
        root = Directory.open(anchor)
        if root is None:
            raise StoreError(f"{shown(str(anchor))} is no folder; give `root` one.")
        folder = stack.enter_context(root)
        for name in names:
            folder.make_folder(name)
            inner = folder.folder(name)
            if inner is None:
                raise StoreError(
                    f"{shown(str(folder.path / name))} is in the way of a folder.", told=IN_THE_WAY
                )
            folder = stack.enter_context(inner)
        return folder

    def _way_to(self, ns: str) -> tuple[Path, tuple[str, ...]]:
        """A folder that the caller chose, and the names of those below it on the way."""
        named = self.layout(ns).dir
        if named is None:
            return self._root, names_of(ns)
        if Path(named).is_absolute():
            return Path(named), ()
        return self._root, tuple(part for part in Path(named).parts if part != ".")

    def _lock(self, base: Directory, stack: ExitStack) -> None:
        """Keep other threads and processes out of the folder until `stack` closes."""
        # Imported late, because most programs that import us lock no folder.
        from filelock import Timeout

        inside, between = self._locks.get().of(base.path.absolute())
        until = time.monotonic() + self._lock_timeout
        if not inside.acquire(timeout=self._lock_timeout):
            raise self._stayed_locked(between, "thread")
        stack.callback(inside.release)
        base.is_file(LOCK_NAME)  # refuses a link that would lock, and so empty, another file
        left = max(until - time.monotonic(), 0)
        try:
            stack.enter_context(between.acquire(timeout=left, poll_interval=_POLL))
        except Timeout as error:
            raise self._stayed_locked(between, "process") from error

    def _stayed_locked(self, lock: FileLock, by: str) -> StoreError:
        return StoreError(
            f"{shown(lock.lock_file)} stayed locked by another {by} for {self._lock_timeout:g} "
            "seconds; try again, or raise `lock_timeout`.",
            told=BUSY,
        )

    def _is_blurred(self, base: Directory) -> bool:
        """Whether this file system takes `.LOCK` for `.lock`; unknown while there is no lock."""
        if self._blurred is None and base.kind(LOCK_NAME) is not None:
            self._blurred = base.kind(LOCK_NAME.upper()) is not None
        return bool(self._blurred)

    @contextmanager
    def _explaining(self, ns: str, path: str) -> Generator[None]:
        try:
            yield
        except OSError as error:
            what = f"{shown(path)} in namespace {shown(ns)}" if path else f"Namespace {shown(ns)}"
            hint = "; free some space" if error.errno in _NO_ROOM else ""
            raise StoreError(
                f"{what} of {shown(str(self._root))} could not be used: {error}{hint}.",
                told=_told(error),
            ) from error


class _Locks:
    """The locks of one process: between its threads, and towards other processes."""

    def __init__(self) -> None:
        self.guard = threading.Lock()
        self._of: dict[Path, tuple[threading.Lock, FileLock]] = {}

    def of(self, folder: Path) -> tuple[threading.Lock, FileLock]:
        from filelock import FileLock

        with self.guard:
            if folder not in self._of:
                between = FileLock(folder / LOCK_NAME, mode=0o600, thread_local=False)
                self._of[folder] = (threading.Lock(), between)
            return self._of[folder]


_PLAIN: Final = FileSystemLayout()
_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_RIGHT: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def _told(error: OSError) -> str | None:
    """The reason without the file, which is no business of a model's."""
    if error.errno in _NO_ROOM:
        return FULL
    return READ_ONLY if error.errno in _NO_RIGHT else error.strerror
