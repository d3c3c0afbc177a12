"""Gemini: settings of the request."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.gemini_examples import asking, on_model
from context_chef.adaptation.wire_rules.json_access import as_map, as_number, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("gemini")


@BOOK.rule(
    "cached-content",
    "`cachedContent` excludes `systemInstruction`, `tools` and `toolConfig`.",
    gist="CachedContent can not be used with GenerateContent request setting system_instruction, "
    "tools or tool_config",
    source="langchain-ai/langchain-google#978, 567-labs/instructor#2580",
    sureness="A",
    repair="What the cached content holds already is left out.",
    passing=asking(cachedContent="cachedContents/1"),
    failing=asking(
        cachedContent="cachedContents/1", systemInstruction={"parts": [{"text": "Be short."}]}
    ),
)
def cached_content(request: Request) -> Iterator[Finding]:
    if request.body.get("cachedContent"):
        for key in ("systemInstruction", "tools", "toolConfig"):
            if request.body.get(key):
                yield Finding(key, f"`{key}` does not go with `cachedContent`")


@BOOK.rule(
    "response-format",
    'A response schema needs `responseMimeType: "application/json"` (or `text/x.enum`).',
    source="docs",
    sureness="A",
    repair="The MIME type is set.",
    passing=asking(
        generationConfig={
            "responseSchema": {"type": "OBJECT", "properties": {}},
            "responseMimeType": "application/json",
        }
    ),
    failing=asking(generationConfig={"responseSchema": {"type": "OBJECT", "properties": {}}}),
)
def response_format(request: Request) -> Iterator[Finding]:
    config = request.map_of("generationConfig")
    if config.get("responseMimeType") in ("application/json", "text/x.enum"):
        return
    for key in ("responseSchema", "responseJsonSchema"):
        if key in config:
            where = f"generationConfig.{key}"
            yield Finding(where, 'it needs `responseMimeType: "application/json"`')


@BOOK.rule(
    "thinking",
    "`thinkingLevel` or `thinkingBudget` is given, not both; levels only from Gemini 3 on, no "
    "budget on Gemini 4.",
    gist="Thinking level is not supported for this model",
    source="docs",
    sureness="A",
    repair="The setting is left out.",
    passing=on_model(
        "gemini-3-flash-preview",
        asking(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}),
    ),
    failing=on_model(
        "gemini-2.5-flash",
        asking(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}),
    ),
)
def thinking(request: Request) -> Iterator[Finding]:
    path = "generationConfig.thinkingConfig"
    config = as_map(request.map_of("generationConfig").get("thinkingConfig"))
    level, budget = config.get("thinkingLevel"), config.get("thinkingBudget")
    profile = request.profile
    if level is not None and budget is not None:
        yield Finding(path, "level and budget are both given")
    if profile is None:
        return
    levels = profile.thinking_levels
    if level is not None and levels is not None and as_text(level).lower() not in levels:
        # That a model takes no levels at all is certain, which ones it takes is less so.
        severity = "error" if not levels else "warning"
        yield Finding(f"{path}.thinkingLevel", f"{profile.name} does not take {level!r}", severity)
    if budget is not None and profile.thinking_budget is False:
        yield Finding(f"{path}.thinkingBudget", f"{profile.name} takes no budget")


_RANGES = {
    "temperature": (0, 2),
    "topP": (0, 1),
    "topK": (0, 1e6),
    "maxOutputTokens": (1, 1e9),
}


@BOOK.rule(
    "range",
    "Temperature is 0 to 2, topP 0 to 1, maxOutputTokens at least 1.",
    gist="the supported range is from 0 (inclusive) to 2.0",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=asking(generationConfig={"temperature": 2}),
    failing=asking(generationConfig={"temperature": 2.5}),
)
def ranges(request: Request) -> Iterator[Finding]:
    config = request.map_of("generationConfig")
    for key, (least, most) in _RANGES.items():
        value = as_number(config.get(key))
        if value is not None and not least <= value <= most:
            where = f"generationConfig.{key}"
            yield Finding(where, f"{value:g} is not within {least:g} to {most:g}")
