"""Threaded: a blocking backend that no longer blocks the loop."""

from __future__ import annotations

import asyncio
import threading

import pytest

from context_chef.errors import AsyncRequiredError, SettingsError, StoreCapabilityError
from context_chef.persistence import InMemoryBackend, Store, StoredEntry, Threaded


async def test_calls_run_in_other_threads_and_the_loop_goes_on() -> None:
    go_on = threading.Event()
    seen: list[int] = []

    class Blocking(InMemoryBackend):
        def read(self, ns: str, path: str) -> StoredEntry | None:
            seen.append(threading.get_ident())
            go_on.wait(5)
            return super().read(ns, path)

    reading = asyncio.create_task(Store(Threaded(Blocking())).namespace("notes").get("a"))
    await asyncio.sleep(0.02)
    go_on.set()

    assert await reading is None
    assert seen[0] != threading.get_ident()


async def test_it_offers_what_the_backend_offers() -> None:
    backend = Threaded(InMemoryBackend())
    view = Store(backend).namespace("notes")

    assert view.supports("search")
    assert not view.supports("physical_path")
    assert await view.physical_path("a") is None
    with pytest.raises(StoreCapabilityError):
        await backend.physical_path("notes", "a")
    with pytest.raises(AsyncRequiredError):
        view.get_sync("a")


def test_an_async_backend_needs_no_threads() -> None:
    with pytest.raises(SettingsError, match="async already"):
        Threaded(Threaded(InMemoryBackend()))
