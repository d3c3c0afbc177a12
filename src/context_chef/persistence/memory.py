"""Memory: facts that outlive a conversation, with lifetimes, allowed keys, vetoes and notices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from context_chef.bridge import run_sync, settle
from context_chef.errors import (
    AsyncRequiredError,
    CorruptStoreError,
    SettingsError,
    shown,
)
from context_chef.events import Logger, MemoryChanged
from context_chef.ir.tools import ToolDefinition
from context_chef.persistence.backend import Clock, StorageBackend, StoredEntry
from context_chef.persistence.given import check_callable
from context_chef.persistence.memory_config import (
    MEMORY_NAMESPACE,
    HookErrors,
    MemoryArtifacts,
    MemoryConfig,
    MemoryFailure,
    MemorySnapshot,
    Refusal,
)
from context_chef.persistence.memory_entry import (
    TTL,
    UNSET,
    MemoryEntry,
    Unset,
    read_entry,
    same_entry,
)
from context_chef.persistence.memory_given import check_given, checked_choice, checked_entries
from context_chef.persistence.memory_hooks import MemoryHooks
from context_chef.persistence.memory_lifetimes import Lifetimes, live_by_turns
from context_chef.persistence.memory_scan import MemoryScan
from context_chef.persistence.memory_tools import tool_definitions
from context_chef.persistence.memory_turns import TURNS_NAMESPACE, TurnCounter
from context_chef.persistence.memory_writing import MemoryWriter, Written
from context_chef.persistence.notices import Emit, emit_nothing, log_of_library
from context_chef.persistence.store import Store
from context_chef.prompts import memory as wording
from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, Vocabulary


class Memory:
    """Facts in the `memory` namespace of a store.

    Every method that touches the store is async and has a `_sync` twin. An entry whose lifetime is
    over is absent for everybody from that moment; it leaves the store, and the hooks are called,
    with the next compile or `sweep_expired`.
    """

    def __init__(
        self,
        store: Store | StorageBackend | None = None,
        config: MemoryConfig | None = None,
        *,
        clock: Clock | None = None,
        vocabulary: Vocabulary = LEGACY_VOCABULARY,
        emit: Emit = emit_nothing,
        logger: Logger | None = None,
    ) -> None:
        self.config = MemoryConfig() if config is None else config
        if not isinstance(self.config, MemoryConfig):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
            raise SettingsError(f"`config` is a MemoryConfig, not {shown(config)}.")
        chosen = self.config.store if self.config.store is not None else store
        if chosen is None:
            raise SettingsError(
                "`memory` needs a store: give `memory.store`, or a `store` that everything shares."
            )
        self.store = Store.wrap(chosen) if clock is None else Store.wrap(chosen, clock=clock)
        self.view = self.store.namespace(MEMORY_NAMESPACE)
        self.vocabulary = vocabulary
        self._clock = clock or self.store.clock
        logger = logger or log_of_library()
        self._hooks = MemoryHooks(self.config, emit, logger)
        self._turns = TurnCounter(self.store.namespace(TURNS_NAMESPACE), logger)
        self._lifetimes = Lifetimes(self.view, self._turns, self._clock, self._hooks)
        self._writer = MemoryWriter(
            self.view,
            self._turns,
            self._lifetimes,
            self._clock,
            default_ttl=self.config.default_ttl,
        )
        self._scan = MemoryScan(self.view, self._clock, logger)
        self._definitions = tool_definitions(self.config.allowed_keys)

    # Reading

    async def get(self, key: str, *, include_expired: bool = False) -> str | None:
        """The value, or None."""
        entry = await self.get_entry(key, include_expired=include_expired)
        return None if entry is None else entry.value

    async def get_entry(self, key: str, *, include_expired: bool = False) -> MemoryEntry | None:
        """The entry, or None."""
        stored = await self.view.get(key)
        if stored is None:
            return None
        entry, _ = read_entry(key, stored)
        return entry if include_expired or not await self._lifetimes.over(entry) else None

    async def get_all(self, *, include_expired: bool = False) -> list[MemoryEntry]:
        """Every entry, in store order. Damaged ones are left out with a warning."""
        entries = await self._scan.entries()
        if include_expired:
            return entries
        live, _ = await self._lifetimes.split(entries)
        return live

    async def get_selected_entries(self) -> list[MemoryEntry]:
        """What would be shown: `get_all` through the selector."""
        return await self._select(await self.get_all())

    async def to_xml(self, entries: Sequence[MemoryEntry] | None = None) -> str:
        """The `<memory>` block of these entries, or of the selected ones; empty without any."""
        if entries is None:
            return wording.memory_xml(await self.get_selected_entries())
        return wording.memory_xml(checked_entries(entries))

    # Writing, without questions asked

    async def set(
        self,
        key: str,
        value: str,
        *,
        ttl: TTL | Unset = UNSET,
        importance: float | None = None,
        description: str | None = None,
        hook_errors: HookErrors = "raise",
    ) -> MemoryEntry:
        """Store a value. An existing entry keeps its place, creation time and what is not given.

        A `ttl` replaces whatever bound the entry had, None removes it; without one `default_ttl`
        starts anew. `hook_errors="log"` keeps an error of `on_memory_changed` from the caller: the
        value is stored by then.
        """
        written = await self._writer.write(
            key, value, ttl=ttl, importance=importance, description=description
        )
        assert written is not None, "without a condition a write always happens"
        return await self._announce_set(written, hook_errors)

    async def delete(
        self,
        key: str,
        *,
        expected: MemoryEntry | None = None,
        hook_errors: HookErrors = "raise",
    ) -> bool:
        """Forget an entry. True when there was one; with `expected`, only while it says that."""
        try:
            gone = await self._writer.remove(key, expected)
        except CorruptStoreError:
            if expected is not None:
                raise
            # Nobody can read it any more, but everybody may still want to be rid of it.
            gone = StoredEntry(content="") if await self.view.delete(key) else None
        if gone is None:
            return False
        change = MemoryChanged(type="delete", key=key, value=None, old_value=gone.content)
        await self._hooks.changed(change, hook_errors)
        return True

    # Writing through allowed keys and veto

    async def create_memory(
        self, key: str, value: str, description: str | None = None, *, overwrite: bool = False
    ) -> MemoryEntry | None:
        """A new entry, or None: key not allowed, vetoed, or there already and not `overwrite`."""
        made = await self.try_create(key, value, description, overwrite=overwrite)
        return made if isinstance(made, MemoryEntry) else None

    async def update_memory(
        self, key: str, value: str, description: str | None = None
    ) -> MemoryEntry | None:
        """The changed entry, or None: key not allowed, no such entry, or vetoed."""
        changed = await self.try_edit(key, lambda _: value, description)
        return changed if isinstance(changed, MemoryEntry) else None

    async def delete_memory(self, key: str) -> bool:
        """True when the entry is gone; False: key not allowed, no such entry, or vetoed."""
        return await self.try_delete(key) is None

    async def try_create(
        self,
        key: str,
        value: str,
        description: str | None = None,
        *,
        overwrite: bool = False,
        hook_errors: HookErrors = "raise",
    ) -> MemoryEntry | Refusal:
        """`create_memory` that says why not. Of two callers at once only one creates."""
        if not self.allows(key):
            return "not-allowed"
        old = await self.get(key)
        if old is not None and not overwrite:
            return "exists"
        if not await self._hooks.accepts(key, value, old):
            return "vetoed"
        written = await self._writer.write(
            key, value, description=description, expected=UNSET if overwrite else None
        )
        return "exists" if written is None else await self._announce_set(written, hook_errors)

    async def try_edit(
        self,
        key: str,
        change: Callable[[str], str],
        description: str | None = None,
        *,
        hook_errors: HookErrors = "raise",
    ) -> MemoryEntry | Refusal:
        """Change a value by what it is, losing no other change. Whatever `change` raises passes."""
        if not self.allows(key):
            return "not-allowed"
        check_callable(change, "change", optional=False)
        while True:
            old = await self.get(key)
            if old is None:
                return "absent"
            value = change(old)
            if not await self._hooks.accepts(key, value, old):
                return "vetoed"
            written = await self._writer.write(key, value, description=description, expected=old)
            if written is not None:
                return await self._announce_set(written, hook_errors)

    async def try_delete(
        self,
        key: str,
        *,
        expected: MemoryEntry | None = None,
        hook_errors: HookErrors = "raise",
    ) -> Refusal | None:
        """`delete_memory` that says why not; None when the entry is gone.

        What goes is what the veto was asked about. With `expected`, an entry that says something
        else by now stays, and the answer is `"changed"`.
        """
        if not self.allows(key):
            return "not-allowed"
        while True:
            old = await self.get_entry(key)
            if old is None:
                return "absent"
            if expected is not None and not same_entry(expected, old):
                return "changed"
            if not await self._hooks.accepts(key, None, old.value):
                return "vetoed"
            if await self.delete(key, expected=old, hook_errors=hook_errors):
                return None

    async def try_rename(
        self, key: str, target: str, *, hook_errors: HookErrors = "raise"
    ) -> MemoryEntry | Refusal:
        """Move value and description to a key where nothing is, losing no change of either.

        Counters and lifetime start afresh. `"absent"`, `"changed"` and `"kept"` are about `key`:
        changed while it was moved, and so left where it was; copied, but its deletion was vetoed.
        Everything else is about `target`.
        """
        if not (self.allows(key) and self.allows(target)):
            return "not-allowed"
        entry = await self.get_entry(key)
        if entry is None:
            return "absent"
        made = await self.try_create(
            target, entry.value, entry.description, hook_errors=hook_errors
        )
        if not isinstance(made, MemoryEntry):
            return made
        match await self.try_delete(key, expected=entry, hook_errors=hook_errors):
            case None:
                return made
            case "vetoed" | "not-allowed":
                return "kept"
            case _:
                await self.delete(target, expected=made, hook_errors=hook_errors)
                return "changed"

    def allows(self, key: str) -> bool:
        """Whether the validated methods take that key."""
        return self.config.allowed_keys is None or key in self.config.allowed_keys

    # Lifetimes and compiles

    async def compile_artifacts(self) -> MemoryArtifacts:
        """Read memory once and render it. Changes nothing: that is what `commit` is for.

        What the store cannot read is left out and named in `failures`, never raised.
        """
        entries, failures = await self._scan.tolerant()
        live, expired = await self._lifetimes.split(entries)
        chosen = await self._select(live)
        keys = tuple(entry.key for entry in chosen)
        known = frozenset(keys)
        xml = wording.join_entries([self._scan.rendered(entry) for entry in chosen])
        return MemoryArtifacts(
            entries=tuple(chosen),
            xml=xml,
            block=self.vocabulary.memory_block(xml, keys=keys, allowed=self.config.allowed_keys),
            injected_keys=keys,
            expired=tuple(expired),
            passed_over_keys=tuple(entry.key for entry in live if entry.key not in known),
            # What could not be read may live by turns as well.
            shared_turns=live_by_turns(live) or (bool(failures) and await self._turns.is_kept()),
            failures=tuple(failures),
        )

    async def commit(self, artifacts: MemoryArtifacts) -> tuple[str, ...]:
        """Make what a compile found happen: entries expire, then the turn counter advances.

        Answers the keys that went. An entry that was rewritten in between stays, and so does one
        that the store cannot delete now: it is absent all the same, and tried again next time,
        with its hook. When a hook raises, nothing further expires and the turn is not spent: after
        `on_memory_expired` its entry stays as well, after `on_memory_changed` it is gone already.
        """
        check_given(artifacts, MemoryArtifacts, "artifacts")
        gone: list[str] = []
        kept = artifacts.shared_turns
        for entry in artifacts.expired:
            failed: list[Exception] = []
            if await self._lifetimes.expire(entry, on_store_error=failed.append):
                gone.append(entry.key)
            for error in failed:
                kept = kept or entry.expires_at_turn is not None
                why = f"has expired and cannot be deleted ({error})"
                self._scan.warn(MemoryFailure(key=entry.key, reason=why))
        await self._turns.advance(shared=kept)
        return tuple(gone)

    async def sweep_expired(self) -> list[str]:
        """Expire what is due now; answers the keys, in store order."""
        _, expired = await self._lifetimes.split(await self._scan.entries())
        return [entry.key for entry in expired if await self._lifetimes.expire(entry)]

    async def advance_turn(self) -> None:
        """Count a turn, as a compile does."""
        await self._turns.advance(shared=live_by_turns(await self._scan.entries()))

    @property
    def turn_count(self) -> int:
        """How many turns were counted. Shared through the store while an entry lives by it."""
        return self._turns.value

    # Tools and snapshots

    def get_tool_definitions(self) -> list[ToolDefinition]:
        """`create_memory` and `modify_memory`: always the same two objects, in a list of yours."""
        return list(self._definitions)

    async def snapshot(self) -> MemorySnapshot | None:
        """Everything in its order, or None where the backend cannot make a snapshot."""
        entries = await self.view.snapshot()
        if entries is None:
            return None
        return MemorySnapshot(entries=entries, turn_count=self._turns.value)

    async def restore(self, snapshot: MemorySnapshot) -> bool:
        """Replace all entries and the turn counter, with no notices.

        False where the backend cannot replace: the entries stay then, the counter is set.
        """
        check_given(snapshot, MemorySnapshot, "snapshot")
        restored = await self.view.restore(snapshot.entries)
        await self.restore_turn(snapshot)
        return restored

    async def restore_turn(self, snapshot: MemorySnapshot) -> None:
        """Set the turn counter, for entries that somebody else has brought back."""
        check_given(snapshot, MemorySnapshot, "snapshot")
        shared = any("expiresAtTurn" in entry.meta for entry in snapshot.entries.values())
        await self._turns.put(snapshot.turn_count, shared=shared)
        self._scan.forget()

    # The same for callers without an event loop

    def get_sync(self, key: str, *, include_expired: bool = False) -> str | None:
        """`get` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.get(key, include_expired=include_expired))

    def get_entry_sync(self, key: str, *, include_expired: bool = False) -> MemoryEntry | None:
        """`get_entry` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.get_entry(key, include_expired=include_expired))

    def get_all_sync(self, *, include_expired: bool = False) -> list[MemoryEntry]:
        """`get_all` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.get_all(include_expired=include_expired))

    def get_selected_entries_sync(self) -> list[MemoryEntry]:
        """`get_selected_entries` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.get_selected_entries())

    def to_xml_sync(self, entries: Sequence[MemoryEntry] | None = None) -> str:
        """`to_xml` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.to_xml(entries))

    def set_sync(
        self,
        key: str,
        value: str,
        *,
        ttl: TTL | Unset = UNSET,
        importance: float | None = None,
        description: str | None = None,
    ) -> MemoryEntry:
        """`set` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(
            self.set(key, value, ttl=ttl, importance=importance, description=description)
        )

    def delete_sync(self, key: str) -> bool:
        """`delete` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.delete(key))

    def create_memory_sync(
        self, key: str, value: str, description: str | None = None, *, overwrite: bool = False
    ) -> MemoryEntry | None:
        """`create_memory` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.create_memory(key, value, description, overwrite=overwrite))

    def update_memory_sync(
        self, key: str, value: str, description: str | None = None
    ) -> MemoryEntry | None:
        """`update_memory` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.update_memory(key, value, description))

    def delete_memory_sync(self, key: str) -> bool:
        """`delete_memory` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.delete_memory(key))

    def compile_artifacts_sync(self) -> MemoryArtifacts:
        """`compile_artifacts` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.compile_artifacts())

    def commit_sync(self, artifacts: MemoryArtifacts) -> tuple[str, ...]:
        """`commit` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.commit(artifacts))

    def sweep_expired_sync(self) -> list[str]:
        """`sweep_expired` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.sweep_expired())

    def advance_turn_sync(self) -> None:
        """`advance_turn` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.advance_turn())

    def snapshot_sync(self) -> MemorySnapshot | None:
        """`snapshot` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.snapshot())

    def restore_sync(self, snapshot: MemorySnapshot) -> bool:
        """`restore` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.restore(snapshot))

    # Inner workings

    async def _select(self, entries: list[MemoryEntry]) -> list[MemoryEntry]:
        if self.config.selector is None:
            return entries
        try:
            chosen = await settle(self.config.selector(tuple(entries)))
        except AsyncRequiredError:
            raise
        except Exception as error:
            error.add_note("Raised by memory's `selector`, which picks the entries to show.")
            raise
        return checked_choice(chosen)

    async def _announce_set(self, written: Written, hook_errors: HookErrors) -> MemoryEntry:
        before, after, key = written
        old = None if before is None else before.content
        change = MemoryChanged(type="set", key=key, value=after.content, old_value=old)
        await self._hooks.changed(change, hook_errors)
        return read_entry(key, after)[0]
