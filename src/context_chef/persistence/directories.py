"""Directory: a held-open directory whose operations never follow a link out of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from context_chef.errors import AddressError, shown
from context_chef.prompts.store_faults import LINK

_RELATIVE: Final = {
    os.open,
    os.mkdir,
    os.unlink,
    os.rmdir,
    os.rename,
    os.stat,
} <= os.supports_dir_fd
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_NONBLOCK: Final = getattr(os, "O_NONBLOCK", 0)
_DIRECTORY: Final = getattr(os, "O_DIRECTORY", 0)
_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
_BINARY: Final = getattr(os, "O_BINARY", 0)


class FileBody(NamedTuple):
    """The bytes of a file and what the file system knows about it. Times in milliseconds."""

    data: bytes
    created_at: int
    updated_at: int


class Listed(NamedTuple):
    """One name in a directory."""

    name: str
    is_folder: bool
    is_file: bool


class Directory:
    """One directory, opened once; names in it are opened relative to it.

    Where the system can, the directory is held open, so that replacing it by a link changes
    nothing. Links below it are refused, never followed. Use it as a context manager.
    """

    def __init__(self, path: Path, fd: int | None) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def open(cls, path: Path) -> Directory | None:
        """Open a directory that the caller chose; links to it are the caller's own business."""
        if not _RELATIVE:
            return cls(path, None) if path.is_dir() else None
        try:
            return cls(path, os.open(path, os.O_RDONLY | _DIRECTORY | _CLOEXEC))
        except (FileNotFoundError, NotADirectoryError):
            return None

    def __enter__(self) -> Directory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def folder(self, name: str) -> Directory | None:
        """The folder of that name, or None where there is none. A link is refused."""
        path = self.path / name
        if not _RELATIVE:
            return Directory(path, None) if self._is(name, stat.S_ISDIR) else None
        try:
            fd = os.open(name, os.O_RDONLY | _DIRECTORY | _NOFOLLOW | _CLOEXEC, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):
                self._is(name, stat.S_ISDIR)  # refuses a link by name
                return None
            if error.errno == errno.ENOENT:
                return None
            raise
        return Directory(path, fd)

    def make_folder(self, name: str) -> None:
        """Make a private folder, and make its name durable. One that is there already is fine."""
        with suppress(FileExistsError):
            os.mkdir(self._at(name), 0o700, dir_fd=self._fd)
            self.sync()

    def kind(self, name: str) -> int | None:
        """The type bits of what is there, without following a link; None when nothing is."""
        try:
            return stat.S_IFMT(
                os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False).st_mode
            )
        except (FileNotFoundError, NotADirectoryError):
            return None

    def is_file(self, name: str) -> bool:
        """Whether a regular file is there. A link is refused."""
        return self._is(name, stat.S_ISREG)

    def is_folder(self, name: str) -> bool:
        """Whether a folder is there. A link is refused."""
        return self._is(name, stat.S_ISDIR)

    def is_link(self, name: str) -> bool:
        """Whether a link is there."""
        kind = self.kind(name)
        return kind is not None and stat.S_ISLNK(kind)

    def read(self, name: str) -> FileBody | None:
        """The file's bytes, or None where no regular file is. A link is refused."""
        try:
            # Not blocking, because a pipe put there by somebody would make us wait for ever.
            flags = os.O_RDONLY | _NOFOLLOW | _NONBLOCK | _CLOEXEC | _BINARY
            if not _RELATIVE and not self.is_file(name):
                return None
            fd = os.open(self._at(name), flags, dir_fd=self._fd)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ENXIO):
                return None
            if error.errno == errno.ELOOP:
                self._refuse(name)
            raise
        with open(fd, "rb") as file:
            facts = os.fstat(fd)
            return _body(file.read(), facts) if stat.S_ISREG(facts.st_mode) else None

    def facts(self, name: str) -> os.stat_result | None:
        """Size and times of what is there; None when nothing is."""
        try:
            return os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, data: bytes, *, updated_at: int | None, durable: bool) -> None:
        """Put a file there, whole or not at all, readable by its owner only.

        The bytes go to a file of a random name first, are forced to the disk, and take their name
        in one step; then the name itself is forced to the disk.
        """
        temporary = f".tmp_{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW | _CLOEXEC | _BINARY
        fd = os.open(self._at(temporary), flags, 0o600, dir_fd=self._fd)
        try:
            with open(fd, "wb") as file:
                file.write(data)
                file.flush()
                if updated_at is not None and os.utime in os.supports_fd:
                    os.utime(fd, ns=(updated_at * 1_000_000, updated_at * 1_000_000))
                if durable:
                    os.fsync(fd)
            os.replace(
                self._at(temporary), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd
            )
        except BaseException:
            with suppress(OSError):
                os.unlink(self._at(temporary), dir_fd=self._fd)
            raise
        if durable:
            self.sync()

    def remove(self, name: str, *, durable: bool = True) -> bool:
        """Remove the file. False where none is."""
        try:
            os.unlink(self._at(name), dir_fd=self._fd)
        except (FileNotFoundError, NotADirectoryError):
            return False
        if durable:
            self.sync()
        return True

    def remove_folder(self, name: str) -> bool:
        """Remove the folder if it is empty."""
        try:
            os.rmdir(self._at(name), dir_fd=self._fd)
        except OSError:
            return False
        return True

    def names(self) -> list[Listed]:
        """What is there, in code-point order. Links are neither file nor folder."""
        with os.scandir(self.path if self._fd is None else self._fd) as found:
            listed = [
                Listed(
                    entry.name,
                    entry.is_dir(follow_symlinks=False),
                    entry.is_file(follow_symlinks=False),
                )
                for entry in found
            ]
        return sorted(listed)

    def holds_exactly(self, name: str) -> bool:
        """Whether a name is spelled just so here, on a system that does not mind the case."""
        return any(listed.name == name for listed in self.names())

    def sync(self) -> None:
        """Force the names in this directory to the disk."""
        if self._fd is not None:
            # Some network file systems cannot; then there is nothing more that could be done.
            with suppress(OSError):
                os.fsync(self._fd)

    def _at(self, name: str) -> str:
        return name if self._fd is not None else str(self.path / name)

    def _is(self, name: str, test: object) -> bool:
        kind = self.kind(name)
        if kind is None:
            return False
        if stat.S_ISLNK(kind):
            self._refuse(name)
        return bool(callable(test) and test(kind))

    def _refuse(self, name: str) -> None:
        raise AddressError(
            f"{shown(str(self.path / name))} is a link, and links may lead outside; "
            "put the real file or folder there.",
            told=LINK,
        )


def walk(directory: Directory) -> Iterator[tuple[Path, bool]]:
    """Everything below but folders, hidden or not, and whether it is a regular file."""
    for listed in directory.names():
        if not listed.is_folder:
            yield Path(listed.name), listed.is_file
        elif (folder := directory.folder(listed.name)) is not None:
            with folder:
                for path, is_file in walk(folder):
                    yield Path(listed.name) / path, is_file


def file_times(facts: os.stat_result) -> tuple[int, int]:
    """When the file was made and last changed, in milliseconds.

    Where the system does not tell when it was made, the earliest time it does tell stands in.
    """
    updated = round(facts.st_mtime_ns / 1_000_000)
    born = getattr(facts, "st_birthtime", None)
    created = round(facts.st_ctime_ns / 1_000_000) if born is None else round(born * 1000)
    return min(created, updated), updated


def _body(data: bytes, facts: os.stat_result) -> FileBody:
    created, updated = file_times(facts)
    return FileBody(data, created, updated)
