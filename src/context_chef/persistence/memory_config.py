"""How memory is configured, and the data it hands out: artifacts of a compile, snapshots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import msgspec

from context_chef.bridge import MaybeAwaitable
from context_chef.errors import ContextChefError, SettingsError, shown
from context_chef.events import MemoryChanged
from context_chef.persistence.backend import StorageBackend, StoredEntry
from context_chef.persistence.memory_entry import TTL, MemoryEntry, check_key, check_ttl
from context_chef.persistence.store import Store

MEMORY_NAMESPACE = "memory"

Selector: TypeAlias = Callable[[Sequence[MemoryEntry]], MaybeAwaitable[Sequence[MemoryEntry]]]
Veto: TypeAlias = Callable[[str, str | None, str | None], MaybeAwaitable[object]]
ChangedHook: TypeAlias = Callable[[MemoryChanged], MaybeAwaitable[object]]
ExpiredHook: TypeAlias = Callable[[MemoryEntry], MaybeAwaitable[object]]
HookErrors: TypeAlias = Literal["raise", "log"]
Refusal: TypeAlias = Literal["not-allowed", "exists", "absent", "vetoed", "changed", "kept"]
"""Why a validated change was not made."""


@dataclass(frozen=True, kw_only=True)
class MemoryConfig:
    """How memory behaves.

    `default_ttl` restarts with every write that gives no lifetime of its own. `allowed_keys` limits
    the validated methods and the model's tools; None allows every key, an empty list none.
    `selector` picks and orders what is shown. `on_memory_update(key, value, old_value)` is asked
    before a validated change (`value` is None for a deletion) and vetoes it with a falsy answer.
    `on_memory_changed` comes after a change, `on_memory_expired` before an expired entry goes; an
    error in a hook reaches the caller. Hooks and selector may be async.
    """

    store: Store | StorageBackend | None = None
    default_ttl: TTL = None
    allowed_keys: Sequence[str] | None = None
    selector: Selector | None = None
    on_memory_update: Veto | None = None
    on_memory_changed: ChangedHook | None = None
    on_memory_expired: ExpiredHook | None = None
    memory_placement: Literal["after_system", "before_history_tail"] = "before_history_tail"

    def __post_init__(self) -> None:
        if self.memory_placement not in ("after_system", "before_history_tail"):
            raise SettingsError(
                f"`memory_placement` cannot be {shown(self.memory_placement)}; it is "
                "'after_system' or "
                "'before_history_tail'."
            )
        try:
            check_ttl(self.default_ttl)
        except ContextChefError as error:
            raise SettingsError(f"`default_ttl`: {error}") from error
        if self.allowed_keys is not None:
            object.__setattr__(self, "allowed_keys", _checked_keys(self.allowed_keys))
        for name in ("selector", "on_memory_update", "on_memory_changed", "on_memory_expired"):
            part = getattr(self, name)
            if part is not None and not callable(part):
                raise SettingsError(f"`{name}` must be callable, not {shown(part)}.")


def _checked_keys(keys: Any) -> tuple[str, ...]:
    if isinstance(keys, str) or not isinstance(keys, Sequence):
        raise SettingsError(f"`allowed_keys` is a list of keys or None, not {shown(keys)}.")
    for key in cast("Sequence[object]", keys):
        try:
            check_key(key)
        except ContextChefError as error:
            raise SettingsError(f"`allowed_keys`: {error}") from error
    return tuple(cast("Sequence[str]", keys))


class MemoryFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Something of memory that could not be read, and so is not shown."""

    key: str | None
    """None when it was everything."""
    reason: str

    @property
    def message(self) -> str:
        """The whole sentence."""
        what = "Memory" if self.key is None else f"Memory entry {shown(self.key)}"
        return f"{what} {self.reason}; what is stored is left as it is."


class MemoryArtifacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a compile needs of memory. Nothing has happened yet: `commit` makes it happen."""

    entries: tuple[MemoryEntry, ...] = ()
    """What is shown, in the order it is shown in."""
    xml: str = ""
    block: str = ""
    """Header, xml and the line about keys, in the words of the session; empty without entries."""
    injected_keys: tuple[str, ...] = ()
    expired: tuple[MemoryEntry, ...] = ()
    """What will expire with `commit`, in store order."""
    passed_over_keys: tuple[str, ...] = ()
    """What lives on without being shown: the selector or the limit left it out."""
    shared_turns: bool = False
    """Whether an entry that stays lives by turns."""
    failures: tuple[MemoryFailure, ...] = ()
    """What could not be read, and so is not shown."""

    @property
    def expired_keys(self) -> tuple[str, ...]:
        return tuple(entry.key for entry in self.expired)


class MemorySnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """All entries in their order, and the turn counter."""

    entries: dict[str, StoredEntry]
    turn_count: int = 0
