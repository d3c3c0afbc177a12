"""Where it lives outside the window: backends, and the store over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.persistence.address import Address
    from context_chef.persistence.archive import Archive, serialize_span
    from context_chef.persistence.backend import (
        CAPABILITIES,
        CanAppend,
        CanCompareAndSwap,
        CanReadAll,
        CanRestore,
        CanSearch,
        CanSnapshot,
        CanTellExistence,
        Clock,
        HasPhysicalPath,
        ListedEntry,
        ReadEntries,
        SearchHit,
        StorageBackend,
        StoredEntry,
    )
    from context_chef.persistence.eviction import (
        AccessRecord,
        EvictionPolicy,
        EvictionReason,
        EvictionResult,
        FailedEviction,
    )
    from context_chef.persistence.file_system import FileSystemBackend
    from context_chef.persistence.in_memory import InMemoryBackend
    from context_chef.persistence.layouts import FLAT_VFS_LAYOUTS, FileSystemLayout, FileTimes
    from context_chef.persistence.memory import Memory
    from context_chef.persistence.memory_config import (
        MemoryArtifacts,
        MemoryConfig,
        MemoryFailure,
        MemorySnapshot,
    )
    from context_chef.persistence.memory_entry import MemoryEntry
    from context_chef.persistence.namespace import NamespaceView, PutResult
    from context_chef.persistence.offload_config import OffloadConfig, ToolOffload
    from context_chef.persistence.offloader import Offloader, OffloadResult, VFSEntry
    from context_chef.persistence.offloading import (
        OffloadedMessages,
        OffloadFailure,
        OffloadNote,
        offload_messages,
        offload_messages_sync,
    )
    from context_chef.persistence.ranking import rank
    from context_chef.persistence.sqlite import SQLiteBackend
    from context_chef.persistence.store import Store
    from context_chef.persistence.threaded import Threaded
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "address": ("Address",),
            "archive": ("Archive", "serialize_span"),
            "backend": (
                "CAPABILITIES",
                "CanAppend",
                "CanCompareAndSwap",
                "CanReadAll",
                "CanRestore",
                "CanSearch",
                "CanSnapshot",
                "CanTellExistence",
                "Clock",
                "HasPhysicalPath",
                "ListedEntry",
                "ReadEntries",
                "SearchHit",
                "StorageBackend",
                "StoredEntry",
            ),
            "eviction": (
                "AccessRecord",
                "EvictionPolicy",
                "EvictionReason",
                "EvictionResult",
                "FailedEviction",
            ),
            "file_system": ("FileSystemBackend",),
            "in_memory": ("InMemoryBackend",),
            "layouts": ("FLAT_VFS_LAYOUTS", "FileSystemLayout", "FileTimes"),
            "memory": ("Memory",),
            "memory_config": ("MemoryArtifacts", "MemoryConfig", "MemoryFailure", "MemorySnapshot"),
            "memory_entry": ("MemoryEntry",),
            "namespace": ("NamespaceView", "PutResult"),
            "offload_config": ("OffloadConfig", "ToolOffload"),
            "offloading": (
                "OffloadedMessages",
                "OffloadFailure",
                "OffloadNote",
                "offload_messages",
                "offload_messages_sync",
            ),
            "offloader": ("Offloader", "OffloadResult", "VFSEntry"),
            "ranking": ("rank",),
            "sqlite": ("SQLiteBackend",),
            "store": ("Store",),
            "threaded": ("Threaded",),
        },
    )

__all__ = [
    "CAPABILITIES",
    "FLAT_VFS_LAYOUTS",
    "AccessRecord",
    "Address",
    "Archive",
    "CanAppend",
    "CanCompareAndSwap",
    "CanReadAll",
    "CanRestore",
    "CanSearch",
    "CanSnapshot",
    "CanTellExistence",
    "Clock",
    "EvictionPolicy",
    "EvictionReason",
    "EvictionResult",
    "FailedEviction",
    "FileSystemBackend",
    "FileSystemLayout",
    "FileTimes",
    "HasPhysicalPath",
    "InMemoryBackend",
    "ListedEntry",
    "Memory",
    "MemoryArtifacts",
    "MemoryConfig",
    "MemoryEntry",
    "MemoryFailure",
    "MemorySnapshot",
    "NamespaceView",
    "OffloadConfig",
    "OffloadFailure",
    "OffloadNote",
    "OffloadResult",
    "OffloadedMessages",
    "Offloader",
    "PutResult",
    "ReadEntries",
    "SQLiteBackend",
    "SearchHit",
    "StorageBackend",
    "Store",
    "StoredEntry",
    "Threaded",
    "ToolOffload",
    "VFSEntry",
    "offload_messages",
    "offload_messages_sync",
    "rank",
    "serialize_span",
]
