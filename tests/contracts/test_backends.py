"""Every built-in backend keeps every promise; a naive one is found out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    ListedEntry,
    SQLiteBackend,
    StorageBackend,
    StoredEntry,
    Threaded,
)
from context_chef.testing import StorageBackendSuite


class _OnDisk(StorageBackendSuite):
    @pytest.fixture(autouse=True)
    def _in_a_directory(self, tmp_path: Path) -> None:
        self.place = tmp_path
        self.backend = self.make()

    def setup_method(self) -> None:
        self.place = Path("/nonexistent")
        super().setup_method()


class TestInMemoryBackend(StorageBackendSuite):
    order = "insertion"

    def make(self) -> StorageBackend:
        return InMemoryBackend()


class TestFileSystemBackend(_OnDisk):
    order = "segments"

    def make(self) -> StorageBackend:
        return FileSystemBackend(self.place / "store", durable=False)

    def reopen(self) -> StorageBackend:
        return self.make()

    def opener(self) -> functools.partial[StorageBackend]:
        return functools.partial(FileSystemBackend, self.place / "store", durable=False)


class TestSQLiteBackend(_OnDisk):
    def make(self) -> StorageBackend:
        return SQLiteBackend(self.place / "store.db")

    def reopen(self) -> StorageBackend:
        return self.make()

    def opener(self) -> functools.partial[StorageBackend]:
        return functools.partial(SQLiteBackend, self.place / "store.db")


class TestThreadedFileSystemBackend(_OnDisk):
    order = "segments"

    def make(self) -> StorageBackend:
        return Threaded(FileSystemBackend(self.place / "store", durable=False))


class TestThreadedSQLiteBackend(_OnDisk):
    def make(self) -> StorageBackend:
        return Threaded(SQLiteBackend(self.place / "store.db"))


class Minimal:
    """Four honest methods and nothing else: what a third party writes on a good day."""

    def __init__(self) -> None:
        self._inner = InMemoryBackend()

    async def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._inner.read(ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._inner.write(ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)


class TestMinimalBackend(StorageBackendSuite):
    order = "insertion"

    def make(self) -> StorageBackend:
        return Minimal()


class Naive:
    """What a third party writes on a bad day."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def _file(self, ns: str, path: str) -> Path:
        return self._root / ns / path.replace(" ", "_").lower()

    def read(self, ns: str, path: str) -> StoredEntry | None:
        try:
            return StoredEntry(content=self._file(ns, path).read_text(), meta={"createdAt": 0})
        except OSError:
            return None

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        file = self._file(ns, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(entry.content)

    def delete(self, ns: str, path: str) -> bool:
        self._file(ns, path).unlink(missing_ok=True)
        return True

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        found = [path for path in (self._root / ns).rglob("*") if path.is_file()]
        paths = [str(path.relative_to(self._root / ns)) for path in found]
        return [ListedEntry(path=path) for path in sorted(paths, reverse=True)]

    def append(self, ns: str, path: str, content: str) -> None:
        before = self.read(ns, path)
        self.write(ns, path, StoredEntry(content=(before.content if before else "") + content))

    def exists(self, ns: str, path: str) -> bool:
        return True

    def compare_and_swap(
        self, ns: str, path: str, expected: StoredEntry | None, new: StoredEntry | None
    ) -> bool:
        if new is not None:
            self.write(ns, path, new)
        return True

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[ListedEntry]:
        return [
            listed for listed in self.list(ns) if query in (self._file(ns, listed.path).read_text())
        ]

    def restore(self, ns: str, data: Mapping[str, StoredEntry]) -> None:
        for path, entry in data.items():
            self.write(ns, path, entry)

    def snapshot(self, ns: str) -> Mapping[str, StoredEntry]:
        return {}


class _NaiveSuite(_OnDisk):
    def make(self) -> StorageBackend:
        return Naive(self.place)


def _broken_promises(place: Path) -> set[str]:
    broken: set[str] = set()
    for number, name in enumerate(n for n in dir(_NaiveSuite) if n.startswith("test_")):
        suite = _NaiveSuite()
        suite.setup_method()
        suite.place = place / str(number)
        suite.backend = suite.make()
        try:
            getattr(suite, name)()
        except Exception:  # noqa: BLE001 - every way of failing counts here
            broken.add(name)
        suite.teardown_method()
    return broken


def test_a_naive_backend_is_found_out_where_it_breaks_a_promise(tmp_path: Path) -> None:
    broken = _broken_promises(tmp_path)

    assert {
        "test_what_is_absent_is_none_and_not_listed",
        "test_what_is_written_is_read_back_to_the_character",
        "test_metadata_comes_back_as_it_was_given",
        "test_half_a_surrogate_pair_is_no_reason_to_fail",
        "test_every_name_is_refused_or_kept_apart_from_every_other",
        "test_no_path_leads_into_another_namespace",
        "test_listings_have_one_order_and_a_rewrite_keeps_it",
        "test_listings_carry_the_metadata",
        "test_exists_knows_what_is_there",
        "test_append_creates_and_keeps_what_is_known",
        "test_a_swap_changes_only_what_it_expects",
        "test_a_swap_also_minds_the_metadata",
        "test_one_of_many_swaps_wins",
        "test_a_snapshot_is_a_copy_in_order_and_restore_brings_it_back",
        "test_search_puts_the_better_answer_first",
        "test_search_pages_and_keeps_to_its_prefix",
        "test_a_hit_in_an_archived_span_names_the_message",
    } <= broken


def test_a_naive_backend_is_not_blamed_for_what_it_does_right(tmp_path: Path) -> None:
    broken = _broken_promises(tmp_path)

    assert not broken & {
        "test_namespaces_never_see_each_other",
        "test_a_physical_path_is_where_the_entry_is",
        "test_read_all_is_list_and_read_in_one",
        "test_what_was_written_is_there_when_opened_again",
    }
