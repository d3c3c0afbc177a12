"""Offloader: large texts out of the window into the store, a marker in their place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import msgspec

from context_chef.bridge import run_sync
from context_chef.errors import (
    CorruptStoreError,
    InputError,
    SettingsError,
    StoreCapabilityError,
    VFSCleanupNotSupportedError,
    shown,
)
from context_chef.events import Logger, OffloadCreated
from context_chef.ir.digest import sha256_hex
from context_chef.patterns import regex
from context_chef.persistence.backend import (
    Clock,
    StorageBackend,
    StoredEntry,
    byte_length,
    sendable,
    system_clock,
)
from context_chef.persistence.cutting import Cut, cut
from context_chef.persistence.eviction import AccessRecord, EvictionResult
from context_chef.persistence.notices import Emit, emit_nothing, log_of_library, tell
from context_chef.persistence.offload_config import VFS_NAMESPACE, OffloadConfig
from context_chef.persistence.store import Store
from context_chef.prompts import offload as wording
from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, Vocabulary

MARKER_ROOM: Final = 8_000
"""No marker is longer, so a text with a marker and more than this around it is not one of ours."""
_REMEMBERED_CHARS: Final = 16_000_000
"""Texts whose markers are remembered, all together; they are usually in the transcript anyway."""
_ALL_SHOWN: Final = "head and tail would show all of it"
_A_MARKER: Final = "it is what stands for an offloaded text already"
_NO_GAIN: Final = "its marker would be no shorter than the text itself"
_LEGACY_NAME: Final = regex(r"vfs_([0-9]{1,16})_[0-9a-f]+\.txt")


class OffloadResult(msgspec.Struct, frozen=True, kw_only=True):
    """The text to show, and where the whole is when it is not the whole."""

    is_offloaded: bool
    content: str
    uri: str | None = None
    reason: str | None = None
    """Why a text that is longer than the threshold is shown whole all the same."""


class VFSEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An offloaded text that this process wrote or read. Times in milliseconds."""

    filename: str
    uri: str
    created_at: int
    accessed_at: int
    bytes: int


class Offloader:
    """Keeps large texts in the `vfs` namespace of a store, each under its content address.

    The same text has the same address and, with the same settings, the same marker, byte for byte.
    Whether the text is really there, and whole, is read from the backend each time, never taken
    from memory; a damaged copy is stored anew.
    """

    def __init__(
        self,
        store: Store | StorageBackend | None = None,
        config: OffloadConfig | None = None,
        *,
        clock: Clock | None = None,
        vocabulary: Vocabulary = LEGACY_VOCABULARY,
        emit: Emit = emit_nothing,
        logger: Logger | None = None,
        count_tokens: Callable[[str], int] | None = None,
    ) -> None:
        self.config = OffloadConfig() if config is None else config
        if not isinstance(self.config, OffloadConfig):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
            raise SettingsError(f"`config` is an OffloadConfig, not {shown(config)}.")
        chosen = _own_store(self.config, clock or system_clock) or store
        if chosen is None:
            raise SettingsError(
                "`vfs` needs a store: give `vfs.store`, `vfs.storage_dir`, or a `store` that "
                "everything shares."
            )
        self.store = Store.wrap(chosen) if clock is None else Store.wrap(chosen, clock=clock)
        self.view = self.store.namespace(VFS_NAMESPACE, uri_scheme=self.config.uri_scheme)
        self.vocabulary = vocabulary
        self._emit = emit
        self._logger = logger or log_of_library()
        self._count_tokens = count_tokens or _estimate_tokens
        self._made: OrderedDict[tuple[str, int, int, str], tuple[str, str, str]] = OrderedDict()
        self._remembered = 0

    # Offloading

    async def offload(
        self,
        content: str,
        *,
        threshold: int | None = None,
        head_chars: int | None = None,
        tail_chars: int | None = None,
        tool: str | None = None,
        noun: str = "Output",
    ) -> OffloadResult:
        """The text as it is, or stored and replaced by a marker between its head and its tail.

        Settings that are not given are the configured ones, those of `tool` where it has its own.
        A text that is a marker already stays as it is, and so does one that is no longer than what
        would stand for it, unless the settings say otherwise; `reason` tells. Half a surrogate pair
        becomes U+FFFD either way, so that what is answered can be sent.
        """
        _check_call(content, threshold=threshold, head_chars=head_chars, tail_chars=tail_chars)
        content = sendable(content)
        config = self.config.for_tool(tool)
        if config is None or not self._too_large(content, config, threshold):
            return OffloadResult(is_offloaded=False, content=content)
        head_chars = config.head_chars if head_chars is None else head_chars
        tail_chars = config.tail_chars if tail_chars is None else tail_chars
        where = cut(content, head_chars=head_chars, tail_chars=tail_chars)
        visible = max(head_chars, 0) + max(tail_chars, 0)
        if where is None:
            return OffloadResult(is_offloaded=False, content=content, reason=_ALL_SHOWN)
        if len(content) <= visible + MARKER_ROOM and wording.has_marker(content):
            return OffloadResult(is_offloaded=False, content=content, reason=_A_MARKER)
        key = (content, where.head_end, where.tail_start, noun)
        made = self._made.get(key)
        if made is None:
            path = self.view.auto_path(content)
            text = await self._marked(content, where, path, self.view.uri(path), noun)
            made = (path, self.view.uri(path), text)
        if config.only_if_shorter and len(made[2]) >= len(content):
            return OffloadResult(is_offloaded=False, content=content, reason=_NO_GAIN)
        path, uri, text = made
        if await self._is_there(path, content):
            self.view.touch(path)
        else:
            path, uri = await self._keep(content)
            if path != made[0]:  # another text has the short name
                text = await self._marked(content, where, path, uri, noun)
        self._remember(key, (path, uri, text))
        await tell(self._emit, OffloadCreated(uri=uri))
        return OffloadResult(is_offloaded=True, content=text, uri=uri)

    async def keep(self, content: str) -> str:
        """Store a text of any size under its content address; answers the address."""
        _check_call(content)
        _, uri = await self._keep(content)
        await tell(self._emit, OffloadCreated(uri=uri))
        return uri

    # Reading back

    def uri(self, filename: str) -> str:
        """The address of a file name."""
        return self.view.uri(filename)

    def parse_uri(self, uri: object) -> str | None:
        """The file name in an address of ours; None for anything else and for one that climbs."""
        return self.view.parse_uri(uri)

    async def resolve(self, uri: object) -> str | None:
        """The whole text behind an address; None for a foreign or unknown one.

        Raises CorruptStoreError when the stored text is not what the address was made of.
        """
        path = self.parse_uri(uri)
        return None if not path else await self.read(path)

    async def read(self, path: str) -> str | None:
        """The whole text under a file name. Counts as a use, and enters it in the access index."""
        entry = await self.read_entry(path)
        return None if entry is None else entry.content

    async def read_entry(self, path: str) -> StoredEntry | None:
        """`read` with the metadata."""
        entry = await self.view.get(path)
        if entry is None:
            return None
        if self.view.index_entry(path) is None:
            now = self.store.clock()
            self.view.adopt(
                path,
                created_at=_named_time(path, now),
                accessed_at=now,
                bytes=byte_length(entry.content),
            )
        return entry

    def get_entries(self) -> list[VFSEntry]:
        """What this process wrote or read, oldest first."""
        return [
            VFSEntry(
                filename=record.path,
                uri=record.uri,
                created_at=record.created_at,
                accessed_at=record.accessed_at,
                bytes=record.bytes,
            )
            for record in self.view.index()
        ]

    # Housekeeping

    async def cleanup(
        self,
        *,
        max_age: float | None = None,
        max_files: float | None = None,
        max_bytes: float | None = None,
    ) -> EvictionResult:
        """Evict what the caps do not allow; the configured ones where none is given.

        Only entries that this process knows can go; see `reconcile`. Raises
        VFSCleanupNotSupportedError when the store cannot list and delete.
        """
        config = self.config
        try:
            return await self.view.cleanup(
                max_age=config.max_age if max_age is None else max_age,
                max_files=config.max_files if max_files is None else max_files,
                max_bytes=config.max_bytes if max_bytes is None else max_bytes,
                on_evicted=config.on_vfs_evicted,
                on_hook_error=self._hook_failed,
            )
        except StoreCapabilityError as error:
            raise VFSCleanupNotSupportedError(error.ns, error.missing) from error

    async def reconcile(self) -> int:
        """Take over every stored text that this process does not know; answers how many.

        Raises VFSCleanupNotSupportedError when the store cannot list.
        """
        adopted = 0
        try:
            for listed in await self.view.list():
                if not _LEGACY_NAME.fullmatch(listed.path) or self.view.index_entry(listed.path):
                    continue
                # The other implementation's old names carry the time they were written at.
                size = listed.meta.get("bytes")
                if not isinstance(size, int):
                    entry = await self.view.get(listed.path, touch=False)
                    size = 0 if entry is None else byte_length(entry.content)
                created_at = _named_time(listed.path, self.store.clock())
                self.view.adopt(listed.path, created_at=created_at, bytes=size)
                adopted += 1
            return adopted + await self.view.reconcile()
        except StoreCapabilityError as error:
            raise VFSCleanupNotSupportedError(error.ns, error.missing) from error

    # The same for callers without an event loop

    def offload_sync(
        self,
        content: str,
        *,
        threshold: int | None = None,
        head_chars: int | None = None,
        tail_chars: int | None = None,
        tool: str | None = None,
    ) -> OffloadResult:
        """`offload` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(
            self.offload(
                content,
                threshold=threshold,
                head_chars=head_chars,
                tail_chars=tail_chars,
                tool=tool,
            )
        )

    def keep_sync(self, content: str) -> str:
        """`keep` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.keep(content))

    def resolve_sync(self, uri: object) -> str | None:
        """`resolve` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.resolve(uri))

    def read_sync(self, path: str) -> str | None:
        """`read` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.read(path))

    def cleanup_sync(
        self,
        *,
        max_age: float | None = None,
        max_files: float | None = None,
        max_bytes: float | None = None,
    ) -> EvictionResult:
        """`cleanup` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.cleanup(max_age=max_age, max_files=max_files, max_bytes=max_bytes))

    def reconcile_sync(self) -> int:
        """`reconcile` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.reconcile())

    # Inner workings

    def _too_large(self, content: str, config: OffloadConfig, threshold: int | None) -> bool:
        if threshold is not None:
            return len(content) > threshold
        if config.threshold_tokens is not None:
            # A token is at least one byte, so a short text needs no counting.
            return (
                byte_length(content) > config.threshold_tokens
                and self._count_tokens(content) > config.threshold_tokens
            )
        return len(content) > config.threshold

    async def _keep(self, content: str) -> tuple[str, str]:
        content = sendable(content)
        path = self.view.auto_path(content)
        try:
            there = await self.view.get(path, touch=False)
        except CorruptStoreError:
            there = None
        if there is not None and there.content != content:
            # Two texts share the short digest. The full one keeps them apart.
            digest = sha256_hex(content.encode())
            put = await self.view.put(f"{VFS_NAMESPACE}_{digest}.txt", content)
        else:
            put = await self.view.put_auto(content)
        return put.path, put.uri

    async def _is_there(self, path: str, content: str) -> bool:
        """Whether this very text is stored there and known here; a name alone proves nothing."""
        if self.view.index_entry(path) is None:
            return False
        try:
            entry = await self.view.get(path, touch=False)
        except CorruptStoreError:
            return False
        return entry is not None and entry.content == content

    async def _marked(self, content: str, where: Cut, path: str, uri: str, noun: str) -> str:
        # Readers of logs, JSON, HTML and code, for those who have something to offload.
        from context_chef.persistence.error_lines import error_lines
        from context_chef.persistence.previews import kind_of_text, preview

        head, tail = content[: where.head_end], content[where.tail_start :]
        kind = kind_of_text(content) if self.config.preview else None
        kept = (
            error_lines(
                content[where.head_end : where.tail_start],
                first_line=1 + head.count("\n"),
                limit=self.config.kept_error_lines,
            )
            if kind in (None, "log")
            else []
        )
        marker = self.vocabulary.offload_marker(
            total_lines=content.count("\n") + 1,
            total_chars=len(content),
            head_chars=len(head),
            tail_chars=len(tail),
            uri=uri,
            physical_path=await self.view.physical_path(path),
            preview=preview(content) if kind is not None else None,
            kept_lines=kept,
            noun=noun,
        )
        return wording.place_marker(marker, head=head, tail=tail)

    def _remember(self, key: tuple[str, int, int, str], made: tuple[str, str, str]) -> None:
        if key not in self._made:
            self._remembered += len(key[0])
        self._made[key] = made
        self._made.move_to_end(key)
        while self._remembered > _REMEMBERED_CHARS:
            dropped, _ = self._made.popitem(last=False)
            self._remembered -= len(dropped[0])

    def _hook_failed(self, entry: AccessRecord, error: Exception) -> None:
        self._logger.warning(f"`on_vfs_evicted` raised for {entry.uri}: {error!r}")


def _check_call(content: object, **counts: object) -> None:
    if not isinstance(content, str):
        raise InputError(f"what is offloaded is text, not {shown(content)}.", path="$.content")
    for name, value in counts.items():
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise InputError(f"`{name}` is a whole number, not {shown(value)}.", path=f"$.{name}")


def _own_store(config: OffloadConfig, clock: Clock) -> Store | StorageBackend | None:
    """Where the settings themselves say that offloaded text goes. Nothing is created here."""
    if config.store is not None:
        return config.store
    if config.adapter is not None:
        return config.adapter
    if config.storage_dir is not None:
        # A folder's guards against links, races and crashes, for those who keep one.
        from context_chef.persistence.file_system import FileSystemBackend
        from context_chef.persistence.layouts import FLAT_VFS_LAYOUTS

        return FileSystemBackend(config.storage_dir, layouts=FLAT_VFS_LAYOUTS, clock=clock)
    return None


def _named_time(path: str, now: int) -> int:
    found = _LEGACY_NAME.fullmatch(path)
    return now if found is None else min(int(found[1]), now)


def _estimate_tokens(text: str) -> int:
    return -(-byte_length(text) // 3)
