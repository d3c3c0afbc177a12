"""Absurd values to every public method of the store's objects: our own errors, or none."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef
from context_chef.bridge import run_sync
from context_chef.errors import ContextChefError
from context_chef.persistence import (
    EvictionPolicy,
    FileSystemBackend,
    FileSystemLayout,
    InMemoryBackend,
    Memory,
    MemoryConfig,
    MemorySnapshot,
    OffloadConfig,
    Offloader,
    SQLiteBackend,
    Store,
    StoredEntry,
    Threaded,
    ToolOffload,
    rank,
    serialize_span,
)
from context_chef.retrieval import ContextToolConfig, render_recalled_content

ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("not even this")


ABSURD: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**5000,
    1.5,
    float("nan"),
    float("inf"),
    b"bytes",
    "",
    "..",
    "a\0b",
    "\ud800",
    "x" * 5000,
    [],
    ENDLESS,
    {},
    {5: ENDLESS},
    {"k": object()},
    [object()],
    {"a", "b"},
    object(),
    Odd(),
    lambda *_: Odd(),
    type,
)
ENTRY = StoredEntry(content="text", meta={"createdAt": 1})
SANE: dict[str, Any] = {
    "ns": "notes",
    "path": "a",
    "key": "k",
    "target": "other",
    "filename": "a",
    "content": "text",
    "value": "text",
    "entry": ENTRY,
    "new": ENTRY,
    "query": "text",
    "uri": "context://vfs/a",
    "change": lambda before: before,
    "data": {"a": ENTRY},
    "entries": {"a": ENTRY},
    "capability": "read",
    "bytes": 1,
    "created_at": 1,
    "backend": InMemoryBackend(),
    "store_or_backend": InMemoryBackend(),
    "name": "tool",
    "messages": (),
    "snapshot": MemorySnapshot(entries={"a": ENTRY}),
    "description": None,
    "expected": None,
}


def objects(root: Path) -> Iterator[tuple[str, Any]]:
    backends = (
        InMemoryBackend(),
        FileSystemBackend(root / "files", durable=False, lock_timeout=1),
        SQLiteBackend(root / "file.db", busy_timeout=1),
        Threaded(InMemoryBackend()),
        Store(InMemoryBackend()).branch({"notes": {"a": ENTRY}}).backend,
    )
    for backend in backends:
        yield f"{type(backend).__name__}", backend
    yield "Store", Store(InMemoryBackend())
    yield "NamespaceView", Store(InMemoryBackend()).namespace("notes")
    yield "NamespaceView over four methods", Store(backends[4]).namespace("notes")
    yield "Offloader", Offloader(InMemoryBackend(), OffloadConfig(threshold=1))
    yield "Memory", Memory(InMemoryBackend(), MemoryConfig())
    for made in (
        InMemoryBackend,
        Threaded,
        Store,
        Offloader,
        Memory,
        OffloadConfig,
        ToolOffload,
        MemoryConfig,
        EvictionPolicy,
        FileSystemLayout,
        ContextToolConfig,
    ):
        yield f"{made.__name__}()", made
    yield "rank()", rank
    yield "render_recalled_content()", render_recalled_content
    yield "serialize_span()", serialize_span


def methods(of: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if inspect.isclass(of) or inspect.isfunction(of):
        yield "", of
        return
    for name in dir(of):
        if name.startswith("_") or (name.endswith("_sync") and hasattr(of, name[:-5])):
            continue  # a twin is one line around the method itself
        if inspect.isroutine(method := getattr(of, name)):
            yield name, method


def absurd_calls(call: Callable[..., Any]) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    parameters = list(inspect.signature(call).parameters.values())
    for odd in parameters:
        if odd.kind in (odd.VAR_POSITIONAL, odd.VAR_KEYWORD):
            continue
        for value in ABSURD:
            given: list[Any] = []
            named: dict[str, Any] = {}
            for parameter in parameters:
                if parameter is odd:
                    chosen = value
                elif parameter.default is inspect.Parameter.empty and parameter.name in SANE:
                    chosen = SANE[parameter.name]
                else:
                    continue
                if parameter.kind is parameter.POSITIONAL_ONLY:
                    given.append(chosen)
                else:
                    named[parameter.name] = chosen
            yield tuple(given), named


def escaping(root: Path, loop: asyncio.AbstractEventLoop) -> Iterator[str]:
    for kind, of in objects(root):
        for name, call in methods(of):
            for given, named in absurd_calls(call):
                try:
                    answer = call(*given, **named)
                    if inspect.iscoroutine(answer):
                        (loop.run_until_complete if kind == "Threaded" else run_sync)(answer)
                except ContextChefError:
                    pass
                except Exception as error:  # noqa: BLE001 - that is what is looked for
                    what = ", ".join(named)
                    yield f"{kind}.{name}({what}): {type(error).__name__} {error!s:.80}"


def test_whatever_is_given_only_our_own_errors_come_out(tmp_path: Path) -> None:
    with closing(asyncio.new_event_loop()) as loop:
        assert list(escaping(tmp_path, loop)) == []


def test_a_tool_call_of_any_shape_is_answered_or_refused_with_our_own_error() -> None:
    chef = ContextChef(store=InMemoryBackend(), memory={}, tools="unified")
    for odd in ABSURD:
        for call in (
            odd,
            {"name": odd},
            {"function": odd},
            {"name": "context", "arguments": odd},
            {"name": "context", "input": odd},
            {"name": "context", "arguments": {"command": odd, "path": "notes/a"}},
            {"name": "context", "arguments": {"command": "view", "path": odd}},
            {"name": "recall_context", "arguments": {"uri": odd}},
            {"name": "create_memory", "arguments": {"key": odd, "value": odd}},
        ):
            with suppress(ContextChefError):
                assert isinstance(chef.handle_tool_sync(call), str)
        assert chef.owns_tool(odd) is False
        assert chef.resolve_recall_sync(odd) is None


def test_our_own_errors_show_any_value() -> None:
    with pytest.raises(ContextChefError):
        Store(Odd())  # type: ignore[arg-type]
