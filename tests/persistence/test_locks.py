"""One change at a time: between Stores over one backend, and between event loops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from context_chef.errors import AsyncRequiredError, StoreError
from context_chef.persistence import (
    FileSystemBackend,
    FileSystemLayout,
    InMemoryBackend,
    ListedEntry,
    Store,
    StoredEntry,
    Threaded,
)


class FourMethods:
    """As little as a backend may be, and neither hashable nor weakly referable."""

    __slots__ = ("_inner",)
    __hash__ = None  # type: ignore[assignment] - as an eq dataclass has it

    def __init__(self) -> None:
        self._inner = InMemoryBackend()

    def __eq__(self, other: object) -> bool:
        return True

    def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._inner.read(ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._inner.write(ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)


def test_two_stores_over_one_backend_object_wait_for_each_other() -> None:
    backend = FourMethods()
    one, other = Store(backend).namespace("notes"), Store(backend).namespace("notes")
    one.put_sync("a", "start")
    rival = threading.Thread(
        target=lambda: other.update_sync("a", lambda e: e and StoredEntry(content=e.content + "2"))
    )

    def change(before: StoredEntry | None) -> StoredEntry:
        assert before is not None
        rival.start()
        rival.join(0.05)
        return StoredEntry(content=before.content + "1")

    one.update_sync("a", change)
    rival.join(20)

    entry = one.get_sync("a")
    assert entry is not None
    assert entry.content == "start12"


def test_stores_over_different_backends_do_not_wait_for_each_other() -> None:
    one, other = Store(FourMethods()).namespace("notes"), Store(FourMethods()).namespace("notes")

    def change(before: StoredEntry | None) -> StoredEntry:
        other.put_sync("a", "meanwhile")
        return StoredEntry(content="changed")

    one.update_sync("a", change)

    entry = other.get_sync("a")
    assert entry is not None
    assert entry.content == "meanwhile"


async def test_two_threaded_wrappers_of_one_backend_share_its_locks() -> None:
    backend = FourMethods()
    views = [Store(Threaded(backend)).namespace("notes") for _ in range(2)]
    await views[0].put("a", "")

    async def grow(number: int) -> None:
        def change(before: StoredEntry | None) -> StoredEntry:
            assert before is not None
            return StoredEntry(content=before.content + f"<{number}>")

        await views[number % 2].update("a", change)

    await asyncio.gather(*map(grow, range(40)))

    entry = await views[0].get("a")
    assert entry is not None
    assert entry.content.count("<") == 40


def test_a_sync_call_inside_a_loop_waits_for_a_change_of_another_thread() -> None:
    notes = Store(InMemoryBackend()).namespace("notes")
    entered, release = threading.Event(), threading.Event()

    def slowly(before: StoredEntry | None) -> StoredEntry:
        entered.set()
        release.wait(20)
        return StoredEntry(content="first")

    async def hold() -> None:
        notes.update_sync("a", slowly)

    async def wait() -> StoredEntry | None:
        threading.Timer(0.05, release.set).start()
        return notes.update_sync("a", lambda e: e and StoredEntry(content=e.content + " second"))

    holder = threading.Thread(target=lambda: asyncio.run(hold()))
    holder.start()
    assert entered.wait(20)
    entry = asyncio.run(wait())
    holder.join(20)

    assert entry is not None
    assert entry.content == "first second"


async def test_a_sync_call_refuses_to_wait_for_a_task_of_its_own_loop() -> None:
    notes = Store(InMemoryBackend()).namespace("notes")
    entered, release = asyncio.Event(), asyncio.Event()

    async def slowly(before: StoredEntry | None) -> StoredEntry:
        entered.set()
        await release.wait()
        return StoredEntry(content="first")

    task = asyncio.create_task(notes.update("a", slowly))
    await entered.wait()
    with pytest.raises(AsyncRequiredError, match="under way"):
        notes.update_sync("a", lambda before: before)
    release.set()
    await task


def test_a_thread_gives_up_on_a_folder_after_the_lock_timeout(tmp_path: Path) -> None:
    entered, release = threading.Event(), threading.Event()

    def slowly(entry: StoredEntry) -> str:
        entered.set()
        release.wait(20)
        return entry.content

    layout = FileSystemLayout(
        serialize=slowly, deserialize=lambda text, times: StoredEntry(content=text)
    )
    backend = FileSystemBackend(tmp_path, layouts={"notes": layout}, lock_timeout=0.05)
    holder = threading.Thread(target=lambda: backend.write("notes", "a", StoredEntry(content="x")))
    holder.start()
    assert entered.wait(20)

    with pytest.raises(StoreError, match=r"another thread.*lock_timeout"):
        backend.write("notes", "b", StoredEntry(content="x"))
    release.set()
    holder.join(20)
