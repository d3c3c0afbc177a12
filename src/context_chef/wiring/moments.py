"""A chef's parts at one moment: taken as a snapshot, given back, branched off."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from context_chef.errors import SettingsError, shown
from context_chef.ir.text import clean_text
from context_chef.persistence.memory import Memory
from context_chef.persistence.memory_config import (
    MEMORY_NAMESPACE,
    MemorySnapshot,
)
from context_chef.persistence.memory_order import in_shown_order, with_places, without_places
from context_chef.persistence.memory_turns import TURNS_NAMESPACE
from context_chef.persistence.store import Store
from context_chef.persistence.whole_namespace import read_whole, replace_whole
from context_chef.pipeline.last_request import LastRequest
from context_chef.pipeline.state import ChefState
from context_chef.placement.skills import SkillShelf
from context_chef.selection.pruner import Pruner
from context_chef.snapshot import ChefSnapshot
from context_chef.wiring.parts import Wiring

SkillSource: TypeAlias = Literal["registry", "snapshot"]


async def take_snapshot(
    wiring: Wiring, state: ChefState, label: str | None, include: Sequence[str]
) -> ChefSnapshot:
    """The state and the parts' own state as one value. What is not stored is read at once."""
    if label is not None and not isinstance(cast(Any, label), str):
        raise SettingsError(f"`label` is text, not {shown(label)}.")
    included = _included(include)
    here = ChefSnapshot(
        created_at=wiring.now(),
        label=None if label is None else clean_text(label),
        system_prompt=state.system_prompt,
        transcript=state.transcript,
        dynamic_state=state.dynamic_state,
        guardrails=state.guardrails,
        announcements=state.announcements,
        skill=wiring.skills.snapshot_state(),
        tools=wiring.pruner.snapshot_state(),
        janitor=wiring.parts.janitor.snapshot_state(),
        new_context_requested=state.new_context_requested,
        handoff_noticed=state.handoff_noticed,
        sent_tails=state.sent_tails,
        sent_prefixes=state.sent_prefixes,
        sent_requests=state.sent_requests,
        last_volatile_tokens=state.last_volatile_tokens,
        cache_anchor=state.cache_anchor,
        cache_anchor_before=state.cache_anchor_before,
        last_request=_last_request(state),
    )
    stores = {ns: await read_whole(wiring.namespace(ns)) for ns in included}
    return msgspec.structs.replace(here, memory=await _memory_now(wiring), stores=stores)


async def restore_parts(
    wiring: Wiring, snapshot: ChefSnapshot, *, skills: SkillSource
) -> ChefState:
    """Give the parts their state back; answer the chef's. What fails changes no part."""
    pruner, shelf = Pruner(wiring.pruner.config), SkillShelf()
    pruner.adopt(wiring.pruner)
    shelf.adopt(wiring.skills)
    janitor = wiring.parts.janitor.snapshot_state()
    try:
        wiring.pruner.restore_state(snapshot.tools)
        wiring.skills.restore_state(snapshot.skill, prefer=skills)
        wiring.parts.janitor.restore_state(snapshot.janitor)
        await _restore_stored(wiring, snapshot)
    except BaseException:
        wiring.pruner.adopt(pruner)
        wiring.skills.adopt(shelf)
        wiring.parts.janitor.restore_state(janitor)
        raise
    return ChefState(
        system_prompt=snapshot.system_prompt,
        transcript=snapshot.transcript.in_words_of(wiring.own_calls().messages),
        dynamic_state=snapshot.dynamic_state,
        guardrails=snapshot.guardrails,
        announcements=snapshot.announcements,
        new_contexts_requested=int(snapshot.new_context_requested),
        handoff_noticed=snapshot.handoff_noticed,
        sent_tails=snapshot.sent_tails,
        sent_prefixes=snapshot.sent_prefixes,
        sent_requests=snapshot.sent_requests,
        last_volatile_tokens=snapshot.last_volatile_tokens,
        cache_anchor=snapshot.cache_anchor,
        cache_anchor_before=snapshot.cache_anchor_before,
        last_request=snapshot.last_request,
    )


async def branch(here: Wiring) -> Wiring:
    """Parts of their own that know what these know; what they store stays with them."""
    remembered = await _memory_now(here)
    owned = {} if remembered is None else {MEMORY_NAMESPACE: remembered.entries}
    branches: dict[int, Store] = {}

    def branched(store: Store) -> Store:
        kept = {**owned, TURNS_NAMESPACE: {}} if store is memory_store else None
        return branches.setdefault(id(store), store.branch(kept))

    memory = here.parts.memory
    memory_store = memory.store if memory is not None else None
    changes: dict[str, Any] = {}
    if here.store is not None:
        changes["store"] = branched(here.store)
    if memory is not None and memory_store is not here.store:
        changes["memory"] = dataclasses.replace(memory.config, store=branched(memory.store))
    if here.offloader.store is not here.store:
        changes["vfs"] = dataclasses.replace(
            here.offloader.config,
            store=branched(here.offloader.store),
            storage_dir=None,
            adapter=None,
        )
    wiring = Wiring(dataclasses.replace(here.options, **changes), warned=True)
    if remembered is not None and wiring.parts.memory is not None:
        await wiring.parts.memory.restore_turn(remembered)
    _share(here, wiring)
    return wiring


def _share(here: Wiring, other: Wiring) -> None:
    other.pruner.adopt(here.pruner)
    other.skills.adopt(here.skills)
    other.parts.janitor.adopt(here.parts.janitor)
    other.parts.registry.adopt(here.parts.registry)
    other.parts.transforms.adopt(here.parts.transforms)
    other.parts.warned.update(here.parts.warned)


async def _memory_now(wiring: Wiring) -> MemorySnapshot | None:
    memory = wiring.parts.memory
    if memory is None:
        return None
    entries = in_shown_order(await read_whole(memory.view))
    return MemorySnapshot(entries=without_places(entries), turn_count=memory.turn_count)


async def _restore_stored(wiring: Wiring, snapshot: ChefSnapshot) -> None:
    memory, remembered = wiring.parts.memory, snapshot.memory
    if memory is not None and remembered is not None:
        await _restore_memory(memory, remembered)
    elif remembered is not None and remembered.entries:
        wiring.parts.logger.warning(
            "The snapshot holds %d memory entries, and this chef has no memory: they are left "
            "out. Build it with `memory=`.",
            len(remembered.entries),
        )
    for ns, entries in snapshot.stores.items():
        await replace_whole(wiring.namespace(ns), entries)


def _last_request(state: ChefState) -> LastRequest | None:
    """The last request, unless it was for an adapter: code is no part of a snapshot."""
    last = state.last_request
    return last if last is not None and isinstance(last.asked.target, str) else None


async def _restore_memory(memory: Memory, remembered: MemorySnapshot) -> None:
    """Entries, order and turn; the order is written down where the backend has another."""
    await replace_whole(memory.view, remembered.entries)
    if [item.path for item in await memory.view.list()] != list(remembered.entries):
        placed = with_places(remembered.entries)
        await replace_whole(memory.view, placed)
    await memory.restore_turn(remembered)


def _included(names: Sequence[str]) -> list[str]:
    if (
        isinstance(names, (str, bytes))
        or not isinstance(cast(Any, names), Iterable)
        or not all(isinstance(cast(Any, name), str) for name in names)
    ):
        raise SettingsError(f"`include` is a list of namespaces, not {shown(names)}.")
    for name in names:
        if name == MEMORY_NAMESPACE:
            raise SettingsError("`include` names other namespaces: memory is always part of it.")
    return list(dict.fromkeys(names))
