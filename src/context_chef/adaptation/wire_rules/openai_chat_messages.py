"""Chat Completions: messages, calls and their replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_text
from context_chef.adaptation.wire_rules.openai_chat_view import (
    HELLO,
    asking,
    calling,
    calls_of,
    messages_of,
    replying,
)
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai")


def _call_ids(message: Mapping[str, Any]) -> list[str]:
    return [as_text(call.get("id")) for call in calls_of(message)]


@BOOK.rule(
    "messages-empty",
    "There is at least one message.",
    gist="[] is too short - 'messages'",
    source="danny-avila/LibreChat#10408",
    sureness="A",
    beyond_repair="A conversation without messages has nothing to answer.",
    passing=asking(),
    failing={"model": "gpt-4o", "messages": []},
)
def messages_empty(request: Request) -> Iterator[Finding]:
    if not request.list_of("messages"):
        yield Finding("messages", "at least one message is needed")


@BOOK.rule(
    "tool-reply-missing",
    "After an assistant message with `tool_calls` come `tool` messages for every id, before "
    "anything else.",
    gist="An assistant message with 'tool_calls' must be followed by tool messages responding to "
    "each 'tool_call_id'",
    source="BerriAI/litellm#10083, evalstate/fast-agent#314",
    sureness="A",
    repair="A late reply is moved to its call; a call without one is answered by a note.",
    passing=asking(HELLO, calling("call_1", "call_2"), replying("call_2"), replying("call_1")),
    failing=asking(HELLO, calling("call_1", "call_2"), replying("call_1")),
)
def tool_reply_missing(request: Request) -> Iterator[Finding]:
    messages = list(messages_of(request))
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


@BOOK.rule(
    "tool-reply-orphan",
    "A `tool` message answers a call of the assistant message before it.",
    gist="messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
    source="microsoft/semantic-kernel#12708, BerriAI/litellm#4931",
    sureness="A",
    repair="The reply is moved to its call; one without a call is left out.",
    passing=asking(HELLO, calling("call_1"), replying()),
    failing=asking(HELLO, replying()),
)
def tool_reply_orphan(request: Request) -> Iterator[Finding]:
    ids: list[str] = []
    for path, message in messages_of(request):
        if message.get("role") != "tool":
            ids = _call_ids(message) if message.get("role") == "assistant" else []
        elif as_text(message.get("tool_call_id")) not in ids:
            yield Finding(path, f"no call {message.get('tool_call_id')!r} in the message before")


@BOOK.rule(
    "tool-reply-duplicate",
    "There is one `tool` message an id.",
    gist="Duplicate value for 'tool_call_id'",
    source="agno-agi/agno#5116",
    sureness="A",
    repair="The first reply of a call is kept.",
    passing=asking(HELLO, calling("call_1"), replying()),
    failing=asking(HELLO, calling("call_1"), replying(), replying()),
)
def tool_reply_duplicate(request: Request) -> Iterator[Finding]:
    seen: set[str] = set()
    for path, message in messages_of(request):
        if message.get("role") != "tool":
            seen = set()
            continue
        id = as_text(message.get("tool_call_id"))
        if id in seen:
            yield Finding(path, f"{id!r} has a reply already")
        seen.add(id)


@BOOK.rule(
    "tool-call-id",
    "Call ids have 1 to 40 characters and are unique within their message.",
    gist="string too long. Expected a string with maximum length 40",
    source="microsoft/autogen#6377, camel-ai/camel#2215",
    sureness="A",
    repair="The id is shortened or renamed, with its reply.",
    passing=asking(HELLO, calling("c" * 40), replying("c" * 40)),
    failing=asking(HELLO, calling("c" * 41), replying("c" * 41)),
)
def tool_call_id(request: Request) -> Iterator[Finding]:
    for path, message in messages_of(request):
        seen: set[str] = set()
        for position, id in enumerate(_call_ids(message)):
            where = f"{path}.tool_calls[{position}].id"
            if not 1 <= len(id) <= 40:
                yield Finding(where, f"the id has {len(id)} characters")
            if id in seen:
                yield Finding(where, f"{id!r} is used twice in this message")
            seen.add(id)


@BOOK.rule(
    "content-null",
    "Assistant content is null or absent only with `tool_calls`, `function_call`, `audio` or "
    "`refusal`.",
    gist="Invalid value for 'content': expected a string, got null",
    source="vercel/ai#14950",
    sureness="A",
    repair="The empty message is left out.",
    passing=asking(HELLO, {"role": "assistant", "content": None, "refusal": "No."}, HELLO),
    failing=asking(HELLO, {"role": "assistant", "content": None}, HELLO),
)
def content_null(request: Request) -> Iterator[Finding]:
    for path, message in messages_of(request):
        if message.get("role") != "assistant" or message.get("content") is not None:
            continue
        if not any(message.get(key) for key in ("tool_calls", "function_call", "audio", "refusal")):
            yield Finding(f"{path}.content", "there is neither content nor a call")


@BOOK.rule(
    "empty-array",
    "`tools`, `tool_calls` and lists of content are absent rather than empty.",
    gist="[] is too short",
    source="reports; no recording has `tools: []`",
    sureness="A",
    repair="The empty list is left out.",
    passing=asking(),
    failing=asking(tools=[]),
)
def empty_array(request: Request) -> Iterator[Finding]:
    if request.body.get("tools") == []:
        yield Finding("tools", "the list is empty")
    for path, message in messages_of(request):
        for key in ("tool_calls", "content"):
            if message.get(key) == []:
                yield Finding(f"{path}.{key}", "the list is empty")
