"""Settings, handlers and adapters that cannot work are named at once, by an error of ours."""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from context_chef import ContextChef, InputError, SettingsError
from context_chef.errors import ContextChefError
from tests.ir.test_hostile_input import HALF, TARGETS, USER, deep, inside_itself


class Tag(str):
    """A type, not a text: `.strip` of it is no method of a value."""


REFUSED: dict[str, Callable[[ContextChef], Any]] = {
    "announce content": lambda c: c.announce("a", 5),  # type: ignore[arg-type]  # refused
    "announce id": lambda c: c.announce(5, "x"),  # type: ignore[arg-type]  # refused
    "guardrails list": lambda c: c.with_guardrails([]),  # type: ignore[arg-type]  # refused
    "enforce_xml text": lambda c: c.with_guardrails({"enforce_xml": "out"}),
    "prefill": lambda c: c.with_guardrails({"prefill": 5}),
    "output_tag bytes": lambda c: c.with_guardrails({"enforce_xml": {"output_tag": b"x"}}),
    "output_tag number": lambda c: c.with_guardrails({"enforce_xml": {"output_tag": 5}}),
    "output_tag type": lambda c: c.with_guardrails({"enforce_xml": {"output_tag": Tag}}),
    "handler": lambda c: c.use("before_adapt", 5),  # type: ignore[arg-type]  # refused
    "slot": lambda c: c.use(5, print),  # type: ignore[arg-type]  # refused
    "event": lambda c: c.on(5, print),  # type: ignore[arg-type]  # refused
    "observer": lambda c: c.on("compile:done", 5),  # type: ignore[arg-type]  # refused
    "tools": lambda c: c.register_tools(None),  # type: ignore[arg-type]  # refused
    "namespaces": lambda c: c.register_namespaces(None),  # type: ignore[arg-type]  # refused
    "extend": lambda c: c.extend(None),  # type: ignore[arg-type]  # refused
    "skills": lambda c: c.register_skills(None),  # type: ignore[arg-type]  # refused
    "call": lambda c: c.handle_tool_sync(None),  # type: ignore[arg-type]  # refused
    "snapshot": lambda c: c.restore_sync({}),  # type: ignore[arg-type]  # refused
    "model number": lambda c: c.compile_sync(model=5),  # type: ignore[arg-type]  # refused
    "model bytes": lambda c: c.compile_sync(model=b"x"),  # type: ignore[arg-type]  # refused
    "usage": lambda c: c.report_token_usage(10**400),
    "state deep": lambda c: c.set_dynamic_state(None, deep()),
    "state inside itself": lambda c: c.set_dynamic_state(None, inside_itself()),
    "state tuple keys": lambda c: c.set_dynamic_state(None, {(1, 2): 3}),
    "placement deep": lambda c: c.set_dynamic_state(None, {}, placement=deep()),  # type: ignore[arg-type]  # refused
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_setting_that_cannot_work_is_refused_where_it_is_set(case: str) -> None:
    chef = ContextChef().append(USER)
    before = chef.compile_sync().to_json()

    with pytest.raises(ContextChefError) as refusal:
        REFUSED[case](chef)

    assert len(str(refusal.value)) < 1500
    assert chef.compile_sync().to_json() == before


@pytest.mark.parametrize("error", [ValueError("too small"), TypeError("no number")])
def test_what_a_schema_function_raises_is_an_input_error(error: Exception) -> None:
    def check(value: Any) -> Any:
        raise error

    with pytest.raises(InputError, match=str(error)) as refusal:
        ContextChef().set_dynamic_state(check, {})

    assert refusal.value.__cause__ is error


def _nan(context: Any) -> None:
    context.payload["temperature"] = math.nan


def _itself(context: Any) -> None:
    context.payload["metadata"] = context.payload


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("handler", [_nan, _itself])
def test_a_handler_that_leaves_no_json_is_named(handler: Any, target: str) -> None:
    chef = ContextChef().append(USER)
    chef.use("after_adapt", handler)

    with pytest.raises(InputError, match=handler.__name__):
        chef.compile_sync(target)


def test_a_handler_that_breaks_the_config_of_gemini_is_named() -> None:
    def spoil(context: Any) -> None:
        context.payload["config"] = 5

    chef = ContextChef().append(USER)
    chef.use("after_adapt", spoil)

    with pytest.raises(InputError, match=r"spoil.*config"):
        chef.compile_sync("gemini")


def test_half_a_surrogate_pair_from_a_handler_is_mended() -> None:
    chef = ContextChef().append(USER)
    chef.use("after_adapt", lambda context: context.payload.update(user=HALF))

    payload = chef.compile_sync("openai")

    assert payload["user"] == "a\ufffdb"
    assert b"a\xef\xbf\xbdb" in payload.to_json()


@dataclass
class Answering:
    """An adapter that answers what it was given."""

    answer: Any

    def compile(self, messages: Any) -> Any:
        return self.answer


@pytest.mark.parametrize(
    "answer",
    [{"x": math.nan}, {"x": print}, inside_itself(), {"x": deep()}],
    ids=["NaN", "object", "inside itself", "deep"],
)
def test_an_adapter_that_answers_no_json_is_named(answer: Any) -> None:
    with pytest.raises(InputError, match="Answering"):
        ContextChef().append(USER).compile_sync(Answering(answer))


def test_what_a_caller_puts_into_a_payload_is_judged_when_it_is_written_down() -> None:
    payload = ContextChef().append(USER).compile_sync()
    payload["temperature"] = math.nan

    with pytest.raises(InputError, match="temperature"):
        payload.to_json()


async def test_an_endless_compile_in_its_own_handler_ends_with_its_depth() -> None:
    chef = ContextChef().append(USER)

    async def again(context: Any) -> None:
        await chef.compile()

    chef.use("before_adapt", again)

    with pytest.raises(ContextChefError, match="16 compiles deep"):
        await chef.compile()


async def test_many_compiles_side_by_side_in_a_handler_are_not_deep() -> None:
    chef, done = ContextChef().append(USER), []

    async def many(context: Any) -> None:
        if not done:
            done.append(True)
            await asyncio.gather(*(chef.compile() for _ in range(40)))

    chef.use("before_adapt", many)

    assert (await chef.compile())["messages"]


@pytest.mark.parametrize("slot", ["before_overflow", "before_assemble", "after_adapt"])
def test_a_handler_that_raises_stop_iteration_is_named(slot: str) -> None:
    def first(context: Any) -> Any:
        return next(iter([]))

    chef = ContextChef().append(USER)
    chef.use(slot, first)

    with pytest.raises(ContextChefError, match=r"first.*StopIteration"):
        chef.compile_sync()


def test_only_text_can_be_injected() -> None:
    chef = ContextChef().append(USER)
    chef.use("before_assemble", lambda context: context.inject(5))

    with pytest.raises(InputError, match="inject"):
        chef.compile_sync()


def test_a_tag_has_to_be_named_by_text() -> None:
    with pytest.raises(SettingsError, match="output_tag"):
        ContextChef().with_guardrails({"enforce_xml": {"output_tag": Tag}})


_SETS = """
from dataclasses import dataclass
from context_chef import ContextChef, canonical_json, object_to_xml
words = {f'w{n}' for n in range(40)}
@dataclass
class State:
    tags: set
chef = ContextChef().append({'role': 'user', 'content': 'q'})
chef.register_tools([{'name': 't', 'tags': words, 'parameters': {'enum': words}}])
chef.set_dynamic_state(None, {'a': words, 'b': [{'c': frozenset(words)}], 'd': State(words)})
class Custom:
    def compile(self, messages):
        return {'words': words}
print([chef.compile_sync(t).to_json() for t in ('openai', 'anthropic', 'gemini', Custom())])
print(canonical_json(words), object_to_xml({'words': words}))
"""


def test_sets_are_the_same_bytes_in_every_process() -> None:
    def run(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _SETS]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        ).stdout

    assert run("1") == run("2")


@pytest.mark.parametrize("watcher", [None, 5, object()])
def test_what_cannot_watch_is_refused_at_once(watcher: Any) -> None:
    chef = ContextChef().append({"role": "user", "content": "q"})
    with pytest.raises(InputError, match="compiling"):
        chef.watch_stages(watcher)
    chef.compile_sync("openai")
