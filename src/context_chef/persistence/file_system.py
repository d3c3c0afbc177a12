"""FileSystemBackend: one readable file an entry, safe to share between processes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from context_chef.errors import AddressError, CorruptStoreError, StoreError, shown
from context_chef.given import check_instance, check_mapping
from context_chef.persistence.backend import (
    Clock,
    ListedEntry,
    ReadEntries,
    SearchHit,
    StoredEntry,
    appended,
    check_entries,
    copy_entry,
    stored_form,
    system_clock,
)
from context_chef.persistence.directories import Directory, file_times, walk
from context_chef.persistence.file_tree import FileTree, Place
from context_chef.persistence.folders import NamespaceFolders
from context_chef.persistence.forks import PerProcess
from context_chef.persistence.given import (
    check_names,
    check_search,
    check_seconds,
    check_text,
    file_path,
)
from context_chef.persistence.layouts import (
    FileSystemLayout,
    FileTimes,
    Unreadable,
    dump_entry,
    is_raw,
    is_stat_only,
    listed_meta,
    load_entry,
)
from context_chef.persistence.names import LOCK_NAME, TEMPORARY, names_of
from context_chef.persistence.ranking import RankedEntries
from context_chef.prompts.store_faults import DAMAGED


class FileSystemBackend:
    """Keeps every entry as a file below `root`, named like its path.

    `notes/dir/plan.md` is the file `dir/plan.md` in the folder `notes`. `vfs` and `archive` hold
    the bare content, other namespaces a JSON envelope of content and meta; `layouts` changes that
    a namespace. Listings are in code-point order, segment by segment, hidden files left out. Files
    are readable by their owner only, are written whole or not at all, and have reached the disk
    when a write returns (unless `durable` is False). Changes of a namespace exclude each other,
    also between processes, by the file `.lock` in its folder; a change that waits longer than
    `lock_timeout` seconds raises StoreError. Links below the root are refused.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        layouts: Mapping[str, FileSystemLayout] | None = None,
        clock: Clock = system_clock,
        durable: bool = True,
        lock_timeout: float = 30.0,
    ) -> None:
        check_seconds(lock_timeout, "lock_timeout")
        # Absolute, because an agent that changes its folder must not lose its store by that.
        self.root = Path(file_path(root, "root")).absolute()
        if layouts is not None:
            check_mapping(layouts, "layouts")
            for ns, layout in layouts.items():
                check_instance(layout, f"layouts.{ns}", FileSystemLayout)
        self._layouts = dict(layouts or {})
        self._clock = clock
        self._durable = durable
        folders = NamespaceFolders(self.root, self._layouts, lock_timeout=lock_timeout)
        self._layout, self._folder = folders.layout, folders.folder
        self._segments, self._refuse_name = folders.segments, folders.refuse_name
        self._opened, self._changing = folders.opened, folders.changing
        self._ranking = PerProcess(threading.Lock)
        self._cache: dict[str, dict[str, _Cached]] = {}
        self._ranked: PerProcess[dict[str, RankedEntries]] = PerProcess(dict)

    def read(self, ns: str, path: str) -> StoredEntry | None:
        """The entry, as a copy of the caller's own, or None where there is none.

        Raises CorruptStoreError, AddressError or another StoreError.
        """
        with self._opened(ns, path) as tree:
            return None if tree is None else self._read(tree, ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        """Put the entry there, in place of what was there, all of it or nothing.

        Raises CorruptStoreError, AddressError or another StoreError.
        """
        entry = stored_form(entry)
        with self._changing(ns, path) as tree:
            self._refuse_damaged(tree, ns, path)
            self._put(tree, ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        """Remove the entry. True when there was one.

        Raises CorruptStoreError, AddressError or another StoreError.
        """
        with self._opened(ns, path) as tree:
            segments = self._segments(ns, path)
            # What is not there needs no lock, and no right to write.
            if tree is None or segments is None or tree.find(segments) is None:
                return False
        with self._changing(ns, path) as tree:
            return self._remove(tree, ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        """Path and meta of every readable entry below `prefix`, always in the same order."""
        check_names(ns, prefix, what="prefix")
        layout = self._layout(ns)
        if not is_stat_only(layout, ns):
            return [
                ListedEntry(path=path, meta=listed_meta(entry))
                for path, entry in self.read_all(ns, prefix).items()
            ]
        listed: list[ListedEntry] = []
        with self._opened(ns) as tree:
            for path, place in self._files(tree, ns, prefix):
                facts = place.directory.facts(place.name)
                if facts is not None:
                    created, updated = file_times(facts)
                    meta = {"createdAt": created, "updatedAt": updated, "bytes": facts.st_size}
                    listed.append(ListedEntry(path=path, meta=meta))
        return listed

    def read_all(self, ns: str, prefix: str = "") -> ReadEntries:
        """Path to entry of everything below `prefix`, in the order of `list`; copies."""
        check_names(ns, prefix, what="prefix")
        loaded = self._load(ns, prefix)
        copies = {path: copy_entry(entry) for path, entry in loaded.items()}
        return ReadEntries(copies, damaged=loaded.damaged)

    def exists(self, ns: str, path: str) -> bool:
        """Whether an entry is there; also true for a folder of entries."""
        segments = self._segments(ns, path)
        with self._opened(ns, path) as tree:
            if tree is None or segments is None:
                return tree is not None and segments is None
            return tree.find(segments) is not None or tree.is_folder(segments)

    def append(self, ns: str, path: str, content: str) -> None:
        """Add text at the end of the entry, creating it when absent; no concurrent one is lost."""
        check_text(content, "content")
        with self._changing(ns, path) as tree:
            before = self._read(tree, ns, path)
            self._put(tree, ns, path, appended(before, content, self._clock()))

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        """Put `new` there (None: delete) only if what is there equals `expected` (None: absent).

        Answers whether it was done. Nothing changes when it was not.
        """
        new = None if new is None else stored_form(new)
        with self._changing(ns, path) as tree:
            current = self._read(tree, ns, path)
            if current != expected:
                return False
            if new is not None:
                self._put(tree, ns, path, new)
            elif current is not None:
                self._remove(tree, ns, path)
            return True

    def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        """Path to entry of the whole namespace, in its order; copies."""
        check_names(ns)
        return self.read_all(ns)

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        """Every entry is written before anything is deleted, so a crash loses nothing.

        A file that is damaged is left where it is unless `data` has its path.
        """
        check_names(ns)
        check_entries(data)
        fresh = {path: stored_form(entry) for path, entry in data.items()}
        for path in fresh:
            if self._segments(ns, path) is None:
                self._refuse_name(ns, path)
        with self._changing(ns) as tree:
            known = [path for path, _ in self._files(tree, ns, "")]
            for path, entry in fresh.items():
                self._put(tree, ns, path, entry)
            for path in known:
                if path not in fresh and not self._is_damaged(tree, ns, path):
                    self._remove(tree, ns, path)

    def physical_path(self, ns: str, path: str) -> str | None:
        """The file that holds the entry, or would hold it; None where no file does."""
        segments = self._segments(ns, path)
        if segments is None:
            return None
        with self._opened(ns, path) as tree:
            place = None if tree is None else tree.find(segments)
            if place is not None:
                return str(place.directory.path / place.name)
        parts = [name for segment in segments for name in names_of(segment)]
        return str(self._folder(ns).joinpath(*parts))

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """Entries that match `query`, best first: at most `limit`, after `offset` others."""
        check_names(ns)
        check_search(query, prefix, limit, offset)
        entries = self._load(ns, "")
        with self._ranking.get():
            ranked = self._ranked.get().setdefault(ns, RankedEntries())
        ranked.refresh(entries)
        return ranked.search(query, prefix=prefix, limit=limit, offset=offset)

    def namespaces(self) -> Sequence[str]:
        """The namespaces that have a folder below the root, or a layout whose folder is there."""
        found = {ns for ns in self._layouts if self._folder(ns).is_dir()}
        root = Directory.open(self.root)
        if root is not None:
            with root, ExitStack() as stack:
                tree = FileTree(root, stack)
                found |= {ns for ns in tree.folders() if self._layout(ns).dir is None}
        return sorted(found)

    def faults(self) -> Iterator[str]:
        """What is wrong with the files, one sentence each. Changes nothing.

        Damaged entries, files that no namespace lists, links, and what killed writers left behind.
        """
        listed: set[Path] = set()
        for ns in self.namespaces():
            with self._opened(ns) as tree:
                for path, place in self._files(tree, ns, ""):
                    listed.add(place.directory.path / place.name)
                    try:
                        self._load_place(place, ns, path)
                    except StoreError as error:
                        yield str(error)
        root = Directory.open(self.root)
        if root is None:
            return
        with root:
            for file, is_file in walk(root):
                path = self.root / file
                if not is_file:
                    yield f"{str(path)!r} is a link or no plain file, and is not used."
                elif TEMPORARY.fullmatch(file.name):
                    yield f"{str(path)!r} is left over from a write that was cut short."
                elif path not in listed and file.name != LOCK_NAME:
                    yield f"{str(path)!r} is an orphan: no entry has this name."

    def remove_leftovers(self) -> int:
        """Remove what writers that were killed left behind; answers how many files that were."""
        removed = 0
        for ns in self.namespaces():
            with self._changing(ns) as tree:
                removed += tree.remove_strays(TEMPORARY)
        return removed

    # Entries

    def _read(self, tree: FileTree, ns: str, path: str) -> StoredEntry | None:
        segments = self._segments(ns, path)
        place = None if segments is None else tree.find(segments)
        return None if place is None else self._load_place(place, ns, path)

    def _load_place(self, place: Place, ns: str, path: str) -> StoredEntry | None:
        body = place.directory.read(place.name)
        if body is None:
            return None
        times = FileTimes(len(body.data), body.created_at, body.updated_at)
        try:
            return load_entry(body.data, times, self._layout(ns), ns)
        except Unreadable as error:
            raise CorruptStoreError(
                f"{shown(path)} in namespace {shown(ns)} is damaged: {error}. Its file is "
                f"{shown(str(place.directory.path / place.name))}; mend or delete it.",
                told=DAMAGED,
            ) from error

    def _put(self, tree: FileTree, ns: str, path: str, entry: StoredEntry) -> None:
        segments = self._segments(ns, path)
        if segments is None:
            self._refuse_name(ns, path)
        layout = self._layout(ns)
        updated: object = entry.meta.get("updatedAt") if is_raw(layout, ns) else None
        place = tree.find(segments) or tree.make(segments)
        place.directory.write(
            place.name,
            dump_entry(entry, layout, ns),
            # A bare content has nowhere else to keep when it was changed.
            updated_at=updated if isinstance(updated, int) and 0 < updated < 2**42 else None,
            durable=self._durable,
        )

    def _remove(self, tree: FileTree, ns: str, path: str) -> bool:
        segments = self._segments(ns, path)
        removed = False
        while segments is not None and (place := tree.find(segments)) is not None:
            removed = place.directory.remove(place.name, durable=self._durable) or removed
        return removed

    def _refuse_damaged(self, tree: FileTree, ns: str, path: str) -> None:
        """A file that cannot be read may still be worth something to somebody."""
        if not is_stat_only(self._layout(ns), ns):
            self._read(tree, ns, path)

    def _is_damaged(self, tree: FileTree, ns: str, path: str) -> bool:
        try:
            self._read(tree, ns, path)
        except CorruptStoreError:
            return True
        return False

    def _load(self, ns: str, prefix: str) -> ReadEntries:
        """Every readable entry; files that did not change since the last time are not read."""
        before = self._cache.get(ns, {})
        entries = ReadEntries()
        cached: dict[str, _Cached] = {}
        with self._opened(ns) as tree:
            for path, place in self._files(tree, ns, prefix, links=True):
                facts = place.directory.facts(place.name)
                if facts is None:
                    continue
                mark = _Mark.of(facts)
                known = before.get(path)
                if known is not None and known.mark == mark:
                    entries[path], cached[path] = known.entry, known
                    continue
                try:
                    entry = self._load_place(place, ns, path)
                except (CorruptStoreError, AddressError) as error:
                    entries.damaged[path] = str(error)
                    continue
                if entry is not None:
                    entries[path] = entry
                    if mark.is_settled():
                        cached[path] = _Cached(mark, entry)
        # Reading a part must not throw away what is known of the rest.
        self._cache[ns] = {**before, **cached} if prefix else cached
        return entries

    def _files(
        self, tree: FileTree | None, ns: str, prefix: str, *, links: bool = False
    ) -> Iterator[tuple[str, Place]]:
        layout = self._layout(ns)
        if tree is None:
            return
        for file, place in tree.files(prefix if layout.decode is None else "", links=links):
            path = layout.path_of(file)
            if path is not None and path.startswith(prefix):
                yield path, place


class _Mark(NamedTuple):
    """What tells whether a file is still the one that was read."""

    inode: int
    size: int
    modified: int
    changed: int

    @classmethod
    def of(cls, facts: os.stat_result) -> _Mark:
        return cls(facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)

    def is_settled(self) -> bool:
        """Whether a later change is sure to show: clocks of file systems tick slowly."""
        return time.time_ns() - self.changed > 100_000_000


class _Cached(NamedTuple):
    mark: _Mark
    entry: StoredEntry
