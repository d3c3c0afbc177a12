"""Gemini: functions, their schemas and what goes with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from context_chef.adaptation.wire_rules.gemini_examples import asking, on_model
from context_chef.adaptation.wire_rules.gemini_view import declarations_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.json_schema import gemini_schema, malformed
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook
from context_chef.patterns import regex

BOOK = RuleBook("gemini")


_FUNCTION_NAME = regex(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}\Z")


_BUILT_IN = (
    "googleSearch",
    "googleSearchRetrieval",
    "codeExecution",
    "urlContext",
    "googleMaps",
    "fileSearch",
    "enterpriseWebSearch",
    "computerUse",
)


def _declaring(*declarations: Any, **settings: Any) -> dict[str, Any]:
    return asking(tools=[{"functionDeclarations": list(declarations)}], **settings)


@BOOK.rule(
    "function-name",
    "A function's name starts with a letter or `_`; then letters, digits, `_ . : -`; at most 64 "
    "characters for sure, 128 by the SDK.",
    gist="Invalid function name. Must start with a letter or an underscore …",
    source="kaitranntt/ccs#25; SDK",
    sureness="C",
    repair="The tool is offered under a legal name, and calls are translated back.",
    passing=_declaring({"name": "files.read"}),
    failing=_declaring({"name": "2nd"}),
)
def function_name(request: Request) -> Iterator[Finding]:
    for path, declaration in declarations_of(request):
        name = as_text(declaration.get("name"))
        if _FUNCTION_NAME.match(name) is None:
            yield Finding(f"{path}.name", f"{name[:140]!r} is no function name")
        elif len(name) > 64:
            reason = f"{len(name)} characters; more than 64 were refused until 2026"
            yield Finding(f"{path}.name", reason, "warning")


@BOOK.rule(
    "function-duplicate",
    "Function names are unique.",
    gist="Duplicate function declaration found",
    source="reports",
    sureness="B",
    repair="The second one is offered under another name.",
    passing=_declaring({"name": "look"}, {"name": "ask"}),
    failing=_declaring({"name": "look"}, {"name": "look"}),
)
def function_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, declaration in declarations_of(request):
        name = as_text(declaration.get("name"))
        if name in seen:
            yield Finding(f"{path}.name", f"{name!r} is declared already")
        seen.add(name)


@BOOK.rule(
    "schema",
    "`parameters`, `response` and `responseSchema` know a closed set of keys. `type` is one name, "
    "arrays have `items`, enums are texts that are not empty, `required` names exist; `parameters` "
    "describes an object.",
    gist="Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters'",
    source="felinics/Memoh#620, zed-industries/zed#44875",
    sureness="A",
    repair="The schema goes out as `parametersJsonSchema`.",
    passing=_declaring({"name": "look", "parameters": {"type": "OBJECT", "properties": {}}}),
    failing=_declaring(
        {"name": "look", "parameters": {"type": "OBJECT", "additionalProperties": False}}
    ),
)
def schema(request: Request) -> Iterator[Finding]:
    holders: list[tuple[str, Any, bool]] = []
    for path, declaration in declarations_of(request):
        for key in ("parameters", "response"):
            if key in declaration:
                holders.append((f"{path}.{key}", declaration[key], key == "parameters"))
        full = as_map(declaration.get("parametersJsonSchema"))
        if "parametersJsonSchema" in declaration:
            where = f"{path}.parametersJsonSchema"
            if full.get("type") != "object" and "$ref" not in full:
                yield Finding(f"{where}.type", 'the type must be "object"')
            for place, reason in malformed(full, where):
                if place != f"{where}.type":
                    yield Finding(place, reason)
    answer = request.map_of("generationConfig")
    if "responseSchema" in answer:
        holders.append(("generationConfig.responseSchema", answer["responseSchema"], False))
    for path, value, of_object in holders:
        kind = as_text(as_map(value).get("type")).lower()
        if of_object and kind != "object" and not isinstance(as_map(value).get("type"), list):
            yield Finding(f"{path}.type", "parameters describe an object")
        for where, reason in gemini_schema(value, path):
            yield Finding(where, reason)


@BOOK.rule(
    "schema-exclusive",
    "`parameters` or `parametersJsonSchema` is given, not both; likewise for the response.",
    source="SDK",
    sureness="B",
    repair="The full JSON Schema is kept.",
    passing=_declaring({"name": "look", "parametersJsonSchema": {"type": "object"}}),
    failing=_declaring(
        {
            "name": "look",
            "parameters": {"type": "OBJECT"},
            "parametersJsonSchema": {"type": "object"},
        }
    ),
)
def schema_exclusive(request: Request) -> Iterator[Finding]:
    for path, declaration in declarations_of(request):
        for key in ("parameters", "response"):
            if key in declaration and f"{key}JsonSchema" in declaration:
                yield Finding(path, f"`{key}` and `{key}JsonSchema` are both given")


@BOOK.rule(
    "tool-config",
    "`allowedFunctionNames` goes only with mode ANY or VALIDATED, and names declared functions.",
    gist="Function calling mode must be ANY …",
    source="docs",
    sureness="A",
    repair="Unknown names are left out; other modes lose the list.",
    passing=_declaring(
        {"name": "look"},
        toolConfig={"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}},
    ),
    failing=_declaring(
        {"name": "look"},
        toolConfig={"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["look"]}},
    ),
)
def tool_config(request: Request) -> Iterator[Finding]:
    path = "toolConfig.functionCallingConfig"
    calling = as_map(request.map_of("toolConfig").get("functionCallingConfig"))
    allowed = as_list(calling.get("allowedFunctionNames"))
    declared = {as_text(declaration.get("name")) for _, declaration in declarations_of(request)}
    if allowed and as_text(calling.get("mode")).upper() not in ("ANY", "VALIDATED"):
        yield Finding(path, "names are allowed only with mode ANY or VALIDATED")
    for name in allowed:
        if name not in declared:
            yield Finding(f"{path}.allowedFunctionNames", f"{name!r} is not declared")
    if calling and not declared:
        yield Finding(path, "there are no function declarations", "warning")


@BOOK.rule(
    "tool-combination",
    "Built-in tools and functions together: not before Gemini 3, and there with "
    "`toolConfig.includeServerSideToolInvocations` (Vertex AI does without).",
    gist="Tool use with function calling is unsupported",
    source="docs; recording",
    sureness="A",
    repair="The flag is set; before Gemini 3 the built-in tools are left out.",
    passing=on_model(
        "gemini-3-flash-preview",
        asking(
            tools=[{"functionDeclarations": [{"name": "look"}]}, {"googleSearch": {}}],
            toolConfig={"includeServerSideToolInvocations": True},
        ),
    ),
    failing=on_model(
        "gemini-2.5-flash",
        asking(tools=[{"functionDeclarations": [{"name": "look"}]}, {"googleSearch": {}}]),
    ),
)
def tool_combination(request: Request) -> Iterator[Finding]:
    profile = request.profile
    tools = [as_map(tool) for tool in request.list_of("tools")]
    built_in = [key for key in _BUILT_IN if any(key in tool for tool in tools)]
    if profile is None or not built_in or not declarations_of(request):
        return
    if not profile.tool_combination:
        names = ", ".join(built_in)
        yield Finding("tools", f"{profile.name} takes functions or {names}, not both")
    elif request.map_of("toolConfig").get("includeServerSideToolInvocations") is not True:
        yield Finding("toolConfig", "`includeServerSideToolInvocations` must be set")
