"""Chat Completions: settings of the request."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.openai_chat_view import asking, function_tool, messages_of
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

BOOK = RuleBook("openai")


@BOOK.rule(
    "search-model",
    "`web_search_options` goes only to search models.",
    gist="Web search options not supported with this model",
    source="recording",
    sureness="A",
    repair="The option is left out.",
    passing=asking(model="gpt-4o-search-preview", web_search_options={}),
    failing=asking(web_search_options={}),
)
def search_model(request: Request) -> Iterator[Finding]:
    if request.profile is not None:
        searches = request.profile.web_search_options
    else:
        searches = "search" in (request.model or "")
    if searches is False and request.body.get("web_search_options") is not None:
        yield Finding("web_search_options", "the model is no search model")


def _effort(request: Request) -> str:
    return as_text(request.body.get("reasoning_effort"))


@BOOK.rule(
    "reasoning-params",
    "Reasoning models take no `max_tokens` (use `max_completion_tokens`), no `stop` (o3-mini does) "
    "and only default sampling values (GPT-5.1 and later others with effort none).",
    gist="Unsupported parameter: 'stop' is not supported with this model",
    source="recording; docs",
    sureness="A",
    repair="`max_tokens` is renamed, the others are left out.",
    passing=asking(model="gpt-5", max_completion_tokens=500),
    failing=asking(model="gpt-5", max_tokens=500),
)
def reasoning_params(request: Request) -> Iterator[Finding]:
    profile = request.profile
    if profile is None or not profile.reasoning:
        return
    if request.body.get("max_tokens") is not None:
        yield Finding("max_tokens", f"{profile.name} takes `max_completion_tokens` instead")
    if request.body.get("stop") is not None and not profile.stop:
        yield Finding("stop", f"{profile.name} takes no stop sequences")
    yield from sampling_findings(request, _effort(request))


@BOOK.rule(
    "reasoning-effort",
    "The model takes this effort: none not on GPT-5, the o-series, GPT-6.1 and later and 6 Astra; "
    "minimal only on GPT-5; other models take none at all.",
    gist="'reasoning_effort' does not support 'minimal' with this model",
    source="livekit/agents#7169; docs",
    sureness="A",
    repair="It is left out; with function tools it is set to `none` where the model needs that.",
    passing=asking(model="gpt-5", reasoning_effort="minimal"),
    failing=asking(model="gpt-5.1", reasoning_effort="minimal"),
)
def reasoning_effort(request: Request) -> Iterator[Finding]:
    if (reason := effort_refused(request.profile, _effort(request))) is not None:
        yield Finding("reasoning_effort", reason)


@BOOK.rule(
    "reasoning-tools",
    "Function tools: GPT-5.6 and later only with effort `none` given, GPT-5.2 to 5.5 only without "
    "an effort or with `none`, the newest not at all.",
    gist="Function tools with reasoning_effort are not supported for gpt-5.6 in "
    "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
    "'none'",
    source="BerriAI/litellm#34569, openai/openai-openapi#541, danny-avila/LibreChat#14355",
    sureness="A",
    repair="The effort is set to `none` where the model takes it; else Responses is the way.",
    passing=asking(model="gpt-5.6", tools=[function_tool()], reasoning_effort="none"),
    failing=asking(model="gpt-5.6", tools=[function_tool()]),
)
def reasoning_tools(request: Request) -> Iterator[Finding]:
    profile, effort = request.profile, _effort(request)
    tools = [as_map(tool) for tool in request.list_of("tools")]
    if profile is None or not any(tool.get("type") == "function" for tool in tools):
        return
    if profile.chat_tools == "never" and profile.leading_system:
        yield Finding("tools", f"{profile.name} takes no tools here; use Responses")
    elif profile.chat_tools == "effort_none" and effort != "none" and not _refused(request):
        yield Finding("tools", f'{profile.name} takes tools only with `reasoning_effort: "none"`')
    elif profile.chat_tools == "without_effort" and effort not in ("", "none"):
        yield Finding("tools", f"{profile.name} takes no tools together with an effort")


def _refused(request: Request) -> bool:
    return effort_refused(request.profile, _effort(request)) is not None


@BOOK.rule(
    "json-mode",
    "`json_object` needs the word json in the messages.",
    gist="'messages' must contain the word 'json' in some form",
    source="docs",
    sureness="A",
    repair="A sentence that asks for JSON is put in front.",
    passing=asking(
        {"role": "user", "content": "Answer in JSON."}, response_format={"type": "json_object"}
    ),
    failing=asking(response_format={"type": "json_object"}),
)
def json_mode(request: Request) -> Iterator[Finding]:
    if request.map_of("response_format").get("type") != "json_object":
        return
    said = (
        words for _, message in messages_of(request) for words in texts_in(message.get("content"))
    )
    if not any("json" in words.lower() for words in said):
        yield Finding("response_format", "no message has the word json in it")


@BOOK.rule(
    "format-name",
    "The response format's name has 1 to 64 letters, digits, `_` or `-`.",
    source="SDK",
    sureness="A",
    repair="Illegal characters become `_`.",
    passing=asking(
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "city", "schema": OPEN_SCHEMA},
        }
    ),
    failing=asking(
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "the city", "schema": OPEN_SCHEMA},
        }
    ),
)
def format_name(request: Request) -> Iterator[Finding]:
    asked = as_map(request.map_of("response_format").get("json_schema"))
    if asked and NAME.match(as_text(asked.get("name"))) is None:
        yield Finding("response_format.json_schema.name", f"{asked.get('name')!r} is no legal name")


_RANGES = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "frequency_penalty": (-2, 2),
    "presence_penalty": (-2, 2),
    "top_logprobs": (0, 20),
    "n": (1, 128),
    "max_tokens": (1, 1e9),
    "max_completion_tokens": (1, 1e9),
}


@BOOK.rule(
    "range",
    "Temperature is 0 to 2, top_p 0 to 1, penalties -2 to 2, top_logprobs 0 to 20; at most 4 stop "
    "sequences.",
    gist="decimal above maximum value. Expected a value <= 2",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=asking(temperature=2),
    failing=asking(temperature=2.5),
)
def ranges(request: Request) -> Iterator[Finding]:
    for key, (least, most) in _RANGES.items():
        yield from in_range(request, key, least, most)
    if (count := len(request.list_of("stop"))) > 4:
        yield Finding("stop", f"{count} stop sequences; 4 are the most")


@BOOK.rule(
    "dependent-option",
    "`stream_options` goes with `stream`, `top_logprobs` with `logprobs`, `metadata` with `store`; "
    "not both kinds of max tokens.",
    gist="only allowed when 'stream' is enabled",
    source="docs",
    sureness="B",
    repair="The option that cannot stand alone is left out.",
    passing=asking(stream=True, stream_options={"include_usage": True}),
    failing=asking(stream_options={"include_usage": True}),
)
def dependent_option(request: Request) -> Iterator[Finding]:
    body = request.body
    if body.get("stream_options") is not None and body.get("stream") is not True:
        yield Finding("stream_options", "it goes only with `stream`")
    if body.get("top_logprobs") is not None and body.get("logprobs") is not True:
        yield Finding("top_logprobs", "it goes only with `logprobs`")
    if body.get("metadata") and body.get("store") is not True:
        yield Finding("metadata", "it goes only with `store`")
    both = body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None
    if both and (request.profile is None or not request.profile.reasoning):
        yield Finding("max_tokens", "only one of the two max tokens is set")


def _cache_marks(request: Request) -> Iterator[str]:
    for path, message in messages_of(request):
        yield from marks_in(message.get("content"), f"{path}.content")


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
