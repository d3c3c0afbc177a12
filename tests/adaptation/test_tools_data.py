"""Real tool lists on every target: taken by each, and the same again where they came from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.tools import ConvertedTools, convert_tools, read_tools
from context_chef.ir.blocks import Provider
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.provider_requests import TARGETS, needs_checker, problems
from tests.adaptation.test_tools import body
from tests.shared_data import DATA, needs_data

pytestmark = [needs_data, needs_checker]

FOLDERS: dict[Provider, str] = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai-responses": "openai_responses",
    "gemini": "gemini",
}
NOT_OPENAI = ("api.mistral.ai", "openrouter.ai")
"""Servers of the chat format that take what OpenAI does not; their lists are mended."""


def load(path: str) -> Any:
    return json.loads((DATA / path).read_text(encoding="utf-8"))


@cache
def tool_lists() -> dict[str, tuple[ToolDefinition, ...]]:
    lists: dict[str, list[Any]] = {"github": load("tools/github-mcp-server.json")["tools"]}
    for name, server in load("tools/docker-mcp-registry.json")["servers"].items():
        lists[f"docker {name}"] = [docker_tool(tool) for tool in tools_of(server)]
    for name, functions in load("tools/bfcl-multi-turn.json")["function_docs"].items():
        lists[f"bfcl {name}"] = functions
    live = list(load("tools/bfcl-live-multiple.json")["pool"].values())
    lists |= {f"live {start}": live[start : start + 120] for start in range(0, len(live), 120)}
    plugins = load("tools/metatool.json")["tools"]
    lists["metatool"] = [{"name": name, "description": said} for name, said in plugins.items()]
    for file in ("toolbench-G1", "toolbench-G2"):
        for number, query in enumerate(load(f"tools/{file}.json")["queries"]):
            lists[f"{file} {number}"] = [toolbench_tool(api) for api in query["api_list"]]
    return {name: read_tools(tools)[0] for name, tools in lists.items()}


def tools_of(server: Any) -> list[Any]:
    return server if isinstance(server, list) else server["tools"]


def docker_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """The registry's short form has a list of arguments, each with name, type and words."""
    if "arguments" not in tool:
        return tool
    arguments = tool.get("arguments") or []
    return {
        "name": tool["name"],
        "description": tool.get("description") or "",
        "parameters": {
            "type": "object",
            "properties": {
                argument["name"]: {
                    "type": argument.get("type") or "string",
                    "description": argument.get("desc") or "",
                    **({"items": argument["items"]} if argument.get("items") else {}),
                }
                for argument in arguments
            },
            "required": [a["name"] for a in arguments if not a.get("optional")],
        },
    }


def toolbench_tool(api: dict[str, Any]) -> dict[str, Any]:
    parameters = [*api["required_parameters"], *api["optional_parameters"]]
    return {
        "name": f"{api['tool_name']} {api['api_name']}",
        "description": api["api_description"],
        "parameters": {
            "type": "object",
            "properties": {
                p["name"]: {"type": p["type"], "default": p["default"]} for p in parameters
            },
            "required": [p["name"] for p in api["required_parameters"]],
        },
    }


@pytest.mark.parametrize("target", TARGETS)
def test_every_list_is_taken(target: Provider) -> None:
    for name, tools in tool_lists().items():
        found = convert_tools(tools, target=target)

        assert problems(target, body(target, found)) == [], name
        assert set(found.back.values()) <= {tool.name for tool in tools}
        if target in ("anthropic", "gemini"):
            assert len(found.back) == len({tool.name for tool in tools}), name


TYPE_NAMES = ["", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"]
"""By their numbers, as the enumeration of Google's API has them."""


def cassettes(target: Provider) -> Iterator[tuple[str, dict[str, Any], Any]]:
    for path in sorted((DATA / "cassettes" / FOLDERS[target] / "accepted").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        request = record["request"]
        tools = request.get("tools") or (request.get("config") or {}).get("tools")
        if tools:
            yield path.name, record, tools


@pytest.mark.parametrize("target", TARGETS)
def test_a_recorded_list_comes_out_as_it_went_in(target: Provider) -> None:
    seen = 0
    for name, record, tools in cassettes(target):
        if record.get("served_by") in NOT_OPENAI:
            continue
        found = convert_tools(read_tools(tools, target)[0], target=target)

        assert found.wire == in_camel_case(target, tools), name
        assert found.repairs == (), name
        seen += 1
    assert seen > 50


@pytest.mark.parametrize("source", TARGETS)
@pytest.mark.parametrize("target", TARGETS)
def test_recorded_lists_are_taken_elsewhere_too(source: Provider, target: Provider) -> None:
    if source == target:
        return
    for name, _, tools in cassettes(source):
        found: ConvertedTools = convert_tools(read_tools(tools, source)[0], target=target)

        assert problems(target, body(target, found)) == [], name


def in_camel_case(target: Provider, tools: Any) -> list[dict[str, Any]]:
    """Gemini takes both spellings and types as numbers, and leaves out what is null; we write one
    of them."""
    if target != "gemini":
        return tools
    return [
        {
            camel(key): [
                {
                    camel(field): with_type_names(value)
                    for field, value in declaration.items()
                    if value is not None
                }
                for declaration in (value if isinstance(value, list) else [value])
            ]
            if camel(key) == "functionDeclarations"
            else value
            for key, value in tool.items()
            if value is not None
        }
        for tool in (tools if isinstance(tools, list) else [tools])
    ]


def with_type_names(schema: Any) -> Any:
    if isinstance(schema, list):
        return [with_type_names(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: TYPE_NAMES[value]
        if key == "type" and isinstance(value, int)
        else with_type_names(value)
        for key, value in schema.items()
    }


def camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


@needs_data
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("openrouter-web-search-annotations-stream", "tool-dropped"),
        ("eager-input-streaming-sent-to-openrouter-anthropic-enabled", "field-dropped"),
    ],
)
def test_what_only_another_server_has_stays_away_from_openais_models(name: str, code: str) -> None:
    """OpenRouter's own search tool, and its key beside a function."""
    [tools] = [tools for file, _, tools in cassettes("openai") if name in file]

    sent = convert_tools(
        read_tools(tools, "openai")[0], target="openai", profile=profile_for("gpt-4.1", "openai")
    )

    assert problems("openai", body("openai", sent), "gpt-4.1") == []
    assert [diagnostic.code for diagnostic in sent.diagnostics] == [code]
    assert len(sent.wire) == (code == "field-dropped")
