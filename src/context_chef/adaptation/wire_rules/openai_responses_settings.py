"""Responses: settings of the request."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.openai_responses_view import asking, items_of
from context_chef.adaptation.wire_rules.openai_shared import (
    NAME,
    OPEN_SCHEMA,
    cache_findings,
    effort_refused,
    in_range,
    marks_in,
    sampling_findings,
    texts_in,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai-responses")


@BOOK.rule(
    "state-conflict",
    "`previous_response_id` or `conversation` is given, not both.",
    source="SDK",
    sureness="A",
    repair="`previous_response_id` is left out.",
    passing=asking(previous_response_id="resp_1"),
    failing=asking(previous_response_id="resp_1", conversation="conv_1"),
)
def state_conflict(request: Request) -> Iterator[Finding]:
    if request.body.get("previous_response_id") and request.body.get("conversation"):
        yield Finding("conversation", "it does not go with `previous_response_id`")


@BOOK.rule(
    "json-mode",
    "`json_object` needs the word json in the input.",
    gist="'messages' must contain the word 'json' in some form",
    source="docs",
    sureness="A",
    repair="A sentence that asks for JSON is put in front.",
    passing=asking(
        {"role": "user", "content": "Answer in JSON."}, text={"format": {"type": "json_object"}}
    ),
    failing=asking(text={"format": {"type": "json_object"}}),
)
def json_mode(request: Request) -> Iterator[Finding]:
    if as_map(request.map_of("text").get("format")).get("type") != "json_object":
        return
    said = [as_text(request.body.get("input"))]
    for _, item in items_of(request):
        said += [*texts_in(item.get("content")), *texts_in(item.get("output"))]
    if not any("json" in words.lower() for words in said):
        yield Finding("text.format", "the input does not have the word json in it")


@BOOK.rule(
    "format-name",
    "The text format's name has 1 to 64 letters, digits, `_` or `-`.",
    source="SDK",
    sureness="A",
    repair="Illegal characters become `_`.",
    passing=asking(text={"format": {"type": "json_schema", "name": "city", "schema": OPEN_SCHEMA}}),
    failing=asking(
        text={"format": {"type": "json_schema", "name": "the city", "schema": OPEN_SCHEMA}}
    ),
)
def format_name(request: Request) -> Iterator[Finding]:
    asked = as_map(request.map_of("text").get("format"))
    schema = asked.get("type") == "json_schema"
    if schema and NAME.match(as_text(asked.get("name"))) is None:
        yield Finding("text.format.name", f"{asked.get('name')!r} is no legal name")


@BOOK.rule(
    "range",
    "`max_output_tokens` is at least 16, temperature 0 to 2, top_p 0 to 1, top_logprobs 0 to 20.",
    gist="integer below minimum value. Expected a value >= 16",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=asking(max_output_tokens=16),
    failing=asking(max_output_tokens=15),
)
def ranges(request: Request) -> Iterator[Finding]:
    yield from in_range(request, "max_output_tokens", 16, 1e9)
    yield from in_range(request, "temperature", 0, 2)
    yield from in_range(request, "top_p", 0, 1)
    yield from in_range(request, "top_logprobs", 0, 20)


def _effort(request: Request) -> str:
    return as_text(request.map_of("reasoning").get("effort"))


@BOOK.rule(
    "reasoning-params",
    "Reasoning models take only default sampling values (GPT-5.1 and later others with effort "
    "none).",
    gist="Unsupported parameter: 'temperature' is not supported with this model",
    source="recording; docs",
    sureness="A",
    repair="They are left out.",
    passing=asking(model="gpt-5.1", temperature=0.5, reasoning={"effort": "none"}),
    failing=asking(model="gpt-5", temperature=0.5),
)
def reasoning_params(request: Request) -> Iterator[Finding]:
    yield from sampling_findings(request, _effort(request))


@BOOK.rule(
    "reasoning-model",
    "`reasoning` and `include: reasoning.encrypted_content` go only to reasoning models, with an "
    "effort that the model takes.",
    gist="Encrypted content is not supported with this model",
    source="OpenHands/software-agent-sdk#1208",
    sureness="A",
    repair="They are left out.",
    passing=asking(model="gpt-5", include=["reasoning.encrypted_content"]),
    failing=asking(include=["reasoning.encrypted_content"]),
)
def reasoning_model(request: Request) -> Iterator[Finding]:
    profile = request.profile
    if profile is None:
        return
    if not profile.reasoning:
        if "reasoning.encrypted_content" in request.list_of("include"):
            yield Finding("include", f"{profile.name} does not reason")
        if any(value is not None for value in request.map_of("reasoning").values()):
            yield Finding("reasoning", f"{profile.name} does not reason")
    elif (reason := effort_refused(profile, _effort(request))) is not None:
        yield Finding("reasoning.effort", reason)


def _cache_marks(request: Request) -> Iterator[str]:
    for path, item in items_of(request):
        for key in ("content", "output"):
            yield from marks_in(item.get(key), f"{path}.{key}")


@BOOK.rule(
    "cache-options",
    "`prompt_cache_options` and breakpoints go only to GPT-5.6 and later, and not together with "
    "`prompt_cache_retention`.",
    source="langchain4j docs; openrouter docs",
    sureness="B",
    repair="They are left out.",
    passing=asking(model="gpt-5.6", prompt_cache_options={"mode": "explicit"}),
    failing=asking(prompt_cache_options={"mode": "explicit"}),
)
def cache_options(request: Request) -> Iterator[Finding]:
    yield from cache_findings(request, _cache_marks(request))
