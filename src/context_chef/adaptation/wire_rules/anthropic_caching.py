"""Anthropic: breakpoints of the prompt cache."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_messages import asking, said, text
from context_chef.adaptation.wire_rules.anthropic_view import (
    At,
    blocks_of,
    inside,
    messages_of,
    tools_of,
)
from context_chef.adaptation.wire_rules.json_access import as_map
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("anthropic")


_EPHEMERAL: dict[str, Any] = {"type": "ephemeral"}


_HOUR: dict[str, Any] = {"type": "ephemeral", "ttl": "1h"}


def _marks(request: Request) -> list[tuple[str, Mapping[str, Any]]]:
    """Every `cache_control` in the order in which the prompt is rendered, with the path of what
    carries it."""
    carriers: list[At] = list(tools_of(request))
    carriers += blocks_of(request.body.get("system"), "system")
    for _, _, blocks in messages_of(request):
        for at in blocks:
            # What is nested is rendered before the block that holds it ends.
            carriers += [*inside(at), at]
    found = [(at.path, as_map(at.block.get("cache_control"))) for at in carriers]
    return [(path, mark) for path, mark in found if mark]


@BOOK.rule(
    "cache-breakpoints",
    "There are at most 4 `cache_control` marks, nested ones and the top-level one counted.",
    gist="A maximum of 4 blocks with cache_control may be provided. Found 5.",
    source="agentjido/req_llm#503, tghamm/Anthropic.SDK#50",
    sureness="A",
    repair="The marks that help least are taken away.",
    passing=asking(said("user", *[text("a", cache_control=_EPHEMERAL)] * 4)),
    failing=asking(said("user", *[text("a", cache_control=_EPHEMERAL)] * 5)),
)
def cache_breakpoints(request: Request) -> Iterator[Finding]:
    marks = _marks(request)
    count = len(marks) + bool(request.map_of("cache_control"))
    if count > 4:
        yield Finding(marks[-1][0], f"{count} `cache_control` marks; 4 are the most")


@BOOK.rule(
    "cache-ttl-order",
    "In render order (tools, system, messages) every 1h mark comes before every 5m one.",
    gist="a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
    source="agno-agi/agno#8406",
    sureness="A",
    repair="The later mark gets the shorter lifetime.",
    passing=asking(
        said("user", text("Hello", cache_control=_EPHEMERAL)),
        system=[text("Be short.", cache_control=_HOUR)],
    ),
    failing=asking(
        said("user", text("Hello", cache_control=_HOUR)),
        system=[text("Be short.", cache_control=_EPHEMERAL)],
    ),
)
def cache_ttl_order(request: Request) -> Iterator[Finding]:
    marks = [(f"{path}.cache_control.ttl", mark) for path, mark in _marks(request)]
    if automatic := request.map_of("cache_control"):
        marks.append(("cache_control.ttl", automatic))
    short = False
    for path, mark in marks:
        if mark.get("ttl") != "1h":
            short = True
        elif short:
            yield Finding(path, "a 1h mark comes after a 5m one")
