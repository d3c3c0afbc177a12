"""Tools in and out: every shape is read, every target gets a list that it takes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings

from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import (
    ConvertedTools,
    convert_tools,
    map_names,
    read_tools,
    tool_from_dict,
    wire_name,
)
from context_chef.errors import InputError
from context_chef.ir.blocks import Provider
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.provider_requests import TARGETS, needs_checker, problems
from tests.histories import tool_lists

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"q": {"type": "string"}},
    "required": ["q"],
}
TOOL = ToolDefinition(name="search", description="Finds.", parameters=SCHEMA, tags=("web",))


def converted(
    *tools: ToolDefinition, target: Provider = "anthropic", model: str = ""
) -> ConvertedTools:
    return convert_tools(tools, target=target, profile=profile_for(model, target))


def named(*names: str) -> list[ToolDefinition]:
    return [ToolDefinition(name=name, description=name) for name in names]


def names_in(found: ConvertedTools) -> list[str]:
    names: list[str] = []
    for tool in found.wire:
        for entry in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            names.append(entry["name"])
    return names


def body(target: Provider, found: ConvertedTools) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "user", "content": "q"}
    made: dict[str, Any] = {"tools": found.wire} if found.wire else {}
    match target:
        case "anthropic":
            return {**made, "model": "unknown", "max_tokens": 10, "messages": [message]}
        case "openai":
            return {**made, "model": "unknown", "messages": [message]}
        case "openai-responses":
            return {**made, "model": "unknown", "input": [message]}
        case "gemini":
            return {**made, "contents": [{"role": "user", "parts": [{"text": "q"}]}]}


# Shapes in -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape",
    [
        {"name": "search", "description": "Finds.", "parameters": SCHEMA},
        {"name": "search", "description": "Finds.", "input_schema": SCHEMA},
        {"name": "search", "description": "Finds.", "inputSchema": SCHEMA, "annotations": {}},
        {"type": "function", "name": "search", "description": "Finds.", "parameters": SCHEMA},
        {
            "type": "function",
            "function": {"name": "search", "description": "Finds.", "parameters": SCHEMA},
        },
        {
            "functionDeclarations": [
                {"name": "search", "description": "Finds.", "parametersJsonSchema": SCHEMA}
            ]
        },
        {
            "function_declarations": [
                {
                    "name": "search",
                    "description": "Finds.",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"q": {"type": "STRING"}},
                        "required": ["q"],
                    },
                }
            ]
        },
    ],
)
def test_a_tool_of_any_shape_is_the_same_tool(shape: dict[str, Any]) -> None:
    tool = tool_from_dict(shape)

    assert (tool.name, tool.description, tool.parameters) == ("search", "Finds.", SCHEMA)


def test_the_flat_form_keeps_tags_and_deferral_in_either_spelling() -> None:
    flat = {"name": "t", "tags": ["a"], "deferLoading": True, "cost": 3}

    tool = tool_from_dict(flat)

    assert (tool.tags, tool.defer_loading, tool.extra) == (("a",), True, {"cost": 3})


def test_sdk_objects_are_read_like_plain_ones() -> None:
    from google.genai.types import FunctionDeclaration, Tool

    declaration = FunctionDeclaration(name="search", parameters_json_schema=SCHEMA)

    (tool,), _ = read_tools([Tool(function_declarations=[declaration])], "gemini")

    assert (tool.name, tool.parameters) == ("search", SCHEMA)


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ([{"description": "nameless"}], "$[0].name"),
        ([{"name": "t", "parameters": "no"}], "$[0].parameters"),
        ([{"name": "t", "tags": "one"}], "$[0].tags"),
        ([3], "$[0]"),
        ("text", "$"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(value: object, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read_tools(value)

    assert caught.value.path == where


def test_a_providers_own_tool_keeps_its_whole_form() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}

    tools, _ = read_tools([search])

    assert converted(*tools).wire == [search]


def test_a_providers_own_tool_is_named_where_it_does_not_exist() -> None:
    tools, _ = read_tools([{"type": "web_search_20250305", "name": "web_search"}], "anthropic")

    found = converted(*tools, target="gemini")

    assert found.wire == []
    assert [d.code for d in found.diagnostics] == ["tool-dropped"]


def test_custom_tools_go_from_chat_to_responses_and_back() -> None:
    chat = {"type": "custom", "custom": {"name": "sql", "description": "Runs."}}
    flat = {"type": "custom", "name": "sql", "description": "Runs."}

    assert converted(tool_from_dict(chat), target="openai-responses").wire == [flat]
    assert converted(tool_from_dict(flat), target="openai").wire == [chat]


# Shapes out ------------------------------------------------------------------------------------


def test_each_target_has_its_own_form() -> None:
    words = {"name": "search", "description": "Finds."}

    assert converted(TOOL).wire == [{**words, "input_schema": SCHEMA}]
    assert converted(TOOL, target="openai").wire == [
        {"type": "function", "function": {**words, "parameters": SCHEMA}}
    ]
    assert converted(TOOL, target="openai-responses").wire == [
        {"type": "function", **words, "parameters": SCHEMA, "strict": False}
    ]
    assert converted(TOOL, target="gemini").wire == [
        {"functionDeclarations": [{**words, "parametersJsonSchema": SCHEMA}]}
    ]


@pytest.mark.parametrize("target", TARGETS)
def test_no_tools_make_no_list(target: Provider) -> None:
    assert converted(target=target).wire == []


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    (tool,) = converted(ToolDefinition(name="ping")).wire

    assert tool["input_schema"] == {"type": "object", "properties": {}}


def test_what_comes_out_may_be_changed() -> None:
    converted(TOOL).wire[0]["input_schema"]["properties"]["q"]["type"] = "number"

    assert converted(TOOL).wire[0]["input_schema"] == SCHEMA


# Names -----------------------------------------------------------------------------------------

LONG = (
    "srv_atlas_createPageWithAttachmentsAndPermissionsForTheWholeTeamSpace",
    "srv_atlas_deletePageWithAttachmentsAndPermissionsForTheWholeTeamSpace",
)
ODD = ("Log file inspector", "", "naïve", "ns:tool", "files.read", "1st", "日本", "a b", "a_b")


@pytest.mark.parametrize("target", TARGETS)
def test_names_become_legal_stay_apart_and_lead_back(target: Provider) -> None:
    found = converted(*named(*LONG, *ODD), target=target)

    wire = names_in(found)
    assert len(set(wire)) == len(LONG) + len(ODD)
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}|[a-zA-Z0-9_-]{1,64}", n) for n in wire)
    assert [found.back[name] for name in wire] == [*LONG, *ODD]
    assert found.names["a_b"] == "a_b"


@pytest.mark.parametrize("target", ["anthropic", "openai", "openai-responses"])
def test_no_name_but_plain_ones_outside_gemini(target: Provider) -> None:
    wire = names_in(converted(*named(*LONG, *ODD), target=target))

    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in wire)


def test_names_are_made_apart_even_from_one_that_looks_made() -> None:
    made = wire_name("a b", "openai")

    names = map_names(["a b", made], "openai")

    assert names[made] == made
    assert names["a b"] != made


def test_equal_definitions_become_one() -> None:
    found = converted(TOOL, TOOL)

    assert len(found.wire) == 1
    assert [r.rule for r in found.repairs] == ["anthropic/tool-name-duplicate"]


def test_of_different_tools_with_one_name_the_first_stays_and_the_other_is_reported() -> None:
    first = ToolDefinition(name="get_w", description="first")
    second = ToolDefinition(name="get_w", description="second")

    found = converted(first, second)

    assert [tool["description"] for tool in found.wire] == ["first"]
    assert [(r.rule, r.where) for r in found.repairs] == [
        ("anthropic/tool-name-duplicate", "tools[1]")
    ]


def test_openai_gets_128_tools_and_ours_are_among_them() -> None:
    many = [ToolDefinition(name=f"t{n}", defer_loading=n == 5) for n in range(130)]

    found = converted(*many, ToolDefinition(name="context"), target="openai")

    wire = names_in(found)
    assert len(wire) == 128
    assert wire[-1] == "context"
    assert "t5" not in wire
    assert [r.rule for r in found.repairs] == ["openai/tools-limit"] * 3


# Schemas ---------------------------------------------------------------------------------------


def schema_of(parameters: dict[str, Any], target: Provider = "anthropic") -> dict[str, Any]:
    (tool,) = converted(ToolDefinition(name="t", parameters=parameters), target=target).wire
    if target == "gemini":
        return tool["functionDeclarations"][0]["parametersJsonSchema"]
    return tool.get("input_schema") or tool.get("parameters") or tool["function"]["parameters"]


def test_alternatives_at_the_top_become_one_object_whose_words_tell_them() -> None:
    schema = schema_of(
        {
            "type": "object",
            "properties": {"id": {"type": "string"}},
            "anyOf": [
                {"properties": {"url": {"type": "string"}}, "required": ["url"]},
                {"properties": {"path": {"type": "string"}}, "required": ["path"]},
            ],
        }
    )

    assert list(schema["properties"]) == ["id", "url", "path"]
    assert "anyOf" not in schema
    assert "required" not in schema
    assert "url | path" in schema["description"]


def test_parts_at_the_top_are_put_together() -> None:
    schema = schema_of(
        {
            "allOf": [
                {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"$ref": "#/$defs/B"},
            ],
            "$defs": {"B": {"properties": {"b": {"type": "integer"}}, "required": ["b"]}},
        }
    )

    assert schema["type"] == "object"
    assert schema["required"] == ["a", "b"]


def test_a_reference_at_the_top_is_put_in_place() -> None:
    schema = schema_of({"$ref": "#/$defs/Args", "$defs": {"Args": SCHEMA}})

    assert schema["properties"] == SCHEMA["properties"]


def test_older_drafts_are_brought_up_to_date() -> None:
    schema = schema_of(
        {
            "type": "dict",
            "properties": {
                "pair": {"type": "tuple", "items": [{"type": "str"}, {"type": "float"}]},
                "n": {"type": "number", "minimum": 1, "exclusiveMinimum": True, "required": True},
            },
        }
    )

    assert schema["type"] == "object"
    assert schema["properties"]["pair"] == {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "number"}],
    }
    assert schema["properties"]["n"] == {"type": "number", "exclusiveMinimum": 1}
    assert schema["required"] == ["n"]


def test_references_that_lead_nowhere_go() -> None:
    schema = schema_of({"type": "object", "properties": {"x": {"$ref": "https://example.com/s"}}})

    assert schema["properties"] == {"x": {}}


def test_openai_arrays_name_their_items() -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "array"}}}

    assert schema_of(parameters, "openai")["properties"]["x"]["items"] == {}
    assert schema_of(parameters, "anthropic") == parameters


def test_argument_names_that_anthropic_refuses_lead_back_too() -> None:
    parameters = {
        "type": "object",
        "properties": {"$filter": {"type": "string"}, "top": {"type": "integer"}},
        "required": ["$filter"],
    }

    found = converted(ToolDefinition(name="list users", parameters=parameters))

    (tool,) = found.wire
    assert tool["input_schema"]["required"] == ["filter"]
    name, arguments = found.original_call(tool["name"], '{"filter":"a","top":3}')
    assert (name, json.loads(arguments)) == ("list users", {"$filter": "a", "top": 3})


def test_arguments_that_are_no_json_come_back_as_they_are() -> None:
    parameters = {"type": "object", "properties": {"$x": {}}}
    found = converted(ToolDefinition(name="t", parameters=parameters))

    assert found.original_call("t", '{"x":') == ("t", '{"x":')


def test_what_was_changed_in_a_schema_is_reported_with_its_place() -> None:
    found = converted(
        ToolDefinition(name="t", parameters={"type": "object", "properties": {"x": {"type": 3}}})
    )

    (repair,) = found.repairs
    assert (repair.rule, repair.where) == ("anthropic/tool-schema", "tools[0].parameters")
    assert "properties.x.type" in repair.message


def test_strict_is_given_up_where_the_schema_does_not_allow_it() -> None:
    loose = ToolDefinition(name="t", parameters=SCHEMA, strict=True)
    tight = ToolDefinition(
        name="t", parameters={**SCHEMA, "additionalProperties": False}, strict=True
    )

    assert converted(loose).wire[0]["strict"] is False
    assert converted(tight).wire[0]["strict"] is True
    assert converted(tight, target="openai").wire[0]["function"]["strict"] is True


def test_anthropics_limits_on_strict_tools_hold_over_the_whole_list() -> None:
    schema = {**SCHEMA, "additionalProperties": False}
    many = [ToolDefinition(name=f"t{n}", parameters=schema, strict=True) for n in range(22)]

    found = converted(*many)

    assert [tool["strict"] for tool in found.wire] == [True] * 20 + [False] * 2


# Deferral --------------------------------------------------------------------------------------


RARE = ToolDefinition(name="rare", defer_loading=True)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-5-5"])
def test_claude_models_that_can_search_are_told_later_with_a_way_to_find(model: str) -> None:
    rare, search = converted(RARE, model=model).wire

    assert rare["defer_loading"] is True
    assert search["type"].startswith("tool_search_tool_")


@pytest.mark.parametrize("model", ["gpt-5.4", "gpt-5.4-mini", "gpt-5.6", "gpt-6.1-terra"])
def test_openai_models_that_can_search_are_told_later_with_a_way_to_find(model: str) -> None:
    found = converted(RARE, target="openai-responses", model=model)

    assert [tool["type"] for tool in found.wire] == ["function", "tool_search"]
    assert found.wire[0]["defer_loading"] is True


@pytest.mark.parametrize(
    ("target", "model", "words"),
    [
        ("openai", "gpt-5.6", "openai cannot hold tools back"),
        ("gemini", "gemini-3.8-flash", "gemini cannot hold tools back"),
        ("openai-responses", "gpt-5.4-nano", "gpt-5.4-nano cannot search"),
        ("openai-responses", "gpt-4.1", "gpt-4.1 cannot search"),
        ("openai-responses", "", "not known"),
        ("anthropic", "claude-opus-4-1", "claude-opus-4-1 cannot search"),
        ("anthropic", "claude-3-haiku", "cannot search"),
        ("anthropic", "", "not known"),
    ],
)
def test_where_nothing_can_be_held_back_the_tool_is_sent_and_that_is_said(
    target: Provider, model: str, words: str
) -> None:
    found = converted(RARE, target=target, model=model)

    assert names_in(found) == ["rare"]
    assert "defer_loading" not in json.dumps(found.wire)
    assert [d.code for d in found.diagnostics] == ["defer-loading-dropped"]
    assert words in found.diagnostics[0].message


def test_a_search_tool_of_the_callers_own_says_that_the_model_can_search() -> None:
    search = tool_from_dict({"type": "tool_search"}, provider="openai-responses")

    found = converted(search, RARE, target="openai-responses")
    assert found.wire[1]["defer_loading"] is True

    nano = converted(search, RARE, target="openai-responses", model="gpt-5.4-nano")
    assert names_in(nano) == ["rare"]
    assert [repair.rule for repair in nano.repairs] == ["openai-responses/tool-search-model"]


def test_a_tool_held_back_carries_no_breakpoint() -> None:
    marked = ToolDefinition(
        name="rare",
        defer_loading=True,
        native={"anthropic": {"cache_control": {"type": "ephemeral"}}},
    )

    assert "cache_control" not in converted(marked, TOOL).wire[0]


def test_what_anthropic_accepted_without_a_search_tool_stays_without_one() -> None:
    tools, _ = read_tools(
        [
            {"name": "a", "input_schema": {"type": "object"}, "defer_loading": True},
            {"name": "b", "input_schema": {"type": "object"}},
        ],
        "anthropic",
    )

    assert len(converted(*tools).wire) == 2


# Gemini ----------------------------------------------------------------------------------------


def test_built_in_tools_and_functions_only_go_together_where_the_model_takes_that() -> None:
    search = tool_from_dict({"googleSearch": {}}, provider="gemini")

    old = converted(search, TOOL, target="gemini", model="gemini-2.5-pro")
    new = converted(search, TOOL, target="gemini", model="gemini-3.8-flash")

    assert names_in(old) == ["search"]
    assert [r.rule for r in old.repairs] == ["gemini/tool-combination"]
    assert new.tool_config == {"includeServerSideToolInvocations": True}


# Everything ------------------------------------------------------------------------------------


@needs_checker
@pytest.mark.parametrize("target", TARGETS)
@given(tools=tool_lists)
@settings(max_examples=80, deadline=None)
def test_no_tool_list_is_refused(target: Provider, tools: list[ToolDefinition]) -> None:
    found = convert_tools(tools, target=target)

    assert problems(target, body(target, found)) == []


@pytest.mark.parametrize("target", TARGETS)
@given(tools=tool_lists)
@settings(max_examples=40, deadline=None)
def test_every_name_on_the_list_leads_back(target: Provider, tools: list[ToolDefinition]) -> None:
    found = convert_tools(tools, target=target)

    known = {tool.name for tool in tools}
    assert all(found.back[wire] in known for wire in found.names.values())
    assert all(found.names[original] == wire for wire, original in found.back.items())
