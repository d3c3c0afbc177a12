"""A file of lines that is only ever grown: one line, one write, torn tails cut off on opening."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Self

try:
    import fcntl
except ImportError:  # Windows has none: there nobody hears of another writer
    fcntl = None

from context_chef.errors import SettingsError, shown

_PRIVATE_FILE: Final = 0o600
_PRIVATE_FOLDER: Final = 0o700
_CHUNK: Final = 65_536
_MOST_WRITERS: Final = 10_000
_BEGINNINGS: Final = (b'{"context_chef":"recording"', b'{"kind":"')


def _make_folder(folder: Path) -> None:
    """`mkdir -p` whose every new folder is private, those in between too."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True, mode=_PRIVATE_FOLDER)


class FileInUseError(Exception):
    """Another writer has the file open."""


class LineFile:
    """Appends lines to a file of its own. Not safe between threads by itself.

    A new file is readable by its owner only. A line that a crash tore is cut off when the file is
    opened again; what stands before it stays. A file that holds something else is left alone. Of
    several who open one file the first has it, until it closes it or ends.
    """

    @classmethod
    def for_one(cls, path: Path, *, durable: bool) -> Self:
        """The file, or one beside it where another writer is at it: `s.jsonl`, `s-2.jsonl` …"""
        for number in range(1, _MOST_WRITERS):
            beside = path if number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
            try:
                return cls(beside, durable=durable)
            except FileInUseError:
                continue
            except SettingsError:
                if number == 1:
                    raise
        raise SettingsError(f"{shown(str(path))} has too many writers; take another name.")

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self._durable = durable
        _make_folder(path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(path, flags, _PRIVATE_FILE)
        try:
            self._take()
            self._look_at_beginning(path)
            self.torn = self._cut_torn_tail()
        except (OSError, SettingsError, FileInUseError):
            os.close(self._file)
            raise

    def append(self, line: bytes) -> None:
        """Put a line behind the others, all of it or nothing. Raises OSError."""
        size = os.fstat(self._file).st_size
        rest = memoryview(line + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, size)
            raise
        if self._durable:
            os.fsync(self._file)

    def close(self, *, inherited: bool = False) -> None:
        """Let go of the file. One that was `inherited` by a fork stays the parent's."""
        if self._file < 0:
            return
        file, self._file = self._file, -1
        try:
            if fcntl is not None and not inherited:
                # A child that was forked off may hold the file open for longer.
                fcntl.flock(file, fcntl.LOCK_UN)
        except OSError:
            pass  # a file system without locks
        finally:
            os.close(file)

    def _take(self) -> None:
        """Raises FileInUseError where another writer has the file."""
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FileInUseError from None
        except OSError:
            return  # a file system without locks: as good as it gets there

    def _look_at_beginning(self, path: Path) -> None:
        """Raises SettingsError for a file that is no recording: cutting its tail would ruin it."""
        os.lseek(self._file, 0, os.SEEK_SET)
        found = os.read(self._file, max(map(len, _BEGINNINGS)))
        if not any(found.startswith(each) or each.startswith(found) for each in _BEGINNINGS):
            raise SettingsError(
                f"{shown(str(path))} is no recording: it begins with {shown(found)}. "
                "Record to a new file."
            )

    def _cut_torn_tail(self) -> int:
        """Cut off what stands behind the last line end; answers how many bytes that were."""
        size = os.fstat(self._file).st_size
        end = size
        while end > 0:
            start = max(0, end - _CHUNK)
            os.lseek(self._file, start, os.SEEK_SET)
            part = os.read(self._file, end - start)
            found = part.rfind(b"\n")
            if found >= 0:
                end = start + found + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._file, end)
        return size - end
