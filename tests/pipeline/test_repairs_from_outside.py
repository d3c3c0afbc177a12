"""Every repair, tried from outside: plain dicts or a slot handler in, a valid request out.

Each row is a history that some provider would refuse. On every target the request is accepted by
our own rules and by the independent checker, the report says what was mended, where and why, and
what the model needs is still there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from context_chef import ContextChef, Payload
from context_chef.ir.repair import MISSING_RESULT
from context_chef.testing import check_payload
from tests.histories import PNG
from tests.properties.provider_check import problems

CHAT, RESPONSES, CLAUDE, GEMINI = "openai", "openai-responses", "anthropic", "gemini"
MODELS = {
    CHAT: "gpt-4o",
    RESPONSES: "gpt-5.4",
    CLAUDE: "claude-opus-5-5",
    GEMINI: "gemini-3.8-flash",
}
TARGETS = tuple(MODELS)
Row = dict[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A history, and what is to become of it."""

    name: str
    history: tuple[Row, ...]
    told: Mapping[str, set[str]]
    """By target: repairs and diagnostics that name it. A target that takes it needs none."""
    kept: tuple[str, ...]
    """What is in the request, in this order."""
    gone: tuple[str, ...] = ()
    tools: tuple[Row, ...] = ()
    models: Mapping[str, str] = {}


def everywhere(*names: str) -> dict[str, set[str]]:
    return {target: set(names) for target in TARGETS}


def on(target: str, *names: str) -> dict[str, set[str]]:
    return {target: {f"{target}/{name}" for name in names}}


def user(text: Any) -> Row:
    return {"role": "user", "content": text}


def says(text: str) -> Row:
    return {"role": "assistant", "content": text}


def calls(*ids: str, arguments: str = '{"path":"a.txt"}', name: str = "read") -> Row:
    made = [{"id": id, "function": {"name": name, "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": "", "tool_calls": made}


def result(id: str, text: str = "") -> Row:
    return {"role": "tool", "tool_call_id": id, "content": text or f"result of {id}"}


def picture(media_type: str, data: str) -> Row:
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}"}}


MOVED = {
    **on(CHAT, "tool-reply-missing"),
    **on(RESPONSES, "call-unanswered"),
    **on(CLAUDE, "tool-result-order"),
    **on(GEMINI, "response-turn"),
}
MISSING = {
    **on(CHAT, "tool-reply-missing"),
    **on(RESPONSES, "call-unanswered"),
    **on(CLAUDE, "tool-result-missing"),
    **on(GEMINI, "response-count"),
}
MARK = {"cache": {"ttl": "5m"}}
LONG_MARK = {"cache": {"ttl": "1h"}}

CASES = (
    Case(
        name="parallel results in another order",
        history=(user("q"), calls("c1", "c2", "c3"), result("c3"), result("c1"), result("c2")),
        told=MOVED,
        kept=("result of c1", "result of c2", "result of c3"),
    ),
    Case(
        name="a result that comes late",
        history=(
            user("q"), calls("c1", "c2"), result("c1"), user("hurry"), says("soon"),
            result("c2"), user("and now"),
        ),
        told=MOVED,
        kept=("result of c1", "result of c2", "hurry", "soon", "and now"),
    ),
    Case(
        name="a second result",
        history=(user("q"), calls("c1"), result("c1", "the first"), result("c1", "the second")),
        told={
            **on(CHAT, "tool-reply-duplicate"),
            **on(RESPONSES, "call-id"),
            **on(CLAUDE, "tool-result-duplicate"),
            **on(GEMINI, "response-count"),
        },
        kept=("the first",),
        gone=("the second",),
    ),
    Case(
        name="a result without a call",
        history=(user("q"), result("c9", "of nobody"), user("go on")),
        told={
            **on(CHAT, "tool-reply-orphan"),
            **on(RESPONSES, "output-orphan"),
            **on(CLAUDE, "tool-result-orphan"),
            **on(GEMINI, "response-turn"),
        },
        kept=("go on",),
        gone=("of nobody",),
    ),
    Case(
        name="an id of an earlier turn again",
        history=(
            user("q"), calls("c1"), result("c1", "one"), says("a"),
            user("q2"), calls("c1"), result("c1", "two"),
        ),
        told={**on(RESPONSES, "call-id"), **on(CLAUDE, "tool-use-id")},
        kept=("one", "q2", "two"),
    ),
    Case(
        name="an id that is too long",
        history=(user("q"), calls("x" * 70), result("x" * 70, "done")),
        told={
            **on(CHAT, "tool-call-id"),
            **on(RESPONSES, "call-id"),
            **on(CLAUDE, "tool-use-id"),
        },
        kept=("a.txt", "done"),
    ),
    Case(
        name="an id of illegal characters",
        history=(user("q"), calls("fn:é 1", "fn:é 2"), result("fn:é 1"), result("fn:é 2")),
        told=on(CLAUDE, "tool-use-id"),
        kept=("result of fn:é 1", "result of fn:é 2"),
    ),
    Case(
        name="a call that was never answered",
        history=(user("q"), calls("c1", "c2"), result("c1"), user("next")),
        told=MISSING,
        kept=("result of c1", MISSING_RESULT, "next"),
    ),
    Case(
        name="a call at the very end",
        history=(user("q"), calls("c1")),
        told=MISSING,
        kept=("q", "a.txt", MISSING_RESULT),
    ),
    Case(
        name="words of the model between call and result",
        history=(user("q"), calls("c1"), says("One moment."), result("c1"), user("next")),
        told=on(CHAT, "tool-reply-missing"),
        kept=("One moment.", "next"),
    ),
    Case(
        name="words of the user between call and result",
        history=(user("q"), calls("c1"), user("Hurry."), result("c1")),
        told=MOVED,
        kept=("result of c1", "Hurry."),
    ),
    Case(
        name="the assistant speaks first",
        history=(says("Welcome."), user("q")),
        told=on(GEMINI, "call-turn"),
        kept=("Welcome.", "q"),
    ),
    Case(
        name="a call comes first",
        history=(calls("c1"), result("c1"), user("q")),
        told=on(GEMINI, "call-turn"),
        kept=("a.txt", "result of c1", "q"),
    ),
    Case(
        name="the assistant speaks last",
        history=(user("q"), says("An answer.")),
        told={**on(CLAUDE, "prefill-unsupported"), **on(GEMINI, "model-tail")},
        kept=("q", "An answer."),
    ),
    Case(
        name="one role twice",
        history=(user("one"), user("two"), says("three"), says("four"), user("five")),
        told={},
        kept=("one", "two", "three", "four", "five"),
    ),
    Case(
        name="blanks",
        history=(
            user("q"), says(""), user(""),
            user([{"type": "text", "text": " \n"}, {"type": "text", "text": "something"}]),
            user([{"type": "text", "text": ""}, {"type": "text", "text": "something else"}]),
        ),
        told={
            CHAT: {"blank-text"},
            RESPONSES: {"blank-text"},
            **on(CLAUDE, "empty-content", "empty-text", "whitespace-text"),
            **on(GEMINI, "parts-empty", "part-data"),
        },
        kept=("q", "something", "something else"),
    ),
    Case(
        name="an instruction in the middle",
        history=(user("q"), {"role": "system", "content": "In French."}, says("a"), user("b")),
        told={},
        kept=("In French.",),
    ),
    Case(
        name="an instruction in the middle where the model takes none",
        history=(user("q"), says("a"), {"role": "system", "content": "In French."}, user("b")),
        told={},
        kept=("In French.",),
        models={CLAUDE: "claude-sonnet-4-5", CHAT: "o1-mini", GEMINI: "gemini-2.5-flash"},
    ),
    Case(
        name="too many breakpoints",
        history=tuple(
            {"role": role, "content": f"said {number}", **MARK}
            for number, role in enumerate(("user", "assistant") * 3 + ("user",))
        ),
        told=on(CLAUDE, "cache-breakpoints"),
        kept=("said 0", "said 6"),
    ),
    Case(
        name="breakpoints out of the order of their lifetimes",
        history=({**user("one"), **MARK}, says("two"), {**user("three"), **LONG_MARK}),
        told=on(CLAUDE, "cache-ttl-order"),
        kept=("one", "two", "three"),
    ),
    Case(
        name="names and schemas of tools",
        history=(user("q"), calls("c1", name="files read!"), result("c1")),
        tools=(
            {"name": "files read!", "description": "Reads.", "parameters": {
                "type": "object", "properties": {"path": {"type": "string"}}}},
            {"name": "list", "description": "Lists.", "parameters": {
                "anyOf": [{"type": "object", "properties": {"all": {"type": "array"}}}]}},
        ),
        told={
            **on(CHAT, "tool-name", "function-schema"),
            **on(RESPONSES, "tool-name", "function-schema"),
            **on(CLAUDE, "tool-name", "tool-schema"),
            **on(GEMINI, "function-name", "schema"),
        },
        kept=("files_read",),
    ),
    Case(
        name="no thought signature on a call from elsewhere",
        history=(user("q"), calls("c1"), result("c1")),
        told=on(GEMINI, "thought-signature"),
        kept=("a.txt", "result of c1"),
    ),
    Case(
        name="reasoning that led to nothing",
        history=(
            {"role": "assistant", "content": [{
                "type": "opaque", "provider": RESPONSES,
                "value": {"type": "reasoning", "id": "rs_1", "summary": []}}]},
        ),
        told=on(RESPONSES, "reasoning-follower", "input-empty"),
        kept=(),
        gone=("rs_1",),
    ),
    Case(
        name="thinking of another provider",
        history=(
            user("q"), {**says("An answer."), "thinking": {"thinking": "hm"}}, user("next"),
        ),
        told=everywhere("thinking-dropped"),
        kept=("q", "An answer.", "next"),
    ),
    Case(
        name="media that nobody takes",
        history=(
            user([{"type": "text", "text": "Look:"}, picture("image/svg+xml", "PHN2Zy8+")]),
        ),
        told={
            CHAT: {"media-dropped"},
            RESPONSES: {"media-dropped"},
            CLAUDE: {"media-omitted"},
            GEMINI: {"media-omitted"},
        },
        kept=("Look:", "image/svg+xml", "left out"),
    ),
    Case(
        name="a picture under the wrong type",
        history=(user([{"type": "text", "text": "Look:"}, picture("image/jpg", PNG)]),),
        told={},
        kept=("Look:", PNG),
    ),
    Case(
        name="arguments that are no object",
        history=(user("q"), calls("c1", arguments='["a.txt"]'), result("c1")),
        told={
            CHAT: {"arguments"},
            RESPONSES: {"arguments"},
            CLAUDE: {"arguments-wrapped"},
            GEMINI: {"arguments-wrapped"},
        },
        kept=("raw_arguments", "a.txt", "result of c1"),
    ),
    Case(
        name="arguments that break off",
        history=(user("q"), calls("c1", arguments='{"path":"a.t'), result("c1")),
        told={
            CHAT: {"arguments"},
            RESPONSES: {"arguments"},
            CLAUDE: {"arguments-wrapped"},
            GEMINI: {"arguments-wrapped"},
        },
        kept=("raw_arguments", "a.t", "result of c1"),
    ),
    Case(
        name="half of a surrogate pair, and NUL",
        history=(user("one half \ud83d of it"), calls("c1"), result("c1", "nul \x00 here")),
        told=everywhere("characters-replaced"),
        kept=("one half \ufffd of it", "nul \ufffd here"),
    ),
)  # fmt: skip


def _from_history(case: Case, chef: ContextChef) -> None:
    chef.set_history(case.history)


def _from_a_handler(case: Case, chef: ContextChef) -> None:
    """The caller's history is fine: a handler puts the other one in its place."""
    left = ContextChef().set_history(case.history).history
    chef.append(user("fine"))
    chef.use("after-assemble", lambda messages: left)


def _told(payload: Payload) -> set[str]:
    report = payload.report
    for each in (*report.repairs, *report.diagnostics):
        assert each.where, each
        assert len(each.message) > 10, each
    return {each.rule for each in report.repairs} | {each.code for each in report.diagnostics}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("way", [_from_history, _from_a_handler], ids=["history", "handler"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_compile_mends_it_and_says_so(case: Case, way: Any, target: str) -> None:
    model = case.models.get(target, MODELS[target])
    chef = ContextChef(default_target=target, model=model).register_tools(list(case.tools))
    way(case, chef)

    payload = chef.compile_sync()

    assert check_payload(target, payload, model=model, partial=True) == []
    assert problems(target, payload, model) == []
    assert case.told.get(target, set()) - _told(payload) == set()
    said = json.dumps(json.loads(payload.to_json()), ensure_ascii=False)
    assert [words for words in case.kept if words not in said] == []
    assert [words for words in case.gone if words in said] == []
    if target in (CHAT, CLAUDE):  # the others may move instructions in front
        places = [said.index(words) for words in case.kept]
        assert case.name.startswith("names") or places == sorted(places)


@pytest.mark.parametrize("target", TARGETS)
def test_thinking_that_is_bound_to_a_changed_past_goes_and_the_answer_stays(target: str) -> None:
    model = MODELS[target]
    chef = ContextChef(default_target=target, model=model).set_system_prompt("One way.")
    thought = {"thinking": "hm", "signature": "c2ln"}
    chef.append(user("q")).compile_sync()
    chef.append({**says("An answer."), "thinking": thought}).append(user("next"))
    chef.set_system_prompt("Another way.")

    payload = chef.compile_sync()

    assert check_payload(target, payload, model=model, partial=True) == []
    assert problems(target, payload, model) == []
    said = payload.to_json().decode()
    assert "An answer." in said
    assert "c2ln" not in said
    expected = "anthropic/preserved-thinking" if target == CLAUDE else "thinking-dropped"
    assert expected in _told(payload)
