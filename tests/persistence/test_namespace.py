"""NamespaceView: one namespace for both kinds of caller."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from context_chef.errors import (
    AddressError,
    AsyncRequiredError,
    CorruptStoreError,
    InputError,
    SettingsError,
    StoreCapabilityError,
    StoreError,
)
from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    ListedEntry,
    NamespaceView,
    Store,
    StoredEntry,
)


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


class Minimal:
    """Four methods over an in-memory backend, and a note of what was called."""

    def __init__(self) -> None:
        self.inner = InMemoryBackend()
        self.called: list[str] = []

    def read(self, ns: str, path: str) -> StoredEntry | None:
        self.called.append("read")
        return self.inner.read(ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self.called.append("write")
        self.inner.write(ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        self.called.append("delete")
        return self.inner.delete(ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        self.called.append("list")
        return self.inner.list(ns, prefix)


class Slow:
    """The same four, each of which really waits."""

    def __init__(self) -> None:
        self.inner = Minimal()

    async def read(self, ns: str, path: str) -> StoredEntry | None:
        await asyncio.sleep(0)
        return self.inner.read(ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        await asyncio.sleep(0)
        self.inner.write(ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        await asyncio.sleep(0)
        return self.inner.delete(ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        await asyncio.sleep(0)
        return self.inner.list(ns, prefix)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def notes(clock: Clock) -> NamespaceView:
    return Store(InMemoryBackend(clock=clock), clock=clock).namespace("notes")


def content(view: NamespaceView, path: str) -> str | None:
    entry = view.get_sync(path)
    return None if entry is None else entry.content


def test_put_fills_in_the_times_that_are_missing(notes: NamespaceView, clock: Clock) -> None:
    stored = notes.put_sync("a", "x")
    notes.put_sync("b", "x", {"createdAt": 5, "tag": None})

    assert (stored.path, stored.uri) == ("a", "context://notes/a")
    assert dict(notes.get_sync("a").meta) == {"createdAt": clock.now, "updatedAt": clock.now}  # type: ignore[union-attr] - it is there
    assert dict(notes.get_sync("b").meta) == {  # type: ignore[union-attr] - it is there
        "createdAt": 5,
        "tag": None,
        "updatedAt": clock.now,
    }


async def test_async_and_sync_callers_see_the_same(notes: NamespaceView) -> None:
    await notes.put("a", "x")
    notes.put_sync("b", "y")

    assert notes.get_sync("a") == await notes.get("a")
    assert notes.list_sync() == await notes.list()
    assert list(await notes.entries()) == list(notes.entries_sync()) == ["a", "b"]
    assert await notes.search("y") == notes.search_sync("y")


def test_a_sync_call_on_an_async_backend_is_refused_before_it_starts() -> None:
    backend = Slow()
    view = Store(backend).namespace("notes")

    for call, method in (
        (lambda: view.put_sync("a", "v"), "write"),
        (lambda: view.get_sync("a"), "read"),
        (lambda: view.delete_sync("a"), "delete"),
        (lambda: view.list_sync(), "list"),
        (lambda: view.cleanup_sync(), "list"),
        (lambda: view.update_sync("a", lambda _: None), "read"),
    ):
        with pytest.raises(AsyncRequiredError, match=rf"{method}.*'notes'"):
            call()
    assert backend.inner.called == []
    assert view.index() == ()


async def test_an_async_backend_serves_the_same_view() -> None:
    view = Store(Slow()).namespace("notes")
    await asyncio.gather(*(view.append("log", "x") for _ in range(20)))

    assert (await view.get("log")).content == "x" * 20  # type: ignore[union-attr] - it is there
    assert list(await view.entries()) == ["log"]


def test_what_a_backend_cannot_is_said_or_answered_plainly() -> None:
    view = Store(Minimal()).namespace("notes")
    view.put_sync("a", "1")

    with pytest.raises(StoreCapabilityError) as error:
        view.search_sync("x")
    assert (error.value.ns, error.value.missing) == ("notes", ("search",))
    assert view.exists_sync("a") is False
    assert view.physical_path_sync("a") is None
    assert view.snapshot_sync() is None
    assert view.restore_sync({}) is False
    assert list(view.entries_sync()) == ["a"]


def test_supports_is_decided_by_the_backend_when_it_has_an_opinion() -> None:
    class Modest(InMemoryBackend):
        def supports(self, capability: str, ns: str | None = None) -> bool:
            return capability != "search" or ns == "notes"

    store = Store(Modest())

    assert store.namespace("notes").supports("search")
    assert not store.namespace("vfs").supports("search")
    assert not store.namespace("notes").supports("physical_path")
    assert not store.namespace("notes").supports("teleport")


def test_append_keeps_what_is_known_and_lays_meta_over(notes: NamespaceView, clock: Clock) -> None:
    notes.append_sync("log", "one\n")
    clock.now += 5
    notes.append_sync("log", "é\n")
    notes.append_sync("log", "", {"tag": "x", "updatedAt": 1})

    entry = notes.get_sync("log")

    assert entry is not None
    assert entry.content == "one\né\n"
    assert dict(entry.meta) == {
        "createdAt": clock.now - 5,
        "updatedAt": 1,
        "bytes": 7,
        "tag": "x",
    }


def test_a_content_address_is_stored_once_and_verified(tmp_path: Path) -> None:
    view = Store(FileSystemBackend(tmp_path)).namespace("vfs")
    stored = view.put_auto_sync("hello")
    file = tmp_path / "vfs" / stored.path
    first = file.stat().st_ino
    assert view.put_auto_sync("hello") == stored
    assert file.stat().st_ino == first

    file.write_text("trunc", "utf-8")

    with pytest.raises(CorruptStoreError, match="vfs_2cf24dba5fb0a30e"):
        view.get_sync(stored.path)
    view.put_auto_sync("hello")
    assert content(view, stored.path) == "hello"


def test_metadata_given_with_the_same_content_replaces_the_old(
    notes: NamespaceView, clock: Clock
) -> None:
    path = notes.put_auto_sync("same bytes").path
    clock.now += 7
    notes.put_auto_sync("same bytes", {"tag": "second"})

    (listed,) = notes.list_sync()
    assert listed.path == path
    assert dict(listed.meta) == {
        "bytes": 10,
        "tag": "second",
        "createdAt": clock.now,
        "updatedAt": clock.now,
    }


def test_a_content_address_takes_no_other_text(notes: NamespaceView) -> None:
    path = notes.put_auto_sync("hello").path

    for call in (
        lambda: notes.put_sync(path, "edited"),
        lambda: notes.append_sync(path, "!"),
        lambda: notes.update_sync(path, lambda _: StoredEntry(content="edited")),
    ):
        with pytest.raises(AddressError, match="content address"):
            call()
    assert content(notes, path) == "hello"


def test_update_creates_changes_deletes_and_leaves_alone(notes: NamespaceView) -> None:
    def grow(entry: StoredEntry | None) -> StoredEntry:
        return StoredEntry(content=(entry.content if entry else "") + "x")

    assert notes.update_sync("a", grow) == notes.get_sync("a")
    assert notes.update_sync("a", grow).content == "xx"  # type: ignore[union-attr] - it is there
    assert notes.update_sync("a", lambda entry: entry) == notes.get_sync("a")
    assert notes.update_sync("a", lambda _: None) is None
    assert notes.get_sync("a") is None
    assert notes.index() == ()
    assert notes.update_sync("never", lambda _: None) is None


async def test_a_change_may_be_async_and_an_error_in_it_changes_nothing(
    notes: NamespaceView,
) -> None:
    async def think(entry: StoredEntry | None) -> StoredEntry:
        await asyncio.sleep(0)
        return StoredEntry(content="thought")

    def fail(entry: StoredEntry | None) -> StoredEntry:
        raise RuntimeError("no")

    await notes.update("a", think)
    with pytest.raises(RuntimeError):
        await notes.update("a", fail)
    await notes.put("a", "still usable")
    assert content(notes, "a") == "still usable"


@pytest.mark.parametrize("make", [InMemoryBackend, Minimal])
def test_a_change_that_changes_its_own_entry_is_told_so(make: type) -> None:
    view = Store(make()).namespace("notes")

    def confused(entry: StoredEntry | None) -> StoredEntry:
        view.update_sync("a", lambda _: StoredEntry(content="inner"))
        return StoredEntry(content="outer")

    with pytest.raises(StoreError, match="from within the change"):
        view.update_sync("a", confused)


async def test_plain_writes_wait_for_an_update_where_the_backend_cannot_swap() -> None:
    view = Store(Minimal()).namespace("notes")
    started, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(entry: StoredEntry | None) -> StoredEntry:
        started.set()
        await go_on.wait()
        return StoredEntry(content=(entry.content if entry else "") + "updated")

    update = asyncio.create_task(view.update("a", slowly))
    await started.wait()
    put = asyncio.create_task(view.put("a", "put"))
    await asyncio.sleep(0.02)
    assert not put.done()
    with pytest.raises(AsyncRequiredError):
        view.put_sync("a", "would wait for its own loop")
    go_on.set()
    await asyncio.gather(update, put)

    assert content(view, "a") == "put"


def test_a_thread_waits_for_another(notes: NamespaceView) -> None:
    view = Store(Minimal()).namespace("notes")
    inside, leave = threading.Event(), threading.Event()

    def slowly(entry: StoredEntry | None) -> StoredEntry:
        inside.set()
        leave.wait(5)
        return StoredEntry(content="first")

    worker = threading.Thread(target=view.update_sync, args=("a", slowly))
    worker.start()
    inside.wait(5)
    threading.Timer(0.05, leave.set).start()
    view.update_sync("a", lambda entry: StoredEntry(content=f"{entry and entry.content}, second"))
    worker.join(5)

    assert content(view, "a") == "first, second"


def test_paths_that_climb_never_reach_a_backend() -> None:
    backend = Minimal()
    view = Store(backend).namespace("notes")

    for call in (
        lambda: view.get_sync("../x"),
        lambda: view.put_sync("a/../../x", "v"),
        lambda: view.append_sync("../x", "v"),
        lambda: view.delete_sync("../x"),
        lambda: view.update_sync("../x", lambda _: None),
        lambda: view.exists_sync("../x"),
    ):
        with pytest.raises(AddressError):
            call()
    assert backend.called == []


def test_schemes_are_per_namespace_and_cannot_shadow_others() -> None:
    store = Store(InMemoryBackend(), uri_scheme={"blob": "blob://", "bare": ""})

    assert store.namespace("blob").uri("x") == "blob://x"
    assert store.namespace("blob").parse_uri("blob://x") == "x"
    assert store.namespace("blob").parse_uri("context://blob/x") is None
    assert store.namespace("notes").parse_uri("context://notes/") == ""
    assert store.namespace("notes").parse_uri("context://notes/../x") is None
    assert store.namespace("notes").parse_uri(None) is None
    assert store.namespace("bare").uri("x") == "x"
    assert store.namespace("bare").parse_uri("x") is None
    assert store.namespace("vfs", uri_scheme="file:").uri("x") == "file:x"
    for scheme in ("context://", "context://other/", "con"):
        with pytest.raises(SettingsError, match="shadow"):
            Store(InMemoryBackend(), uri_scheme={"vfs": scheme})
    with pytest.raises(SettingsError, match="string"):
        Store(InMemoryBackend(), uri_scheme={"vfs": 5})  # type: ignore[dict-item] - on purpose


def test_a_store_is_wrapped_once_and_views_share_one_index() -> None:
    store = Store(InMemoryBackend())

    assert Store.wrap(store) is store
    assert isinstance(Store.wrap(InMemoryBackend()), Store)
    store.namespace("notes").put_sync("a", "x")
    assert [record.path for record in store.namespace("notes").index()] == ["a"]
    assert store.namespace("vfs").index() == ()
    with pytest.raises(SettingsError, match="no read, write, delete, list"):
        Store(object())  # type: ignore[arg-type] - on purpose


def test_a_snapshot_comes_back_in_its_order_and_forgets_the_index(notes: NamespaceView) -> None:
    for path in ("zeta", "b", "10", "2"):
        notes.put_sync(path, path)
    snapshot = notes.snapshot_sync()
    notes.put_sync("zeta", "changed")
    notes.put_sync("late", "x")

    assert snapshot is not None
    assert notes.restore_sync(snapshot) is True
    assert list(notes.entries_sync()) == ["zeta", "b", "10", "2"]
    assert content(notes, "zeta") == "zeta"
    assert notes.index() == ()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("backend", [InMemoryBackend(), Minimal()], ids=["swaps", "four methods"])
def test_a_change_that_writes_its_own_entry_is_told_so(backend: InMemoryBackend) -> None:
    """It would find for ever that somebody else was faster: itself."""
    notes = Store(backend).namespace("notes")
    notes.put_sync("a", "before")

    for write in (
        lambda: notes.put_sync("a", "inner"),
        lambda: notes.append_sync("a", "inner"),
        lambda: notes.delete_sync("a"),
    ):

        def change(before: StoredEntry | None, write: Callable[[], object] = write) -> StoredEntry:
            write()
            return StoredEntry(content="outer")

        with pytest.raises(StoreError, match="by this very call"):
            notes.update_sync("a", change)
    entry = notes.get_sync("a")
    assert entry is not None
    assert entry.content == "before"


def test_a_text_alone_is_put_under_its_content_address() -> None:
    notes = Store(InMemoryBackend()).namespace("notes")

    put = notes.put_sync("hello")

    assert put == notes.put_auto_sync("hello")
    assert put.path == "notes_2cf24dba5fb0a30e.txt"
    with pytest.raises(InputError, match="content"):
        notes.put_sync(5)  # type: ignore[arg-type] - what a caller without types may do
