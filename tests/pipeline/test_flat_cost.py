"""What a compile costs is told by what was added, not by how long the conversation is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from context_chef import ContextChef

MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.8-flash",
}
SHORT, LONG = 240, 960
COMPILES = 8
Row = dict[str, Any]


def talk(start: int, count: int) -> Iterator[Row]:
    """Rounds of a question, a call, its result and an answer; every message another one."""
    for number in range(start, start + count):
        match number % 4:
            case 0:
                yield {"role": "user", "content": f"Question {number}."}
            case 1:
                call = {"name": "run", "arguments": f'{{"step": {number}}}'}
                calls = [{"id": f"call_{number}", "type": "function", "function": call}]
                yield {"role": "assistant", "content": None, "tool_calls": calls}
            case 2:
                said = {"role": "tool", "tool_call_id": f"call_{number - 1}"}
                yield {**said, "content": f"Result {number}. " * 3}
            case _:
                yield {"role": "assistant", "content": f"Answer {number}."}


class Steps:
    """Lines and calls of Python code, counted."""

    count = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> Steps:
        self.count += 1
        return self


@contextmanager
def counted() -> Generator[Steps]:
    steps, before = Steps(), sys.gettrace()
    sys.settrace(steps)
    try:
        yield steps
    finally:
        sys.settrace(before)


def cost(chef: ContextChef, target: str, length: int, *, again: bool) -> int:
    """The steps of some compiles with one message more each, behind so many messages."""
    given = list(talk(0, length))
    chef.set_history(given)
    new = talk(length, COMPILES + 4)

    def one_more() -> None:
        if again:
            given.append(next(new))
            chef.set_history(given)
        else:
            chef.append(next(new))
        chef.compile_sync(target, model=MODELS[target])

    chef.compile_sync(target, model=MODELS[target])
    for _ in range(4):
        one_more()
    with counted() as steps:
        for _ in range(COMPILES):
            one_more()
    return steps.count


def plain() -> ContextChef:
    return ContextChef().set_system_prompt("You are careful.")


def with_tail() -> ContextChef:
    chef = ContextChef(cache="auto").set_system_prompt("You are careful.")
    return chef.set_dynamic_state(None, {"step": 1})


def with_offloading() -> ContextChef:
    return ContextChef(vfs={"automatic": True, "threshold": 5_000}).set_system_prompt("Be careful.")


@pytest.mark.parametrize("again", [False, True], ids=["appended", "whole-list"])
@pytest.mark.parametrize("target", MODELS)
@pytest.mark.parametrize("made", [plain, with_tail])
def test_one_message_more_costs_as_many_steps_behind_a_long_conversation_as_behind_a_short_one(
    made: Callable[[], ContextChef], target: str, again: bool
) -> None:
    short = cost(made(), target, SHORT, again=again)
    long = cost(made(), target, LONG, again=again)
    assert long <= short * 1.03


def with_transforms() -> ContextChef:
    return ContextChef(transform_tool_result=lambda text, info: f"{info.tool_name}: {text}")


@pytest.mark.parametrize("made", [with_offloading, with_transforms])
def test_work_on_tool_results_costs_as_many_steps_behind_a_long_conversation_as_behind_a_short_one(
    made: Callable[[], ContextChef],
) -> None:
    short = cost(made(), "openai", SHORT, again=False)
    assert cost(made(), "openai", LONG, again=False) <= short * 1.03


@pytest.mark.parametrize("again", [False, True], ids=["appended", "whole-list"])
@pytest.mark.parametrize("transform", [None, lambda text, info: f"{info.tool_name}: {text}"])
def test_a_chef_that_offloads_as_it_grows_sends_what_a_new_one_would(
    transform: Any, again: bool
) -> None:
    def chef() -> ContextChef:
        large = {"threshold": 40, "only_if_shorter": False, "head_chars": 9, "tail_chars": 9}
        return ContextChef(vfs={"automatic": True, **large}, transform_tool_result=transform)

    grown, said = chef(), list[Row]()
    for row in talk(0, 30):
        if row["role"] == "tool" and len(said) % 3:
            row = {**row, "content": "A long result. " * 20, "tool_call_id": "call_1"}
        if row.get("tool_calls"):
            row["tool_calls"][0]["id"] = "call_1"
            row["tool_calls"][0]["function"]["name"] = "run" if len(said) < 20 else "walk"
        said.append(row)
        if again:
            grown.set_history(said)
        else:
            grown.append(row)
        new = chef().set_history(said)
        assert grown.compile_sync("openai") == new.compile_sync("openai")
    assert b"context://vfs/" in grown.compile_sync("openai").to_json()
    said[2]["content"] = "Something shorter."
    grown.set_history(said)
    assert grown.compile_sync("openai") == chef().set_history(said).compile_sync("openai")
