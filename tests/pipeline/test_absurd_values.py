"""Whatever a public name is given, an error of ours comes out, short and at once, or a result."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import context_chef
from context_chef import (
    Budget,
    CacheModel,
    ChefSnapshot,
    CompileMeta,
    ContextChef,
    ContextHost,
    Inline,
    InMemoryBackend,
    Janitor,
    JanitorPool,
    Message,
    Offloader,
    Payload,
    PriceTable,
    Report,
    SessionPool,
    Store,
    Transcript,
    WindowLineage,
    profile_for,
)
from context_chef.errors import ContextChefError
from context_chef.testing.doubles import RecordingLogger


def _deep() -> Any:
    value: Any = []
    for _ in range(2_000):
        value = [value]
    return value


def _inside_itself() -> Any:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


class Unspeakable:
    """Nothing can be said about it."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


ABSURD: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 1,
    "huge": lambda: 10**5_000,
    "nan": lambda: math.nan,
    "bytes": lambda: b"x",
    "half a pair": lambda: "a\ud800b",
    "long": lambda: "x" * 100_000,
    "blank": lambda: "",
    "deep": _deep,
    "inside itself": _inside_itself,
    "object": object,
    "module": lambda: sys,
    "type": lambda: int,
    "list of none": lambda: [None],
    "keys": lambda: {1: 2},
    "unspeakable": Unspeakable,
    "function": lambda: lambda: 1,
}
TELLING = ("none", "number", "huge", "half a pair", "deep", "list of none", "unspeakable")
"""What is tried where there is much to try: each fails in another way."""
LONGEST = 2_500
PLAIN: dict[str, Any] = {
    "id": "a",
    "content": "x",
    "name": "n",
    "slot": "before-adapt",
    "event": "compile:done",
    "schema": None,
    "state": {},
    "uri": "context://vfs/x",
    "k": 1,
    "task": "t",
    "target": "openai",
    "messages": [],
    "history": [],
    "conversation": [],
    "requests": [],
    "skills": [],
    "tools": [],
    "directories": [],
    "messages_or_body": [],
    "contents_or_body": [],
    "items_or_body": [],
    "clear": [],
    "keep_recent_turns": 1,
    "tool_call_id": "c",
    "role": "user",
    "kind": "image",
    "source": Inline(data="eA=="),
    "text": "x",
    "model": "gpt-5",
    "task_text": "x",
    "body": lambda arguments: arguments,
    "report": lambda: Report(target="openai"),
    "arguments": {},
    "meta": CompileMeta(target="openai", window_id="w"),
    "config": {"context_window": 10},
    "compress": lambda messages: "x",
    "create": lambda *arguments: object(),
    "logger": RecordingLogger(),
    "encode": str.split,
    "budget": Budget(limit=9, current=1, trigger=5),
    "window": WindowLineage.begin("w"),
    "summary": "x",
    "template": "x",
    "remaining": 1,
    "skill": {"name": "n", "description": "d", "instructions": "i"},
    "host": ContextHost(store=Store(InMemoryBackend()), offloader=Offloader(InMemoryBackend())),
    "call": {"name": "context", "arguments": "{}"},
    "directory": "no-such-directory",
}
INTERNAL = {
    *("adopt", "restore_state", "publish", "begin", "overflow", "overflow_sync", "note_sent"),
    *("realigned", "rebased", "with_fold", "folded_to", "in_words_of", "extended", "keep_paid"),
    *("count_failure", "count_success", "breaker_after", "handoff_due", "handoff_notice"),
    *("count", "count_message", "count_tools", "paid", "read_budget"),
}
"""Called by the library with its own objects."""

FUNCTIONS = {"clock", "new_window_id", "embedder", "on_invalid", "compress", "create", "encode"}


def _chef() -> ContextChef:
    chef = ContextChef(
        memory={}, store=InMemoryBackend(), tools="unified", logger=RecordingLogger()
    )
    chef.append({"role": "user", "content": "hi"})
    return chef.register_tools([{"name": "look", "tags": ["x"]}])


OWNERS: dict[str, Callable[[], Any]] = {
    "chef": _chef,
    "pruner": lambda: _chef().get_pruner(),
    "adapters": lambda: _chef().adapters,
}
PARTS: dict[str, Callable[[], Any]] = {
    "janitor": Janitor,
    "janitor pool": lambda: JanitorPool({"context_window": 10}),
    "session pool": lambda: SessionPool(str),
    "prices": PriceTable.default,
    "cache model": lambda: CacheModel(target="openai"),
    "payload": lambda: Payload({}, meta=PLAIN["meta"], body=PLAIN["body"], report=PLAIN["report"]),
    "message": lambda: Message.user("x"),
    "transcript": Transcript,
    "profile": lambda: profile_for("gpt-5"),
}
"""Made anew for every call, so that what one call leaves is not what the next one meets."""


def _methods(owners: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, str]]:
    for owner, make in owners.items():
        one = make()
        for name in dir(one):
            if not name.startswith("_") and name not in INTERNAL:
                method = inspect.getattr_static(type(one), name, None)
                if inspect.isfunction(method) or isinstance(method, classmethod):
                    yield owner, name


def _parameters(method: Any) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p for p in inspect.signature(method).parameters.values() if p.kind not in kinds]


def _absurd_for(name: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What a parameter is tried with. What a caller's own function raises is the caller's."""
    for kind, make in ABSURD.items():
        if name not in FUNCTIONS or kind not in ("function", "type"):
            yield kind, make


def _fault(call: Callable[[], Any]) -> str | None:
    """What is wrong with the way this call ends."""

    async def wait(answer: Any) -> None:
        await answer

    try:
        answer = call()
        if inspect.iscoroutine(answer):
            asyncio.run(wait(answer))
    except ContextChefError as error:
        return f"{len(str(error))} characters" if len(str(error)) > LONGEST else None
    except Exception as error:  # noqa: BLE001  # what the test is about
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


@pytest.mark.parametrize(("owner", "name"), list(_methods(OWNERS)))
def test_a_method_takes_or_refuses_whatever_it_is_given(owner: str, name: str) -> None:
    faults: dict[str, str] = {}
    parameters = _parameters(getattr(OWNERS[owner](), name))
    for at in parameters:
        for kind, make in _absurd_for(at.name):
            method = getattr(OWNERS[owner](), name)
            others = [p for p in parameters if p is not at and p.default is p.empty]
            given = {p.name: PLAIN.get(p.name, make()) for p in others} | {at.name: make()}
            fault = _fault(lambda method=method, given=given: method(**given))
            if fault is not None:
                faults[f"{at.name}: {kind}"] = fault

    assert faults == {}


def _given_absurdly(
    call: Callable[..., Any], parameters: list[inspect.Parameter]
) -> dict[str, str]:
    """What is wrong with how calls end that hold one telling value each, everything else plain."""
    faults: dict[str, str] = {}
    for at in parameters:
        for kind, make in _absurd_for(at.name):
            if kind not in TELLING:
                continue
            positional: list[Any] = []
            named: dict[str, Any] = {}
            for one in parameters:
                if one is not at and one.default is not one.empty:
                    continue
                value = make() if one is at or one.name not in PLAIN else PLAIN[one.name]
                if one.kind is one.POSITIONAL_ONLY:
                    positional.append(value)
                else:
                    named[one.name] = value
            fault = _fault(lambda given=positional, named=named: call(*given, **named))
            if fault is not None:
                faults[f"{at.name}: {kind}"] = fault
    return faults


@pytest.mark.parametrize(("owner", "name"), list(_methods(PARTS)))
def test_a_method_of_a_part_takes_or_refuses_whatever_it_is_given(owner: str, name: str) -> None:
    def call(*given: Any, **named: Any) -> Any:
        return getattr(PARTS[owner](), name)(*given, **named)

    assert _given_absurdly(call, _parameters(getattr(PARTS[owner](), name))) == {}


OPENS_FILES = ("load_skill", "Recorder")
"""Their docs promise what the system says about a path."""


def _public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function, constructor and class method that people import from the package."""
    for name in context_chef.__all__:
        thing: Any = getattr(context_chef, name)
        if not callable(thing) or thing is ContextChef or getattr(thing, "_is_protocol", False):
            continue
        if not inspect.isclass(thing):
            yield name, thing
        elif not issubclass(thing, BaseException):
            yield name, thing
            for method in dir(thing):
                if not method.startswith("_") and isinstance(
                    inspect.getattr_static(thing, method), (classmethod, staticmethod)
                ):
                    yield f"{name}.{method}", getattr(thing, method)


def test_every_public_name_takes_or_refuses_whatever_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    faults = {
        f"{name}({what})": fault
        for name, call in _public_calls()
        for what, fault in _given_absurdly(call, _parameters(call)).items()
        if not (name in OPENS_FILES and "[Errno" in fault)
    }

    assert faults == {}


@pytest.mark.parametrize("name", [p.name for p in _parameters(ContextChef)])
def test_a_setting_takes_or_refuses_whatever_it_is_given(name: str) -> None:
    def compiled(value: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            chef = ContextChef(**{name: value})
        chef.append({"role": "user", "content": "hi"}).compile_sync()

    faults = {
        kind: fault
        for kind, make in _absurd_for(name)
        if (fault := _fault(lambda make=make: compiled(make()))) is not None
    }

    assert faults == {}


@pytest.mark.parametrize("kind", ABSURD)
def test_a_stored_snapshot_is_read_or_refused(kind: str) -> None:
    assert _fault(lambda: ChefSnapshot.from_json(ABSURD[kind]())) is None


@pytest.mark.parametrize("handler", [lambda: None, lambda one, two: None])
def test_a_handler_that_takes_no_context_is_refused_where_it_is_given(handler: Any) -> None:
    with pytest.raises(ContextChefError, match="a function of its context"):
        _chef().use("before-overflow", handler)
