"""The world of one store scenario: a directory, a clock, a log, and chefs built from a config."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from context_chef import compat
from context_chef.compat import RenamedWarning
from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    ListedEntry,
    SearchHit,
    StorageBackend,
    Store,
    StoredEntry,
)
from context_chef.persistence.memory_config import MemoryConfig
from context_chef.persistence.memory_entry import MemoryEntry
from context_chef.persistence.offload_config import OffloadConfig
from context_chef.retrieval import ContextToolConfig

CONTRACT = {"view_chars": None, "listed_entries": None, "exact_line_endings": True}
"""The reference caps nothing and matches line ends as they are: both can be had."""


class Clock:
    """Stands still until it is moved."""

    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Minimal:
    """A backend with the four methods and nothing else."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._inner = InMemoryBackend(clock=clock)

    def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._inner.read(ns, path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._inner.write(ns, path, entry)

    def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)


class Searchable(Minimal):
    """Native search: case-sensitive, last written first."""

    def search(
        self, ns: str, query: str, *, prefix: str = "", limit: int = 20, offset: int = 0
    ) -> Sequence[SearchHit]:
        found = [
            SearchHit(path=path, meta=entry.meta, snippet=f"native:{path}")
            for path, entry in reversed(self._inner.read_all(ns, prefix).items())
            if query in entry.content
        ]
        return found[offset : offset + limit]


class FailingDelete(InMemoryBackend):
    """Raises instead of deleting some paths."""

    def __init__(self, clock: Callable[[], int], paths: Sequence[str]) -> None:
        super().__init__(clock=clock)
        self._paths = paths

    def delete(self, ns: str, path: str) -> bool:
        if path in self._paths:
            raise RuntimeError(f"delete refused for {path}")
        return super().delete(ns, path)


class AsyncInMemory:
    """Every method has to be awaited; no append, snapshot, restore or search."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._inner = InMemoryBackend(clock=clock)

    async def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._inner.read(ns, path)

    async def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._inner.write(ns, path, entry)

    async def delete(self, ns: str, path: str) -> bool:
        return self._inner.delete(ns, path)

    async def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return self._inner.list(ns, prefix)

    async def read_all(self, ns: str, prefix: str = "") -> Mapping[str, StoredEntry]:
        return self._inner.read_all(ns, prefix)

    async def exists(self, ns: str, path: str) -> bool:
        return self._inner.exists(ns, path)


class ReadWriteAdapter:
    """A legacy adapter that can read and write, by file name."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}

    def read(self, name: str) -> str | None:
        return self._files.get(name)

    def write(self, name: str, content: str) -> None:
        self._files[name] = content


class World:
    """Directory, clock, log, and the chefs of a scenario."""

    def __init__(self, root: Path, now: int, config: dict[str, Any] | None) -> None:
        self.root = root
        self.clock = Clock(now)
        self.config = config or {}
        self.log: list[dict[str, Any]] = []
        self.saved: dict[str, Any] = {}
        self.session = "main"
        self.chefs: dict[str, Any] = {}

    @property
    def chef(self) -> Any:
        """The chef of the current session, built when it is first needed."""
        if self.session not in self.chefs:
            self.chefs[self.session] = self.build(self.config)
        return self.chefs[self.session]

    def restart(self) -> None:
        """A new process: the same configuration and directory, nothing else."""
        self.chefs.pop(self.session, None)

    def create_files(self, files: Sequence[Mapping[str, Any]]) -> None:
        for file in files:
            path = self.root / file["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            if file.get("directory"):
                path.mkdir()
            elif "symlink_to" in file:
                path.symlink_to(self.root / file["symlink_to"])
            else:
                path.write_bytes(file["content"].encode("utf-8", "surrogatepass"))

    def build(self, config: Mapping[str, Any]) -> Any:
        """A chef of a scenario's config."""
        from context_chef import ContextChef

        settings: dict[str, Any] = {"clock": self.clock, "logger": self}
        if "tools" in config:
            settings["tools"] = config["tools"]
        store = config.get("store", {"kind": "in_memory"})
        if store is not None:
            settings["store"] = self.store(store)
        memory = config.get("memory", {})
        if memory is not None:
            settings["memory"] = self.memory(memory)
        settings["vfs"] = self.vfs(config.get("vfs") or {})
        settings["context_tool"] = self.context_tool(config, store)
        if "pruner" in config:
            settings["pruner"] = dict(config["pruner"])
        if "skill_placement" in config:
            settings["skill_placement"] = config["skill_placement"]
        if "handoff" in config:
            settings["overflow"] = {"handoff": dict(config["handoff"])}
        chef = ContextChef(**settings)
        self._watch(chef, config.get("raising_handler_on"))
        return chef

    def store(self, spec: Mapping[str, Any]) -> Store:
        """A store of one of the kinds that the scenarios name."""
        eviction = spec.get("eviction")
        return Store(
            self.backend(spec),
            eviction=eviction and {ns: dict(caps) for ns, caps in eviction.items()},
            uri_scheme=spec.get("uri_scheme"),
            clock=self.clock,
        )

    def backend(self, spec: Mapping[str, Any]) -> StorageBackend:
        with warnings.catch_warnings():
            # The old names warn, and the scenarios about them have no others to use.
            warnings.simplefilter("ignore", RenamedWarning)
            return self._backend(spec)

    def _backend(self, spec: Mapping[str, Any]) -> StorageBackend:
        match spec["kind"]:
            case "in_memory":
                return InMemoryBackend(clock=self.clock)
            case "filesystem":
                directory = self.root / spec.get("dir", "store")
                return FileSystemBackend(directory, clock=self.clock)
            case "minimal":
                return Minimal(self.clock)
            case "async_in_memory":
                return AsyncInMemory(self.clock)
            case "searchable":
                return Searchable(self.clock)
            case "failing_delete":
                return FailingDelete(self.clock, spec.get("paths", []))
            case "read_write_adapter":
                return compat.from_vfs_adapter(ReadWriteAdapter(), clock=self.clock).backend
            case "legacy_memory_store":
                return compat.from_memory_store(compat.InMemoryStore()).backend
            case "vfs_memory_store":
                directory = self.root / spec.get("dir", ".context_memory")
                return compat.from_memory_store(compat.VFSMemoryStore(directory)).backend
            case "file_system_adapter":
                adapter = compat.FileSystemAdapter(self.root / spec["dir"])
                return compat.from_vfs_adapter(adapter, clock=self.clock).backend
            case kind:
                raise NotImplementedError(f"store kind {kind!r}")

    def memory(self, spec: Mapping[str, Any]) -> MemoryConfig:
        # The reference shows memory in the prefix unless told otherwise; ours keeps that stable.
        options: dict[str, Any] = {"memory_placement": "after_system"}
        if spec.get("store") is not None:
            options["store"] = self.store(spec["store"])
        for name in ("default_ttl", "allowed_keys", "memory_placement"):
            if name in spec:
                options[name] = spec[name]
        if "selector" in spec:
            options["selector"] = _selector(spec["selector"])
        if "veto" in spec:
            options["on_memory_update"] = self._veto(spec["veto"])
        if spec.get("record_hooks") or spec.get("changed_hook_raises"):
            options["on_memory_changed"] = self._changed(bool(spec.get("changed_hook_raises")))
        if spec.get("record_hooks") or spec.get("expired_hook_raises"):
            options["on_memory_expired"] = self._expired(bool(spec.get("expired_hook_raises")))
        return MemoryConfig(**options)

    def vfs(self, spec: Mapping[str, Any]) -> OffloadConfig:
        options: dict[str, Any] = {"only_if_shorter": False}
        options |= {key: value for key, value in spec.items() if value is not None}
        if "store" in options:
            options["store"] = self.store(options["store"])
        if "adapter" in options:
            options["adapter"] = self.backend({"kind": "file_system_adapter", **options["adapter"]})
        if "on_evicted" in options:
            options["on_vfs_evicted"] = self._evicted(options.pop("on_evicted"))
        return OffloadConfig(**options)

    def context_tool(
        self, config: Mapping[str, Any], store: Mapping[str, Any] | None
    ) -> ContextToolConfig:
        options: dict[str, Any] = {**CONTRACT, "search_hits": None, "search": "scan"}
        if store is not None and store["kind"] == "searchable":
            options["search"] = "backend"
        return ContextToolConfig(**options, **config.get("context_tool", {}))

    def warning(self, message: object, *args: object) -> None:
        """The logger of the chefs."""
        text = str(message) % args if args else str(message)
        self.log.append({"kind": "warning", "message": text})

    def _watch(self, chef: Any, raising: str | None) -> None:
        if raising is not None:

            def fail(event: Any) -> None:
                raise RuntimeError("event handler failed")

            chef.on(raising, fail)
        for topic in ("memory:changed", "memory:expired", "offload:created", "pruner:tool-blocked"):
            chef.on(topic, self._recorder(topic))

    def _recorder(self, topic: str) -> Callable[[Any], None]:
        def record(event: Any) -> None:
            entry = getattr(event, "entry", None)
            payload = entry_record(entry) if entry is not None else msgspec.to_builtins(event)
            self.log.append({"kind": "event", "event": topic, "payload": payload})

        return record

    def _veto(self, spec: Mapping[str, Any]) -> Callable[[str, str | None, str | None], bool]:
        def veto(key: str, value: str | None, old_value: str | None) -> bool:
            call = {"kind": "on_memory_update", "key": key, "value": value, "old_value": old_value}
            self.log.append(call)
            if key in spec.get("raise_keys", ()):
                raise RuntimeError(f"hook refused {key}")
            if value is None and spec.get("deny_deletes"):
                return False
            return key not in spec.get("deny_keys", ())

        return veto

    def _changed(self, raises: bool) -> Callable[[Any], None]:
        def changed(change: Any) -> None:
            self.log.append({"kind": "on_memory_changed", **msgspec.to_builtins(change)})
            if raises:
                raise RuntimeError("changed hook failed")

        return changed

    def _expired(self, raises: bool) -> Callable[[MemoryEntry], None]:
        def expired(entry: MemoryEntry) -> None:
            record = entry_record(entry)
            self.log.append({"kind": "on_memory_expired", **record, "entry": record})
            if raises:
                raise RuntimeError("expired hook failed")

        return expired

    def _evicted(self, mode: str) -> Callable[[Any, str], None]:
        def evicted(entry: Any, reason: str) -> None:
            record = {**msgspec.to_builtins(entry), "filename": entry.path}
            self.log.append({"kind": "on_evicted", **record, "entry": record, "reason": reason})
            if mode == "throw":
                raise RuntimeError("eviction hook failed")

        return evicted


def entry_record(entry: Any) -> dict[str, Any]:
    """An entry as it is recorded: nothing for what is absent."""
    record = {
        name: getattr(entry, name)
        for name in (
            "key",
            "value",
            "description",
            "created_at",
            "updated_at",
            "update_count",
            "importance",
            "expires_at",
            "expires_at_turn",
        )
    }
    return {name: value for name, value in record.items() if value is not None}


def _selector(spec: Mapping[str, Any]) -> Callable[[Sequence[MemoryEntry]], Any]:
    argument = spec.get("arg", spec.get("n", spec.get("p", spec.get("prefix"))))

    def select(entries: Sequence[MemoryEntry]) -> Any:
        match spec["kind"]:
            case "updated_desc":
                newest = sorted(entries, key=lambda entry: entry.updated_at, reverse=True)
                return newest[:argument]
            case "prefix":
                return [entry for entry in entries if entry.key.startswith(argument)]
            case "none":
                return []
            case _:
                raise RuntimeError("selector failed")

    return select
