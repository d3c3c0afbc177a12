"""All rules of OpenAI Chat Completions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_shared import (
    CLOSED_SCHEMA,
    MOST_TOOLS,
    NAME,
    OPEN_SCHEMA,
    PNG,
    cache_findings,
    effort_refused,
    file_problem,
    in_range,
    is_image_url,
    marks_in,
    sampling_findings,
    schema_findings,
    strict_findings,
    texts_in,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, WireRule, one
from context_chef.patterns import regex

_BOOK = RuleBook("openai")

_HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
_WHO = regex(r"[^\s<|\\/>]{1,64}\Z")


def _asking(*messages: Any, model: str = "gpt-4o", **settings: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages) or [_HELLO], **settings}


def _calling(*ids: str, name: str = "look") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}
            for id in ids
        ],
    }


def _reply(id: str = "call_1") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id, "content": "done"}


def _tool(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": OPEN_SCHEMA, **more}}


def _parts(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def _messages(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, message in enumerate(request.list_of("messages")):
        yield f"messages[{index}]", as_map(message)


def _user_parts(request: Request, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, message in _messages(request):
        for index, part in enumerate(as_list(message.get("content"))):
            if as_map(part).get("type") == kind:
                yield f"{path}.content[{index}]", as_map(part)


def _calls(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [as_map(call) for call in as_list(message.get("tool_calls"))]


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    return [as_text(call.get("id")) for call in _calls(message)]


@_BOOK.rule(
    "messages-empty",
    "There is at least one message.",
    gist="[] is too short - 'messages'",
    source="danny-avila/LibreChat#10408",
    sureness="A",
    beyond_repair="A conversation without messages has nothing to answer.",
    passing=_asking(),
    failing={"model": "gpt-4o", "messages": []},
)
def messages_empty(request: Request) -> Iterator[Finding]:
    if not request.list_of("messages"):
        yield Finding("messages", "at least one message is needed")


@_BOOK.rule(
    "tool-reply-missing",
    "After an assistant message with `tool_calls` come `tool` messages for every id, before "
    "anything else.",
    gist="An assistant message with 'tool_calls' must be followed by tool messages responding to "
    "each 'tool_call_id'",
    source="BerriAI/litellm#10083, evalstate/fast-agent#314",
    sureness="A",
    repair="A late reply is moved to its call; a call without one is answered by a note.",
    passing=_asking(_HELLO, _calling("call_1", "call_2"), _reply("call_2"), _reply("call_1")),
    failing=_asking(_HELLO, _calling("call_1", "call_2"), _reply("call_1")),
)
def tool_reply_missing(request: Request) -> Iterator[Finding]:
    messages = list(_messages(request))
    for index, (path, message) in enumerate(messages):
        ids = _call_ids(message) if message.get("role") == "assistant" else []
        answered: set[str] = set()
        after = index + 1
        while ids and after < len(messages) and messages[after][1].get("role") == "tool":
            answered.add(as_text(messages[after][1].get("tool_call_id")))
            after += 1
        for position, id in enumerate(ids):
            if id not in answered:
                where = f"{path}.tool_calls[{position}]"
                yield Finding(where, f"no tool message right after answers {id!r}")


@_BOOK.rule(
    "tool-reply-orphan",
    "A `tool` message answers a call of the assistant message before it.",
    gist="messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    source="microsoft/semantic-kernel#12708, BerriAI/litellm#4931",
    sureness="A",
    repair="The reply is moved to its call, or told as text when there is none.",
    passing=_asking(_HELLO, _calling("call_1"), _reply()),
    failing=_asking(_HELLO, _reply()),
)
def tool_reply_orphan(request: Request) -> Iterator[Finding]:
    ids: list[str] = []
    for path, message in _messages(request):
        if message.get("role") != "tool":
            ids = _call_ids(message) if message.get("role") == "assistant" else []
        elif as_text(message.get("tool_call_id")) not in ids:
            yield Finding(path, f"no call {message.get('tool_call_id')!r} in the message before")


@_BOOK.rule(
    "tool-reply-duplicate",
    "There is one `tool` message an id.",
    gist="Duplicate value for 'tool_call_id'",
    source="agno-agi/agno#5116",
    sureness="A",
    repair="The last reply of a call is kept.",
    passing=_asking(_HELLO, _calling("call_1"), _reply()),
    failing=_asking(_HELLO, _calling("call_1"), _reply(), _reply()),
)
def tool_reply_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, message in _messages(request):
        if message.get("role") != "tool":
            seen = set()
            continue
        id = as_text(message.get("tool_call_id"))
        if id in seen:
            yield Finding(path, f"{id!r} has a reply already")
        seen.add(id)


@_BOOK.rule(
    "tool-call-id",
    "Call ids have 1 to 40 characters and are unique within their message.",
    gist="string too long. Expected a string with maximum length 40",
    source="microsoft/autogen#6377, camel-ai/camel#2215",
    sureness="A",
    repair="The id is shortened or renamed, with its reply.",
    passing=_asking(_HELLO, _calling("c" * 40), _reply("c" * 40)),
    failing=_asking(_HELLO, _calling("c" * 41), _reply("c" * 41)),
)
def tool_call_id(request: Request) -> Iterator[Finding]:
    for path, message in _messages(request):
        seen: set[str] = set()
        for position, id in enumerate(_call_ids(message)):
            where = f"{path}.tool_calls[{position}].id"
            if not 1 <= len(id) <= 40:
                yield Finding(where, f"the id has {len(id)} characters")
            if id in seen:
                yield Finding(where, f"{id!r} is used twice in this message")
            seen.add(id)


@_BOOK.rule(
    "content-null",
    "Assistant content is null or absent only with `tool_calls`, `function_call`, `audio` or "
    "`refusal`.",
    gist="Invalid value for 'content': expected a string, got null",
    source="vercel/ai#14950",
    sureness="A",
    repair="The empty message is left out.",
    passing=_asking(_HELLO, {"role": "assistant", "content": None, "refusal": "No."}, _HELLO),
    failing=_asking(_HELLO, {"role": "assistant", "content": None}, _HELLO),
)
def content_null(request: Request) -> Iterator[Finding]:
    for path, message in _messages(request):
        if message.get("role") != "assistant" or message.get("content") is not None:
            continue
        if not any(message.get(key) for key in ("tool_calls", "function_call", "audio", "refusal")):
            yield Finding(f"{path}.content", "there is neither content nor a call")


@_BOOK.rule(
    "empty-array",
    "`tools`, `tool_calls` and lists of content are absent rather than empty.",
    gist="[] is too short",
    source="reports; no recording has `tools: []`",
    sureness="A",
    repair="The empty list is left out.",
    passing=_asking(),
    failing=_asking(tools=[]),
)
def empty_array(request: Request) -> Iterator[Finding]:
    if request.body.get("tools") == []:
        yield Finding("tools", "the list is empty")
    for path, message in _messages(request):
        for key in ("tool_calls", "content"):
            if message.get(key) == []:
                yield Finding(f"{path}.{key}", "the list is empty")


@_BOOK.rule(
    "tools-limit",
    f"There are at most {MOST_TOOLS} tools.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946, openai/openai-dotnet#317",
    sureness="A",
    beyond_repair="Which tools to leave out is for the pruner to say.",
    passing=_asking(tools=[_tool(f"t{i}") for i in range(128)]),
    failing=_asking(tools=[_tool(f"t{i}") for i in range(129)]),
)
def tools_limit(request: Request) -> Iterator[Finding]:
    if (count := len(request.list_of("tools"))) > MOST_TOOLS:
        yield Finding("tools", f"{count} tools; {MOST_TOOLS} are the most")


@_BOOK.rule(
    "tool-calls-limit",
    f"A message has at most {MOST_TOOLS} `tool_calls`.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946, openai/openai-dotnet#317; SDK",
    sureness="B",
    repair="The calls go in several messages, each followed by its results.",
    passing=_asking(_HELLO, _calling("call_1"), _reply()),
    failing=_asking(
        _HELLO,
        _calling(*(f"call_{i}" for i in range(MOST_TOOLS + 1))),
        *(_reply(f"call_{i}") for i in range(MOST_TOOLS + 1)),
    ),
)
def tool_calls_limit(request: Request) -> Iterator[Finding]:
    for path, message in _messages(request):
        if (count := len(_calls(message))) > MOST_TOOLS:
            yield Finding(f"{path}.tool_calls", f"{count} calls; {MOST_TOOLS} are the most")


def _functions(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, tool in enumerate(request.list_of("tools")):
        tool = as_map(tool)
        key = "custom" if tool.get("type") == "custom" else "function"
        yield f"tools[{index}].{key}", as_map(tool.get(key))
    for index, function in enumerate(request.list_of("functions")):
        yield f"functions[{index}]", as_map(function)


@_BOOK.rule(
    "tool-name",
    "Function names have 1 to 64 letters, digits, `_` or `-`, in `tools` and in history.",
    gist="string does not match pattern",
    source="home-assistant/core#121325",
    sureness="A",
    repair="The tool is offered under a legal name, and calls are translated back.",
    passing=_asking(tools=[_tool("look-up_1")]),
    failing=_asking(tools=[_tool("files.read")]),
)
def tool_name(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        if NAME.match(as_text(function.get("name"))) is None:
            yield Finding(f"{path}.name", f"{function.get('name')!r} is no function name")
    for path, message in _messages(request):
        for position, call in enumerate(_calls(message)):
            for key in ("function", "custom"):
                name = as_map(call.get(key)).get("name")
                if name is not None and NAME.match(as_text(name)) is None:
                    where = f"{path}.tool_calls[{position}].{key}.name"
                    yield Finding(where, f"{name!r} is no function name")


@_BOOK.rule(
    "function-schema",
    '`parameters` is a valid JSON Schema of type "object"; arrays have `items`; `{}` means none.',
    gist="schema must be a JSON Schema of 'type: \"object\"'; array schema missing items",
    source="digitalocean-labs/mcp-digitalocean#265, sigoden/aichat#1049",
    sureness="A",
    repair="The root becomes an object, arrays get `items`.",
    passing=_asking(tools=[_tool()]),
    failing=_asking(tools=[_tool(parameters={"type": "string"})]),
)
def function_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from schema_findings(function, path)


@_BOOK.rule(
    "strict-schema",
    "With `strict`: `additionalProperties: false` and every property in `required` at all levels; "
    "the root is an object without `anyOf`; no `allOf`, `oneOf`, `not`, conditionals, "
    "`patternProperties`, `uniqueItems` …",
    gist="'required' is required to be supplied and to be an array including every key in "
    "properties",
    source="recordings; `default` is accepted (71 of them)",
    sureness="A",
    repair="The schema is rewritten to the supported subset, or offered without `strict`.",
    passing=_asking(tools=[_tool(strict=True, parameters=CLOSED_SCHEMA)]),
    failing=_asking(tools=[_tool(strict=True)]),
)
def strict_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from strict_findings(function, "parameters", path)
    asked = as_map(request.map_of("response_format").get("json_schema"))
    yield from strict_findings(asked, "schema", "response_format.json_schema")


@_BOOK.rule(
    "tool-choice",
    "`tool_choice` and `parallel_tool_calls` need `tools`; a named tool is one of them.",
    gist="'tool_choice' is only allowed when 'tools' are specified",
    source="reports",
    sureness="A",
    repair="The choice is left out.",
    passing=_asking(tools=[_tool()], tool_choice="auto"),
    failing=_asking(tool_choice="auto"),
)
def tool_choice(request: Request) -> Iterator[Finding]:
    tools = request.list_of("tools")
    for key in ("tool_choice", "parallel_tool_calls"):
        if not tools and request.body.get(key) is not None:
            yield Finding(key, f"`{key}` goes only with `tools`")
    choice = request.map_of("tool_choice")
    for key in ("function", "custom"):
        name = as_map(choice.get(key)).get("name")
        known = {as_map(as_map(tool).get(key)).get("name") for tool in tools}
        if tools and name is not None and name not in known:
            yield Finding("tool_choice", f"{name!r} is no tool of this request")
        for allowed in map(as_map, as_list(as_map(choice.get("allowed_tools")).get("tools"))):
            name = as_map(allowed.get(key)).get("name")
            if tools and name is not None and name not in known:
                yield Finding("tool_choice", f"{name!r} is no tool of this request")


@_BOOK.rule(
    "role-model",
    "o1-mini and o1-preview take no `system` and no `developer` messages.",
    gist="'messages[0].role' does not support 'system' with this model",
    source="recording",
    sureness="A",
    repair="The instructions go as a user message that is marked as not being the user's.",
    passing=one(_asking({"role": "system", "content": "Be short."}, _HELLO), model="gpt-4o"),
    failing=_asking({"role": "system", "content": "Be short."}, _HELLO, model="o1-mini"),
)
def role_model(request: Request) -> Iterator[Finding]:
    profile = request.profile
    if profile is None or profile.leading_system:
        return
    for path, message in _messages(request):
        if message.get("role") in ("system", "developer"):
            yield Finding(f"{path}.role", f"{profile.name} takes no {message['role']} messages")


@_BOOK.rule(
    "name-field",
    "A message's `name` has 1 to 64 characters, without spaces, angle brackets, slashes or pipes.",
    gist="Invalid 'messages[1].name': string does not match pattern",
    source="jekalmin/extended_openai_conversation#251",
    sureness="B",
    repair="Illegal characters become `_`.",
    passing=_asking({**_HELLO, "name": "Ann"}),
    failing=_asking({**_HELLO, "name": "Ann Bee"}),
)
def name_field(request: Request) -> Iterator[Finding]:
    for path, message in _messages(request):
        name = message.get("name")
        if name is None or message.get("role") == "function":
            continue
        if _WHO.match(as_text(name)) is None:
            yield Finding(f"{path}.name", f"{name!r} has characters that are not allowed")


@_BOOK.rule(
    "image-url",
    "An image is an http(s) URL, or a base64 data URL that holds a PNG, JPEG, GIF or WebP image.",
    gist="You uploaded an unsupported image",
    source="recording",
    sureness="A",
    repair="What is no such image becomes a visible note.",
    passing=_asking(
        _parts({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}})
    ),
    failing=_asking(
        _parts({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}})
    ),
)
def image_url(request: Request) -> Iterator[Finding]:
    for path, part in _user_parts(request, "image_url"):
        if not is_image_url(as_text(as_map(part.get("image_url")).get("url"))):
            yield Finding(f"{path}.image_url.url", "no http(s) URL and no image of a known kind")


_PDF = "data:application/pdf;base64,JVBERi0="


@_BOOK.rule(
    "file-part",
    "A file has a `file_id`, or `file_data` as a data URL with a `filename`; no audio or video.",
    gist="Expected a base64-encoded data URL with a valid file MIME type",
    source="recording",
    sureness="A",
    repair="What cannot be sent becomes a visible note.",
    passing=_asking(_parts({"type": "file", "file": {"file_data": _PDF, "filename": "plan.pdf"}})),
    failing=_asking(_parts({"type": "file", "file": {"file_data": _PDF}})),
)
def file_part(request: Request) -> Iterator[Finding]:
    for path, part in _user_parts(request, "file"):
        problem = file_problem(as_map(part.get("file")), f"{path}.file")
        if problem is not None:
            yield problem


_SOUND: dict[str, Any] = {
    "type": "input_audio",
    "input_audio": {"data": "UklGRg==", "format": "wav"},
}


@_BOOK.rule(
    "audio-model",
    "`input_audio` goes only to audio models.",
    gist="Content blocks are expected to be either text or image_url type",
    source="recording",
    sureness="A",
    repair="The audio becomes a visible note.",
    passing=_asking(_parts(_SOUND), model="gpt-4o-audio-preview"),
    failing=_asking(_parts(_SOUND)),
)
def audio_model(request: Request) -> Iterator[Finding]:
    if request.profile is not None:
        hears = request.profile.accepts_media("audio/wav")
    else:
        hears = "audio" in (request.model or "")
    if hears is False:
        for path, _ in _user_parts(request, "input_audio"):
            yield Finding(path, "the model is no audio model")


@_BOOK.rule(
    "search-model",
    "`web_search_options` goes only to search models.",
    gist="Web search options not supported with this model",
    source="recording",
    sureness="A",
    repair="The option is left out.",
    passing=_asking(model="gpt-4o-search-preview", web_search_options={}),
    failing=_asking(web_search_options={}),
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


@_BOOK.rule(
    "reasoning-params",
    "Reasoning models take no `max_tokens` (use `max_completion_tokens`), no `stop` (o3-mini does) "
    "and only default sampling values (GPT-5.1 and later others with effort none).",
    gist="Unsupported parameter: 'stop' is not supported with this model",
    source="recording; docs",
    sureness="A",
    repair="`max_tokens` is renamed, the others are left out.",
    passing=_asking(model="gpt-5", max_completion_tokens=500),
    failing=_asking(model="gpt-5", max_tokens=500),
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


@_BOOK.rule(
    "reasoning-effort",
    "The model takes this effort: none not on GPT-5, the o-series, GPT-6.1 and later and 6 Astra; "
    "minimal only on GPT-5; other models take none at all.",
    gist="'reasoning_effort' does not support 'minimal' with this model",
    source="livekit/agents#7169; docs",
    sureness="A",
    repair="It is left out; with function tools it is set to `none` where the model needs that.",
    passing=_asking(model="gpt-5", reasoning_effort="minimal"),
    failing=_asking(model="gpt-5.1", reasoning_effort="minimal"),
)
def reasoning_effort(request: Request) -> Iterator[Finding]:
    if (reason := effort_refused(request.profile, _effort(request))) is not None:
        yield Finding("reasoning_effort", reason)


@_BOOK.rule(
    "reasoning-tools",
    "Function tools: GPT-5.6 and later only with effort `none` given, GPT-5.2 to 5.5 only without "
    "an effort or with `none`, the newest not at all.",
    gist="Function tools with reasoning_effort are not supported for gpt-5.6 in "
    "/v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to "
    "'none'",
    source="BerriAI/litellm#34569, openai/openai-openapi#541, danny-avila/LibreChat#14355",
    sureness="A",
    repair="The effort is set to `none` where the model takes it; else Responses is the way.",
    passing=_asking(model="gpt-5.6", tools=[_tool()], reasoning_effort="none"),
    failing=_asking(model="gpt-5.6", tools=[_tool()]),
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


@_BOOK.rule(
    "json-mode",
    "`json_object` needs the word json in the messages.",
    gist="'messages' must contain the word 'json' in some form",
    source="docs",
    sureness="A",
    repair="A sentence that asks for JSON is put in front.",
    passing=_asking(
        {"role": "user", "content": "Answer in JSON."}, response_format={"type": "json_object"}
    ),
    failing=_asking(response_format={"type": "json_object"}),
)
def json_mode(request: Request) -> Iterator[Finding]:
    if request.map_of("response_format").get("type") != "json_object":
        return
    said = (
        words for _, message in _messages(request) for words in texts_in(message.get("content"))
    )
    if not any("json" in words.lower() for words in said):
        yield Finding("response_format", "no message has the word json in it")


@_BOOK.rule(
    "format-name",
    "The response format's name has 1 to 64 letters, digits, `_` or `-`.",
    source="SDK",
    sureness="A",
    repair="Illegal characters become `_`.",
    passing=_asking(
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "city", "schema": OPEN_SCHEMA},
        }
    ),
    failing=_asking(
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


@_BOOK.rule(
    "range",
    "Temperature is 0 to 2, top_p 0 to 1, penalties -2 to 2, top_logprobs 0 to 20; at most 4 stop "
    "sequences.",
    gist="decimal above maximum value. Expected a value <= 2",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=_asking(temperature=2),
    failing=_asking(temperature=2.5),
)
def ranges(request: Request) -> Iterator[Finding]:
    for key, (least, most) in _RANGES.items():
        yield from in_range(request, key, least, most)
    if (count := len(request.list_of("stop"))) > 4:
        yield Finding("stop", f"{count} stop sequences; 4 are the most")


@_BOOK.rule(
    "dependent-option",
    "`stream_options` goes with `stream`, `top_logprobs` with `logprobs`, `metadata` with `store`; "
    "not both kinds of max tokens.",
    gist="only allowed when 'stream' is enabled",
    source="docs",
    sureness="B",
    repair="The option that cannot stand alone is left out.",
    passing=_asking(stream=True, stream_options={"include_usage": True}),
    failing=_asking(stream_options={"include_usage": True}),
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
    for path, message in _messages(request):
        yield from marks_in(message.get("content"), f"{path}.content")


@_BOOK.rule(
    "cache-options",
    "`prompt_cache_options` and breakpoints go only to GPT-5.6 and later, and not together with "
    "`prompt_cache_retention`.",
    source="langchain4j docs; openrouter docs",
    sureness="B",
    repair="They are left out.",
    passing=_asking(model="gpt-5.6", prompt_cache_options={"mode": "explicit"}),
    failing=_asking(prompt_cache_options={"mode": "explicit"}),
)
def cache_options(request: Request) -> Iterator[Finding]:
    yield from cache_findings(request, _cache_marks(request))


OPENAI_CHAT_RULES: tuple[WireRule, ...] = _BOOK.rules
