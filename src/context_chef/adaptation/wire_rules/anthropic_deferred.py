"""Anthropic: deferred tools, references to tools, and MCP servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from context_chef.adaptation.wire_rules.anthropic_examples import result, tool, working
from context_chef.adaptation.wire_rules.anthropic_messages import asking
from context_chef.adaptation.wire_rules.anthropic_view import At, all_blocks, blocks_of, tools_of
from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook
from context_chef.patterns import regex

BOOK = RuleBook("anthropic")


_SEARCH = regex(r"tool_search_tool_(?:bm25|regex)")


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
    passing=working(result(content=[{"type": "tool_reference", "tool_name": "look"}])),
    failing=working(result(content=[{"type": "tool_reference", "tool_name": "fetch"}])),
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
