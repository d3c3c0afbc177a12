"""One store, used from threads, several event loops and sync callers at the same time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    ListedEntry,
    Memory,
    SQLiteBackend,
    Store,
    StoredEntry,
    Threaded,
)

TIMES = 15


class Async:
    """Four async methods that let others run in between, and nothing that compares."""

    def __init__(self) -> None:
        self._inner = InMemoryBackend()

    async def read(self, ns: str, path: str) -> StoredEntry | None:
        await asyncio.sleep(0)
        return self._inner.read(ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        await asyncio.sleep(0)
        self._inner.write(ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)


def one_more(entry: StoredEntry | None) -> StoredEntry:
    return StoredEntry(content=str(1 + int(entry.content if entry else "0")))


def all_at_once(*work: Callable[[], object]) -> None:
    failed: list[BaseException] = []

    def run(one: Callable[[], object]) -> None:
        try:
            one()
        except BaseException as error:  # noqa: BLE001 - told to the test below
            failed.append(error)

    threads = [threading.Thread(target=run, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []


def backend_of(kind: str, root: Path) -> Any:
    return {
        "memory": InMemoryBackend,
        "files": lambda: FileSystemBackend(root, durable=False),
        "database": lambda: SQLiteBackend(root / "store.db"),
        "threaded": lambda: Threaded(SQLiteBackend(root / "store.db")),
        "async": Async,
    }[kind]()


@pytest.mark.parametrize("kind", ["memory", "files", "database", "threaded", "async"])
def test_one_store_serves_several_loops_and_sync_callers_at_once(kind: str, tmp_path: Path) -> None:
    store = Store(backend_of(kind, tmp_path))
    memory = Memory(store)
    notes = store.namespace("notes")

    async def tasks() -> None:
        async def one() -> None:
            for _ in range(TIMES):
                await notes.update("counter", one_more)
            await notes.append("log", "line\n")

        await asyncio.gather(one(), one())
        await memory.set("k", "v")
        assert await memory.get("k") == "v"

    def in_a_loop() -> None:
        asyncio.run(tasks())

    def plainly() -> None:
        for _ in range(2 * TIMES):
            notes.update_sync("counter", one_more)
        notes.append_sync("log", "line\nline\n")

    waits = kind in ("threaded", "async")
    all_at_once(in_a_loop, in_a_loop, in_a_loop if waits else plainly)

    async def result() -> tuple[Any, Any]:
        return await notes.get("counter"), await notes.get("log")

    counter, log = asyncio.run(result())
    assert int(counter.content) == 6 * TIMES
    assert log.content == "line\n" * 6
