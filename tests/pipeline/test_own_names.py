"""Calls come back under the names that the caller gave, whatever the provider was told."""

from __future__ import annotations

import json
from typing import Any, cast, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef import (
    ChefSnapshot,
    ContextChef,
    Message,
    Payload,
    from_anthropic,
    from_gemini,
    from_openai_responses,
)
from context_chef.ir.blocks import Provider, ToolCall
from tests.histories import odd_tool_names
from tests.properties.provider_check import problems

TARGETS: tuple[Provider, ...] = get_args(Provider)
MODELS = {
    "openai": "gpt-4.1", "openai-responses": "gpt-5.2", "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-pro",
}  # fmt: skip
SCHEMA = {
    "type": "object",
    "properties": {"a path": {"type": "string"}, "n": {"type": "integer"}},
    "required": ["a path"],
}


def make(*names: str, target: str = "openai") -> ContextChef:
    chef = ContextChef(default_target=target)
    chef.append({"role": "user", "content": "q"})
    return chef.register_tools([{"name": name, "parameters": SCHEMA} for name in names])


def told(payload: Payload, name: str) -> str:
    """The wire name of a tool."""
    back = {own: wire for wire, own in payload.meta.tool_names.items()}
    return back.get(name, name)


def answer(target: str, name: str, arguments: dict[str, Any]) -> tuple[Message, ...]:
    """A call in the provider's own form, read as the documents say."""
    if target == "anthropic":
        block = {"type": "tool_use", "id": "c1", "name": name, "input": arguments}
        return from_anthropic({"role": "assistant", "content": [block]}).history
    if target == "gemini":
        part = {"functionCall": {"name": name, "args": arguments}}
        return from_gemini({"role": "model", "parts": [part]}).history
    text = json.dumps(arguments)
    if target == "openai-responses":
        item = {"type": "function_call", "call_id": "c1", "name": name, "arguments": text}
        return from_openai_responses([item]).history
    function = {"name": name, "arguments": text}
    row = {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": function}]}  # fmt: skip
    return ContextChef().append(row).history


def called(chef: ContextChef) -> ToolCall:
    return next(m for m in chef.history if m.tool_calls).tool_calls[0]


def named_on_the_wire(payload: Payload) -> set[str]:
    """Every tool name in a finished request."""
    found: set[str] = set()

    def walk(value: Any, key: str = "") -> None:
        if isinstance(value, dict):
            if "properties" in value:
                return
            for inner, item in cast(dict[str, Any], value).items():
                walk(item, inner)
        elif isinstance(value, list):
            for item in cast(list[Any], value):
                walk(item, key)
        elif key == "name" and isinstance(value, str):
            found.add(value)

    walk(payload.body)
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_a_call_by_the_wire_name_is_kept_under_the_tools_own_name(target: str) -> None:
    chef = make("db drop!", target=target)
    payload = chef.compile_sync()
    wire = told(payload, "db drop!")
    assert wire != "db drop!"

    chef.extend(answer(target, wire, {"n": 1}))
    chef.append(Message.tool("done", tool_call_id=called(chef).id, name=wire))

    assert called(chef).name == "db drop!"
    assert chef.history[-1].name == "db drop!"
    assert chef.check_tool_call_sync(called(chef)).name == "db drop!"
    assert named_on_the_wire(chef.compile_sync()) <= {wire}


def test_a_property_by_its_wire_name_comes_back_under_its_own() -> None:
    chef = make("read", target="anthropic")
    (tool,) = chef.compile_sync()["tools"]
    (path,) = set(tool["input_schema"]["properties"]) - {"n"}

    chef.extend(answer("anthropic", "read", {path: "x", "n": 1}))

    assert json.loads(called(chef).arguments) == {"a path": "x", "n": 1}
    (use,) = chef.compile_sync()["messages"][1]["content"]
    assert use["input"] == {path: "x", "n": 1}


@pytest.mark.parametrize("first", TARGETS)
def test_a_session_that_moves_to_another_target_has_the_right_names_everywhere(first: str) -> None:
    chef = make("fs.read", "1st", "käse", target=first)
    wires = [told(chef.compile_sync(), name) for name in ("fs.read", "1st", "käse")]
    for number, wire in enumerate(wires):
        call = ToolCall(id=f"c{number}", name=wire, arguments='{"a path":"x"}')
        chef.append(Message.assistant(call))
        chef.append(Message.tool("r", tool_call_id=f"c{number}", name=wire))
    chef.append({"role": "user", "content": "and now?"})

    for target in TARGETS:
        payload = chef.compile_sync(target)
        offered = {told(payload, name) for name in ("fs.read", "1st", "käse")}
        assert named_on_the_wire(payload) == offered
        assert problems(target, payload, MODELS[target]) == []


def test_the_whole_list_again_is_the_same_conversation() -> None:
    chef = make("fs.read")
    wire = told(chef.compile_sync(), "fs.read")
    rows = [{"role": "user", "content": "q"}, *answer("openai", wire, {})]
    chef.set_history(rows)
    before = chef.history

    chef.set_history(rows)

    assert all(a is b for a, b in zip(chef.history, before, strict=True))
    assert called(chef).name == "fs.read"


def test_tools_that_are_registered_later_name_the_calls_that_are_there() -> None:
    wire = told(make("fs.read").compile_sync(), "fs.read")
    chef = ContextChef().set_history([Message.user("q"), *answer("openai", wire, {})])
    assert called(chef).name == wire

    chef.register_tools([{"name": "fs.read"}])

    assert called(chef).name == "fs.read"


def test_names_are_known_after_a_tool_is_gone_also_in_another_process() -> None:
    chef = make("fs.read")
    wire = told(chef.compile_sync(), "fs.read")
    chef.register_tools([])
    data = chef.snapshot_sync().to_json()

    for later in (chef, ContextChef().restore_sync(ChefSnapshot.from_json(data)), chef.fork_sync()):
        assert called(later.extend(answer("openai", wire, {}))).name == "fs.read"


def test_a_name_that_a_tool_really_has_stands_for_that_tool() -> None:
    wire = told(make("fs.read").compile_sync(), "fs.read")

    chef = make("fs.read", wire).extend(answer("openai", wire, {}))

    assert called(chef).name == wire


def test_a_snapshot_of_legal_names_says_nothing_of_names() -> None:
    assert b"told_names" not in make("read").snapshot_sync().to_json()


@settings(max_examples=25)
@given(st.lists(odd_tool_names.filter(str.strip), min_size=1, max_size=4), st.data())
def test_whatever_tools_are_called_their_calls_find_back(names: list[str], data: Any) -> None:
    unique = list(dict.fromkeys(names))
    target = data.draw(st.sampled_from(TARGETS))
    chef = make(*unique, target=target)
    name = data.draw(st.sampled_from(unique))

    chef.extend(answer(target, told(chef.compile_sync(), name), {"n": 1}))

    assert called(chef).name == name
    other = data.draw(st.sampled_from(TARGETS))
    payload = chef.compile_sync(other)
    assert named_on_the_wire(payload) <= {told(payload, known) for known in unique}
