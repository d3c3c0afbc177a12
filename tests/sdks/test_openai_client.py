"""The official client takes each request as it is and sends exactly that."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI
from openai.resources.chat.completions import Completions
from openai.resources.responses import Responses
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.openai_chat import OpenAIAdapter, chat_arguments, to_openai
from context_chef.adaptation.openai_responses import (
    OpenAIResponsesAdapter,
    responses_arguments,
    to_openai_responses,
)
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.adaptation.sendable import make_sendable
from context_chef.ir.blocks import CacheBreakpoint, Inline, Media, Provider, Text, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.test_cassettes_openai import (
    CHAT,
    RESPONSES,
    conversation_of,
    decorated,
    files,
    load,
    traces,
)
from tests.histories import PNG
from tests.sdks.recorder import Recorder, recording

CHAT_ANSWER: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "read", "arguments": '{"path":"a"}'},
                    }
                ],
            },
        }
    ],
}
RESPONSE_ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "gpt-5.1",
    "status": "completed",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path":"a"}',
            "status": "completed",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
    ],
}


@pytest.fixture(scope="module")
def chat() -> Iterator[tuple[OpenAI, Recorder]]:
    with recording(CHAT_ANSWER) as recorder:
        yield OpenAI(api_key="k", base_url=f"{recorder.url}/v1", max_retries=0), recorder


@pytest.fixture(scope="module")
def responses() -> Iterator[tuple[OpenAI, Recorder]]:
    with recording(RESPONSE_ANSWER) as recorder:
        yield OpenAI(api_key="k", base_url=f"{recorder.url}/v1", max_retries=0), recorder


READ = ToolDefinition(
    name="read",
    description="Read a file",
    parameters={
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
)
SESSION = (
    Message.system("Be brief.", cache=CacheBreakpoint()),
    Message.user(
        (
            Text(text="What is in this? é \U0001f600"),
            Media(kind="image", source=Inline(data=PNG), media_type="image/png"),
            Media(kind="document", source=Inline(data="JVBERi0="), media_type="application/pdf"),
        )
    ),
    Message.assistant("Let me look.", tool_calls=[ToolCall(id="c1", name="read", arguments="{}")]),
    Message.tool(
        (Text(text="done"), Media(kind="image", source=Inline(data=PNG), media_type="image/png")),
        tool_call_id="c1",
        is_error=True,
    ),
    Message.user((Text(text="and?"), Text(text="<state/>", source="dynamic_state"))),
    Message.assistant("<answer>", prefill=True),
)


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.6"])
def test_chat_arguments_go_over_the_wire_as_the_adapted_body(
    chat: tuple[OpenAI, Recorder], model: str
) -> None:
    client, recorder = chat
    adapter = OpenAIAdapter()
    request = AdaptRequest(messages=SESSION, tools=(READ,), profile=profile_for(model, "openai"))
    adapted = adapter.adapt(request)

    client.chat.completions.create(model=model, **adapter.sdk_arguments(adapted))

    assert recorder.paths[-1] == "/v1/chat/completions"
    assert recorder.body == {"model": model, **adapted.body}


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5.6"])
def test_responses_arguments_go_over_the_wire_as_the_adapted_body(
    responses: tuple[OpenAI, Recorder], model: str
) -> None:
    client, recorder = responses
    adapter = OpenAIResponsesAdapter()
    request = AdaptRequest(
        messages=SESSION, tools=(READ,), profile=profile_for(model, "openai-responses")
    )
    adapted = adapter.adapt(request)

    client.responses.create(model=model, **adapter.sdk_arguments(adapted))

    assert recorder.paths[-1] == "/v1/responses"
    assert recorder.body == {"model": model, **adapted.body}


def without(body: dict[str, Any], *keys: str) -> dict[str, Any]:
    """Not streamed: the recorder gives its answer in one piece."""
    return {key: value for key, value in body.items() if key not in keys}


@pytest.mark.parametrize("path", files(CHAT / "accepted")[::6])
def test_recorded_chat_requests_pass_through_the_client(
    chat: tuple[OpenAI, Recorder], path: Any
) -> None:
    client, recorder = chat
    body = without(to_openai(from_openai(load(path)["request"])), "stream", "stream_options")
    body.setdefault("model", "m")

    client.chat.completions.create(**chat_arguments(body))

    assert recorder.body == body


@pytest.mark.parametrize("path", files(RESPONSES / "accepted")[::6])
def test_recorded_responses_requests_pass_through_the_client(
    responses: tuple[OpenAI, Recorder], path: Any
) -> None:
    client, recorder = responses
    read = from_openai_responses(load(path)["request"])
    body = without(to_openai_responses(read), "stream", "background")

    client.responses.create(**responses_arguments(body))

    assert recorder.body == body


@pytest.mark.parametrize(("form", "path"), list(traces())[::5])
@pytest.mark.parametrize("target", ["openai", "openai-responses"])
def test_real_conversations_pass_through_the_client(
    chat: tuple[OpenAI, Recorder],
    responses: tuple[OpenAI, Recorder],
    form: str,
    path: Any,
    target: Provider,
) -> None:
    conversation = conversation_of(form, path)
    messages = make_sendable(decorated(conversation.messages), target=target).messages
    request = AdaptRequest(messages=messages, tools=conversation.tools)
    if target == "openai":
        client, recorder = chat
        adapter = OpenAIAdapter()
        adapted = adapter.adapt(request)
        client.chat.completions.create(model="m", **adapter.sdk_arguments(adapted))
    else:
        client, recorder = responses
        other = OpenAIResponsesAdapter()
        adapted = other.adapt(request)
        client.responses.create(model="m", **other.sdk_arguments(adapted))

    assert recorder.body == {"model": "m", **adapted.body}


def test_a_message_of_the_client_is_read_and_sent_back(chat: tuple[OpenAI, Recorder]) -> None:
    client, recorder = chat
    history: list[Any] = [{"role": "user", "content": "read a"}]

    answer = client.chat.completions.create(model="m", messages=history)
    assert isinstance(answer, ChatCompletion)
    history.append(answer.choices[0].message)
    history.append({"role": "tool", "tool_call_id": "call_1", "content": "x"})
    body = to_openai(from_openai(history), model="m")
    client.chat.completions.create(**chat_arguments(body))

    said = recorder.body["messages"][1]
    assert said == CHAT_ANSWER["choices"][0]["message"]


def test_output_items_of_the_client_are_read_and_sent_back(
    responses: tuple[OpenAI, Recorder],
) -> None:
    client, recorder = responses
    history: list[Any] = [{"role": "user", "content": "read a"}]

    answer = client.responses.create(model="m", input=history)
    assert isinstance(answer, Response)
    history += answer.output
    history.append({"type": "function_call_output", "call_id": "call_1", "output": "x"})
    body = to_openai_responses(from_openai_responses(history), model="m")
    client.responses.create(**responses_arguments(body))

    assert recorder.body["input"][1:4] == RESPONSE_ANSWER["output"]


def test_keys_that_the_client_has_no_name_for_travel_in_the_extra_body() -> None:
    body = {"model": "m", "messages": [], "provider": {"only": ["x"]}, "top_k": 3}

    assert chat_arguments(body) == {
        "model": "m",
        "messages": [],
        "extra_body": {"provider": {"only": ["x"]}, "top_k": 3},
    }


@pytest.mark.parametrize(
    ("method", "split"),
    [(Completions.create, chat_arguments), (Responses.create, responses_arguments)],
)
def test_every_argument_of_the_client_is_passed_as_an_argument(method: Any, split: Any) -> None:
    names = set(inspect.signature(method).parameters) - {"self"}

    assert set(split(dict.fromkeys(names))) >= names - {"extra_body"}
    assert not set(split(dict.fromkeys(names - {"extra_body"}, 1))) - names
