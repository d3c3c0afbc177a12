"""Gemini: calls, responses and the order of turns."""

from __future__ import annotations

from collections.abc import Iterator

from context_chef.adaptation.wire_rules.gemini_examples import (
    HELLO,
    asking,
    call,
    on_model,
    response,
    said,
)
from context_chef.adaptation.wire_rules.gemini_view import MODEL, USER, Part, contents_of, turns_of
from context_chef.adaptation.wire_rules.json_access import as_map
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("gemini")


ANY_SIGNATURE = "skip_thought_signature_validator"
"""The documented signature of a call that no Gemini model made."""


@BOOK.rule(
    "call-turn",
    "A call turn follows a user or response turn: a conversation does not start with one.",
    gist="function call turn comes immediately after a user turn or after a function response turn",
    source="google-gemini/gemini-cli#11814, #26956",
    sureness="A",
    repair="A user content is put before it.",
    passing=asking(HELLO, said(MODEL, call()), said(USER, response())),
    failing=asking(said(MODEL, call()), said(USER, response())),
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


@BOOK.rule(
    "response-turn",
    "A response turn follows a call turn.",
    gist="function response turn comes immediately after a function call turn",
    source="langchain-ai/langchain#27799",
    sureness="A",
    repair="The response is moved to its call; one without a call is left out.",
    passing=asking(HELLO, said(MODEL, call()), said(USER, response())),
    failing=asking(HELLO, said(MODEL, {"text": "Hi"}), said(USER, response())),
)
def response_turn(request: Request) -> Iterator[Finding]:
    for calls, responses, _ in _answering(request):
        if responses and not calls:
            yield Finding(responses[0].path, "no function call comes right before")


@BOOK.rule(
    "response-count",
    "There are as many responses as calls, in the next turn.",
    gist="the number of function response parts is equal to the number of function call parts of "
    "the function call turn",
    source="google-gemini/gemini-cli#16415, #4504",
    sureness="A",
    repair="A call without response is answered by a note; the first response of a call is kept.",
    passing=asking(
        HELLO,
        said(MODEL, call("look"), call("ask")),
        said(USER, response("look")),
        said(USER, response("ask")),
    ),
    failing=asking(HELLO, said(MODEL, call("look"), call("ask")), said(USER, response())),
)
def response_count(request: Request) -> Iterator[Finding]:
    for calls, responses, _ in _answering(request):
        if calls and len(calls) != len(responses):
            where = responses[0].path if responses else calls[0].path
            yield Finding(where, f"{len(calls)} calls and {len(responses)} responses")


@BOOK.rule(
    "response-match",
    "A response repeats the name of its call, and its id where calls have ids.",
    source="docs; SDK",
    sureness="B",
    repair="The response gets the name and the id of its call.",
    passing=asking(
        HELLO,
        said(MODEL, {"functionCall": {"name": "look", "args": {}, "id": "1"}}),
        said(USER, response(id="1")),
    ),
    failing=asking(HELLO, said(MODEL, call("look")), said(USER, response("ask"))),
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


@BOOK.rule(
    "response-alone",
    "On 3.6 Flash, 3.5 Flash-Lite, 3.7 and later a content with function responses holds nothing "
    "else.",
    source="envoyproxy/ai-gateway#2686, anomalyco/opencode#43479",
    sureness="A",
    repair="The rest goes into a content of its own, right after.",
    passing=on_model(
        "gemini-3.8-flash",
        asking(HELLO, said(MODEL, call(thoughtSignature="eA==")), said(USER, response()), HELLO),
    ),
    failing=on_model(
        "gemini-3.8-flash",
        asking(
            HELLO,
            said(MODEL, call(thoughtSignature="eA==")),
            said(USER, response(), {"text": "And?"}),
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


@BOOK.rule(
    "model-tail",
    "On the same models the last turn is the user's.",
    gist="Requests ending with a model turn are not supported",
    source="langchain-ai/langchain-google#1897, danny-avila/agents#323",
    sureness="A",
    repair="A guardrail's prefill becomes an instruction; after anything else a user turn follows.",
    passing=on_model("gemini-2.5-flash", asking(HELLO, said(MODEL, {"text": "I"}))),
    failing=on_model("gemini-3.8-flash", asking(HELLO, said(MODEL, {"text": "I"}))),
)
def model_tail(request: Request) -> Iterator[Finding]:
    profile = request.profile
    contents = contents_of(request)
    if profile is not None and not profile.prefill and contents and contents[-1][1] == MODEL:
        yield Finding(contents[-1][0], f"{profile.name} wants the user's turn last")


@BOOK.rule(
    "thought-signature",
    "From Gemini 3 on (but not image models), in each step since the last plain user message, the "
    "first function call has its `thoughtSignature`.",
    gist="Function call is missing a thought_signature in functionCall parts",
    source="docs: thought-signatures; google/adk-go#764",
    sureness="A",
    repair=f"A call from elsewhere gets the documented `{ANY_SIGNATURE}`.",
    passing=on_model(
        "gemini-3-flash-preview",
        asking(HELLO, said(MODEL, call(thoughtSignature="eA==")), said(USER, response())),
    ),
    failing=on_model(
        "gemini-3-flash-preview",
        asking(HELLO, said(MODEL, call()), said(USER, response())),
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
