"""The operations of the store scenarios, each as calls on the public API."""

from __future__ import annotations

import errno
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from context_chef.errors import StoreCapabilityError, VFSCleanupNotSupportedError
from context_chef.persistence import Store, StoredEntry
from context_chef.persistence.memory_config import MemorySnapshot
from context_chef.prompts import offload as offload_wording
from context_chef.retrieval import render_recalled_content
from tests.parity.outcome import RAISED, described
from tests.parity.store_tools import TOOL_OPERATIONS
from tests.parity.store_values import ABSENT, BLANKS
from tests.parity.store_world import World, entry_record

Operation = Callable[[World, dict[str, Any]], Awaitable[dict[str, Any]]]
OPERATIONS: dict[str, Operation] = dict(TOOL_OPERATIONS)
DONE: dict[str, Any] = {"done": True}


def operation(*names: str) -> Callable[[Operation], Operation]:
    def register(function: Operation) -> Operation:
        for name in names:
            OPERATIONS[name] = function
        return function

    return register


def raising(error: Exception) -> dict[str, Any]:
    """An exception as it is recorded."""
    outcome: dict[str, Any] = {"raises": True, "error_type": "generic", "_text": str(error)}
    outcome[RAISED] = described(error)
    if isinstance(error, StoreCapabilityError):
        closed = isinstance(error, VFSCleanupNotSupportedError)
        outcome["error_type"] = type(error).__name__
        outcome["missing"] = list(error.missing)
        if not closed:
            outcome["ns"] = error.ns
    elif isinstance(error, OSError):
        outcome["error_type"] = "os_error"
        outcome["code"] = errno.errorcode.get(error.errno or 0, "")
    return outcome


def given(arguments: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Those of the named arguments that were passed."""
    return {name: arguments[name] for name in names if arguments.get(name, ABSENT) is not ABSENT}


# ── Environment ───────────────────────────────────────────────────────────────────────────────


@operation("advance_clock")
async def advance_clock(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.clock.now += op["ms"]
    return DONE


@operation("restart")
async def restart(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.restart()
    _ = world.chef
    return {"restarted": True}


@operation("use_session")
async def use_session(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.session = op["session"]
    _ = world.chef
    return {"session": op["session"]}


@operation("construct")
async def construct(world: World, op: dict[str, Any]) -> dict[str, Any]:
    world.build(op["config"])
    return {"constructed": True}


@operation("list_files")
async def list_files(world: World, op: dict[str, Any]) -> dict[str, Any]:
    base = world.root / op.get("under", "")
    # Files that keep writers of several processes apart hold nothing, and are no entries.
    paths = sorted(
        (path for path in base.rglob("*") if path.is_file() and not path.name.endswith(".lock")),
        key=lambda path: path.relative_to(base).as_posix().encode(),
    )
    names = [path.relative_to(base).as_posix() for path in paths]
    if op.get("names_only"):
        return {"files": names}
    contents = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    return {
        "files": [
            {"path": name, "content": content}
            for name, content in zip(names, contents, strict=True)
        ]
    }


@operation("events")
async def events(world: World, op: dict[str, Any]) -> dict[str, Any]:
    log, world.log = world.log, []
    return {"log": log}


@operation("parallel")
async def parallel(world: World, op: dict[str, Any]) -> dict[str, Any]:
    raise NotImplementedError("the runner starts parallel operations itself")


@operation("chef_snapshot")
async def chef_snapshot(world: World, op: dict[str, Any]) -> dict[str, Any]:
    snapshot = await world.chef.snapshot()
    _save(world, op, snapshot)
    return {"memory_captured": snapshot.memory is not None}


@operation("chef_restore")
async def chef_restore(world: World, op: dict[str, Any]) -> dict[str, Any]:
    await world.chef.restore(op["from"])
    return DONE


# ── Memory ────────────────────────────────────────────────────────────────────────────────────


@operation("memory_set")
async def memory_set(world: World, op: dict[str, Any]) -> dict[str, Any]:
    options = given(op, "ttl", "importance", "description")
    await world.chef.get_memory().set(op["key"], op["value"], **options)
    return DONE


@operation("memory_get")
async def memory_get(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"value": await world.chef.get_memory().get(op["key"], include_expired=True)}


@operation("memory_get_entry")
async def memory_get_entry(world: World, op: dict[str, Any]) -> dict[str, Any]:
    entry = await world.chef.get_memory().get_entry(op["key"], include_expired=True)
    return {"entry": entry and entry_record(entry)}


@operation("memory_get_all")
async def memory_get_all(world: World, op: dict[str, Any]) -> dict[str, Any]:
    entries = await world.chef.get_memory().get_all(include_expired=True)
    if op.get("keys_only"):
        return {"keys": [entry.key for entry in entries]}
    return {"entries": [entry_record(entry) for entry in entries]}


@operation("memory_delete")
async def memory_delete(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"deleted": await world.chef.get_memory().delete(op["key"])}


@operation("memory_create")
async def memory_create(world: World, op: dict[str, Any]) -> dict[str, Any]:
    # The recorded `create` writes over what is there; ours does so when it is told to.
    options = given(op, "description")
    entry = await world.chef.get_memory().create_memory(
        op["key"], op["value"], overwrite=True, **options
    )
    return {"entry": entry and entry_record(entry)}


@operation("memory_update")
async def memory_update(world: World, op: dict[str, Any]) -> dict[str, Any]:
    options = given(op, "description")
    entry = await world.chef.get_memory().update_memory(op["key"], op["value"], **options)
    return {"entry": entry and entry_record(entry)}


@operation("memory_delete_validated")
async def memory_delete_validated(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"deleted": await world.chef.get_memory().delete_memory(op["key"])}


@operation("memory_sweep")
async def memory_sweep(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"expired": await world.chef.get_memory().sweep_expired()}


@operation("memory_selected")
async def memory_selected(world: World, op: dict[str, Any]) -> dict[str, Any]:
    entries = await world.chef.get_memory().get_selected_entries()
    return {"keys": [entry.key for entry in entries]}


@operation("memory_to_xml")
async def memory_to_xml(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"xml": await world.chef.get_memory().to_xml()}


@operation("memory_turn")
async def memory_turn(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"turn_count": world.chef.get_memory().turn_count}


@operation("memory_snapshot")
async def memory_snapshot(world: World, op: dict[str, Any]) -> dict[str, Any]:
    snapshot = await world.chef.get_memory().snapshot()
    _save(world, op, snapshot)
    if snapshot is None:
        return {"snapshot": None}
    return {"turn_count": snapshot.turn_count, "keys": list(snapshot.entries)}


@operation("memory_restore")
async def memory_restore(world: World, op: dict[str, Any]) -> dict[str, Any]:
    snapshot = op["from"]
    if isinstance(snapshot, dict):
        snapshot = msgspec.convert(snapshot, MemorySnapshot)
    await world.chef.get_memory().restore(snapshot)
    return DONE


# ── Store ─────────────────────────────────────────────────────────────────────────────────────


def _view(world: World, op: dict[str, Any]) -> Any:
    chef = world.chef
    if op.get("via") == "offloader":
        return chef.get_offloader().store.namespace(op["ns"])
    return chef.get_store().namespace(op["ns"])


@operation("store_uri")
async def store_uri(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"uri": Store.uri(op["ns"], op["path"])}


@operation("store_parse_uri")
async def store_parse_uri(world: World, op: dict[str, Any]) -> dict[str, Any]:
    found = Store.parse_uri(op["uri"])
    parsed = found and {"ns": found.ns, "path": found.path}
    return {
        "_also": {"parsed": parsed, "address": parsed, **(parsed or {"ns": None, "path": None})}
    }


@operation("get_store_is")
async def get_store_is(world: World, op: dict[str, Any]) -> dict[str, Any]:
    chef = world.chef
    store = chef.get_store()
    return {
        "same_as_offloader_store": store is chef.get_offloader().store,
        "same_as_memory_store": store is chef.get_memory().store,
    }


@operation("ns_uri")
async def ns_uri(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"uri": _view(world, op).uri(op["path"])}


@operation("ns_parse_uri")
async def ns_parse_uri(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"path": _view(world, op).parse_uri(op["uri"])}


@operation("ns_auto_path")
async def ns_auto_path(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"path": _view(world, op).auto_path(op["content"])}


@operation("ns_supports")
async def ns_supports(world: World, op: dict[str, Any]) -> dict[str, Any]:
    view = _view(world, op)
    ours = {"get_physical_path": "physical_path"}
    names = [name for name in op["capabilities"] if view.supports(ours.get(name, name))]
    return {"supports": names}


@operation("ns_put")
async def ns_put(world: World, op: dict[str, Any]) -> dict[str, Any]:
    put = await _view(world, op).put(op["path"], op["content"], **given(op, "meta"))
    return {"path": put.path, "uri": put.uri}


@operation("ns_put_auto")
async def ns_put_auto(world: World, op: dict[str, Any]) -> dict[str, Any]:
    put = await _view(world, op).put_auto(op["content"], **given(op, "meta"))
    return {"path": put.path, "uri": put.uri}


@operation("ns_append")
async def ns_append(world: World, op: dict[str, Any]) -> dict[str, Any]:
    put = await _view(world, op).append(op["path"], op["content"], **given(op, "meta"))
    return {"path": put.path, "uri": put.uri}


@operation("ns_get")
async def ns_get(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _entry(await _view(world, op).get(op["path"]), op)


@operation("ns_delete")
async def ns_delete(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"deleted": await _view(world, op).delete(op["path"])}


@operation("ns_list")
async def ns_list(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _listed(await _view(world, op).list(op.get("prefix", "")), op)


@operation("ns_entries")
async def ns_entries(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"keys": list(await _view(world, op).entries(op.get("prefix", "")))}


@operation("ns_search")
async def ns_search(world: World, op: dict[str, Any]) -> dict[str, Any]:
    hits = await _view(world, op).search(op["query"], limit=10_000)
    return {
        "hits": [
            {"path": hit.path, **({} if hit.snippet is None else {"snippet": hit.snippet})}
            for hit in hits
        ]
    }


@operation("ns_exists")
async def ns_exists(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"exists": await _view(world, op).exists(op["path"])}


@operation("ns_physical_path")
async def ns_physical_path(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"physical_path": await _view(world, op).physical_path(op["path"])}


@operation("ns_snapshot")
async def ns_snapshot(world: World, op: dict[str, Any]) -> dict[str, Any]:
    snapshot = await _view(world, op).snapshot()
    _save(world, op, snapshot)
    return {"keys": None if snapshot is None else list(snapshot)}


@operation("ns_restore")
async def ns_restore(world: World, op: dict[str, Any]) -> dict[str, Any]:
    data = {
        path: entry if isinstance(entry, StoredEntry) else msgspec.convert(entry, StoredEntry)
        for path, entry in op["from"].items()
    }
    return {"restored": await _view(world, op).restore(data)}


@operation("ns_mutate_read_entry")
async def ns_mutate_read_entry(world: World, op: dict[str, Any]) -> dict[str, Any]:
    entry = await _view(world, op).get(op["path"])
    with suppress(AttributeError):  # what was read cannot be changed
        entry.content = op["content"]
    return DONE


@operation("ns_index")
async def ns_index(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"index": [msgspec.to_builtins(record) for record in _view(world, op).index()]}


@operation("ns_index_entry")
async def ns_index_entry(world: World, op: dict[str, Any]) -> dict[str, Any]:
    record = _view(world, op).index_entry(op["path"])
    return {"entry": record and msgspec.to_builtins(record)}


@operation("ns_touch")
async def ns_touch(world: World, op: dict[str, Any]) -> dict[str, Any]:
    _view(world, op).touch(op["path"])
    return DONE


@operation("ns_register")
async def ns_register(world: World, op: dict[str, Any]) -> dict[str, Any]:
    _view(world, op).register(op["path"], bytes=op.get("bytes", 0))
    return DONE


@operation("ns_adopt")
async def ns_adopt(world: World, op: dict[str, Any]) -> dict[str, Any]:
    options = given(op, "created_at", "accessed_at", "bytes")
    _view(world, op).adopt(op["path"], **options)
    return DONE


@operation("ns_cleanup", "ns_cleanup_async")
async def ns_cleanup(world: World, op: dict[str, Any]) -> dict[str, Any]:
    view = _view(world, op)
    caps = op.get("caps") or {}
    if op["op"] == "ns_cleanup":
        return _cleaned(view.cleanup_sync(**caps))
    return _cleaned(await view.cleanup(**caps))


@operation("ns_put_sync")
async def ns_put_sync(world: World, op: dict[str, Any]) -> dict[str, Any]:
    put = _view(world, op).put_sync(op["path"], op["content"], **given(op, "meta"))
    return {"path": put.path, "uri": put.uri}


@operation("ns_get_sync")
async def ns_get_sync(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _entry(_view(world, op).get_sync(op["path"]), op)


@operation("ns_list_sync")
async def ns_list_sync(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return _listed(_view(world, op).list_sync(op.get("prefix", "")), op)


@operation("ns_delete_sync")
async def ns_delete_sync(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"deleted": _view(world, op).delete_sync(op["path"])}


# ── Offloader ─────────────────────────────────────────────────────────────────────────────────


@operation("offload", "offload_async")
async def offload(world: World, op: dict[str, Any]) -> dict[str, Any]:
    options = {
        name: value for name, value in (op.get("options") or {}).items() if value is not ABSENT
    }
    chef, content = world.chef, op["content"]
    text = (
        chef.offload_sync(content, **options)
        if op["op"] == "offload"
        else await chef.offload(content, **options)
    )
    if text == content:
        return {"offloaded": False}
    start = text.index(offload_wording.OPEN_TAG)
    end = text.index(offload_wording.CLOSE_TAG, start) + len(offload_wording.CLOSE_TAG)
    scheme = chef.get_offloader().config.uri_scheme
    marker = marker_facts(text[start:end], scheme)
    _save(world, op, marker["uri"])
    # The reference trims the finished text; ours leaves the user's own blanks alone.
    return {
        "offloaded": True,
        "before": text[:start].lstrip(BLANKS) if text[:start].strip(BLANKS) else "",
        "marker": marker,
        "after": text[end:].rstrip(BLANKS),
    }


def marker_facts(block: str, scheme: str) -> dict[str, Any]:
    """What a marker says, read out of its words."""
    size = re.search(r"of (\d+) lines? and (\d+) characters?", block)
    head = re.search(r"the first (\d+) characters above", block)
    tail = re.search(r"the last (\d+) characters below", block)
    disk = re.search(r"^(?:On disk|Full output on disk): (.*?)(?: \(or at .*\))?$", block, re.M)
    uri = re.search(re.escape(scheme) + r"[^\s`)#]+", block)
    assert size is not None
    assert uri is not None
    handles = {"uri": uri.start()} | ({"path": disk.start()} if disk else {})
    return {
        "total_lines": int(size[1]),
        "total_chars": int(size[2]),
        "head_chars": int(head[1]) if head else 0,
        "tail_chars": int(tail[1]) if tail else 0,
        "uri": uri[0],
        "physical_path": disk[1] if disk else None,
        "handles": ",".join(sorted(handles, key=lambda name: handles[name])),
        "names_context_tool": "`context`" in block,
    }


@operation("resolve", "resolve_async")
async def resolve_uri(world: World, op: dict[str, Any]) -> dict[str, Any]:
    offloader = world.chef.get_offloader()
    if op["op"] == "resolve":
        return {"content": offloader.resolve_sync(op["uri"])}
    return {"content": await offloader.resolve(op["uri"])}


@operation("resolve_recall")
async def resolve_recall(world: World, op: dict[str, Any]) -> dict[str, Any]:
    return {"content": await world.chef.resolve_recall(op["uri"], **given(op, "format"))}


@operation("render_recalled")
async def render_recalled(world: World, op: dict[str, Any]) -> dict[str, Any]:
    stored = op["stored"]
    if not isinstance(stored, str):
        stored = msgspec.json.encode(stored).decode()
    return {"text": render_recalled_content(stored)}


@operation("vfs_entries")
async def vfs_entries(world: World, op: dict[str, Any]) -> dict[str, Any]:
    entries = world.chef.get_offloader().get_entries()
    return {"entries": [msgspec.to_builtins(entry) for entry in entries]}


@operation("vfs_cleanup", "vfs_cleanup_async")
async def vfs_cleanup(world: World, op: dict[str, Any]) -> dict[str, Any]:
    offloader = world.chef.get_offloader()
    caps = op.get("caps") or {}
    if op["op"] == "vfs_cleanup":
        return _cleaned(offloader.cleanup_sync(**caps))
    return _cleaned(await offloader.cleanup(**caps))


@operation("vfs_reconcile", "vfs_reconcile_async")
async def vfs_reconcile(world: World, op: dict[str, Any]) -> dict[str, Any]:
    # Sizes come from the listing, so there is nothing to choose about measuring them.
    offloader = world.chef.get_offloader()
    if op["op"] == "vfs_reconcile":
        return {"adopted": offloader.reconcile_sync()}
    return {"adopted": await offloader.reconcile()}


# ── Shapes ────────────────────────────────────────────────────────────────────────────────────


def _save(world: World, op: dict[str, Any], value: Any) -> None:
    if "save" in op:
        world.saved[op["save"]] = value


def _entry(entry: StoredEntry | None, op: dict[str, Any]) -> dict[str, Any]:
    if op.get("content_only"):
        return {"content": None if entry is None else entry.content}
    return {"entry": entry and {"content": entry.content, "meta": dict(entry.meta)}}


def _listed(listed: Any, op: dict[str, Any]) -> dict[str, Any]:
    if op.get("paths_only"):
        return {"paths": [item.path for item in listed]}
    return {"listed": [{"path": item.path, "meta": dict(item.meta)} for item in listed]}


def _cleaned(result: Any) -> dict[str, Any]:
    return {
        "evicted": [record.path for record in result.evicted],
        "evicted_bytes": result.evicted_bytes,
        "evicted_by_age": result.evicted_by_age,
        "evicted_by_count": result.evicted_by_count,
        "evicted_by_bytes": result.evicted_by_bytes,
        "failed": [failure.entry.path for failure in result.failed],
    }
