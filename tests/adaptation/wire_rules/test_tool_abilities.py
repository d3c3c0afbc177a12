"""Tools that are held back or come later, for models that know neither."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import ContextChef, from_openai_responses
from context_chef.adaptation.wire_rules import check_payload
from context_chef.adaptation.wire_rules.rule import Target


def _left(target: str, model: str, body: dict[str, Any]) -> Any:
    """What a compile makes of a request that a handler put in place of its own."""
    chef = ContextChef(default_target=target, model=model)
    chef.append({"role": "user", "content": "Hello"})

    def leave(context: Any) -> None:
        context.payload.clear()
        context.payload.update(body)

    chef.use("after-adapt", leave)
    return chef.compile_sync()


_SCHEMA = {"type": "object", "properties": {}}
_HELLO = {"role": "user", "content": "Hello"}


def test_a_tool_added_inside_the_conversation_is_there_from_the_start() -> None:
    added = {
        "type": "tool_addition",
        "tool": {
            "type": "tool_definition",
            "definition": {"name": "ask", "input_schema": _SCHEMA},
        },
    }
    removed = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "look"}}
    payload = _left(
        "anthropic",
        "claude-sonnet-4-5",
        {
            "messages": [_HELLO, {"role": "system", "content": [added, removed]}],
            "tools": [{"name": "look", "input_schema": _SCHEMA}],
        },
    )

    assert [tool["name"] for tool in payload["tools"]] == ["look", "ask"]
    assert "tool_addition" not in str(payload["messages"])
    assert "anthropic/tool-changes-model" in {each.rule for each in payload.report.repairs}


def test_additional_tools_are_there_from_the_start_on_responses() -> None:
    tool = {"type": "function", "name": "ask", "parameters": _SCHEMA}
    payload = _left(
        "openai-responses",
        "gpt-4o",
        {"input": [_HELLO, {"type": "additional_tools", "role": "developer", "tools": [tool]}]},
    )

    assert [each["name"] for each in payload["tools"]] == ["ask"]
    assert "additional_tools" not in str(payload["input"])
    assert "openai-responses/tool-changes-model" in {each.rule for each in payload.report.repairs}


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("anthropic", "claude-opus-4-1"),
        ("openai-responses", "gpt-5"),
        ("openai", "gpt-5.1"),
        ("gemini", "gemini-3.8-flash"),
    ],
)
def test_where_nothing_can_be_held_back_a_compile_sends_every_tool(
    target: Target, model: str
) -> None:
    """On Chat Completions and Gemini the words for it are unknown keys, which the shape refuses."""
    chef = ContextChef(default_target=target, model=model).append(_HELLO)
    tool = {"name": "ask", "description": "Asks.", "parameters": _SCHEMA, "defer_loading": True}
    payload = chef.register_tools([tool]).compile_sync()

    assert check_payload(target, payload, model=model, partial=True) == []
    assert "ask" in str(payload)
    assert "defer_loading" not in str(payload.body)
    assert "defer-loading-dropped" in {each.code for each in payload.report.diagnostics}


@pytest.mark.parametrize("target", ["openai", "gemini"])
def test_the_shape_refuses_a_tool_held_back_where_no_model_knows_of_it(target: Target) -> None:
    function = {"name": "ask", "parameters": _SCHEMA}
    held = {
        "openai": {
            "model": "gpt-5.4",
            "messages": [_HELLO],
            "tools": [{"type": "function", "function": function, "defer_loading": True}],
        },
        "gemini": {
            "contents": [{"role": "user", "parts": [{"text": "Hello"}]}],
            "tools": [{"functionDeclarations": [{**function, "deferLoading": True}]}],
        },
    }[target]

    assert [fault.rule for fault in check_payload(target, held)] == [f"{target}/shape"]


def _search(*loaded: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "tool_search_call", "arguments": {}, "execution": "server"},
        {"type": "tool_search_output", "tools": list(loaded), "execution": "server"},
    ]


_ASK = {"type": "function", "name": "ask", "parameters": _SCHEMA}
_NAMED = {"type": "namespace", "name": "crm", "description": "Customers.", "tools": [_ASK]}
_ROUND = [
    {"type": "function_call", "call_id": "c1", "name": "ask", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
]


@pytest.mark.parametrize(
    ("items", "tools", "home"),
    [
        (_search(_ASK), [{**_ASK, "defer_loading": True}], "ask"),
        (_search(_NAMED), [], "crm"),
        ([], [_NAMED], "crm"),
        (_search(_ASK), [_ASK], None),
        ([], [{**_ASK, "defer_loading": True}], None),
    ],
    ids=["loaded", "loaded namespace", "listed namespace", "offered at once", "never loaded"],
)
def test_a_call_from_outside_of_the_default_namespace_names_it(
    items: list[Any], tools: list[Any], home: str | None
) -> None:
    search = [{"type": "tool_search"}]
    body = {"model": "gpt-5.4", "input": [_HELLO, *items, *_ROUND], "tools": [*search, *tools]}
    found = [(each.rule, each.path) for each in check_payload("openai-responses", body)]
    place = f"input[{1 + len(items)}]"
    assert found == ([("openai-responses/tool-search", place)] if home else [])

    chef = ContextChef(default_target="openai-responses", model="gpt-5.4")
    chef.set_history(from_openai_responses(body).messages).register_tools(body["tools"])
    payload = chef.compile_sync()

    calls = [row for row in payload["input"] if row.get("type") == "function_call"]
    assert [row.get("namespace") for row in calls] == [home]
    assert check_payload("openai-responses", payload, model="gpt-5.4", partial=True) == []
    mended = {repair.rule for repair in payload.report.repairs}
    assert ("openai-responses/tool-search" in mended) == bool(home)


def test_more_calls_than_a_message_holds_go_in_several() -> None:
    ids = [f"c{number}" for number in range(300)]
    calls = [{"id": each, "function": {"name": "look", "arguments": "{}"}} for each in ids]
    chef = ContextChef(default_target="openai", model="gpt-4o").append(_HELLO)
    chef.append({"role": "assistant", "content": "Looking.", "tool_calls": calls})
    chef.extend([{"role": "tool", "tool_call_id": each, "content": each} for each in ids])
    payload = chef.compile_sync()

    rows = payload["messages"]
    assert [len(row["tool_calls"]) for row in rows if row["role"] == "assistant"] == [128, 128, 44]
    assert [row["tool_call_id"] for row in rows if row["role"] == "tool"] == ids
    assert [row["content"] for row in rows if row.get("content") == "Looking."] == ["Looking."]
    assert check_payload("openai", payload, model="gpt-4o", partial=True) == []
    assert [repair.rule for repair in payload.report.repairs] == ["openai/tool-calls-limit"]
    whole = [row for row in chef.compile_sync("openai-responses")["input"] if "call_id" in row]
    assert len(whole) == 600
