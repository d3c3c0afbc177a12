"""NamespaceView: one namespace of a store, for both kinds of caller."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import msgspec

from context_chef.bridge import MaybeAwaitable, run_sync, settle, stepping
from context_chef.errors import AddressError, ConflictError, CorruptStoreError, shown
from context_chef.persistence import address
from context_chef.persistence.backend import (
    Clock,
    ListedEntry,
    ReadEntries,
    SearchHit,
    StorageBackend,
    StoredEntry,
    appended,
    byte_length,
    check_entries,
    check_entry,
    sendable,
)
from context_chef.persistence.calls import BackendCalls
from context_chef.persistence.evicting import EvictionHook, HookErrorHook, evict
from context_chef.persistence.eviction import (
    AccessIndex,
    AccessRecord,
    EvictionPolicy,
    EvictionResult,
    plan_eviction,
)
from context_chef.persistence.given import (
    LONGEST_QUERY,
    check_callable,
    check_meta,
    check_names,
    check_search,
    check_text,
    check_whole,
)
from context_chef.persistence.locks import EntryLocks

Change: TypeAlias = Callable[[StoredEntry | None], MaybeAwaitable[StoredEntry | None]]

_READS_AT_ONCE = 64
_MOST_IN_VAIN = 100
"""Swaps refused for an entry that nobody changed: such a backend would be asked for ever."""


class PutResult(msgspec.Struct, frozen=True, kw_only=True):
    """Where an entry went."""

    path: str
    uri: str


class NamespaceView:
    """One namespace: read and write, list and search, evict.

    What touches the backend is async and has a `_sync` twin; the twin raises AsyncRequiredError,
    before the backend is touched, when the backend has to wait. What only looks at the address or
    at the access index is plain.

    Only what this store wrote or adopted is in the access index, and only that can be evicted.
    `get` counts as a use; `entries`, `list` and `search` look at everything and count as none.
    """

    def __init__(
        self,
        ns: str,
        *,
        backend: StorageBackend,
        scheme: str,
        policy: EvictionPolicy,
        index: AccessIndex,
        locks: EntryLocks,
        clock: Clock,
    ) -> None:
        self.ns = ns
        self.policy = policy
        self._calls = BackendCalls(backend, ns)
        self._scheme = scheme
        self._index = index
        self._locks = locks
        self._clock = clock

    # Addresses and abilities

    def uri(self, path: str) -> str:
        """The address of `path` in this namespace's scheme."""
        check_names(self.ns, path)
        return self._scheme + path

    def parse_uri(self, uri: object) -> str | None:
        """The path when the address has this namespace's scheme, else None.

        The bare scheme gives the empty path. An empty scheme never matches; a path that climbs out
        of the namespace is none.
        """
        if not isinstance(uri, str) or not self._scheme or not uri.startswith(self._scheme):
            return None
        path = uri[len(self._scheme) :]
        return None if address.fault_of_path(path) else path

    def auto_path(self, content: str) -> str:
        """The content address, `<ns>_<16 hex digits of SHA-256>.txt`."""
        check_text(content, "content")
        return address.content_path(self.ns, content)

    def supports(self, capability: str) -> bool:
        """Whether the backend offers that in this namespace. See `CAPABILITIES` for the names."""
        return self._calls.offers(capability)

    # Reading

    async def get(self, path: str, *, touch: bool = True) -> StoredEntry | None:
        """The entry, or None. Counts as a use unless `touch` is False.

        Raises CorruptStoreError when the stored bytes are damaged, or are not what a content
        address promises.
        """
        address.check_path(path, self.ns)
        entry: StoredEntry | None = await self._calls("read", path)
        if entry is None:
            return None
        if not address.keeps_promise(self.ns, path, entry.content):
            raise CorruptStoreError(
                f"{shown(self.uri(path))} does not hold the text that its address was made of; "
                "store the original text again, or delete the entry."
            )
        if touch:
            self._index.touch(path, self._clock())
        return entry

    async def list(self, prefix: str = "") -> Sequence[ListedEntry]:
        """Every readable entry whose path begins with `prefix`, in the backend's order."""
        check_names(self.ns, prefix, what="prefix")
        self._calls.need("list")
        listed: Sequence[ListedEntry] = await self._calls("list", prefix)
        return listed

    async def entries(self, prefix: str = "") -> ReadEntries:
        """Path to entry, in the backend's order. Vanished and damaged ones are left out.

        `damaged` of the answer says which were, and why, as far as the backend tells.
        """
        check_names(self.ns, prefix, what="prefix")
        if self._calls.offers("read_all"):
            whole: Mapping[str, StoredEntry] = await self._calls("read_all", prefix)
            return whole if isinstance(whole, ReadEntries) else ReadEntries(whole)
        paths = [listed.path for listed in await self.list(prefix)]
        found: list[StoredEntry | CorruptStoreError | None] = []
        for start in range(0, len(paths), _READS_AT_ONCE):
            batch = paths[start : start + _READS_AT_ONCE]
            if self._calls.reads_at_once():
                import asyncio  # loaded already: a loop runs

                found += await asyncio.gather(*map(self._read_or_damage, batch))
            else:
                found += [await self._read_or_damage(path) for path in batch]
        read = dict(zip(paths, found, strict=True))
        return ReadEntries(
            {path: entry for path, entry in read.items() if isinstance(entry, StoredEntry)},
            damaged={
                path: str(entry)
                for path, entry in read.items()
                if isinstance(entry, CorruptStoreError)
            },
        )

    async def search(
        self, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """The entries that answer the query, best first, in pages.

        Of a longer query the first `LONGEST_QUERY` (2,000) characters are searched for. Raises
        StoreCapabilityError when the backend cannot search.
        """
        check_search(query, prefix, limit, offset)
        self._calls.need("search")
        hits: Sequence[SearchHit] = await self._calls(
            "search", query[:LONGEST_QUERY], prefix=prefix, limit=limit, offset=offset
        )
        return hits

    async def exists(self, path: str) -> bool:
        """Whether something complete is stored there. False on a backend that cannot tell."""
        address.check_path(path, self.ns)
        return self._calls.offers("exists") and bool(await self._calls("exists", path))

    async def physical_path(self, path: str) -> str | None:
        """The file that holds the entry, or None on a backend without files."""
        address.check_path(path, self.ns)
        if not self._calls.offers("physical_path"):
            return None
        file: str | None = await self._calls("physical_path", path)
        return file

    # Writing

    async def put(
        self, path: str, content: str | None = None, meta: Mapping[str, Any] | None = None
    ) -> PutResult:
        """Store the text under that path, replacing what is there.

        `createdAt` and `updatedAt` are now unless `meta` gives them. A content address takes only
        the text that it was made of. A text alone, `put(text)`, goes under its content address as
        `put_auto(text)` does it.
        """
        if content is None:
            return await self.put_auto(path, meta)
        address.check_path(path, self.ns)
        entry = self._entry(content, meta)
        self._check_promise(path, content)
        async with self._alone(path):
            await self._calls("write", path, entry)
        return self._wrote(path, entry)

    async def put_auto(self, content: str, meta: Mapping[str, Any] | None = None) -> PutResult:
        """Store the text under its content address.

        Without `meta`, an intact copy that is there already is left alone and counts as used; a
        damaged one is replaced.
        """
        path = self.auto_path(content)
        entry = self._entry(content, meta)
        if meta is None and await self._holds(path, content):
            if self._index.get(path) is None:
                self.register(path, bytes=byte_length(content))
            else:
                self.touch(path)
            return PutResult(path=path, uri=self.uri(path))
        async with self._alone(path):
            try:
                await self._calls("write", path, entry)
            except CorruptStoreError:
                # The address says what belongs there, so the damaged copy is no loss.
                await self._calls("delete", path)
                await self._calls("write", path, entry)
        return self._wrote(path, entry)

    async def append(
        self, path: str, content: str, meta: Mapping[str, Any] | None = None
    ) -> PutResult:
        """Add text at the end, exactly as given; an absent entry is created.

        `meta` is laid over the entry's own. No concurrent append or update is lost.
        """
        address.check_path(path, self.ns)
        self._entry(content, meta)
        if (
            meta is None
            and self._calls.offers("append")
            and not address.is_content_path(self.ns, path)
        ):
            async with self._alone(path):
                await self._calls("append", path, content)
            entry: StoredEntry | None = await self._calls("read", path)
            if entry is not None:
                self.register(path, bytes=byte_length(entry.content))
            return PutResult(path=path, uri=self.uri(path))

        def add(before: StoredEntry | None) -> StoredEntry:
            grown = appended(before, content, self._clock())
            laid_over = {**grown.meta, **(meta or {}), "bytes": grown.meta["bytes"]}
            return StoredEntry(content=grown.content, meta=laid_over)

        await self.update(path, add)
        return PutResult(path=path, uri=self.uri(path))

    async def update(self, path: str, change: Change) -> StoredEntry | None:
        """Read, change, write, so that no other change in between is lost.

        `change` is given the entry, or None where there is none, and answers the entry to store,
        or None to have none there; it may be async, and is asked again when somebody else was
        faster. Answers what is stored afterwards. Where the backend cannot compare and swap, this
        keeps out other users of the same backend object only, not other processes.
        """
        address.check_path(path, self.ns)
        check_callable(change, "change", optional=False)
        async with self._locks.hold(self.ns, path):
            attempt, in_vain, seen = 0, 0, None
            while True:
                before: StoredEntry | None = await self._calls("read", path)
                after = await settle(change(before))
                if after is not None and after != before:
                    check_entry(after)
                    self._check_promise(path, after.content)
                    after = StoredEntry(content=after.content, meta=self._stamped(after.meta))
                if await self._calls.swap(path, before, after):
                    break
                attempt += 1
                in_vain = in_vain + 1 if repr(before) == seen else 0
                seen = repr(before)
                if in_vain == _MOST_IN_VAIN:
                    raise ConflictError(
                        f"{shown(self.uri(path))} could not be changed: the backend says "
                        "that somebody "
                        f"else was faster, {in_vain} times, and yet the entry stays the same."
                    )
                await _pause(min(attempt, 10) / 1000)
        if after is None:
            self._index.drop(path)
        elif after != before:
            self._wrote(path, after)
        return after

    async def delete(self, path: str) -> bool:
        """Remove the entry, also from the access index. True when there was one."""
        address.check_path(path, self.ns)
        self._calls.need("delete")
        gone = await self._remove(path)
        self._index.drop(path)
        return gone

    async def snapshot(self) -> dict[str, StoredEntry] | None:
        """A copy of the namespace in its order, or None where the backend cannot make one."""
        if not self._calls.offers("snapshot"):
            return None
        return dict(await self._calls("snapshot"))

    async def restore(self, data: Mapping[str, StoredEntry]) -> bool:
        """Replace the namespace and forget its access index. False where the backend cannot."""
        if not self._calls.offers("restore"):
            return False
        check_entries(data)
        for path in data:
            address.check_path(path, self.ns)
        await self._calls("restore", dict(data))
        self._index.clear()
        return True

    # The access index

    def register(self, path: str, *, bytes: int) -> None:
        """Note that the entry was written just now. A known entry keeps its creation time."""
        address.check_path(path, self.ns)
        check_whole(bytes, "bytes")
        now = self._clock()
        self._index.register(self._record(path, created_at=now, accessed_at=now, bytes=bytes))

    def adopt(
        self, path: str, *, created_at: int, accessed_at: int | None = None, bytes: int = 0
    ) -> None:
        """Take an entry that somebody else wrote into the index, with its own times."""
        address.check_path(path, self.ns)
        used = created_at if accessed_at is None else accessed_at
        for name, value in (("created_at", created_at), ("accessed_at", used), ("bytes", bytes)):
            check_whole(value, name)
        self._index.adopt(self._record(path, created_at=created_at, accessed_at=used, bytes=bytes))

    def touch(self, path: str) -> None:
        """Note a use. An entry that is not in the index is left out of it."""
        check_names(self.ns, path)
        self._index.touch(path, self._clock())

    def index(self) -> tuple[AccessRecord, ...]:
        """Everything in the index, oldest registration first."""
        return self._index.records()

    def index_entry(self, path: str) -> AccessRecord | None:
        """What the index knows about one entry."""
        check_names(self.ns, path)
        return self._index.get(path)

    async def reconcile(self) -> int:
        """Adopt every listed entry that is not in the index; answers how many.

        Sizes and times are the listing's own; what it does not tell is measured by reading.
        """
        self._calls.need("list")
        now = self._clock()
        adopted = 0
        for listed in await self.list():
            if self._index.get(listed.path) is not None:
                continue
            created = min(_number(listed.meta, "createdAt", now), now)
            used = min(max(_number(listed.meta, "updatedAt", created), created), now)
            size = _number(listed.meta, "bytes", -1)
            if size < 0:
                entry = await self._readable(listed.path)
                if entry is None:
                    continue
                size = byte_length(entry.content)
            self.adopt(listed.path, created_at=created, accessed_at=used, bytes=size)
            adopted += 1
        return adopted

    async def cleanup(
        self,
        *,
        max_age: float | None = None,
        max_files: float | None = None,
        max_bytes: float | None = None,
        on_evicted: EvictionHook | None = None,
        on_hook_error: HookErrorHook | None = None,
    ) -> EvictionResult:
        """Evict what the caps do not allow: the too old first, then the least recently used.

        Caps left out are the namespace's own, infinity lifts one. What cannot be deleted is in
        `failed` and stays in the index. `on_evicted` may be async; when it raises, the error goes
        to `on_hook_error` and the cleanup goes on. Calls for one namespace run one after another,
        each with its own caps.
        """
        check_callable(on_evicted, "on_evicted")
        check_callable(on_hook_error, "on_hook_error")
        policy = self.policy.overridden(max_age=max_age, max_files=max_files, max_bytes=max_bytes)
        self._calls.need("list", "delete")
        self._calls.refuse_waiting("list", "delete")
        async with self._locks.hold(self.ns, "", "cleanup"):
            return await evict(
                plan_eviction(self._index.records(), policy, self._clock()),
                self._index,
                self._remove,
                on_evicted=on_evicted,
                on_hook_error=on_hook_error,
            )

    # The same for callers without an event loop

    def get_sync(self, path: str, *, touch: bool = True) -> StoredEntry | None:
        """`get` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.get(path, touch=touch))

    def list_sync(self, prefix: str = "") -> Sequence[ListedEntry]:
        """`list` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.list(prefix))

    def entries_sync(self, prefix: str = "") -> ReadEntries:
        """`entries` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.entries(prefix))

    def search_sync(
        self, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        """`search` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.search(query, prefix=prefix, limit=limit, offset=offset))

    def exists_sync(self, path: str) -> bool:
        """`exists` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.exists(path))

    def physical_path_sync(self, path: str) -> str | None:
        """`physical_path` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.physical_path(path))

    def put_sync(
        self, path: str, content: str | None = None, meta: Mapping[str, Any] | None = None
    ) -> PutResult:
        """`put` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.put(path, content, meta))

    def put_auto_sync(self, content: str, meta: Mapping[str, Any] | None = None) -> PutResult:
        """`put_auto` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.put_auto(content, meta))

    def append_sync(
        self, path: str, content: str, meta: Mapping[str, Any] | None = None
    ) -> PutResult:
        """`append` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.append(path, content, meta))

    def update_sync(self, path: str, change: Change) -> StoredEntry | None:
        """`update` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.update(path, change))

    def delete_sync(self, path: str) -> bool:
        """`delete` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.delete(path))

    def snapshot_sync(self) -> dict[str, StoredEntry] | None:
        """`snapshot` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.snapshot())

    def restore_sync(self, data: Mapping[str, StoredEntry]) -> bool:
        """`restore` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.restore(data))

    def reconcile_sync(self) -> int:
        """`reconcile` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.reconcile())

    def cleanup_sync(
        self,
        *,
        max_age: float | None = None,
        max_files: float | None = None,
        max_bytes: float | None = None,
        on_evicted: EvictionHook | None = None,
        on_hook_error: HookErrorHook | None = None,
    ) -> EvictionResult:
        """`cleanup` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(
            self.cleanup(
                max_age=max_age,
                max_files=max_files,
                max_bytes=max_bytes,
                on_evicted=on_evicted,
                on_hook_error=on_hook_error,
            )
        )

    # Inner workings

    async def _remove(self, path: str) -> bool:
        async with self._alone(path):
            return bool(await self._calls("delete", path))

    @asynccontextmanager
    async def _alone(self, path: str) -> AsyncGenerator[None]:
        """Keep a plain write out of an update's way where the backend itself cannot."""
        if self._calls.offers("compare_and_swap"):
            # A change that writes its own entry would always find that somebody was faster.
            self._locks.refuse_own(self.ns, path)
            yield
        else:
            async with self._locks.hold(self.ns, path):
                yield

    async def _readable(self, path: str) -> StoredEntry | None:
        entry = await self._read_or_damage(path)
        return entry if isinstance(entry, StoredEntry) else None

    async def _read_or_damage(self, path: str) -> StoredEntry | CorruptStoreError | None:
        try:
            entry: StoredEntry | None = await self._calls("read", path)
        except CorruptStoreError as error:
            return error
        return entry

    async def _holds(self, path: str, content: str) -> bool:
        entry = await self._readable(path)
        return entry is not None and entry.content == sendable(content)

    def _check_promise(self, path: str, content: str) -> None:
        if not address.keeps_promise(self.ns, path, content):
            raise AddressError(
                f"{shown(path)} is the content address of another text and cannot hold this one; "
                "choose a name of your own, or let `put_auto` make the address."
            )

    def _entry(self, content: str, meta: Mapping[str, Any] | None) -> StoredEntry:
        """What is to be stored, its times filled in; judged before anything is touched."""
        check_text(content, "content")
        check_meta({} if meta is None else meta)
        return StoredEntry(content=content, meta=self._stamped(meta or {}))

    def _stamped(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        now = self._clock()
        filled = dict(meta)
        filled.setdefault("createdAt", now)
        filled.setdefault("updatedAt", now)
        return filled

    def _wrote(self, path: str, entry: StoredEntry) -> PutResult:
        self.register(path, bytes=byte_length(entry.content))
        return PutResult(path=path, uri=self.uri(path))

    def _record(self, path: str, *, created_at: int, accessed_at: int, bytes: int) -> AccessRecord:
        return AccessRecord(
            ns=self.ns,
            path=path,
            uri=self.uri(path),
            created_at=created_at,
            accessed_at=accessed_at,
            bytes=bytes,
        )


def _number(meta: Mapping[str, Any], key: str, fallback: int) -> int:
    """A time or size out of somebody else's metadata, which may hold anything."""
    value = meta.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return fallback
    return int(value) if abs(value) < 2**63 else fallback


async def _pause(seconds: float) -> None:
    if stepping():
        time.sleep(seconds)
    else:
        import asyncio  # loaded already: a loop runs

        await asyncio.sleep(seconds)
