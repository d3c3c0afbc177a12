"""Anthropic: how much is said, and how it is sampled."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.anthropic_messages import asking
from context_chef.adaptation.wire_rules.anthropic_view import (
    output_format,
    thinking_is_on,
    thinking_type,
)
from context_chef.adaptation.wire_rules.json_access import as_number
from context_chef.adaptation.wire_rules.rule import (
    ANTHROPIC_VERSION,
    Finding,
    Request,
    RuleBook,
    one,
)

BOOK = RuleBook("anthropic")


_OLD_VERSION = "2023-06-01"


@BOOK.rule(
    "max-tokens",
    "`max_tokens` is at least 0 and within the model's output limit. 0 warms the cache: not with "
    "`stream`, manual thinking, forced tools or structured output.",
    gist="max_tokens: 200000 > 128000",
    source="docs; anthropics/skills",
    sureness="A",
    repair="It is lowered to the model's limit.",
    passing=one(asking(max_tokens=64_000), model="claude-sonnet-4-5"),
    failing=one(asking(max_tokens=64_001), model="claude-sonnet-4-5"),
)
def max_tokens(request: Request) -> Iterator[Finding]:
    limit = as_number(request.body.get("max_tokens"))
    most = request.profile.max_output_tokens if request.profile is not None else None
    if limit is None:
        return
    if limit < 0:
        yield Finding("max_tokens", f"{limit} is below 0")
    elif most is not None and limit > most:
        yield Finding("max_tokens", f"{limit} > {most}, the most that the model gives out")
    elif limit == 0:
        forced = request.map_of("tool_choice").get("type") in ("any", "tool")
        manual = thinking_type(request) == "enabled"
        if request.body.get("stream") is True or manual or forced or output_format(request):
            yield Finding(
                "max_tokens",
                "0 goes with no `stream`, manual thinking, forced tools or structured output",
            )


@BOOK.rule(
    "sampling",
    f"`temperature`, `top_p`, `top_k`: gone from API version {ANTHROPIC_VERSION} on. Before, "
    "temperature is 0 to 1; from 4.7 on only the defaults; from Opus 4.1 on not temperature and "
    "top_p together; temperature 1 while thinking.",
    gist="temperature: range: 0..1",
    source="recording (rig); docs",
    sureness="A",
    repair="The setting is left out.",
    passing=one(asking(temperature=0.5), api_version=_OLD_VERSION),
    failing=one(asking(temperature=1.5), api_version=_OLD_VERSION),
)
def sampling(request: Request) -> Iterator[Finding]:
    given = [key for key in ("temperature", "top_p", "top_k") if key in request.body]
    if request.api_version >= ANTHROPIC_VERSION:
        for key in given:
            yield Finding(key, f"`{key}` is gone from API version {ANTHROPIC_VERSION} on")
        return
    temperature = as_number(request.body.get("temperature"))
    top_p = as_number(request.body.get("top_p"))
    kind = request.profile.sampling if request.profile is not None else None
    name = request.profile.name if request.profile is not None else ""
    if temperature is not None and not 0 <= temperature <= 1:
        yield Finding("temperature", f"{temperature} is not within 0 to 1")
    elif kind == "default_only":
        for key in given:
            if request.body[key] is not None and not (key == "temperature" and temperature == 1):
                yield Finding(key, f"{name} takes only the default")
    elif kind == "one_of" and temperature is not None and top_p is not None:
        yield Finding("top_p", f"{name} takes `temperature` or `top_p`, not both")
    elif temperature not in (None, 1) and thinking_is_on(request):
        yield Finding("temperature", "while thinking it can only be 1")
