"""Anthropic: tool definitions, calls and their results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, asking, said, text
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    RESULT_OF,
    SERVER_CALLS,
    USER,
    At,
    all_blocks,
    blocks_of,
    is_custom,
    messages_of,
    output_format,
    thinking_type,
    tools_of,
    turns_of,
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

_CALL_ID = regex(r"[a-zA-Z0-9_-]+\Z")
_TOOL_NAME = regex(r"[a-zA-Z0-9_-]{1,128}\Z")
_PROPERTY = regex(r"[a-zA-Z0-9_.-]{1,64}\Z")
_SEARCH = regex(r"tool_search_tool_(?:bm25|regex)")
_REFUSED_AT_ROOT = ("oneOf", "anyOf", "allOf")
_STRICT_TOOLS, _OPTIONAL, _UNIONS = 20, 24, 16


def tool(name: str = "look", **more: Any) -> dict[str, Any]:
    """A tool definition, for examples."""
    return {"name": name, "input_schema": {"type": "object", "properties": {}}, **more}


def call(id: str = "call_1", name: str = "look", **more: Any) -> dict[str, Any]:
    """A call, for examples."""
    return {"type": "tool_use", "id": id, "name": name, "input": {}, **more}


def result(id: str = "call_1", content: Any = "done", **more: Any) -> dict[str, Any]:
    """A result, for examples."""
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def _working(*blocks: Any, calls: tuple[Any, ...] = (), **settings: Any) -> dict[str, Any]:
    settings.setdefault("tools", [tool()])
    return asking(
        HELLO, said("assistant", *(calls or (call(),))), said("user", *blocks), **settings
    )


_ANSWERED = _working(result())


def _pairs(request: Request) -> Iterator[tuple[list[At], list[At]]]:
    """The calls of every assistant turn with the user blocks right after it."""
    turns = turns_of(request)
    for index, turn in enumerate(turns):
        if turn.role != ASSISTANT:
            continue
        following = turns[index + 1] if index + 1 < len(turns) else None
        answers = following.blocks if following is not None and following.role == USER else []
        yield [at for at in turn.blocks if at.kind == "tool_use"], answers


@BOOK.rule(
    "tool-result-missing",
    "Every `tool_use` is answered by a `tool_result` in the very next user turn.",
    gist="`tool_use` ids were found without `tool_result` blocks immediately after: … Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message",
    source="anthropics/claude-code#8210, #12526, #6242",
    sureness="A",
    repair="A late result is moved to its call; a call without one is answered by a note.",
    passing=_ANSWERED,
    failing=_working(result(), calls=(call(), call("call_2"))),
)
def tool_result_missing(request: Request) -> Iterator[Finding]:
    for calls, answers in _pairs(request):
        answered = {at.block.get("tool_use_id") for at in answers if at.kind == "tool_result"}
        for at in calls:
            if at.block.get("id") not in answered:
                yield Finding(at.path, f"the call {at.block.get('id')!r} has no result right after")


@BOOK.rule(
    "tool-result-orphan",
    "Every `tool_result` answers a `tool_use` of the turn right before.",
    gist="unexpected `tool_use_id` found in `tool_result` blocks",
    source="anthropics/claude-code#18947, #13460",
    sureness="A",
    repair="The result is moved to its call, or told as text when there is none.",
    passing=_ANSWERED,
    failing=_working(result(), result("call_9")),
)
def tool_result_orphan(request: Request) -> Iterator[Finding]:
    turns = turns_of(request)
    for index, turn in enumerate(turns):
        if turn.role != USER:
            continue
        before = turns[index - 1].blocks if index and turns[index - 1].role == ASSISTANT else []
        calls = {at.block.get("id") for at in before if at.kind == "tool_use"}
        for at in turn.blocks:
            if at.kind == "tool_result" and at.block.get("tool_use_id") not in calls:
                called = at.block.get("tool_use_id")
                yield Finding(at.path, f"no call {called!r} in the turn right before")


@BOOK.rule(
    "tool-result-order",
    "Tool results come before any other block of their user turn.",
    gist="the same as tool-result-missing",
    source="docs: handle tool calls",
    sureness="A",
    repair="The results are moved to the front of the turn.",
    passing=_working(result(), text("And?")),
    failing=_working(text("And?"), result()),
)
def tool_result_order(request: Request) -> Iterator[Finding]:
    for turn in turns_of(request):
        other = False
        for at in turn.blocks if turn.role == USER else []:
            if at.kind != "tool_result":
                other = True
            elif other:
                yield Finding(at.path, "another block stands before this result")


@BOOK.rule(
    "tool-result-duplicate",
    "A call has one result.",
    gist="each tool_use must have a single result",
    source="reports",
    sureness="B",
    repair="The last result of a call is kept.",
    passing=_ANSWERED,
    failing=_working(result(), result()),
)
def tool_result_duplicate(request: Request) -> Iterator[Finding]:
    for turn in turns_of(request):
        seen: set[Any] = set()
        for at in turn.blocks:
            if turn.role == USER and at.kind == "tool_result":
                called = as_text(at.block.get("tool_use_id"))
                if called in seen:
                    yield Finding(at.path, f"the call {called!r} has a result already")
                seen.add(called)


@BOOK.rule(
    "tool-use-id",
    "Call ids are unique within a turn and made of letters, digits, `_` and `-`.",
    gist="`tool_use` ids must be unique",
    source="recording; reports",
    sureness="A",
    repair="The id is renamed, with its result.",
    passing=_ANSWERED,
    failing=_working(result("call 1"), calls=(call("call 1"),)),
)
def tool_use_id(request: Request) -> Iterator[Finding]:
    earlier: set[str] = set()
    for turn in turns_of(request):
        here: set[str] = set()
        for at in turn.blocks:
            if at.kind != "tool_use" or turn.role != ASSISTANT:
                continue
            id = as_text(at.block.get("id"))
            if _CALL_ID.match(id) is None:
                yield Finding(f"{at.path}.id", f"{id!r} has other characters than A-Z a-z 0-9 _ -")
            if id in here:
                yield Finding(at.path, f"the id {id!r} is used twice in this turn")
            elif id in earlier:
                yield Finding(at.path, f"the id {id!r} was used in an earlier turn", "warning")
            here.add(id)
        earlier |= here


def _search(id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}}


def _found(id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


@BOOK.rule(
    "server-tool-result-orphan",
    "A server tool's result follows its call.",
    gist="must have a corresponding server_tool_use block before it",
    source="anthropics/claude-code#64383",
    sureness="A",
    repair="A result without its call is left out.",
    passing=asking(HELLO, said("assistant", _search(), _found(), text("So.")), HELLO),
    failing=asking(HELLO, said("assistant", _found(), text("So.")), HELLO),
)
def server_tool_result_orphan(request: Request) -> Iterator[Finding]:
    called: set[tuple[str, str]] = set()
    for _, _, blocks in messages_of(request):
        for at in blocks:
            if at.kind in SERVER_CALLS:
                called.add((at.kind, as_text(at.block.get("id"))))
            elif at.kind in RESULT_OF:
                id = as_text(at.block.get("tool_use_id"))
                if (RESULT_OF[at.kind], id) not in called:
                    yield Finding(at.path, f"no `{RESULT_OF[at.kind]}` {id!r} stands before")


@BOOK.rule(
    "server-tool-use-unanswered",
    "A server tool call without result stands only in the turn in progress.",
    source="docs",
    sureness="B",
    repair="The call is left out of a finished turn.",
    passing=asking(HELLO, said("assistant", _search())),
    failing=asking(HELLO, said("assistant", _search(), text("So.")), HELLO),
)
def server_tool_use_unanswered(request: Request) -> Iterator[Finding]:
    messages = messages_of(request)
    answered = {
        as_text(at.block.get("tool_use_id"))
        for _, _, blocks in messages
        for at in blocks
        if at.kind in RESULT_OF
    }
    over = False
    for _, _, blocks in reversed(messages):
        for at in blocks:
            if at.kind in SERVER_CALLS and as_text(at.block.get("id")) not in answered and over:
                yield Finding(at.path, "the call has no result, and its turn is over")
        over = over or any(at.kind != "tool_result" for at in blocks)


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


def _deferred(at: At) -> bool:
    return at.block.get("defer_loading") is True


@BOOK.rule(
    "defer-all",
    "At least one tool is not deferred.",
    gist="All tools have defer_loading set",
    source="docs: tool search",
    sureness="A",
    repair="The first tool is offered at once.",
    passing=asking(tools=[tool("a"), tool("b", defer_loading=True)]),
    failing=asking(tools=[tool("a", defer_loading=True), tool("b", defer_loading=True)]),
)
def defer_all(request: Request) -> Iterator[Finding]:
    tools = tools_of(request)
    if tools and all(map(_deferred, tools)):
        yield Finding("tools", "every tool is deferred")


@BOOK.rule(
    "defer-cache-control",
    "A deferred tool carries no `cache_control`.",
    gist="Tools with defer_loading cannot use prompt caching",
    source="pydantic-ai",
    sureness="A",
    repair="The breakpoint moves to the last tool that is not deferred.",
    passing=asking(
        tools=[tool("a", cache_control={"type": "ephemeral"}), tool("b", defer_loading=True)]
    ),
    failing=asking(
        tools=[tool("a"), tool("b", defer_loading=True, cache_control={"type": "ephemeral"})]
    ),
)
def defer_cache_control(request: Request) -> Iterator[Finding]:
    for at in tools_of(request):
        if _deferred(at) and at.block.get("cache_control") is not None:
            yield Finding(f"{at.path}.cache_control", "a deferred tool cannot be a breakpoint")


@BOOK.rule(
    "defer-search-tool",
    "The tool search tool is not deferred.",
    source="docs",
    sureness="B",
    repair="It is offered at once.",
    passing=asking(
        tools=[
            {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"},
            tool("b", defer_loading=True),
        ]
    ),
    failing=asking(
        tools=[
            {
                "type": "tool_search_tool_bm25_20251119",
                "name": "tool_search_tool_bm25",
                "defer_loading": True,
            },
            tool("b"),
        ]
    ),
)
def defer_search_tool(request: Request) -> Iterator[Finding]:
    for at in tools_of(request):
        if _SEARCH.match(at.kind) and _deferred(at):
            yield Finding(f"{at.path}.defer_loading", "the search tool itself is deferred")


@BOOK.rule(
    "tool-reference-unknown",
    "`tool_reference`, `tool_addition` and `tool_removal` name a tool of this request.",
    gist="Tool reference '…' not found in available tools",
    source="docs",
    sureness="A",
    repair="A reference to a tool that is gone is left out.",
    passing=_working(result(content=[{"type": "tool_reference", "tool_name": "look"}])),
    failing=_working(result(content=[{"type": "tool_reference", "tool_name": "fetch"}])),
)
def tool_reference_unknown(request: Request) -> Iterator[Finding]:
    known = {as_text(at.block.get("name")) for at in tools_of(request)}
    references = list(_referring(request))
    for at in references:
        definition = as_map(as_map(at.block.get("tool")).get("definition"))
        if definition:
            known.add(as_text(definition.get("name")))
    # Tools of an MCP server are not listed in the request.
    remote = any(at.kind == "mcp_toolset" for at in tools_of(request))
    for at in [] if remote else references:
        change = as_map(at.block.get("tool"))
        name = None
        if at.kind == "tool_reference":
            name = as_text(at.block.get("tool_name"))
        elif change.get("type") == "tool_reference":
            name = as_text(change.get("name"))
        if name is not None and name not in known:
            yield Finding(at.path, f"{name!r} is no tool of this request")


def _referring(request: Request) -> Iterator[At]:
    for _, at in all_blocks(request):
        if at.kind in ("tool_reference", "tool_addition", "tool_removal"):
            yield at
        elif at.kind == "compaction":
            yield from blocks_of(at.block.get("tool_changes"), f"{at.path}.tool_changes")
        elif at.kind == "tool_search_tool_result":
            found = as_map(at.block.get("content")).get("tool_references")
            yield from blocks_of(found, f"{at.path}.content.tool_references")


@BOOK.rule(
    "mcp-pairing",
    "Each entry of `mcp_servers` has exactly one `mcp_toolset`, and the reverse.",
    source="docs; not with beta 2025-04-04",
    sureness="B",
    repair="What has no partner is left out.",
    passing=asking(
        mcp_servers=[{"type": "url", "name": "wiki", "url": "https://wiki.example/mcp"}],
        tools=[{"type": "mcp_toolset", "mcp_server_name": "wiki"}],
        betas=["mcp-client-2025-11-20"],
    ),
    failing=asking(
        mcp_servers=[{"type": "url", "name": "wiki", "url": "https://wiki.example/mcp"}],
        betas=["mcp-client-2025-11-20"],
    ),
)
def mcp_pairing(request: Request) -> Iterator[Finding]:
    if "mcp-client-2025-04-04" in request.betas:
        return
    servers = [as_text(as_map(server).get("name")) for server in request.list_of("mcp_servers")]
    sets = Counter(
        as_text(at.block.get("mcp_server_name"))
        for at in tools_of(request)
        if at.kind == "mcp_toolset"
    )
    for index, name in enumerate(servers):
        if sets[name] != 1:
            yield Finding(f"mcp_servers[{index}]", f"{name!r} needs exactly one `mcp_toolset`")
    for at in tools_of(request):
        name = as_text(at.block.get("mcp_server_name"))
        if at.kind == "mcp_toolset" and name not in servers:
            yield Finding(at.path, f"{name!r} is no entry of `mcp_servers`")
