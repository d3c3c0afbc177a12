"""Tools of the provider's, tools that are searched for or come later: only to models that can."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from context_chef.adaptation.wire_rules.anthropic_examples import tool
from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, asking, said
from context_chef.adaptation.wire_rules.anthropic_view import SYSTEM, messages_of, tools_of
from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.openai_responses_view import item_kind
from context_chef.adaptation.wire_rules.rule import (
    Finding,
    Request,
    RuleBook,
    Severity,
    Target,
    WireRule,
    one,
)

_ANTHROPIC = RuleBook("anthropic")
_RESPONSES = RuleBook("openai-responses")

_CHANGES = ("tool_addition", "tool_removal")


def _lacks(request: Request, ability: Literal["tool_search", "tool_additions"]) -> Severity | None:
    """How bad it is to use that ability; None when the model has it, or is not known."""
    profile = request.profile
    if profile is None or (
        profile.tool_search if ability == "tool_search" else profile.tool_additions
    ):
        return None
    return "warning" if profile.how_sure(ability) == "C" else "error"


def _named(request: Request) -> str:
    return request.profile.name if request.profile is not None else "the model"


def _search_uses(tools: Iterator[tuple[str, Mapping[str, Any]]], search: str) -> Iterator[str]:
    """Where tools are held back, or offered for finding those."""
    for path, entry in tools:
        if as_text(entry.get("type")).startswith(search):
            yield path
        elif entry.get("defer_loading") is True:
            yield f"{path}.defer_loading"


_BM25: dict[str, Any] = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


@_ANTHROPIC.rule(
    "tool-search-model",
    "Tool search and `defer_loading` go only to models that can search: Sonnet, Opus and Haiku "
    "4.5 and later.",
    source="docs: tool search, model compatibility",
    sureness="B",
    repair="The search tool is left out, and the deferred tools are offered at once.",
    passing=asking(tools=[_BM25, tool(defer_loading=True)]),
    failing=one(asking(tools=[_BM25, tool(defer_loading=True)]), model="claude-opus-4-1"),
)
def anthropic_tool_search_model(request: Request) -> Iterator[Finding]:
    if (severity := _lacks(request, "tool_search")) is None:
        return
    tools = ((at.path, at.block) for at in tools_of(request))
    for path in _search_uses(tools, "tool_search_tool"):
        yield Finding(path, f"{_named(request)} cannot search for tools", severity)


_COMPUTER: dict[str, Any] = {
    "type": "computer_20251124",
    "name": "computer",
    "display_width_px": 1024,
    "display_height_px": 768,
}


@_ANTHROPIC.rule(
    "tool-refused",
    "The model takes this tool of the provider's: Opus 5.5 no `computer_20251124`.",
    source="docs: whats-new-opus-5-5",
    sureness="B",
    repair="The tool is left out.",
    passing=one(asking(tools=[_COMPUTER, tool()]), model="claude-opus-5"),
    failing=one(asking(tools=[_COMPUTER, tool()]), model="claude-opus-5-5"),
)
def anthropic_tool_refused(request: Request) -> Iterator[Finding]:
    profile = request.profile
    for at in tools_of(request) if profile is not None else ():
        if profile is not None and at.kind in profile.refused_tools:
            yield Finding(at.path, f"{profile.name} does not take `{at.kind}`")


def _changing(*blocks: Any) -> dict[str, Any]:
    return asking(
        HELLO,
        said("system", *blocks),
        tools=[tool("look"), tool("ask", defer_loading=True)],
        betas=["mid-conversation-tool-changes-2026-07-01"],
    )


_ADDITION: dict[str, Any] = {
    "type": "tool_addition",
    "tool": {"type": "tool_reference", "name": "ask"},
}


@_ANTHROPIC.rule(
    "tool-changes-model",
    "`tool_addition` and `tool_removal` go only to models that take changes of their tools inside "
    "the conversation.",
    gist="role 'system' is not supported on this model",
    source="docs: mid-conversation-tool-changes, model pages",
    sureness="B",
    repair="What is added stands in `tools` from the start; a removal is left out.",
    passing=one(_changing(_ADDITION), model="claude-opus-5"),
    failing=_changing(_ADDITION),
)
def anthropic_tool_changes_model(request: Request) -> Iterator[Finding]:
    if (severity := _lacks(request, "tool_additions")) is None:
        return
    for _, role, blocks in messages_of(request):
        for at in blocks if role == SYSTEM else []:
            if at.kind in _CHANGES:
                said_of = f"{_named(request)} takes no change of its tools inside the conversation"
                yield Finding(at.path, said_of, severity)


def _tool(name: str = "look", **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    return {"type": "function", "name": name, "parameters": schema, **more}


def _input(*items: Any, **settings: Any) -> dict[str, Any]:
    settings.setdefault("model", "gpt-5.4")
    return {"input": [{"role": "user", "content": "Hello"}, *items], **settings}


_SEARCHED: list[Any] = [_tool(defer_loading=True), {"type": "tool_search"}]


@_RESPONSES.rule(
    "tool-search-model",
    "`tool_search` and `defer_loading` go only to models that can search: GPT-5.4 and later, its "
    "nano version not.",
    source="docs: guides/tools-tool-search; Oaklight/llm-rosetta#394",
    sureness="A",
    repair="The search tool is left out, and the deferred tools are offered at once.",
    passing=_input(tools=_SEARCHED),
    failing=_input(tools=_SEARCHED, model="gpt-5"),
)
def responses_tool_search_model(request: Request) -> Iterator[Finding]:
    if (severity := _lacks(request, "tool_search")) is None:
        return
    tools = (
        (f"tools[{place}]", as_map(entry)) for place, entry in enumerate(request.list_of("tools"))
    )
    for path in _search_uses(tools, "tool_search"):
        yield Finding(path, f"{_named(request)} cannot search for tools", severity)


_ADDED: dict[str, Any] = {"type": "additional_tools", "role": "developer", "tools": [_tool("ask")]}


@_RESPONSES.rule(
    "tool-changes-model",
    "`additional_tools` go only to models that take tools inside the conversation.",
    source="docs: models pages; recordings (pydantic-ai) on gpt-5 and gpt-5.6",
    sureness="B",
    repair="What is added stands in `tools` from the start.",
    passing=_input(_ADDED),
    failing=_input(_ADDED, model="gpt-4o"),
)
def responses_tool_changes_model(request: Request) -> Iterator[Finding]:
    if (severity := _lacks(request, "tool_additions")) is None:
        return
    for place, item in enumerate(request.list_of("input")):
        if item_kind(as_map(item)) == "additional_tools":
            said_of = f"{_named(request)} takes no tools inside the conversation"
            yield Finding(f"input[{place}]", said_of, severity)


ABILITY_RULES: Mapping[Target, tuple[WireRule, ...]] = {
    "anthropic": _ANTHROPIC.rules,
    "openai-responses": _RESPONSES.rules,
}
"""By target. Chat Completions and Gemini know neither: there the shape refuses the words."""
