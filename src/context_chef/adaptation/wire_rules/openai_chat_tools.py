"""Chat Completions: tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_chat_view import (
    HELLO,
    asking,
    calling,
    calls_of,
    function_tool,
    messages_of,
    replying,
)
from context_chef.adaptation.wire_rules.openai_shared import (
    CLOSED_SCHEMA,
    MOST_TOOLS,
    NAME,
    schema_findings,
    strict_findings,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai")


@BOOK.rule(
    "tools-limit",
    f"There are at most {MOST_TOOLS} tools.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946, openai/openai-dotnet#317",
    sureness="A",
    beyond_repair="Which tools to leave out is for the pruner to say.",
    passing=asking(tools=[function_tool(f"t{i}") for i in range(128)]),
    failing=asking(tools=[function_tool(f"t{i}") for i in range(129)]),
)
def tools_limit(request: Request) -> Iterator[Finding]:
    if (count := len(request.list_of("tools"))) > MOST_TOOLS:
        yield Finding("tools", f"{count} tools; {MOST_TOOLS} are the most")


@BOOK.rule(
    "tool-calls-limit",
    f"A message has at most {MOST_TOOLS} `tool_calls`.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946, openai/openai-dotnet#317; SDK",
    sureness="B",
    repair="The calls go in several messages, each followed by its results.",
    passing=asking(HELLO, calling("call_1"), replying()),
    failing=asking(
        HELLO,
        calling(*(f"call_{i}" for i in range(MOST_TOOLS + 1))),
        *(replying(f"call_{i}") for i in range(MOST_TOOLS + 1)),
    ),
)
def tool_calls_limit(request: Request) -> Iterator[Finding]:
    for path, message in messages_of(request):
        if (count := len(calls_of(message))) > MOST_TOOLS:
            yield Finding(f"{path}.tool_calls", f"{count} calls; {MOST_TOOLS} are the most")


def _functions(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, tool in enumerate(request.list_of("tools")):
        tool = as_map(tool)
        key = "custom" if tool.get("type") == "custom" else "function"
        yield f"tools[{index}].{key}", as_map(tool.get(key))
    for index, function in enumerate(request.list_of("functions")):
        yield f"functions[{index}]", as_map(function)


@BOOK.rule(
    "tool-name",
    "Function names have 1 to 64 letters, digits, `_` or `-`, in `tools` and in history.",
    gist="string does not match pattern",
    source="home-assistant/core#121325",
    sureness="A",
    repair="The tool is offered under a legal name, and calls are translated back.",
    passing=asking(tools=[function_tool("look-up_1")]),
    failing=asking(tools=[function_tool("files.read")]),
)
def tool_name(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        if NAME.match(as_text(function.get("name"))) is None:
            yield Finding(f"{path}.name", f"{function.get('name')!r} is no function name")
    for path, message in messages_of(request):
        for position, call in enumerate(calls_of(message)):
            for key in ("function", "custom"):
                name = as_map(call.get(key)).get("name")
                if name is not None and NAME.match(as_text(name)) is None:
                    where = f"{path}.tool_calls[{position}].{key}.name"
                    yield Finding(where, f"{name!r} is no function name")


@BOOK.rule(
    "function-schema",
    '`parameters` is a valid JSON Schema of type "object"; arrays have `items`; `{}` means none.',
    gist="schema must be a JSON Schema of 'type: \"object\"'; array schema missing items",
    source="digitalocean-labs/mcp-digitalocean#265, sigoden/aichat#1049",
    sureness="A",
    repair="The root becomes an object, arrays get `items`.",
    passing=asking(tools=[function_tool()]),
    failing=asking(tools=[function_tool(parameters={"type": "string"})]),
)
def function_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from schema_findings(function, path)


@BOOK.rule(
    "strict-schema",
    "With `strict`: `additionalProperties: false` and every property in `required` at all levels; "
    "the root is an object without `anyOf`; no `allOf`, `oneOf`, `not`, conditionals, "
    "`patternProperties`, `uniqueItems` …",
    gist="'required' is required to be supplied and to be an array including every key in "
    "properties",
    source="recordings; `default` is accepted (71 of them)",
    sureness="A",
    repair="The schema is rewritten to the supported subset, or offered without `strict`.",
    passing=asking(tools=[function_tool(strict=True, parameters=CLOSED_SCHEMA)]),
    failing=asking(tools=[function_tool(strict=True)]),
)
def strict_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from strict_findings(function, "parameters", path)
    asked = as_map(request.map_of("response_format").get("json_schema"))
    yield from strict_findings(asked, "schema", "response_format.json_schema")


@BOOK.rule(
    "tool-choice",
    "`tool_choice` and `parallel_tool_calls` need `tools`; a named tool is one of them.",
    gist="'tool_choice' is only allowed when 'tools' are specified",
    source="reports",
    sureness="A",
    repair="The choice is left out.",
    passing=asking(tools=[function_tool()], tool_choice="auto"),
    failing=asking(tool_choice="auto"),
)
def tool_choice(request: Request) -> Iterator[Finding]:
    tools = request.list_of("tools")
    for key in ("tool_choice", "parallel_tool_calls"):
        if not tools and request.body.get(key) is not None:
            yield Finding(key, f"`{key}` goes only with `tools`")
    choice = request.map_of("tool_choice")
    for key in ("function", "custom"):
        name = as_map(choice.get(key)).get("name")
        known = {as_map(as_map(tool).get(key)).get("name") for tool in tools}
        if tools and name is not None and name not in known:
            yield Finding("tool_choice", f"{name!r} is no tool of this request")
        for allowed in map(as_map, as_list(as_map(choice.get("allowed_tools")).get("tools"))):
            name = as_map(allowed.get(key)).get("name")
            if tools and name is not None and name not in known:
                yield Finding("tool_choice", f"{name!r} is no tool of this request")
