"""A child made by a fork goes on with the stores of its parent, whatever other threads were at."""

from __future__ import annotations

import os
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from context_chef.errors import StoreError
from context_chef.persistence import (
    FileSystemBackend,
    FileSystemLayout,
    InMemoryBackend,
    ListedEntry,
    SQLiteBackend,
    StorageBackend,
    Store,
    StoredEntry,
)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

ENTRY = StoredEntry(content="x", meta={"createdAt": 1, "updatedAt": 2})


def in_a_child(work: Callable[[], object]) -> int:
    """How the child ended: 0 when `work` came to its end, a signal's number when it hung."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads is the point
        child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            work()
        except BaseException:  # noqa: BLE001 - pytest must not go on in the child
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1]


class Stuck:
    """A call in another thread that stands still in its middle until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go = threading.Event()

    def here(self) -> int:
        self.entered.set()
        self.go.wait(20)
        return 7

    @contextmanager
    def in_thread(self, work: Callable[[], object]) -> Generator[None]:
        thread = threading.Thread(target=work)
        thread.start()
        assert self.entered.wait(20)
        try:
            yield
        finally:
            self.go.set()
            thread.join(20)


class FourMethods:
    """A backend that cannot swap, so that its Store has to lock."""

    def __init__(self) -> None:
        self._inner = InMemoryBackend()

    def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._inner.read(ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._inner.write(ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)


@pytest.mark.parametrize("kind", ["files", "database"])
def test_a_child_writes_and_searches_what_the_parent_opened(tmp_path: Path, kind: str) -> None:
    backend: FileSystemBackend | SQLiteBackend = (
        FileSystemBackend(tmp_path) if kind == "files" else SQLiteBackend(tmp_path / "store.db")
    )
    backend.write("notes", "a", StoredEntry(content="apricot"))
    assert len(backend.search("notes", "apricot")) == 1

    def work() -> None:
        backend.write("notes", "b", StoredEntry(content="apricot jam"))
        assert len(backend.search("notes", "apricot")) == 2

    assert in_a_child(work) == 0
    assert len(backend.search("notes", "apricot")) == 2
    backend.write("notes", "c", ENTRY)


def test_a_child_reports_a_folder_that_its_parent_has_locked(tmp_path: Path) -> None:
    stuck = Stuck()
    layout = FileSystemLayout(
        serialize=lambda entry: str(stuck.here()),
        deserialize=lambda text, times: StoredEntry(content=text),
    )
    backend = FileSystemBackend(tmp_path, layouts={"notes": layout}, lock_timeout=0.1)

    def work() -> None:
        with pytest.raises(StoreError, match="stayed locked by another process"):
            backend.write("notes", "b", ENTRY)
        backend.write("other", "b", ENTRY)

    with stuck.in_thread(lambda: backend.write("notes", "a", ENTRY)):
        assert in_a_child(work) == 0


def test_a_child_uses_memory_that_another_thread_was_changing() -> None:
    stuck = Stuck()
    backend = InMemoryBackend(clock=stuck.here)
    backend.write("notes", "a", ENTRY)

    def work() -> None:
        backend.write("notes", "b", ENTRY)
        assert len(backend.search("notes", "x")) == 2

    with stuck.in_thread(lambda: backend.append("notes", "a", "y")):
        assert in_a_child(work) == 0


def test_a_child_changes_an_entry_that_another_thread_was_changing() -> None:
    stuck = Stuck()
    backend: StorageBackend = FourMethods()
    notes = Store(backend).namespace("notes")

    def change(before: StoredEntry | None) -> StoredEntry:
        stuck.here()
        return ENTRY

    with stuck.in_thread(lambda: notes.update_sync("a", change)):
        assert in_a_child(lambda: notes.put_sync("a", "from the child")) == 0


def test_a_fork_waits_until_no_thread_is_inside_sqlite(tmp_path: Path) -> None:
    stuck = Stuck()
    backend = SQLiteBackend(tmp_path / "store.db", clock=stuck.here, busy_timeout=1)
    backend.write("notes", "a", ENTRY)
    # The hook that was registered last runs first: only then does the writer come to its end.
    os.register_at_fork(before=stuck.go.set)

    def work() -> None:
        entry = backend.read("notes", "a")
        assert entry is not None
        assert entry.content == "xy"
        backend.write("notes", "b", ENTRY)

    with stuck.in_thread(lambda: backend.append("notes", "a", "y")):
        assert in_a_child(work) == 0
    assert backend.exists("notes", "b")


@pytest.mark.parametrize("kind", ["memory", "files", "database"])
def test_forks_in_the_middle_of_other_threads_work_lose_nothing_and_never_hang(
    tmp_path: Path, kind: str
) -> None:
    backend: Any = {
        "memory": InMemoryBackend,
        "files": lambda: FileSystemBackend(tmp_path / "files", durable=False),
        "database": lambda: SQLiteBackend(tmp_path / "store.db"),
    }[kind]()
    notes = Store(backend).namespace("notes")
    notes.put_sync("start", "apricot")
    stop = threading.Event()
    done: list[int] = []

    def busy(number: int) -> None:
        count = 0
        while not stop.is_set():
            notes.append_sync(f"log-{number}", "line\n")
            notes.update_sync(f"k{number}", lambda before: StoredEntry(content="apricot"))
            notes.search_sync("apricot", limit=3)
            count += 1
        done.append(notes.get_sync(f"log-{number}").content.count("line") - count)  # type: ignore[union-attr]

    threads = [threading.Thread(target=busy, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(4):

            def work(number: int = number) -> None:
                notes.put_sync(f"child-{number}", "apricot jam")
                assert notes.get_sync(f"child-{number}") is not None
                assert notes.search_sync("jam")
                assert notes.delete_sync(f"child-{number}")

            assert in_a_child(work) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(20)
    assert done == [0, 0, 0]


def test_processes_that_open_one_new_file_at_the_same_time_all_succeed(tmp_path: Path) -> None:
    for attempt in range(6):
        path = tmp_path / f"{attempt}.db"
        reading, writing = os.pipe()
        children = []
        for number in range(5):
            child = os.fork()
            if not child:
                signal.alarm(30)
                os.close(writing)
                try:
                    os.read(reading, 1)  # until the parent lets everybody go at once
                    backend = SQLiteBackend(path)
                    assert backend.read("notes", "none") is None
                    backend.write("notes", f"k{number}", ENTRY)
                    assert backend.search("notes", "x")
                except BaseException:  # noqa: BLE001 - pytest must not go on in the child
                    traceback.print_exc()
                    os._exit(1)
                os._exit(0)
            children.append(child)
        os.close(reading)
        os.close(writing)

        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
        backend = SQLiteBackend(path)
        assert [listed.path for listed in backend.list("notes")] == [f"k{n}" for n in range(5)]
        assert list(backend.faults()) == []
