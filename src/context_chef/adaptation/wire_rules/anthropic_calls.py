"""Anthropic: calls and their results, those of server tools included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_examples import call, result, working
from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, asking, said, text
from context_chef.adaptation.wire_rules.anthropic_view import (
    ASSISTANT,
    RESULT_OF,
    SERVER_CALLS,
    USER,
    At,
    inside,
    messages_of,
    turns_of,
)
from context_chef.adaptation.wire_rules.json_access import as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook
from context_chef.patterns import regex

BOOK = RuleBook("anthropic")


_CALL_ID = regex(r"[a-zA-Z0-9_-]+\Z")


_ANSWERED = working(result())


def _pairs(request: Request) -> Iterator[tuple[list[At], list[At]]]:
    """The calls of every assistant turn with the user blocks right after it."""
    turns = turns_of(request)
    for index, turn in enumerate(turns):
        if turn.role != ASSISTANT:
            continue
        following = turns[index + 1] if index + 1 < len(turns) else None
        answers = following.blocks if following is not None and following.role == USER else []
        yield [at for at in turn.blocks if at.kind == "tool_use"], answers


@BOOK.rule(
    "tool-result-missing",
    "Every `tool_use` is answered by a `tool_result` in the very next user turn.",
    gist="`tool_use` ids were found without `tool_result` blocks immediately after: … Each "
    "`tool_use` block must have a corresponding `tool_result` block in the next message",
    source="anthropics/claude-code#8210, #12526, #6242",
    sureness="A",
    repair="A late result is moved to its call; a call without one is answered by a note.",
    passing=_ANSWERED,
    failing=working(result(), calls=(call(), call("call_2"))),
)
def tool_result_missing(request: Request) -> Iterator[Finding]:
    for calls, answers in _pairs(request):
        answered = {at.block.get("tool_use_id") for at in answers if at.kind == "tool_result"}
        for at in calls:
            if at.block.get("id") not in answered:
                yield Finding(at.path, f"the call {at.block.get('id')!r} has no result right after")


@BOOK.rule(
    "tool-result-orphan",
    "Every `tool_result` answers a `tool_use` of the turn right before.",
    gist="unexpected `tool_use_id` found in `tool_result` blocks",
    source="anthropics/claude-code#18947, #13460",
    sureness="A",
    repair="The result is moved to its call; one without a call is left out.",
    passing=_ANSWERED,
    failing=working(result(), result("call_9")),
)
def tool_result_orphan(request: Request) -> Iterator[Finding]:
    turns = turns_of(request)
    for index, turn in enumerate(turns):
        if turn.role != USER:
            continue
        before = turns[index - 1].blocks if index and turns[index - 1].role == ASSISTANT else []
        calls = {at.block.get("id") for at in before if at.kind == "tool_use"}
        for at in turn.blocks:
            if at.kind == "tool_result" and at.block.get("tool_use_id") not in calls:
                called = at.block.get("tool_use_id")
                yield Finding(at.path, f"no call {called!r} in the turn right before")


@BOOK.rule(
    "tool-result-order",
    "Tool results come before any other block of their user turn.",
    gist="the same as tool-result-missing",
    source="docs: handle tool calls",
    sureness="A",
    repair="The results are moved to the front of the turn.",
    passing=working(result(), text("And?")),
    failing=working(text("And?"), result()),
)
def tool_result_order(request: Request) -> Iterator[Finding]:
    for turn in turns_of(request):
        other = False
        for at in turn.blocks if turn.role == USER else []:
            if at.kind != "tool_result":
                other = True
            elif other:
                yield Finding(at.path, "another block stands before this result")


@BOOK.rule(
    "tool-result-duplicate",
    "A call has one result.",
    gist="each tool_use must have a single result",
    source="reports",
    sureness="B",
    repair="The first result of a call is kept.",
    passing=_ANSWERED,
    failing=working(result(), result()),
)
def tool_result_duplicate(request: Request) -> Iterator[Finding]:
    for turn in turns_of(request):
        seen: set[Any] = set()
        for at in turn.blocks:
            if turn.role == USER and at.kind == "tool_result":
                called = as_text(at.block.get("tool_use_id"))
                if called in seen:
                    yield Finding(at.path, f"the call {called!r} has a result already")
                seen.add(called)


@BOOK.rule(
    "error-result",
    "A result with `is_error` holds text and nothing else, and is not empty.",
    gist='all content must be type "text" if `is_error` is true; content cannot be empty if '
    "`is_error` is true",
    source="vellum-ai/vellum-assistant#18387, caozhiyuan/copilot-api#196; jlevy/markform#153, "
    "bytedance/trae-agent#231",
    sureness="A",
    repair="A result that holds more says in words that it failed; an empty one that it did not "
    "say why.",
    passing=working(result(content=[text("It broke.")], is_error=True)),
    failing=working(result(content="", is_error=True)),
)
def error_result(request: Request) -> Iterator[Finding]:
    for _, _, blocks in messages_of(request):
        for at in blocks:
            if at.kind != "tool_result" or at.block.get("is_error") is not True:
                continue
            if not at.block.get("content"):
                yield Finding(at.path, "a failed result has to say something")
            for inner in inside(at):
                if inner.kind != "text":
                    yield Finding(inner.path, f"{inner.kind} in a failed result")


@BOOK.rule(
    "tool-use-id",
    "Call ids are unique within a turn and made of letters, digits, `_` and `-`.",
    gist="`tool_use` ids must be unique",
    source="recording; reports",
    sureness="A",
    repair="The id is renamed, with its result.",
    passing=_ANSWERED,
    failing=working(result("call 1"), calls=(call("call 1"),)),
)
def tool_use_id(request: Request) -> Iterator[Finding]:
    earlier: set[str] = set()
    for turn in turns_of(request):
        here: set[str] = set()
        for at in turn.blocks:
            if at.kind != "tool_use" or turn.role != ASSISTANT:
                continue
            id = as_text(at.block.get("id"))
            if _CALL_ID.match(id) is None:
                yield Finding(f"{at.path}.id", f"{id!r} has other characters than A-Z a-z 0-9 _ -")
            if id in here:
                yield Finding(at.path, f"the id {id!r} is used twice in this turn")
            elif id in earlier:
                yield Finding(at.path, f"the id {id!r} was used in an earlier turn", "warning")
            here.add(id)
        earlier |= here


def _search(id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "x"}}


def _found(id: str = "srvtoolu_1") -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": id, "content": []}


@BOOK.rule(
    "server-tool-result-orphan",
    "A server tool's result follows its call.",
    gist="must have a corresponding server_tool_use block before it",
    source="anthropics/claude-code#64383",
    sureness="A",
    repair="A result without its call is left out.",
    passing=asking(HELLO, said("assistant", _search(), _found(), text("So.")), HELLO),
    failing=asking(HELLO, said("assistant", _found(), text("So.")), HELLO),
)
def server_tool_result_orphan(request: Request) -> Iterator[Finding]:
    called: set[tuple[str, str]] = set()
    for _, _, blocks in messages_of(request):
        for at in blocks:
            if at.kind in SERVER_CALLS:
                called.add((at.kind, as_text(at.block.get("id"))))
            elif at.kind in RESULT_OF:
                id = as_text(at.block.get("tool_use_id"))
                if (RESULT_OF[at.kind], id) not in called:
                    yield Finding(at.path, f"no `{RESULT_OF[at.kind]}` {id!r} stands before")


@BOOK.rule(
    "server-tool-use-unanswered",
    "A server tool call without result stands only in the turn in progress.",
    source="docs",
    sureness="B",
    repair="The call is left out of a finished turn.",
    passing=asking(HELLO, said("assistant", _search())),
    failing=asking(HELLO, said("assistant", _search(), text("So.")), HELLO),
)
def server_tool_use_unanswered(request: Request) -> Iterator[Finding]:
    messages = messages_of(request)
    answered = {
        as_text(at.block.get("tool_use_id"))
        for _, _, blocks in messages
        for at in blocks
        if at.kind in RESULT_OF
    }
    over = False
    for _, _, blocks in reversed(messages):
        for at in blocks:
            if at.kind in SERVER_CALLS and as_text(at.block.get("id")) not in answered and over:
                yield Finding(at.path, "the call has no result, and its turn is over")
        over = over or any(at.kind != "tool_result" for at in blocks)
