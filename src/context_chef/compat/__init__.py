"""Names and layouts of earlier versions, each one warning once where it is used."""

# pyright: reportDeprecated=false
# Old names are what this package is for; whoever uses one is warned there.

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from context_chef.compat.deprecation import RenamedWarning
    from context_chef.compat.snapshots import snapshot_from_typescript
    from context_chef.compat.stores import (
        FileSystemAdapter,
        InMemoryStore,
        MemoryStore,
        MemoryStoreEntry,
        VFSMemoryStore,
    )
    from context_chef.compat.wrappers import (
        MemoryStoreBackend,
        VFSAdapter,
        VFSAdapterBackend,
        from_memory_store,
        from_vfs_adapter,
    )
else:
    from context_chef.on_demand import on_demand

    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "deprecation": ("RenamedWarning",),
            "snapshots": ("snapshot_from_typescript",),
            "stores": (
                "FileSystemAdapter",
                "InMemoryStore",
                "MemoryStore",
                "MemoryStoreEntry",
                "VFSMemoryStore",
            ),
            "wrappers": (
                "MemoryStoreBackend",
                "VFSAdapter",
                "VFSAdapterBackend",
                "from_memory_store",
                "from_vfs_adapter",
            ),
        },
    )

__all__ = [
    "FileSystemAdapter",
    "InMemoryStore",
    "MemoryStore",
    "MemoryStoreBackend",
    "MemoryStoreEntry",
    "RenamedWarning",
    "VFSAdapter",
    "VFSAdapterBackend",
    "VFSMemoryStore",
    "from_memory_store",
    "from_vfs_adapter",
    "snapshot_from_typescript",
]
