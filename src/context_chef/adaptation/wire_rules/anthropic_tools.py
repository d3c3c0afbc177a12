"""Anthropic: tools, their schemas, and the choice among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_examples import tool
from context_chef.adaptation.wire_rules.anthropic_messages import asking
from context_chef.adaptation.wire_rules.anthropic_view import (
    all_blocks,
    is_custom,
    messages_of,
    output_format,
    thinking_type,
    tools_of,
)
from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.json_schema import (
    anthropic_strict,
    malformed,
    optional_parameters,
    union_parameters,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, one
from context_chef.patterns import regex

BOOK = RuleBook("anthropic")


_TOOL_NAME = regex(r"[a-zA-Z0-9_-]{1,128}\Z")


_PROPERTY = regex(r"[a-zA-Z0-9_.-]{1,64}\Z")


_REFUSED_AT_ROOT = ("oneOf", "anyOf", "allOf")


_STRICT_TOOLS, _OPTIONAL, _UNIONS = 20, 24, 16


@BOOK.rule(
    "tool-name",
    "Custom tools have 1 to 128 letters, digits, `_` or `-` for a name, calls 1 to 200 characters.",
    gist="String should match pattern",
    source="anthropics/claude-code#96152, home-assistant/core#147760, openclaw/openclaw#13134",
    sureness="A",
    repair="The tool is offered under a legal name, and calls are translated back.",
    passing=asking(tools=[tool("a" * 128)]),
    failing=asking(tools=[tool("files.read")]),
)
def tool_name(request: Request) -> Iterator[Finding]:
    for at in tools_of(request):
        name = as_text(at.block.get("name"))
        if is_custom(at) and _TOOL_NAME.match(name) is None:
            yield Finding(f"{at.path}.name", f"{name[:140]!r} is no tool name")
    for _, _, blocks in messages_of(request):
        for at in blocks:
            length = len(as_text(at.block.get("name")))
            if at.kind == "tool_use" and not 1 <= length <= 200:
                yield Finding(f"{at.path}.name", f"the name has {length} characters")


@BOOK.rule(
    "tool-name-duplicate",
    "Tool names are unique, server tools included.",
    gist="tools: Tool names must be unique.",
    source="anthropics/claude-code#10687, danny-avila/LibreChat#13162",
    sureness="A",
    repair="The second one is offered under another name.",
    passing=asking(tools=[tool("a"), tool("b")]),
    failing=asking(tools=[tool("a"), tool("a")]),
)
def tool_name_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for at in tools_of(request):
        name = as_text(at.block.get("name"))
        if name and name in seen:
            yield Finding(f"{at.path}.name", f"{name!r} is defined already")
        seen.add(name)


@BOOK.rule(
    "tool-schema",
    '`input_schema` is a JSON Schema (2020-12) with `type: "object"`, without `oneOf`, `anyOf` or '
    "`allOf` at its root; its property names have 1 to 64 letters, digits, `_`, `.` or `-`.",
    gist="input_schema.type: Field required; JSON schema is invalid. It must match JSON Schema "
    "draft 2020-12",
    source="recordings (rig)",
    sureness="A",
    repair="The root becomes an object, the rest is rewritten to what is supported.",
    passing=asking(tools=[tool()]),
    failing=asking(tools=[tool(input_schema={"type": "string"})]),
)
def tool_schema(request: Request) -> Iterator[Finding]:
    for at in tools_of(request):
        if not is_custom(at):
            continue
        path = f"{at.path}.input_schema"
        schema = as_map(at.block.get("input_schema"))
        if schema.get("type") != "object":
            yield Finding(f"{path}.type", 'the type must be "object"')
        for key in _REFUSED_AT_ROOT:
            if key in schema:
                yield Finding(path, f"`{key}` is not supported at the root")
        for name in as_map(schema.get("properties")):
            if _PROPERTY.match(name) is None:
                yield Finding(f"{path}.properties.{name}", "no legal property name")
        for where, reason in malformed(schema, path):
            if where != f"{path}.type":
                yield Finding(where, reason)


def _strict_schemas(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for at in tools_of(request):
        if is_custom(at) and at.block.get("strict") is True:
            yield f"{at.path}.input_schema", as_map(at.block.get("input_schema"))
    if output := output_format(request):
        yield "output_config.format.schema", as_map(output.get("schema"))


_CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


@BOOK.rule(
    "strict-schema",
    "With `strict` and in `output_config.format`: `additionalProperties: false` on every object; "
    "no numeric, length or size limits, no `oneOf`, conditionals, recursion, dangling or external "
    "`$ref`, boolean schemas; `minItems` 0 or 1; no citations with structured output.",
    gist="For 'object' type, property '…' is not supported; Circular reference detected",
    source="recordings (rig strict_schema_matrix); docs",
    sureness="A",
    repair="The schema is rewritten to the supported subset, or offered without `strict`.",
    passing=asking(tools=[tool(strict=True, input_schema=_CLOSED)]),
    failing=asking(tools=[tool(strict=True, input_schema={"type": "object", "properties": {}})]),
)
def strict_schema(request: Request) -> Iterator[Finding]:
    for path, schema in _strict_schemas(request):
        for where, reason in anthropic_strict(schema, path):
            yield Finding(where, reason)
    if output_format(request):
        for _, at in all_blocks(request):
            citations = as_map(at.block.get("citations"))
            if at.kind in ("document", "search_result") and citations.get("enabled") is True:
                yield Finding(f"{at.path}.citations", "no citations with structured output")


@BOOK.rule(
    "strict-limits",
    f"All strict schemas of a request together: {_STRICT_TOOLS} strict tools, {_OPTIONAL} optional "
    f"parameters, {_UNIONS} parameters of several types.",
    gist="Too many strict tools (21); too many optional parameters (25); too many parameters with "
    "union types",
    source="recordings (rig)",
    sureness="A",
    repair="The tools past the limit are offered without `strict`.",
    passing=asking(tools=[tool("a", strict=True, input_schema=_CLOSED)]),
    failing=asking(tools=[tool(f"t{i}", strict=True, input_schema=_CLOSED) for i in range(21)]),
)
def strict_limits(request: Request) -> Iterator[Finding]:
    schemas = list(_strict_schemas(request))
    tools = sum(path.startswith("tools") for path, _ in schemas)
    optional = sum(optional_parameters(schema) for _, schema in schemas)
    unions = sum(union_parameters(schema) for _, schema in schemas)
    if tools > _STRICT_TOOLS:
        yield Finding("tools", f"{tools} strict tools; {_STRICT_TOOLS} are the most")
    if optional > _OPTIONAL:
        yield Finding("tools", f"{optional} optional parameters; {_OPTIONAL} are the most")
    if unions > _UNIONS:
        yield Finding("tools", f"{unions} parameters of several types; {_UNIONS} are the most")


def _choice(request: Request) -> tuple[str, str]:
    choice = request.map_of("tool_choice")
    return as_text(choice.get("type")), as_text(choice.get("name"))


@BOOK.rule(
    "tool-choice",
    "`tool_choice` needs tools, and names one of them.",
    gist="tool_choice may only be specified while providing tools",
    source="docs",
    sureness="A",
    repair="The choice is left out.",
    passing=asking(tools=[tool()], tool_choice={"type": "tool", "name": "look"}),
    failing=asking(tools=[tool()], tool_choice={"type": "tool", "name": "fetch"}),
)
def tool_choice(request: Request) -> Iterator[Finding]:
    kind, name = _choice(request)
    tools = tools_of(request)
    if kind in ("", "none"):
        return
    if not tools:
        yield Finding("tool_choice", "there are no tools to choose from")
    elif kind == "tool" and name not in {at.block.get("name") for at in tools}:
        yield Finding("tool_choice.name", f"{name!r} is no tool of this request")


@BOOK.rule(
    "tool-choice-forced",
    "`any` and `tool` are refused with `thinking: enabled`, and by some models always.",
    gist="Thinking may not be enabled when tool_choice forces tool use",
    source="docs; with adaptive thinking on 4.6 accepted (recording)",
    sureness="A",
    repair="The choice becomes `auto`.",
    passing=asking(tools=[tool()], tool_choice={"type": "any"}),
    failing=one(asking(tools=[tool()], tool_choice={"type": "any"}), model="claude-opus-5-5"),
)
def tool_choice_forced(request: Request) -> Iterator[Finding]:
    if _choice(request)[0] not in ("any", "tool"):
        return
    profile = request.profile
    if thinking_type(request) == "enabled":
        yield Finding("tool_choice", "tools cannot be forced while thinking is enabled")
    elif profile is not None and not profile.forced_tool_choice:
        yield Finding("tool_choice", f"{profile.name} cannot be forced to call a tool")
