"""Where it lives outside the window: backends, and the store over them."""

from context_chef.persistence.address import Address
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
from context_chef.persistence.in_memory import InMemoryBackend
from context_chef.persistence.namespace import NamespaceView, PutResult
from context_chef.persistence.store import Store

__all__ = [
    "CAPABILITIES",
    "AccessRecord",
    "Address",
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
    "HasPhysicalPath",
    "InMemoryBackend",
    "ListedEntry",
    "NamespaceView",
    "PutResult",
    "SearchHit",
    "StorageBackend",
    "Store",
    "StoredEntry",
]
