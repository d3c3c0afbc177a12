"""Responses: tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.namespaces import NAMESPACED_CALLS, homes_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_responses_view import asking, item_kind, items_of
from context_chef.adaptation.wire_rules.openai_shared import (
    CLOSED_SCHEMA,
    MOST_TOOLS,
    NAME,
    OPEN_SCHEMA,
    schema_findings,
    strict_findings,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai-responses")


def _tool(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": OPEN_SCHEMA, **more}


def _functions(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Function and custom tools, those of namespaces too."""
    for index, tool in enumerate(request.list_of("tools")):
        tool, path = as_map(tool), f"tools[{index}]"
        if tool.get("type") in ("function", "custom"):
            yield path, tool
        elif tool.get("type") == "namespace":
            for position, inner in enumerate(as_list(tool.get("tools"))):
                yield f"{path}.tools[{position}]", as_map(inner)


@BOOK.rule(
    "tool-name",
    "Function names have 1 to 64 letters, digits, `_` or `-`.",
    gist="string does not match pattern",
    source="home-assistant/core#121325",
    sureness="A",
    repair="The tool is offered under a legal name, and calls are translated back.",
    passing=asking(tools=[_tool("look-up_1")]),
    failing=asking(tools=[_tool("files.read")]),
)
def tool_name(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        if NAME.match(as_text(function.get("name"))) is None:
            yield Finding(f"{path}.name", f"{function.get('name')!r} is no function name")


@BOOK.rule(
    "tools-limit",
    f"There are at most {MOST_TOOLS} tools.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946",
    sureness="A",
    beyond_repair="Which tools to leave out is for the pruner to say.",
    passing=asking(tools=[_tool(f"t{i}") for i in range(128)]),
    failing=asking(tools=[_tool(f"t{i}") for i in range(129)]),
)
def tools_limit(request: Request) -> Iterator[Finding]:
    if (count := len(request.list_of("tools"))) > MOST_TOOLS:
        yield Finding("tools", f"{count} tools; {MOST_TOOLS} are the most")


@BOOK.rule(
    "function-schema",
    '`parameters` is a valid JSON Schema of type "object"; arrays have `items`; `{}` means none.',
    gist="schema must be a JSON Schema of 'type: \"object\"'; array schema missing items",
    source="digitalocean-labs/mcp-digitalocean#265, sigoden/aichat#1049",
    sureness="A",
    repair="The root becomes an object, arrays get `items`.",
    passing=asking(tools=[_tool()]),
    failing=asking(tools=[_tool(parameters={"type": "string"})]),
)
def function_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from schema_findings(function, path)


@BOOK.rule(
    "strict-schema",
    "With `strict: true` given: `additionalProperties: false` and every property in `required` at "
    "all levels; the root is an object without `anyOf`; no `allOf`, `oneOf`, `not`, conditionals …",
    gist="'additionalProperties' is required to be supplied and to be false",
    source="recordings",
    sureness="A",
    repair="The schema is rewritten to the supported subset, or offered without `strict`.",
    passing=asking(tools=[_tool(strict=True, parameters=CLOSED_SCHEMA)]),
    failing=asking(tools=[_tool(strict=True)]),
)
def strict_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from strict_findings(function, "parameters", path)
    asked = as_map(request.map_of("text").get("format"))
    yield from strict_findings(asked, "schema", "text.format")


@BOOK.rule(
    "tool-choice",
    "A named tool is one of the request's; `required` needs tools.",
    gist="Tool choice 'function' not found in 'tools' parameter",
    source="reports",
    sureness="A",
    repair="The choice is left out.",
    passing=asking(tools=[_tool()], tool_choice={"type": "function", "name": "look"}),
    failing=asking(tools=[_tool()], tool_choice={"type": "function", "name": "fetch"}),
)
def tool_choice(request: Request) -> Iterator[Finding]:
    if request.body.get("tool_choice") == "required" and not request.list_of("tools"):
        yield Finding("tool_choice", "there are no tools to choose from")
    choice = request.map_of("tool_choice")
    name = choice.get("name")
    if choice.get("type") in ("function", "custom"):
        known = {function.get("name") for _, function in _functions(request)}
        if name not in known:
            yield Finding("tool_choice.name", f"{name!r} is no tool of this request")
    elif choice.get("type") == "allowed_tools":
        known = {function.get("name") for _, function in _functions(request)}
        for index, tool in enumerate(map(as_map, as_list(choice.get("tools")))):
            if tool.get("type") in ("function", "custom") and tool.get("name") not in known:
                where = f"tool_choice.tools[{index}].name"
                yield Finding(where, f"{tool.get('name')!r} is no tool of this request")


@BOOK.rule(
    "tool-search",
    "Deferred tools need a `tool_search` tool; one that the client runs has a description. A call "
    "of a function from a namespace, or loaded by a search, names its `namespace`.",
    gist="Missing namespace for function_call",
    source="recording; SDK; vercel/ai#15193, earendil-works/pi#7709, dust-tt/dust#31323",
    sureness="A",
    repair="A search tool is added, or the tools are offered at once; the call gets its namespace.",
    passing=asking(tools=[_tool(defer_loading=True), {"type": "tool_search"}], model="gpt-5.4"),
    failing=asking(tools=[_tool(defer_loading=True)], model="gpt-5.4"),
)
def tool_search(request: Request) -> Iterator[Finding]:
    tools = [as_map(tool) for tool in request.list_of("tools")]
    searches = any(tool.get("type") == "tool_search" for tool in tools)
    for index, tool in enumerate(tools):
        if tool.get("defer_loading") is True and not searches:
            yield Finding(f"tools[{index}].defer_loading", "there is no `tool_search` tool")
        client = tool.get("type") == "tool_search" and tool.get("execution") == "client"
        if client and not tool.get("description"):
            yield Finding(f"tools[{index}]", "a search that the client runs has a description")
    homes = homes_of(request.list_of("input"), tools)
    for path, item in items_of(request) if homes else ():
        home = homes.get(as_text(item.get("name")))
        if home and item_kind(item) in NAMESPACED_CALLS and not item.get("namespace"):
            yield Finding(path, f"the call does not name the namespace {home!r} of its function")
