"""FileTree: from paths to files below one directory, and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from typing import NamedTuple

from context_chef.errors import AddressError, shown
from context_chef.persistence.directories import Directory
from context_chef.persistence.names import (
    LOCK_NAME,
    alternate,
    is_piece,
    names_of,
    segment_of,
    verbatim,
)
from context_chef.prompts.store_faults import IN_THE_WAY


class Place(NamedTuple):
    """Where a file is or goes: an open directory, and a name in it."""

    directory: Directory
    name: str


class FileTree:
    """The files below `base`, by their logical path.

    Directories opened on the way stay open until `stack` closes. `blurred` says that the file
    system takes other spellings of a name (another case, another composition) for the same.
    """

    def __init__(self, base: Directory, stack: ExitStack, *, blurred: bool = False) -> None:
        self._base = base
        self._stack = stack
        self._blurred = blurred

    def find(self, segments: list[str]) -> Place | None:
        """The file of that path, under whatever name it was stored."""
        return self._find(self._base, segments)

    def is_folder(self, segments: list[str]) -> bool:
        """Whether there is a folder of that path."""
        return self._find_folder(self._base, segments)

    def make(self, segments: list[str]) -> Place:
        """Where a new file of that path goes; folders on the way are made."""
        directory = self._base
        for segment in segments[:-1]:
            directory = self._make_folder(directory, segment)
        return self._free_name(directory, segments[-1])

    def files(self, prefix: str = "", *, links: bool = False) -> Iterator[tuple[str, Place]]:
        """Every file with its path, segment by segment in code-point order.

        With `links`, also what has a file's place and is none, so that it can be named.
        """
        yield from self._files(self._base, "", prefix, links)

    def folders(self) -> list[str]:
        """The folders at the top, by what their names stand for."""
        with ExitStack() as opened:
            return [
                segment for segment, _, is_folder in _members(self._base, (), opened) if is_folder
            ]

    def remove_strays(self, pattern: re.Pattern[str]) -> int:
        """Remove the files whose names match, wherever they are; answers how many they were."""
        return _remove_matching(self._base, pattern)

    def _find(self, directory: Directory, segments: list[str]) -> Place | None:
        segment, rest = segments[0], segments[1:]
        for names in _spellings(segment, folder=bool(rest)):
            inner = self._descend(directory, names[:-1])
            if inner is None or not self._is_spelled(inner, names[-1]):
                continue
            if not rest:
                if inner.is_file(names[-1]):
                    return Place(inner, names[-1])
                continue
            folder = self._open(inner, names[-1])
            if folder is not None and (place := self._find(folder, rest)) is not None:
                return place
        return None

    def _find_folder(self, directory: Directory, segments: list[str]) -> bool:
        for names in _spellings(segments[0], folder=True):
            folder = self._descend(directory, names)
            if folder is None or not self._is_spelled_all(directory, names):
                continue
            if len(segments) == 1 or self._find_folder(folder, segments[1:]):
                return True
        return False

    def _make_folder(self, directory: Directory, segment: str) -> Directory:
        plain = names_of(segment)
        other = alternate(plain, segment, folder=True)
        for names in (other, plain):
            inner = self._descend(directory, names[:-1])
            if inner is not None and self._is_spelled(inner, names[-1]):
                folder = self._open(inner, names[-1])
                if folder is not None:
                    return folder
        inner = self._make_pieces(directory, plain[:-1])
        # The plain name may belong to a file, or to another spelling that looks the same here.
        name = (plain if inner.kind(plain[-1]) is None else other)[-1]
        return self._made(inner, name)

    def _free_name(self, directory: Directory, segment: str) -> Place:
        plain = names_of(segment)
        inner = self._make_pieces(directory, plain[:-1])
        if inner.kind(plain[-1]) is None or inner.remove_folder(plain[-1]):
            return Place(inner, plain[-1])
        return Place(inner, alternate(plain, segment, folder=False)[-1])

    def _make_pieces(self, directory: Directory, names: tuple[str, ...]) -> Directory:
        for name in names:
            directory = self._open(directory, name) or self._made(directory, name)
        return directory

    def _made(self, directory: Directory, name: str) -> Directory:
        directory.make_folder(name)
        folder = self._open(directory, name)
        if folder is None:
            raise AddressError(
                f"{shown(str(directory.path / name))} is in the way of a folder.", told=IN_THE_WAY
            )
        return folder

    def _descend(self, directory: Directory, names: tuple[str, ...]) -> Directory | None:
        found: Directory | None = directory
        for name in names:
            found = None if found is None else self._open(found, name)
        return found

    def _open(self, directory: Directory, name: str) -> Directory | None:
        folder = directory.folder(name)
        return None if folder is None else self._stack.enter_context(folder)

    def _is_spelled(self, directory: Directory, name: str) -> bool:
        return not self._blurred or directory.holds_exactly(name)

    def _is_spelled_all(self, directory: Directory, names: tuple[str, ...]) -> bool:
        if not self._blurred:
            return True
        inner = self._descend(directory, names[:-1])
        return inner is not None and inner.holds_exactly(names[-1])

    def _files(
        self, directory: Directory, above: str, prefix: str, links: bool
    ) -> Iterator[tuple[str, Place]]:
        seen: set[str] = set()
        with ExitStack() as opened:
            for segment, place, is_folder in sorted(
                _members(directory, (), opened, links), key=lambda member: (member[0], member[2])
            ):
                path = above + segment
                if not is_folder:
                    # Two spellings of one path may both be there; the first is what is read.
                    if path not in seen and path.startswith(prefix):
                        seen.add(path)
                        yield path, place
                    continue
                path += "/"
                if not (path.startswith(prefix) or prefix.startswith(path)):
                    continue
                folder = place.directory.folder(place.name)
                if folder is not None:
                    with folder:
                        yield from self._files(folder, path, prefix, links)


def _remove_matching(directory: Directory, pattern: re.Pattern[str]) -> int:
    removed = 0
    for name, is_folder, is_file in directory.names():
        if is_file and pattern.fullmatch(name):
            removed += directory.remove(name)
        elif is_folder and (folder := directory.folder(name)) is not None:
            with folder:
                removed += _remove_matching(folder, pattern)
    return removed


def _spellings(segment: str, *, folder: bool) -> Iterator[tuple[str, ...]]:
    plain = names_of(segment)
    yield plain
    yield alternate(plain, segment, folder=folder)
    if (name := verbatim(segment, folder=folder)) is not None:
        yield (name,)


def _members(
    directory: Directory, pieces: tuple[str, ...], opened: ExitStack, links: bool = False
) -> Iterator[tuple[str, Place, bool]]:
    """The segments that a directory holds, those with long names put together."""
    for name, is_folder, is_file in directory.names():
        if name.startswith(".") and not pieces:
            continue
        # A pipe or socket is no entry and hides none, so that one may lie beside it.
        if not (is_folder or is_file or (links and directory.is_link(name))):
            continue
        if is_folder and is_piece(name):
            folder = directory.folder(name)
            if folder is not None:
                opened.enter_context(folder)
                yield from _members(folder, (*pieces, name), opened, links)
            continue
        segment = segment_of((*pieces, name), folder=is_folder)
        if segment is not None and name != LOCK_NAME:
            yield segment, Place(directory, name), is_folder
