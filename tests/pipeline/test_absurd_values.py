"""Whatever a public method is given, an error of ours comes out, short and at once, or a result."""

from __future__ import annotations

import asyncio
import inspect
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from context_chef import ChefSnapshot, ContextChef, InMemoryBackend
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
}
INTERNAL = {"adopt", "restore_state"}
"""Called by the library with its own objects."""

FUNCTIONS = {"clock", "new_window_id", "embedder"}


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


def _methods() -> Iterator[tuple[str, str]]:
    for owner, make in OWNERS.items():
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


@pytest.mark.parametrize(("owner", "name"), list(_methods()))
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
