"""All rules of OpenAI Responses for a single request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.namespaces import NAMESPACED_CALLS, homes_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_shared import (
    CLOSED_SCHEMA,
    MOST_TOOLS,
    NAME,
    OPEN_SCHEMA,
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
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, WireRule

_BOOK = RuleBook("openai-responses")

_HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}

_ANSWER_OF = {
    "function_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "computer_call": "computer_call_output",
    "local_shell_call": "local_shell_call_output",
    "shell_call": "shell_call_output",
    "apply_patch_call": "apply_patch_call_output",
}
"""Calls that the client answers, and the item that answers each."""
_CALL_OF = {answer: call for call, answer in _ANSWER_OF.items()}
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def _asking(*items: Any, model: str = "gpt-4o", **settings: Any) -> dict[str, Any]:
    return {"model": model, "input": list(items) or "Hello", **settings}


def _call(id: str = "call_1", name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}", **more}


def _output(id: str = "call_1", output: Any = "done") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": output}


def _reasoning(id: str = "rs_1", **more: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": [], **more}


def _answer(id: str = "msg_1") -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "id": id,
        "status": "completed",
        "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
    }


def _tool(name: str = "look", **more: Any) -> dict[str, Any]:
    return {"type": "function", "name": name, "parameters": OPEN_SCHEMA, **more}


def _items(request: Request) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"input[{i}]", as_map(item)) for i, item in enumerate(request.list_of("input"))]


def item_kind(item: Mapping[str, Any]) -> str:
    """The item's type; a message may leave it out, and so may a reference."""
    if kind := as_text(item.get("type")):
        return kind
    return "message" if "role" in item else "item_reference"


def _call_key(item: Mapping[str, Any]) -> str:
    """What pairs a call with its output; a local shell call's output repeats it in `id`."""
    key = "id" if item_kind(item) == "local_shell_call_output" else "call_id"
    return as_text(item.get(key))


def _stored(request: Request) -> bool:
    """Whether earlier items may be stored on the server."""
    return bool(request.body.get("previous_response_id") or request.body.get("conversation"))


@_BOOK.rule(
    "input-empty",
    "`input`, `previous_response_id`, `conversation` or `prompt` is given.",
    gist='One of "input" or … must be provided',
    source="reports",
    sureness="A",
    beyond_repair="A conversation without items has nothing to answer.",
    passing=_asking(),
    failing={"model": "gpt-4o", "input": []},
)
def input_empty(request: Request) -> Iterator[Finding]:
    body = request.body
    if not body.get("input") and not body.get("prompt") and not _stored(request):
        yield Finding("input", "there is nothing to answer")


@_BOOK.rule(
    "call-unanswered",
    "Every call item has its output item.",
    gist="No tool output found for function call call_…",
    source="bytedance/trae-agent#245",
    sureness="A",
    repair="A call without output is answered by a note.",
    passing=_asking(_HELLO, _call(), _output()),
    failing=_asking(_HELLO, _call()),
)
def call_unanswered(request: Request) -> Iterator[Finding]:
    items = _items(request)
    answered = {(item_kind(item), _call_key(item)) for _, item in items}
    for path, item in items:
        answer = _ANSWER_OF.get(item_kind(item))
        if answer is not None and (answer, _call_key(item)) not in answered:
            yield Finding(path, f"the call {_call_key(item)!r} has no output")


@_BOOK.rule(
    "output-orphan",
    "Every output has its call, earlier in `input` or in the stored state.",
    gist="No tool call found for function call output with call_id call_…",
    source="continuedev/continue#10092, langchain-ai/langchain#34282; recording",
    sureness="A",
    repair="The output is moved behind its call, or told as text when there is none.",
    passing=_asking(_HELLO, _call(), _output()),
    failing=_asking(_HELLO, _output()),
)
def output_orphan(request: Request) -> Iterator[Finding]:
    if _stored(request):
        return
    called: set[tuple[str, str]] = set()
    for path, item in _items(request):
        kind = item_kind(item)
        if kind == "item_reference" and not as_text(item.get("id")).startswith(("msg", "rs")):
            return  # What is referred to may be any call.
        if kind in _ANSWER_OF:
            called.add((kind, _call_key(item)))
        elif kind == "tool_search_call" and item.get("execution") == "client":
            called.add(("function_call", _call_key(item)))
        elif kind in _CALL_OF and (_CALL_OF[kind], _call_key(item)) not in called:
            yield Finding(path, f"no call {_call_key(item)!r} comes before this output")


@_BOOK.rule(
    "call-id",
    "Call ids have at most 64 characters; there is one call and one output an id.",
    gist="string too long … maximum length 64",
    source="reports",
    sureness="A",
    repair="The id is shortened or renamed, on both sides; the last output is kept.",
    passing=_asking(_HELLO, _call("c" * 64), _output("c" * 64)),
    failing=_asking(_HELLO, _call("c" * 65), _output("c" * 65)),
)
def call_id(request: Request) -> Iterator[Finding]:
    seen: set[tuple[bool, str]] = set()
    for path, item in _items(request):
        kind = item_kind(item)
        if kind not in _ANSWER_OF and kind not in _CALL_OF:
            continue
        id = _call_key(item)
        if len(id) > 64:
            yield Finding(f"{path}.call_id", f"the id has {len(id)} characters; 64 are the most")
        key = (kind in _CALL_OF, id)
        if key in seen:
            what = "output" if key[0] else "call"
            yield Finding(f"{path}.call_id", f"there is another {what} with the id {id!r}")
        seen.add(key)


@_BOOK.rule(
    "item-id-prefix",
    "Item ids begin with `msg`, `fc` or `rs` by the item's type; a `call_id` is no item id.",
    gist="Expected an ID that begins with 'fc'",
    source="Wei-Shaw/sub2api#3981",
    sureness="A",
    repair="The id is left out.",
    passing=_asking(_HELLO, {**_call(), "id": "fc_1"}, _output()),
    failing=_asking(_HELLO, {**_call(), "id": "call_1"}, _output()),
)
def item_id_prefix(request: Request) -> Iterator[Finding]:
    for path, item in _items(request):
        id, prefix = as_text(item.get("id")), _PREFIXES.get(item_kind(item))
        if id and prefix is not None and not id.startswith(prefix):
            yield Finding(f"{path}.id", f"{id!r} does not begin with {prefix!r}")


@_BOOK.rule(
    "item-id-duplicate",
    "An item id comes once; with `previous_response_id` the stored items count too.",
    gist="Duplicate item found with id",
    source="vercel/ai#7883, earendil-works/pi#5151",
    sureness="A",
    repair="The second id is left out.",
    passing=_asking(_HELLO, _answer("msg_1"), _HELLO, _answer("msg_2"), _HELLO),
    failing=_asking(_HELLO, _answer("msg_1"), _HELLO, _answer("msg_1"), _HELLO),
)
def item_id_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, item in _items(request):
        id = as_text(item.get("id"))
        if not id or item_kind(item) == "item_reference":
            continue
        if id in seen:
            yield Finding(f"{path}.id", f"there is another item with the id {id!r}")
        seen.add(id)


@_BOOK.rule(
    "reasoning-follower",
    "A `reasoning` item with an id is followed by the item it led to, with its id unless `store` "
    "is "
    "false.",
    gist="Item 'rs_…' of type 'reasoning' was provided without its required following item",
    source="recording (pydantic-ai); earendil-works/pi#1035",
    sureness="A",
    repair="The reasoning's id is left out where its content is sent; else the item goes.",
    passing=_asking(_HELLO, _reasoning(), _answer(), _HELLO),
    failing=_asking(_HELLO, _reasoning(), _HELLO),
)
def reasoning_follower(request: Request) -> Iterator[Finding]:
    items = _items(request)
    for index, (path, item) in enumerate(items):
        if item_kind(item) != "reasoning" or not item.get("id"):
            continue
        after = items[index + 1][1] if index + 1 < len(items) else None
        # What is not stored cannot be looked up: then the item itself is enough, without its id.
        by_id = request.body.get("store") is not False
        if after is None or not _led_to(after, by_id=by_id):
            yield Finding(path, f"{item['id']!r} is not followed by the item it led to")


def _led_to(item: Mapping[str, Any], *, by_id: bool) -> bool:
    """Whether a model made this item: outputs and other people's messages do not count."""
    if item_kind(item) == "item_reference":
        return True
    if item_kind(item) in _CALL_OF or (
        item_kind(item) == "message" and item["role"] != "assistant"
    ):
        return False
    return bool(item.get("id")) or not by_id


@_BOOK.rule(
    "not-stored",
    "With `store: false` there is no `item_reference`, and a reasoning item with an id has its "
    "`encrypted_content`.",
    gist="Items are not persisted when `store` is set to false",
    source="openai/openai-agents-js#546",
    sureness="A",
    repair="Reasoning without encrypted content is left out, and so are references.",
    passing=_asking(_HELLO, _reasoning(encrypted_content="eA=="), _answer(), _HELLO, store=False),
    failing=_asking(_HELLO, _reasoning(), _answer(), _HELLO, store=False),
)
def not_stored(request: Request) -> Iterator[Finding]:
    if request.body.get("store") is not False:
        return
    for path, item in _items(request):
        kind = item_kind(item)
        if kind == "item_reference":
            yield Finding(path, "nothing is stored that could be referred to")
        elif kind == "reasoning" and item.get("id") and not item.get("encrypted_content"):
            yield Finding(path, "nothing is stored: the reasoning needs its `encrypted_content`")


def _contents(request: Request) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Path, role and part of every message; of outputs too, with an empty role."""
    for path, item in _items(request):
        for key in ("content", "output"):
            for index, part in enumerate(as_list(item.get(key))):
                if item_kind(item) == "message" or key == "output":
                    yield f"{path}.{key}[{index}]", as_text(item.get("role")), as_map(part)


def _said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


@_BOOK.rule(
    "content-type",
    "Assistant parts are `output_text` or `refusal`, those of other roles `input_text`, "
    "`input_image` or `input_file`.",
    gist="Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'",
    source="tinyhumansai/openhuman#3624",
    sureness="A",
    repair="The part gets the type of its role.",
    passing=_asking(_HELLO, _said("assistant", {"type": "output_text", "text": "Hi"}), _HELLO),
    failing=_asking(_HELLO, _said("assistant", {"type": "input_text", "text": "Hi"}), _HELLO),
)
def content_type(request: Request) -> Iterator[Finding]:
    for path, role, part in _contents(request):
        kind = as_text(part.get("type"))
        if role == "assistant" and kind.startswith("input_"):
            yield Finding(f"{path}.type", f"{kind!r} in an assistant message")
        elif role not in ("", "assistant") and kind in ("output_text", "refusal"):
            yield Finding(f"{path}.type", f"{kind!r} in a message of role {role!r}")


@_BOOK.rule(
    "content-source",
    "An image has a `file_id` or a usable `image_url`; a file a `file_id`, a `file_url`, or "
    "`file_data` as a data URL with a `filename`; no audio or video.",
    gist="The file type you uploaded is not supported",
    source="recording",
    sureness="A",
    repair="What cannot be sent becomes a visible note.",
    passing=_asking(
        _said("user", {"type": "input_image", "image_url": "https://pictures.example/1.png"})
    ),
    failing=_asking(_said("user", {"type": "input_image", "image_url": "1.png"})),
)
def content_source(request: Request) -> Iterator[Finding]:
    for path, _, part in _contents(request):
        kind = part.get("type")
        if kind == "input_image":
            url = as_text(part.get("image_url"))
            if not part.get("file_id") and not is_image_url(url):
                yield Finding(path, "neither a `file_id` nor a usable `image_url`")
        elif kind == "input_file":
            problem = file_problem(part, path, by_url=True)
            if problem is not None:
                yield problem


def _functions(request: Request) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Function and custom tools, those of namespaces too."""
    for index, tool in enumerate(request.list_of("tools")):
        tool, path = as_map(tool), f"tools[{index}]"
        if tool.get("type") in ("function", "custom"):
            yield path, tool
        elif tool.get("type") == "namespace":
            for position, inner in enumerate(as_list(tool.get("tools"))):
                yield f"{path}.tools[{position}]", as_map(inner)


@_BOOK.rule(
    "tool-name",
    "Function names have 1 to 64 letters, digits, `_` or `-`.",
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


@_BOOK.rule(
    "tools-limit",
    f"There are at most {MOST_TOOLS} tools.",
    gist="array too long. Expected an array with maximum length 128",
    source="zed-industries/zed#32946",
    sureness="A",
    beyond_repair="Which tools to leave out is for the pruner to say.",
    passing=_asking(tools=[_tool(f"t{i}") for i in range(128)]),
    failing=_asking(tools=[_tool(f"t{i}") for i in range(129)]),
)
def tools_limit(request: Request) -> Iterator[Finding]:
    if (count := len(request.list_of("tools"))) > MOST_TOOLS:
        yield Finding("tools", f"{count} tools; {MOST_TOOLS} are the most")


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
    "With `strict: true` given: `additionalProperties: false` and every property in `required` at "
    "all levels; the root is an object without `anyOf`; no `allOf`, `oneOf`, `not`, conditionals …",
    gist="'additionalProperties' is required to be supplied and to be false",
    source="recordings",
    sureness="A",
    repair="The schema is rewritten to the supported subset, or offered without `strict`.",
    passing=_asking(tools=[_tool(strict=True, parameters=CLOSED_SCHEMA)]),
    failing=_asking(tools=[_tool(strict=True)]),
)
def strict_schema(request: Request) -> Iterator[Finding]:
    for path, function in _functions(request):
        yield from strict_findings(function, "parameters", path)
    asked = as_map(request.map_of("text").get("format"))
    yield from strict_findings(asked, "schema", "text.format")


@_BOOK.rule(
    "tool-choice",
    "A named tool is one of the request's; `required` needs tools.",
    gist="Tool choice 'function' not found in 'tools' parameter",
    source="reports",
    sureness="A",
    repair="The choice is left out.",
    passing=_asking(tools=[_tool()], tool_choice={"type": "function", "name": "look"}),
    failing=_asking(tools=[_tool()], tool_choice={"type": "function", "name": "fetch"}),
)
def tool_choice(request: Request) -> Iterator[Finding]:
    if request.body.get("tool_choice") == "required" and not request.list_of("tools"):
        yield Finding("tool_choice", "there are no tools to choose from")
    choice = request.map_of("tool_choice")
    name = choice.get("name")
    if choice.get("type") in ("function", "custom"):
        known = {function.get("name") for _, function in _functions(request)}
        if name not in known:
            yield Finding("tool_choice.name", f"{name!r} is no tool of this request")
    elif choice.get("type") == "allowed_tools":
        known = {function.get("name") for _, function in _functions(request)}
        for index, tool in enumerate(map(as_map, as_list(choice.get("tools")))):
            if tool.get("type") in ("function", "custom") and tool.get("name") not in known:
                where = f"tool_choice.tools[{index}].name"
                yield Finding(where, f"{tool.get('name')!r} is no tool of this request")


@_BOOK.rule(
    "tool-search",
    "Deferred tools need a `tool_search` tool; one that the client runs has a description. A call "
    "of a function from a namespace, or loaded by a search, names its `namespace`.",
    gist="Missing namespace for function_call",
    source="recording; SDK; vercel/ai#15193, earendil-works/pi#7709, dust-tt/dust#31323",
    sureness="A",
    repair="A search tool is added, or the tools are offered at once; the call gets its namespace.",
    passing=_asking(tools=[_tool(defer_loading=True), {"type": "tool_search"}], model="gpt-5.4"),
    failing=_asking(tools=[_tool(defer_loading=True)], model="gpt-5.4"),
)
def tool_search(request: Request) -> Iterator[Finding]:
    tools = [as_map(tool) for tool in request.list_of("tools")]
    searches = any(tool.get("type") == "tool_search" for tool in tools)
    for index, tool in enumerate(tools):
        if tool.get("defer_loading") is True and not searches:
            yield Finding(f"tools[{index}].defer_loading", "there is no `tool_search` tool")
        client = tool.get("type") == "tool_search" and tool.get("execution") == "client"
        if client and not tool.get("description"):
            yield Finding(f"tools[{index}]", "a search that the client runs has a description")
    homes = homes_of(request.list_of("input"), tools)
    for path, item in _items(request) if homes else ():
        home = homes.get(as_text(item.get("name")))
        if home and item_kind(item) in NAMESPACED_CALLS and not item.get("namespace"):
            yield Finding(path, f"the call does not name the namespace {home!r} of its function")


@_BOOK.rule(
    "state-conflict",
    "`previous_response_id` or `conversation` is given, not both.",
    source="SDK",
    sureness="A",
    repair="`previous_response_id` is left out.",
    passing=_asking(previous_response_id="resp_1"),
    failing=_asking(previous_response_id="resp_1", conversation="conv_1"),
)
def state_conflict(request: Request) -> Iterator[Finding]:
    if request.body.get("previous_response_id") and request.body.get("conversation"):
        yield Finding("conversation", "it does not go with `previous_response_id`")


@_BOOK.rule(
    "json-mode",
    "`json_object` needs the word json in the input.",
    gist="'messages' must contain the word 'json' in some form",
    source="docs",
    sureness="A",
    repair="A sentence that asks for JSON is put in front.",
    passing=_asking(
        {"role": "user", "content": "Answer in JSON."}, text={"format": {"type": "json_object"}}
    ),
    failing=_asking(text={"format": {"type": "json_object"}}),
)
def json_mode(request: Request) -> Iterator[Finding]:
    if as_map(request.map_of("text").get("format")).get("type") != "json_object":
        return
    said = [as_text(request.body.get("input"))]
    for _, item in _items(request):
        said += [*texts_in(item.get("content")), *texts_in(item.get("output"))]
    if not any("json" in words.lower() for words in said):
        yield Finding("text.format", "the input does not have the word json in it")


@_BOOK.rule(
    "format-name",
    "The text format's name has 1 to 64 letters, digits, `_` or `-`.",
    source="SDK",
    sureness="A",
    repair="Illegal characters become `_`.",
    passing=_asking(
        text={"format": {"type": "json_schema", "name": "city", "schema": OPEN_SCHEMA}}
    ),
    failing=_asking(
        text={"format": {"type": "json_schema", "name": "the city", "schema": OPEN_SCHEMA}}
    ),
)
def format_name(request: Request) -> Iterator[Finding]:
    asked = as_map(request.map_of("text").get("format"))
    schema = asked.get("type") == "json_schema"
    if schema and NAME.match(as_text(asked.get("name"))) is None:
        yield Finding("text.format.name", f"{asked.get('name')!r} is no legal name")


@_BOOK.rule(
    "range",
    "`max_output_tokens` is at least 16, temperature 0 to 2, top_p 0 to 1, top_logprobs 0 to 20.",
    gist="integer below minimum value. Expected a value >= 16",
    source="recording",
    sureness="A",
    repair="The value is left out.",
    passing=_asking(max_output_tokens=16),
    failing=_asking(max_output_tokens=15),
)
def ranges(request: Request) -> Iterator[Finding]:
    yield from in_range(request, "max_output_tokens", 16, 1e9)
    yield from in_range(request, "temperature", 0, 2)
    yield from in_range(request, "top_p", 0, 1)
    yield from in_range(request, "top_logprobs", 0, 20)


def _effort(request: Request) -> str:
    return as_text(request.map_of("reasoning").get("effort"))


@_BOOK.rule(
    "reasoning-params",
    "Reasoning models take only default sampling values (GPT-5.1 and later others with effort "
    "none).",
    gist="Unsupported parameter: 'temperature' is not supported with this model",
    source="recording; docs",
    sureness="A",
    repair="They are left out.",
    passing=_asking(model="gpt-5.1", temperature=0.5, reasoning={"effort": "none"}),
    failing=_asking(model="gpt-5", temperature=0.5),
)
def reasoning_params(request: Request) -> Iterator[Finding]:
    yield from sampling_findings(request, _effort(request))


@_BOOK.rule(
    "reasoning-model",
    "`reasoning` and `include: reasoning.encrypted_content` go only to reasoning models, with an "
    "effort that the model takes.",
    gist="Encrypted content is not supported with this model",
    source="OpenHands/software-agent-sdk#1208",
    sureness="A",
    repair="They are left out.",
    passing=_asking(model="gpt-5", include=["reasoning.encrypted_content"]),
    failing=_asking(include=["reasoning.encrypted_content"]),
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
    for path, item in _items(request):
        for key in ("content", "output"):
            yield from marks_in(item.get(key), f"{path}.{key}")


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


OPENAI_RESPONSES_RULES: tuple[WireRule, ...] = _BOOK.rules
