"""Snapshots that the TypeScript implementation took, as snapshots of this one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.errors import InputError, SettingsError, shown
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.transcript import Transcript
from context_chef.persistence.backend import StoredEntry
from context_chef.persistence.memory_config import MemorySnapshot
from context_chef.placement.announcements import Announcement, announced, announcement
from context_chef.placement.guardrails import Guardrails, guardrails
from context_chef.placement.state_block import DynamicState
from context_chef.selection.pruner import Pruner
from context_chef.snapshot import ChefSnapshot

_GUARDRAIL_NAMES: Final = {"enforceXML": "enforce_xml"}


def snapshot_from_typescript(data: bytes | str | Mapping[str, Any]) -> ChefSnapshot:
    """A snapshot of the TypeScript implementation, for `ContextChef.restore`.

    `data` is its JSON, or the object itself. Conversation, state, guardrails, announcements, the
    active skill, tools with blocklist, the overflow runner and memory come along. What it never
    held begins anew: folds, registered skills, requests for a new window, sent tails. Raises
    InputError naming the place of what cannot be read, and ToolError for tools that could not be
    registered here either.
    """
    given = _decoded(data)
    modules = _mapping(given.get("modules"), "$.modules")
    restored = {
        "created_at": _created_at(given.get("createdAt")),
        "label": _text(given.get("label"), "$.label"),
        "system_prompt": read_system(given.get("systemPrompt") or ()),
        "transcript": Transcript(items=read_messages(given.get("history") or (), path="$.history")),
        "dynamic_state": _state(given),
        "guardrails": _guardrails(given.get("guardrailOptions")),
        "announcements": _announcements(given.get("announcements")),
        "skill": {
            "active_skill_name": _text(given.get("activeSkillName"), "$.activeSkillName"),
            "skill_instructions": _text(given.get("skillInstructions"), "$.skillInstructions"),
        },
        "tools": _tools(_mapping(modules.get("pruner"), "$.modules.pruner")),
        "janitor": _mapping(modules.get("janitor"), "$.modules.janitor"),
        "memory": _memory(modules.get("memory")),
        "handoff_noticed": _text(given.get("handoffNoticedWindow"), "$.handoffNoticedWindow"),
    }
    return ChefSnapshot(**cast(dict[str, Any], restored))


def _decoded(data: Any) -> Mapping[str, Any]:
    if isinstance(data, (bytes, bytearray, str)):
        try:
            data = msgspec.json.decode(data)
        except msgspec.DecodeError as error:
            raise InputError(f"this is no snapshot: {error}.", path="$") from error
    given = _mapping(data, "$")
    if "modules" not in given or "createdAt" not in given:
        raise InputError(
            "this is no snapshot of the TypeScript implementation: it lacks `modules` or "
            "`createdAt`. One of this library is read by `ChefSnapshot.from_json()`.",
            path="$",
        )
    return given


def _created_at(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"milliseconds since the epoch, not {shown(value)}.", path="$.createdAt")
    return int(value)


def _state(given: Mapping[str, Any]) -> DynamicState:
    placement = given.get("dynamicStatePlacement") or "last_user"
    if placement not in ("last_user", "system"):
        raise InputError(
            f"'last_user' or 'system', not {shown(placement)}.", path="$.dynamicStatePlacement"
        )
    xml = _text(given.get("dynamicStateXml"), "$.dynamicStateXml") or ""
    return DynamicState(placement=placement, xml=xml)


def _guardrails(options: Any) -> Guardrails | None:
    if options is None:
        return None
    fields = {
        _GUARDRAIL_NAMES.get(name, name): value
        for name, value in _mapping(options, "$.guardrailOptions").items()
        if value is not None
    }
    enforce = fields.get("enforce_xml")
    if isinstance(enforce, Mapping) and "outputTag" in enforce:
        fields["enforce_xml"] = {"output_tag": cast(Mapping[str, Any], enforce)["outputTag"]}
    try:
        return guardrails(fields)
    except SettingsError as error:
        raise InputError(str(error), path="$.guardrailOptions") from error


def _announcements(values: Any) -> tuple[Announcement, ...]:
    standing: tuple[Announcement, ...] = ()
    for index, value in enumerate(_list(values, "$.announcements")):
        path = f"$.announcements[{index}]"
        fields = _mapping(value, path)
        channel = fields.get("channel") or "auto"
        try:
            new = announcement(
                cast(Any, fields.get("id")), cast(Any, fields.get("content")), channel
            )
        except SettingsError as error:
            raise InputError(str(error), path=path) from error
        standing = announced(standing, new)
    return standing


def _tools(state: Mapping[str, Any]) -> dict[str, Any]:
    pruner = Pruner(reserved=())
    pruner.register_tools(_list(state.get("flatTools"), "$.modules.pruner.flatTools"))
    pruner.register_namespaces(_list(state.get("namespaces"), "$.modules.pruner.namespaces"))
    pruner.register_toolkits(_list(state.get("lazyToolkits"), "$.modules.pruner.lazyToolkits"))
    pruner.set_blocked_tools(_list(state.get("blockedTools"), "$.modules.pruner.blockedTools"))
    return pruner.snapshot_state()


def _memory(value: Any) -> MemorySnapshot | None:
    if value is None:
        return None
    fields = _mapping(value, "$.modules.memory")
    entries = _mapping(fields.get("entries"), "$.modules.memory.entries")
    try:
        return MemorySnapshot(
            entries={key: msgspec.convert(entry, StoredEntry) for key, entry in entries.items()},
            turn_count=msgspec.convert(fields.get("turnCount") or 0, int),
        )
    except msgspec.ValidationError as error:
        raise InputError(f"this cannot be read: {error}.", path="$.modules.memory") from error


def _mapping(value: Any, path: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return cast(Mapping[str, Any], value)
    raise InputError(f"an object, not {shown(value)}.", path=path)


def _list(value: Any, path: str) -> Sequence[Any]:
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return cast(Sequence[Any], value)
    raise InputError(f"a list, not {shown(value)}.", path=path)


def _text(value: Any, path: str) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise InputError(f"text, not {shown(value)}.", path=path)
