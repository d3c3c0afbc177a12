"""`context-chef store`: look into a store, search it, tend it."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from context_chef.cli.terminal import console, progress, show_table
from context_chef.errors import AddressError, StoreError, shown
from context_chef.persistence import (
    FLAT_VFS_LAYOUTS,
    AccessRecord,
    FileSystemBackend,
    NamespaceView,
    SQLiteBackend,
    Store,
    StoredEntry,
)
from context_chef.persistence.eviction import EvictionPolicy, plan_eviction

if TYPE_CHECKING:
    from collections.abc import Callable

_DATABASE_NAMES: Final = (".db", ".sqlite", ".sqlite3")
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?")
_DURATIONS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmg]?)(i?)b?", re.IGNORECASE)


class Commands(Protocol):
    """Where commands are added: what `add_subparsers` answers."""

    def add_parser(self, name: str, /, **options: Any) -> argparse.ArgumentParser: ...


def add_store_commands(commands: Commands) -> None:
    """Add `store` and what can be done with one."""
    store = commands.add_parser("store", help="look into a store, search it, tend it")
    actions = store.add_subparsers(title="actions", metavar="ACTION", required=True)

    command = _action(actions, "ls", _ls, "list entries")
    command.add_argument("prefix", nargs="?", default="", help="such as notes, or notes/plan")

    command = _action(actions, "cat", _cat, "print an entry exactly as it is stored")
    command.add_argument("address", help="such as notes/plan, or context://notes/plan")

    command = _action(actions, "search", _search, "find entries by what they say")
    command.add_argument("query")
    command.add_argument("--in", dest="prefix", default="", help="only below, such as notes/plans")
    command.add_argument("--limit", type=int, default=10, help="hits a page (10)")
    command.add_argument("--offset", type=int, default=0, help="hits to leave out")

    command = _action(actions, "put", _put, "store a file, or what comes on stdin")
    command.add_argument("address")
    command.add_argument("file", nargs="?", default="-", help="a file; - for stdin, the default")
    command.add_argument("--new", action="store_true", help="fail when the entry is there already")

    command = _action(actions, "rm", _rm, "delete entries")
    command.add_argument("addresses", nargs="+", metavar="address")

    command = _action(actions, "gc", _gc, "evict by age, count or size, and remove leftovers")
    command.add_argument("--namespace", help="only this one; all by default")
    command.add_argument("--max-age", type=_duration, help="such as 30d, 12h or 500ms")
    command.add_argument("--max-files", type=int)
    command.add_argument("--max-bytes", type=_size, help="such as 500k, 20MB or 1GiB")
    command.add_argument("--dry-run", action="store_true", help="only say what would go")

    _action(actions, "verify", _verify, "report what is damaged or orphaned; changes nothing")


def open_store(path: str, *, create: bool = False, read_only: bool = False) -> Store:
    """The store at a path: a SQLite file, or a folder of files.

    `read_only` leaves even a file of an older version as it is.
    """
    place = Path(path)
    if place.is_dir():
        flat = {ns: form for ns, form in FLAT_VFS_LAYOUTS.items() if _is_flat(place, ns)}
        return Store(FileSystemBackend(place, layouts=flat))
    if place.exists():
        return Store(SQLiteBackend(place, read_only=read_only))
    if not create:
        raise StoreError(f"There is no store at {shown(path)}; give `--store` a folder or a file.")
    is_database = place.suffix.lower() in _DATABASE_NAMES
    return Store(SQLiteBackend(place) if is_database else FileSystemBackend(place))


def _is_flat(root: Path, ns: str) -> bool:
    """Whether a namespace keeps its files directly in the root, instead of in a folder."""
    if (root / ns).is_dir():
        return False
    return any(file.is_file() and not file.is_symlink() for file in root.glob(f"{ns}_*"))


def _action(
    actions: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help: str,
) -> argparse.ArgumentParser:
    command = actions.add_parser(name, help=help, description=help)
    command.add_argument(
        "--store", required=True, metavar="PATH", help="a folder, or a SQLite file"
    )
    command.add_argument("--json", action="store_true", help="answer as JSON")
    command.set_defaults(func=run)
    return command


def _ls(options: argparse.Namespace) -> int:
    store = open_store(options.store, read_only=True)
    rows: list[dict[str, Any]] = []
    with progress("Listing …"):
        for view, prefix in _scope(store, options.prefix):
            rows += [
                {"address": view.uri(listed.path), "meta": dict(listed.meta)}
                for listed in view.list_sync(prefix)
            ]
    if options.json:
        return _print_json(rows)
    show_table(
        console(),
        f"{len(rows)} {'entry' if len(rows) == 1 else 'entries'}",
        [("address", False), ("bytes", True), ("updated", False)],
        [
            (row["address"], str(row["meta"].get("bytes", "")), _time(row["meta"].get("updatedAt")))
            for row in rows
        ],
    )
    return 0


def _cat(options: argparse.Namespace) -> int:
    view, path = _entry_address(open_store(options.store, read_only=True), options.address)
    entry = view.get_sync(path)
    if entry is None:
        return _complain(f"There is no entry {view.uri(path)!r}.")
    if options.json:
        return _print_json(
            {"address": view.uri(path), "content": entry.content, "meta": dict(entry.meta)}
        )
    # Not through print, which may change line ends.
    sys.stdout.flush()
    sys.stdout.buffer.write(entry.content.encode())
    sys.stdout.buffer.flush()
    return 0


def _search(options: argparse.Namespace) -> int:
    store = open_store(options.store, read_only=True)
    found: list[tuple[float, dict[str, Any]]] = []
    with progress("Searching …"):
        for view, prefix in _scope(store, options.prefix):
            hits = view.search_sync(
                options.query, prefix=prefix, limit=options.limit + options.offset
            )
            found += [
                (
                    hit.score or 0.0,
                    {
                        "address": view.uri(hit.path),
                        "line": hit.line,
                        "message": hit.message,
                        "role": hit.role,
                        "score": hit.score,
                        "snippet": hit.snippet,
                    },
                )
                for hit in hits
            ]
    found.sort(key=lambda item: -item[0])
    rows = [row for _, row in found[options.offset : options.offset + options.limit]]
    if options.json:
        return _print_json(rows)
    if not rows:
        return _complain(f"Nothing answers {options.query!r}.")
    show_table(
        console(),
        f"{len(rows)} best for {options.query!r}",
        [("address", False), ("where", False), ("snippet", False)],
        [(row["address"], _where(row), row["snippet"] or "") for row in rows],
    )
    return 0


def _put(options: argparse.Namespace) -> int:
    view, path = _entry_address(open_store(options.store, create=True), options.address)
    try:
        data = sys.stdin.buffer.read() if options.file == "-" else Path(options.file).read_bytes()
    except OSError as error:
        raise StoreError(f"{shown(options.file)} cannot be read: {error.strerror}.") from error
    try:
        content = data.decode()
    except UnicodeDecodeError as error:
        raise StoreError(
            f"{shown(options.file)} is no UTF-8 text ({error}); store text only."
        ) from error
    if options.new:
        if not _create(view, path, content):
            return _complain(f"{view.uri(path)!r} is there already; leave out --new to replace it.")
    else:
        view.put_sync(path, content)
    if options.json:
        return _print_json({"address": view.uri(path), "bytes": len(data)})
    print(f"Stored {view.uri(path)} ({len(data)} bytes).")
    return 0


def _create(view: NamespaceView, path: str, content: str) -> bool:
    """Store an entry unless there is one, also when somebody else is about to make one."""
    created = False

    def unless_there(before: StoredEntry | None) -> StoredEntry:
        nonlocal created
        created = before is None
        return StoredEntry(content=content) if before is None else before

    view.update_sync(path, unless_there)
    return created


def _rm(options: argparse.Namespace) -> int:
    store = open_store(options.store)
    targets = [_entry_address(store, address) for address in options.addresses]
    rows = [
        {"address": view.uri(path), "deleted": view.delete_sync(path)} for view, path in targets
    ]
    missing = [row["address"] for row in rows if not row["deleted"]]
    if options.json:
        _print_json(rows)
    else:
        for row in rows:
            if row["deleted"]:
                print(f"Deleted {row['address']}.")
        for address in missing:
            _complain(f"There is no entry {address!r}.")
    return 1 if missing else 0


def _gc(options: argparse.Namespace) -> int:
    store = open_store(options.store)
    policy = EvictionPolicy(
        max_age=options.max_age, max_files=options.max_files, max_bytes=options.max_bytes
    )
    names = [options.namespace] if options.namespace else _namespaces(store)
    rows: list[dict[str, Any]] = []
    failed: list[str] = []
    leftovers = 0

    def note(record: AccessRecord, reason: str) -> None:
        rows.append(_evicted(record.uri, record.bytes, reason))

    with progress("Tidying …"):
        for ns in names:
            view = store.namespace(ns)
            view.reconcile_sync()
            if options.dry_run:
                plan = plan_eviction(view.index(), policy, store.clock())
                rows += [_evicted(record.uri, record.bytes, reason) for record, reason in plan]
                continue
            result = view.cleanup_sync(
                max_age=policy.max_age,
                max_files=policy.max_files,
                max_bytes=policy.max_bytes,
                on_evicted=note,
            )
            failed += [f"{item.entry.uri}: {item.error}" for item in result.failed]
        if not options.dry_run and isinstance(store.backend, FileSystemBackend):
            leftovers = store.backend.remove_leftovers()
    if options.json:
        _print_json({"evicted": rows, "leftovers": leftovers, "failed": failed})
    else:
        if rows:
            show_table(
                console(),
                "These would go" if options.dry_run else "Evicted",
                [("address", False), ("bytes", True), ("why", False)],
                [(row["address"], str(row["bytes"]), row["reason"]) for row in rows],
            )
        print(
            f"{len(rows)} {'would go' if options.dry_run else 'evicted'}, "
            f"{leftovers} {'leftover' if leftovers == 1 else 'leftovers'} removed."
        )
    for line in failed:
        _complain(line)
    return 1 if failed else 0


def _verify(options: argparse.Namespace) -> int:
    store = open_store(options.store, read_only=True)
    with progress("Verifying …"):
        faults = list(_faults(store))
    if options.json:
        _print_json({"faults": faults})
    elif not faults:
        print("Everything is as it was written.")
    else:
        for fault in faults:
            print(fault)
        print(f"{len(faults)} {'fault' if len(faults) == 1 else 'faults'}. Nothing was changed.")
    return 1 if faults else 0


def _faults(store: Store) -> Iterator[str]:
    backend = store.backend
    if isinstance(backend, SQLiteBackend) and not backend.path.stat().st_size:
        yield (
            f"{str(backend.path)!r} is empty: no store was ever written to it, or it was cut off. "
            "The first `put` makes it one."
        )
    if isinstance(backend, (FileSystemBackend, SQLiteBackend)):
        yield from backend.faults()
    for ns in _namespaces(store):
        view = store.namespace(ns)
        for listed in view.list_sync():
            try:
                view.get_sync(listed.path)
            except StoreError as error:
                yield str(error)


def _scope(store: Store, prefix: str) -> list[tuple[NamespaceView, str]]:
    """Which namespaces a prefix such as `notes/pl` looks at, and what it is within each."""
    ns, _, path = prefix.removeprefix("context://").partition("/")
    names = [ns] if ns else _namespaces(store)
    return [(store.namespace(name), path) for name in names]


def _namespaces(store: Store) -> Sequence[str]:
    backend = store.backend
    known = isinstance(backend, (FileSystemBackend, SQLiteBackend))
    return backend.namespaces() if known else []


def _entry_address(store: Store, address: str) -> tuple[NamespaceView, str]:
    parsed = Store.parse_uri(address if "://" in address else f"context://{address}")
    if parsed is None:
        raise AddressError(
            f"{shown(address)} is no address; give one such as notes/plan or context://notes/plan."
        )
    return store.namespace(parsed.ns), parsed.path


def _evicted(address: str, size: int, reason: str) -> dict[str, Any]:
    return {"address": address, "bytes": size, "reason": reason}


def _where(row: dict[str, Any]) -> str:
    line = f"line {row['line']}" if row["line"] else ""
    if row["message"] is None:
        return line
    return f"message {row['message']} ({row['role'] or '?'})"


def _time(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return ""
    try:
        return datetime.fromtimestamp(value / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return str(value)


def _duration(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"give a time such as 30d or 12h, not {shown(text)}")
    return float(found[1]) * _DURATIONS[found[2] or "ms"]


def _size(text: str) -> float:
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(f"give a size such as 500k or 20MB, not {shown(text)}")
    step = 1024 if found[3] else 1000
    return float(found[1]) * step ** " kmg".index(found[2].lower() or " ")


def _print_json(value: object) -> int:
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return 0


def _complain(message: str) -> int:
    print(f"context-chef: {message}", file=sys.stderr)
    return 1
