"""All rules of Gemini generateContent (Developer API)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.base64_media import is_base64
from context_chef.adaptation.wire_rules.gemini_view import (
    DATA_FIELDS,
    MODEL,
    USER,
    Part,
    contents_of,
    declarations_of,
    turns_of,
)
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_number, as_text
from context_chef.adaptation.wire_rules.json_schema import gemini_schema, malformed
from context_chef.adaptation.wire_rules.rule import (
    Example,
    Finding,
    Request,
    RuleBook,
    WireRule,
    one,
)
from context_chef.patterns import regex

_BOOK = RuleBook("gemini")

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
ANY_SIGNATURE = "skip_thought_signature_validator"
"""The documented signature of a call that no Gemini model made."""


def _said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


_HELLO = _said(USER, {"text": "Hello"})


def _asking(*contents: Any, **settings: Any) -> dict[str, Any]:
    return {"contents": list(contents) or [_HELLO], **settings}


def _call(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}}, **more}


def _response(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": {"result": "done"}, **more}}


def _declaring(*declarations: Any, **settings: Any) -> dict[str, Any]:
    return _asking(tools=[{"functionDeclarations": list(declarations)}], **settings)


def _on(model: str, payload: Mapping[str, Any]) -> Example:
    return one(payload, model=model)


@_BOOK.rule(
    "contents-empty",
    "There is at least one content.",
    gist="contents is not specified",
    source="reports",
    sureness="A",
    beyond_repair="A conversation without contents has nothing to answer.",
    passing=_asking(),
    failing={"contents": []},
)
def contents_empty(request: Request) -> Iterator[Finding]:
    if not request.list_of("contents"):
        yield Finding("contents", "at least one content is needed")


@_BOOK.rule(
    "role",
    "Roles are `user` and `model` (`function` is tolerated); none counts as the user's.",
    gist="Please use a valid role: user, model.",
    source="recording",
    sureness="A",
    repair="System messages go to `systemInstruction`; any other role becomes `user`.",
    passing=_asking(),
    failing=_asking(_said("system", {"text": "Be short."}), _HELLO),
)
def role(request: Request) -> Iterator[Finding]:
    contents = request.list_of("contents")
    for index, content in enumerate(contents):
        given = as_map(content).get("role")
        if given is None:
            if len(contents) > 1:
                yield Finding(f"contents[{index}].role", "the role is missing", "warning")
        elif given not in (USER, MODEL, "function"):
            yield Finding(f"contents[{index}].role", f"{given!r} is no role")


@_BOOK.rule(
    "parts-empty",
    "Every content has a part.",
    gist="contents.parts must not be empty",
    source="vercel/ai#3775, egoist/chatwise-releases#250",
    sureness="A",
    repair="The empty content is left out.",
    passing=_asking(),
    failing=_asking(_HELLO, _said(MODEL), _HELLO),
)
def parts_empty(request: Request) -> Iterator[Finding]:
    for path, _, parts in contents_of(request):
        if not parts:
            yield Finding(f"{path}.parts", "there is no part")
    instruction = request.map_of("systemInstruction")
    if "systemInstruction" in request.body and not as_list(instruction.get("parts")):
        yield Finding("systemInstruction.parts", "there is no part")


@_BOOK.rule(
    "part-data",
    "A part has exactly one of text, inlineData, fileData, functionCall, functionResponse …; a "
    "lone `thoughtSignature` is fine, and so is empty text.",
    gist="required oneof field 'data' must have one initialized field",
    source="genkit-ai/genkit#3816; recording",
    sureness="A",
    repair="An empty part becomes a visible note, a double one is taken apart.",
    passing=_asking(_HELLO, _said(MODEL, {"text": "Hi"}, {"thoughtSignature": "eA=="}), _HELLO),
    failing=_asking(_said(USER, {})),
)
def part_data(request: Request) -> Iterator[Finding]:
    for _, _, parts in contents_of(request):
        for part in parts:
            found = [field for field in DATA_FIELDS if field in part.data]
            if len(found) > 1:
                yield Finding(part.path, f"one kind of data is expected, not {', '.join(found)}")
            elif not found and not part.data.get("thoughtSignature"):
                yield Finding(part.path, "the part holds no data")


@_BOOK.rule(
    "part-role",
    "Calls stand in model turns, responses in user turns.",
    source="docs",
    sureness="B",
    repair="The part is carried into a content of its own role.",
    passing=_asking(_HELLO, _said(MODEL, _call()), _said(USER, _response())),
    failing=_asking(_said(USER, _call())),
)
def part_role(request: Request) -> Iterator[Finding]:
    for _, role, parts in contents_of(request):
        for part in parts:
            if part.call is not None and role != MODEL:
                yield Finding(part.path, "a function call in a user turn")
            if part.response is not None and role == MODEL:
                yield Finding(part.path, "a function response in a model turn")


@_BOOK.rule(
    "call-turn",
    "A call turn follows a user or response turn: a conversation does not start with one.",
    gist="function call turn comes immediately after a user turn or after a function response turn",
    source="google-gemini/gemini-cli#11814, #26956",
    sureness="A",
    repair="A user content is put before it.",
    passing=_asking(_HELLO, _said(MODEL, _call()), _said(USER, _response())),
    failing=_asking(_said(MODEL, _call()), _said(USER, _response())),
)
def call_turn(request: Request) -> Iterator[Finding]:
    turns = turns_of(request)
    if turns and turns[0].role == MODEL and turns[0].calls:
        yield Finding(turns[0].calls[0].path, "the conversation starts with a function call")


def _answering(request: Request) -> Iterator[tuple[list[Part], list[Part], bool]]:
    """The calls of each model turn, the responses of the turn after it, and whether there is one.
    Responses that follow no model turn come with no calls."""
    turns = turns_of(request)
    for index, turn in enumerate(turns):
        if turn.role == MODEL:
            after = turns[index + 1] if index + 1 < len(turns) else None
            yield turn.calls, after.responses if after is not None else [], after is not None
        elif index == 0 or turns[index - 1].role != MODEL:
            yield [], turn.responses, True


@_BOOK.rule(
    "response-turn",
    "A response turn follows a call turn.",
    gist="function response turn comes immediately after a function call turn",
    source="langchain-ai/langchain#27799",
    sureness="A",
    repair="The response is moved to its call, or told as text when there is none.",
    passing=_asking(_HELLO, _said(MODEL, _call()), _said(USER, _response())),
    failing=_asking(_HELLO, _said(MODEL, {"text": "Hi"}), _said(USER, _response())),
)
def response_turn(request: Request) -> Iterator[Finding]:
    for calls, responses, _ in _answering(request):
        if responses and not calls:
            yield Finding(responses[0].path, "no function call comes right before")


@_BOOK.rule(
    "response-count",
    "There are as many responses as calls, in the next turn.",
    gist="the number of function response parts is equal to the number of function call parts of "
    "the function call turn",
    source="google-gemini/gemini-cli#16415, #4504",
    sureness="A",
    repair="A call without response is answered by a note; the last response of a call is kept.",
    passing=_asking(
        _HELLO,
        _said(MODEL, _call("look"), _call("ask")),
        _said(USER, _response("look")),
        _said(USER, _response("ask")),
    ),
    failing=_asking(_HELLO, _said(MODEL, _call("look"), _call("ask")), _said(USER, _response())),
)
def response_count(request: Request) -> Iterator[Finding]:
    for calls, responses, _ in _answering(request):
        if calls and len(calls) != len(responses):
            where = responses[0].path if responses else calls[0].path
            yield Finding(where, f"{len(calls)} calls and {len(responses)} responses")


@_BOOK.rule(
    "response-match",
    "A response repeats the name of its call, and its id where calls have ids.",
    source="docs; SDK",
    sureness="B",
    repair="The response gets the name and the id of its call.",
    passing=_asking(
        _HELLO,
        _said(MODEL, {"functionCall": {"name": "look", "args": {}, "id": "1"}}),
        _said(USER, _response(id="1")),
    ),
    failing=_asking(_HELLO, _said(MODEL, _call("look")), _said(USER, _response("ask"))),
)
def response_match(request: Request) -> Iterator[Finding]:
    for calls, responses, _ in _answering(request):
        if len(calls) != len(responses):
            continue
        open_calls = [as_map(part.call) for part in calls]
        ids = {call.get("id") for call in open_calls}
        for part in responses:
            response = as_map(part.response)
            id, name = response.get("id") or None, response.get("name")
            if id is not None and None not in ids and id not in ids:
                yield Finding(f"{part.path}.functionResponse.id", f"no call has the id {id!r}")
                continue
            fitting = next(
                (
                    call
                    for call in open_calls
                    if call.get("name") == name and (id is None or call.get("id") in (None, id))
                ),
                None,
            )
            if fitting is None:
                where = f"{part.path}.functionResponse.name"
                yield Finding(where, f"no open call is named {name!r}")
            else:
                open_calls.remove(fitting)


@_BOOK.rule(
    "response-alone",
    "On 3.6 Flash, 3.5 Flash-Lite, 3.7 and later a content with function responses holds nothing "
    "else.",
    source="envoyproxy/ai-gateway#2686, anomalyco/opencode#43479",
    sureness="A",
    repair="The rest goes into a content of its own, right after.",
    passing=_on(
        "gemini-3.8-flash",
        _asking(
            _HELLO, _said(MODEL, _call(thoughtSignature="eA==")), _said(USER, _response()), _HELLO
        ),
    ),
    failing=_on(
        "gemini-3.8-flash",
        _asking(
            _HELLO,
            _said(MODEL, _call(thoughtSignature="eA==")),
            _said(USER, _response(), {"text": "And?"}),
        ),
    ),
)
def response_alone(request: Request) -> Iterator[Finding]:
    if request.profile is None or not request.profile.response_alone:
        return
    for path, _, parts in contents_of(request):
        responses = [part for part in parts if part.response is not None]
        if responses and len(responses) < len(parts):
            yield Finding(path, "something else stands beside the function responses")


@_BOOK.rule(
    "model-tail",
    "On the same models the last turn is the user's.",
    gist="Requests ending with a model turn are not supported",
    source="langchain-ai/langchain-google#1897, danny-avila/agents#323",
    sureness="A",
    repair="A guardrail's prefill becomes an instruction; after anything else a user turn follows.",
    passing=_on("gemini-2.5-flash", _asking(_HELLO, _said(MODEL, {"text": "I"}))),
    failing=_on("gemini-3.8-flash", _asking(_HELLO, _said(MODEL, {"text": "I"}))),
)
def model_tail(request: Request) -> Iterator[Finding]:
    profile = request.profile
    contents = contents_of(request)
    if profile is not None and not profile.prefill and contents and contents[-1][1] == MODEL:
        yield Finding(contents[-1][0], f"{profile.name} wants the user's turn last")


@_BOOK.rule(
    "thought-signature",
    "From Gemini 3 on (but not image models), in each step since the last plain user message, the "
    "first function call has its `thoughtSignature`.",
    gist="Function call is missing a thought_signature in functionCall parts",
    source="docs: thought-signatures; google/adk-go#764",
    sureness="A",
    repair=f"A call from elsewhere gets the documented `{ANY_SIGNATURE}`.",
    passing=_on(
        "gemini-3-flash-preview",
        _asking(_HELLO, _said(MODEL, _call(thoughtSignature="eA==")), _said(USER, _response())),
    ),
    failing=_on(
        "gemini-3-flash-preview",
        _asking(_HELLO, _said(MODEL, _call()), _said(USER, _response())),
    ),
)
def thought_signature(request: Request) -> Iterator[Finding]:
    if request.profile is None or not request.profile.thought_signatures:
        return
    turns = turns_of(request)
    start = 0
    for index, turn in enumerate(turns):
        if turn.role == USER and not turn.responses:
            start = index
    for turn in turns[start:]:
        calls = turn.calls if turn.role == MODEL else []
        if calls and not calls[0].data.get("thoughtSignature"):
            yield Finding(calls[0].path, "the first call of the step has no `thoughtSignature`")


@_BOOK.rule(
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


@_BOOK.rule(
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


@_BOOK.rule(
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


@_BOOK.rule(
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


@_BOOK.rule(
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


@_BOOK.rule(
    "tool-combination",
    "Built-in tools and functions together: not before Gemini 3, and there with "
    "`toolConfig.includeServerSideToolInvocations` (Vertex AI does without).",
    gist="Tool use with function calling is unsupported",
    source="docs; recording",
    sureness="A",
    repair="The flag is set; before Gemini 3 the built-in tools are left out.",
    passing=_on(
        "gemini-3-flash-preview",
        _asking(
            tools=[{"functionDeclarations": [{"name": "look"}]}, {"googleSearch": {}}],
            toolConfig={"includeServerSideToolInvocations": True},
        ),
    ),
    failing=_on(
        "gemini-2.5-flash",
        _asking(tools=[{"functionDeclarations": [{"name": "look"}]}, {"googleSearch": {}}]),
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


@_BOOK.rule(
    "cached-content",
    "`cachedContent` excludes `systemInstruction`, `tools` and `toolConfig`.",
    gist="CachedContent can not be used with GenerateContent request setting system_instruction, "
    "tools or tool_config",
    source="langchain-ai/langchain-google#978, 567-labs/instructor#2580",
    sureness="A",
    repair="What the cached content holds already is left out.",
    passing=_asking(cachedContent="cachedContents/1"),
    failing=_asking(
        cachedContent="cachedContents/1", systemInstruction={"parts": [{"text": "Be short."}]}
    ),
)
def cached_content(request: Request) -> Iterator[Finding]:
    if request.body.get("cachedContent"):
        for key in ("systemInstruction", "tools", "toolConfig"):
            if request.body.get(key):
                yield Finding(key, f"`{key}` does not go with `cachedContent`")


@_BOOK.rule(
    "response-format",
    'A response schema needs `responseMimeType: "application/json"` (or `text/x.enum`).',
    source="docs",
    sureness="A",
    repair="The MIME type is set.",
    passing=_asking(
        generationConfig={
            "responseSchema": {"type": "OBJECT", "properties": {}},
            "responseMimeType": "application/json",
        }
    ),
    failing=_asking(generationConfig={"responseSchema": {"type": "OBJECT", "properties": {}}}),
)
def response_format(request: Request) -> Iterator[Finding]:
    config = request.map_of("generationConfig")
    if config.get("responseMimeType") in ("application/json", "text/x.enum"):
        return
    for key in ("responseSchema", "responseJsonSchema"):
        if key in config:
            where = f"generationConfig.{key}"
            yield Finding(where, 'it needs `responseMimeType: "application/json"`')


@_BOOK.rule(
    "thinking",
    "`thinkingLevel` or `thinkingBudget` is given, not both; levels only from Gemini 3 on, no "
    "budget on Gemini 4.",
    gist="Thinking level is not supported for this model",
    source="docs",
    sureness="A",
    repair="The setting is left out.",
    passing=_on(
        "gemini-3-flash-preview",
        _asking(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}),
    ),
    failing=_on(
        "gemini-2.5-flash",
        _asking(generationConfig={"thinkingConfig": {"thinkingLevel": "LOW"}}),
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


@_BOOK.rule(
    "range",
    "Temperature is 0 to 2, topP 0 to 1, maxOutputTokens at least 1.",
    gist="the supported range is from 0 (inclusive) to 2.0",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=_asking(generationConfig={"temperature": 2}),
    failing=_asking(generationConfig={"temperature": 2.5}),
)
def ranges(request: Request) -> Iterator[Finding]:
    config = request.map_of("generationConfig")
    for key, (least, most) in _RANGES.items():
        value = as_number(config.get(key))
        if value is not None and not least <= value <= most:
            where = f"generationConfig.{key}"
            yield Finding(where, f"{value:g} is not within {least:g} to {most:g}")


def _media(request: Request, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, _, parts in contents_of(request):
        for part in parts:
            if kind in part.data:
                yield f"{part.path}.{kind}", as_map(part.data[kind])
            for index, inner in enumerate(as_list(as_map(part.response).get("parts"))):
                if kind in as_map(inner):
                    path = f"{part.path}.functionResponse.parts[{index}].{kind}"
                    yield path, as_map(as_map(inner)[kind])


@_BOOK.rule(
    "inline-data",
    "`inlineData` has a MIME type and plain base64.",
    source="docs; SDK",
    sureness="B",
    repair="Data URIs are taken apart; what has no type becomes a visible note.",
    passing=_asking(_said(USER, {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}})),
    failing=_asking(_said(USER, {"inlineData": {"data": "aGVsbG8="}})),
)
def inline_data(request: Request) -> Iterator[Finding]:
    for path, blob in _media(request, "inlineData"):
        if not blob.get("mimeType"):
            yield Finding(path, "the MIME type is missing")
        if not is_base64(as_text(blob.get("data"))):
            yield Finding(f"{path}.data", "this is no plain base64")


@_BOOK.rule(
    "file-data",
    "`fileData` has a `fileUri`.",
    source="docs; SDK",
    sureness="B",
    repair="A file without address becomes a visible note.",
    passing=_asking(
        _said(USER, {"fileData": {"fileUri": "gs://files/plan.pdf", "mimeType": "application/pdf"}})
    ),
    failing=_asking(_said(USER, {"fileData": {"mimeType": "application/pdf"}})),
)
def file_data(request: Request) -> Iterator[Finding]:
    for path, file in _media(request, "fileData"):
        if not file.get("fileUri"):
            yield Finding(path, "the `fileUri` is missing")


GEMINI_RULES: tuple[WireRule, ...] = _BOOK.rules
