"""Every recorded request, read and written back; every real conversation, made into a request."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.openai_chat import OpenAIAdapter, to_openai
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter, to_openai_responses
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.adaptation.sendable import make_sendable
from context_chef.ir.blocks import Provider, Text
from context_chef.ir.message import Message
from tests.shared_data import DATA, HAVE_DATA, TOOLS, needs_data

pytestmark = needs_data

CHAT = DATA / "cassettes" / "openai"
RESPONSES = DATA / "cassettes" / "openai_responses"
READERS: dict[str, tuple[Callable[..., Conversation], str, str]] = {
    "openai": (from_openai, "messages", "system"),
    "openai_responses": (from_openai_responses, "input", "instructions"),
    "anthropic": (from_anthropic, "messages", "system"),
    "gemini": (from_gemini, "contents", "systemInstruction"),
}


def files(folder: Path) -> list[Any]:
    found = sorted(folder.glob("*.json")) if HAVE_DATA else []
    return [pytest.param(path, id=path.stem[:70]) for path in found]


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def problems(target: str, body: dict[str, Any]) -> list[Any]:
    if str(TOOLS) not in sys.path:
        sys.path.insert(0, str(TOOLS))
    from provider_check import check

    return list(check(target, body))


def without_empty_lists(body: dict[str, Any]) -> dict[str, Any]:
    """The same request: Chat Completions has no empty lists, though some servers take them."""
    body = {key: value for key, value in body.items() if key != "tools" or value}
    messages = [
        {key: value for key, value in row.items() if key != "tool_calls" or value != []}
        for row in body["messages"]
    ]
    return {**body, "messages": messages}


@pytest.mark.parametrize("path", files(CHAT / "accepted"))
def test_an_accepted_chat_request_is_the_same_conversation_afterwards(path: Path) -> None:
    body = load(path)["request"]

    conversation = from_openai(body)
    written = to_openai(conversation)

    expected = without_empty_lists(body)
    assert {**written, "tools": None} == {**expected, "tools": None}
    assert len(written.get("tools", [])) == len(expected.get("tools", []))
    assert conversation.diagnostics == ()


@pytest.mark.parametrize("path", files(RESPONSES / "accepted"))
def test_an_accepted_responses_request_is_the_same_conversation_afterwards(path: Path) -> None:
    body = load(path)["request"]

    conversation = from_openai_responses(body)

    assert to_openai_responses(conversation) == body
    assert conversation.diagnostics == ()


@pytest.mark.parametrize("path", files(CHAT / "accepted"))
def test_what_openai_accepted_is_still_acceptable(path: Path) -> None:
    cassette = load(path)
    if cassette["served_by"] not in ("openai", "api.openai.com"):
        cassette["request"].pop("model", None)
    written = to_openai(from_openai(cassette["request"]))

    before = {(p.rule, p.path) for p in problems("openai", cassette["request"])}
    assert {(p.rule, p.path) for p in problems("openai", written)} <= before


@pytest.mark.parametrize("path", files(CHAT / "rejected"))
def test_rejected_chat_requests_can_be_read(path: Path) -> None:
    body = load(path)["request"]

    assert isinstance(to_openai(from_openai(body)), dict)


@pytest.mark.parametrize("path", files(RESPONSES / "rejected"))
def test_rejected_responses_requests_can_be_read(path: Path) -> None:
    body = load(path)["request"]

    assert isinstance(to_openai_responses(from_openai_responses(body)), dict)


def traces() -> Iterator[Any]:
    for name in READERS:
        for path in files(DATA / "traces" / name):
            yield pytest.param(name, path.values[0], id=f"{name}-{path.id}")


def conversation_of(form: str, path: Path) -> Conversation:
    trace = load(path)
    read, key, system = READERS[form]
    body: dict[str, Any] = {key: trace["messages"]}
    if trace.get("tools"):
        body["tools"] = trace["tools"]
    if trace.get("system"):
        body[system] = trace["system"]
    return read(body)


def decorated(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """With a tail, an announcement and an opening of the answer."""
    tail = Text(text="<state>now</state>", source="dynamic_state")
    *rest, last = messages
    tailed = (
        (last.replace(content=(*last.content, tail)),)
        if last.role == "user"
        else (last, Message(role="user", content=(tail,)))
    )
    note = Message.system("<announcement/>", positional=True)
    return (*rest, *tailed, note, Message.assistant("<out>", prefill=True))


@pytest.mark.parametrize(("form", "path"), list(traces()))
@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("openai", "gpt-4o"),
        ("openai", None),
        ("openai-responses", "gpt-5.6"),
        ("openai-responses", None),
    ],
)
def test_every_real_conversation_becomes_a_request_without_fault(
    form: str, path: Path, target: Provider, model: str | None
) -> None:
    conversation = conversation_of(form, path)
    profile = profile_for(model, target)
    adapter = OpenAIAdapter() if target == "openai" else OpenAIResponsesAdapter()

    for messages in (conversation.messages, decorated(conversation.messages)):
        sendable = make_sendable(messages, target=target, profile=profile)
        request = AdaptRequest(
            messages=sendable.messages, tools=conversation.tools, profile=profile
        )
        body = adapter.adapt(request).body
        assert problems(target, {"model": model or "unheard-of", **body}) == []
        assert adapter.adapt(request).body == body


@pytest.mark.parametrize("path", files(DATA / "traces" / "openai_responses"))
def test_a_conversation_that_grows_keeps_its_items_and_their_reasoning(path: Path) -> None:
    """Turn by turn, with the oldest turns falling out: no id outlives its reasoning item."""
    conversation = conversation_of("openai_responses", path)
    bodies: list[dict[str, Any]] = []
    for end in range(1, len(conversation.history) + 1):
        start = max(0, end - 6)
        messages = (*conversation.system, *conversation.history[start:end])
        sendable = make_sendable(messages, target="openai-responses").messages
        adapted = OpenAIResponsesAdapter().adapt(AdaptRequest(messages=sendable))
        bodies.append({"model": "gpt-5.1", **adapted.body})

    assert [problems("openai-responses", body) for body in bodies] == [[]] * len(bodies)
    from provider_check import check_sequence

    assert list(check_sequence("openai-responses", bodies)) == []
