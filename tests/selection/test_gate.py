"""The gate looks at what a call would run, and never changes what is shown."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import ContextChef
from context_chef.errors import ToolError
from context_chef.ir.blocks import ToolCall
from context_chef.ir.tools import ToolRequest
from context_chef.selection.pruner import Pruner


def gate(*blocked: str) -> Pruner:
    made = Pruner()
    made.register_tools([{"name": "rm"}, {"name": "ls"}])
    tools = [{"name": "rm"}, {"name": "cat"}]
    made.register_namespaces([{"name": "fs", "tools": tools}, {"name": "db", "tools": tools}])
    made.register_toolkits([{"name": "Weather", "tools": [{"name": "now"}]}])
    made.set_blocked_tools(blocked)
    return made


def call(words: str) -> dict[str, Any]:
    """`fs rm` is a call of the namespace fs for its action rm."""
    name, _, inside = words.partition(" ")
    key = "toolkit_name" if name == "load_toolkit" else "action"
    return {"name": name, "arguments": {key: inside}} if inside else {"name": name}


@pytest.mark.parametrize(
    ("blocked", "refused", "allowed"),
    [
        (
            "rm",
            ["rm", "RM", "fs rm", "fs RM", "db rm", "fs.rm", "fs/rm"],
            ["ls", "fs cat", "fs.cat"],
        ),
        ("fs.rm", ["fs rm", "fs.rm", "FS rm"], ["rm", "db rm", "fs cat"]),
        ("FS/rm", ["fs rm", "fs/rm"], ["rm", "db rm"]),
        ("fs", ["fs rm", "fs cat", "fs", "fs.cat"], ["db rm", "rm"]),
        ("fs", ["cat", "CAT"], ["ls"]),
        ("weather", ["load_toolkit Weather", "now", "NOW", "Weather.now"], ["load_toolkit Maps"]),
        ("now", ["now", "weather/NOW"], ["load_toolkit Weather"]),
        ("Weather.now", ["now"], ["ls"]),
        ("load_toolkit", ["load_toolkit Weather"], []),
    ],
)
def test_a_rule_refuses_what_it_names_by_whatever_way_it_is_called(
    blocked: str, refused: list[str], allowed: list[str]
) -> None:
    made = gate(blocked)

    assert [made.check_tool_call(call(c)).allowed for c in refused] == [False] * len(refused)
    assert [made.check_tool_call(call(c)).allowed for c in allowed] == [True] * len(allowed)


def test_a_blocked_toolkit_stays_blocked_whatever_its_tools_were_loaded_as() -> None:
    made = gate("weather")
    tools = made.extract_toolkit("Weather")
    made.register_tools([*made.all_tools, *tools])
    assert not made.check_tool_call(call("now")).allowed

    made.register_namespaces([{"name": "loaded", "tools": tools}])
    assert not made.check_tool_call(call("loaded now")).allowed
    assert not made.check_tool_call(call("loaded.now")).allowed
    assert not made.check_tool_call(call("loaded")).allowed  # it may mean a blocked action
    assert made.check_tool_call(call("ls")).allowed


def test_a_refusal_names_the_action_and_is_told_apart_from_a_call_that_cannot_be_read() -> None:
    verdict = gate("rm").check_tool_call({"name": "fs", "arguments": '{"action":"rm","args":{}}'})

    assert (verdict.name, verdict.blocked) == ("fs.rm", True)
    assert "`fs.rm` is blocked" in str(verdict.reason)


@pytest.mark.parametrize("broken", [None, {}, {"name": ""}, {"name": "  "}, {"name": 7}, 7, "rm"])
def test_a_call_without_a_name_is_refused_with_a_reason(broken: Any) -> None:
    verdict = gate().check_tool_call(broken)

    assert (verdict.allowed, verdict.blocked) == (False, False)
    assert verdict.reason


@pytest.mark.parametrize(
    "arguments", ["{bad", "null", None, {}, {"action": 5}, {"action": "rm "}, {"action": "r m"}]
)
def test_a_namespace_with_a_blocked_action_refuses_what_it_cannot_make_out(arguments: Any) -> None:
    hidden = {"name": "fs", "arguments": arguments}

    assert not gate("rm").check_tool_call(hidden).allowed
    assert gate("ls").check_tool_call(hidden).allowed


@pytest.mark.parametrize(
    "shape",
    [
        ToolRequest(name="fs", arguments={"action": "rm"}),
        ToolCall(id="1", name="fs", arguments='{"action": "rm"}'),
        {"id": "1", "function": {"name": "fs", "arguments": '{"action": "rm"}'}},
        {"type": "tool_use", "name": "fs", "input": {"action": "rm"}},
        {"functionCall": {"name": "fs", "args": {"action": "rm"}}},
    ],
)
def test_a_call_may_have_the_shape_of_any_provider(shape: Any) -> None:
    assert gate("rm").check_tool_call(shape).name == "fs.rm"
    assert not gate("rm").check_tool_call(shape).allowed


def test_blocking_changes_nothing_that_is_shown() -> None:
    made = gate()
    before = made.compile()

    made.set_blocked_tools(["rm", "fs"])

    assert made.compile() == before
    assert made.get_blocked_tools() == ["rm", "fs"]


def test_the_blocklist_is_replaced_and_copied() -> None:
    made = gate("rm", "rm")
    made.get_blocked_tools().append("ls")

    assert made.get_blocked_tools() == ["rm", "rm"]
    assert made.check_tool_call(call("ls")).allowed
    made.set_blocked_tools([])
    assert made.check_tool_call(call("rm")).allowed


def test_a_blocklist_that_is_no_list_is_refused() -> None:
    with pytest.raises(ToolError, match="list of tool names"):
        gate().set_blocked_tools("rm")


@pytest.mark.parametrize("target", ["openai", "openai-responses", "anthropic", "gemini"])
def test_the_name_that_the_provider_was_told_is_no_way_around_the_gate(target: str) -> None:
    chef = ContextChef(default_target=target).append({"role": "user", "content": "x"})
    chef.register_tools([{"name": "db drop!", "parameters": {"type": "object", "properties": {}}}])
    action = {"name": "delete", "description": "d"}
    chef.register_namespaces([{"name": "git hub", "description": "d", "tools": [action]}])
    chef.get_pruner().set_blocked_tools(["db drop!", "git hub.delete"])
    told = {own: wire for wire, own in chef.compile_sync().meta.tool_names.items()}
    assert set(told) == {"db drop!", "git hub"}

    verdict = chef.check_tool_call_sync({"name": told["db drop!"], "input": {}})
    assert (verdict.allowed, verdict.name) == (False, "db drop!")
    assert f"`{told['db drop!']}`" in (verdict.reason or "")  # the name that the model knows
    call = {"type": "tool_use", "id": "1", "name": told["git hub"], "input": {"action": "delete"}}
    assert chef.check_tool_call_sync(call).name == "git hub.delete"
    assert not chef.check_tool_call_sync(call).allowed
    pruner = chef.get_pruner()
    assert pruner.is_namespace_call(call)
    assert pruner.resolve_namespace(call).tool_name == "delete"


@pytest.mark.parametrize(
    "call",
    [
        {"type": "tool_use", "id": "1", "name": "gh", "input": {"action": "get", "args": {"p": 1}}},
        {"function": {"name": "gh", "arguments": '{"action": "get", "args": {"p": 1}}'}},
        {"functionCall": {"name": "gh", "args": {"action": "get", "args": {"p": 1}}}},
        {"type": "function_call", "name": "gh", "arguments": '{"action":"get","args":{"p":1}}'},
    ],
)
def test_a_namespace_call_is_read_in_every_providers_form(call: dict[str, Any]) -> None:
    pruner = ContextChef().get_pruner()
    pruner.register_namespaces(
        [{"name": "gh", "description": "d", "tools": [{"name": "get", "description": "d"}]}]
    )

    assert pruner.is_namespace_call(call)
    resolved = pruner.resolve_namespace(call)
    assert (resolved.tool_name, dict(resolved.args)) == ("get", {"p": 1})


def test_the_native_memory_tools_name_is_taken_where_it_is_offered() -> None:
    tool = {"name": "memory", "description": "d"}
    assert ContextChef().register_tools([tool])
    with pytest.raises(ToolError, match="memory"):
        ContextChef(context_tool={"native_memory": True}).register_tools([tool])
