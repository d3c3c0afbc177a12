"""An agent loop over each official client's own objects: answers go in, calls are dispatched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import ToolUseBlock
from google.genai import types as gemini
from openai.types.chat import ChatCompletion, ChatCompletionMessageToolCall
from openai.types.responses import Response, ResponseFunctionToolCall

from context_chef import (
    ContextChef,
    InMemoryBackend,
    InputError,
    UnknownToolError,
    from_anthropic,
    from_gemini,
    from_openai_responses,
)
from context_chef.ir.blocks import ToolCall
from context_chef.ir.tools import ToolRequest

ARGUMENTS = {"key": "colour", "value": "green"}
TEXT = '{"key":"colour","value":"green"}'
NAME = "create_memory"
FUNCTION = {"name": NAME, "arguments": TEXT}
CHAT_CALL = {"id": "c1", "type": "function", "function": FUNCTION}
ITEM = {"type": "function_call", "call_id": "c1", "name": NAME, "arguments": TEXT}
BLOCK = {"type": "tool_use", "id": "c1", "name": NAME, "input": ARGUMENTS}
CUSTOM = {"type": "custom", "id": "c1", "custom": {"name": NAME, "input": TEXT}}
GEMINI_CALL = {"name": NAME, "args": ARGUMENTS}

CALLS: dict[str, Any] = {
    "ours": ToolCall(id="c1", name=NAME, arguments=TEXT),
    "a request": ToolRequest(name=NAME, arguments=TEXT),
    "plain": {"name": NAME, "arguments": ARGUMENTS},
    "openai dict": CHAT_CALL,
    "openai custom dict": CUSTOM,
    "openai object": ChatCompletionMessageToolCall.model_validate(CHAT_CALL),
    "responses dict": ITEM,
    "responses custom dict": {"type": "custom_tool_call", "name": NAME, "input": TEXT},
    "responses object": ResponseFunctionToolCall.model_validate(ITEM),
    "anthropic dict": BLOCK,
    "anthropic object": ToolUseBlock.model_validate(BLOCK),
    "gemini dict": GEMINI_CALL,
    "gemini object": gemini.FunctionCall(name=NAME, args=ARGUMENTS),
    "gemini part dict": {"functionCall": GEMINI_CALL},
    "gemini part object": gemini.Part(function_call=gemini.FunctionCall(name=NAME, args=ARGUMENTS)),
}


@pytest.mark.parametrize("form", CALLS)
def test_a_call_of_any_provider_runs_with_its_arguments(form: str) -> None:
    chef = ContextChef(memory={}, store=InMemoryBackend())

    chef.handle_tool_sync(CALLS[form])

    assert chef.get_memory().get_sync("colour") == "green"


@pytest.mark.parametrize("form", CALLS)
def test_a_call_of_any_provider_meets_the_gate_by_its_name(form: str) -> None:
    chef = ContextChef(memory={}, store=InMemoryBackend())
    chef.get_pruner().set_blocked_tools([NAME])

    verdict = chef.check_tool_call_sync(CALLS[form])

    assert (verdict.allowed, verdict.name) == (False, NAME)


@pytest.mark.parametrize("call", [None, 5, "create_memory", [], {}, {"arguments": "{}"}])
def test_what_is_no_call_is_named_with_the_forms_that_are(call: Any) -> None:
    chef = ContextChef(memory={}, store=InMemoryBackend())

    with pytest.raises(InputError, match="a tool call is "):
        chef.handle_tool_sync(call)
    verdict = chef.check_tool_call_sync(call)
    assert (verdict.allowed, verdict.blocked) == (False, False)
    assert "a tool call is " in str(verdict.reason)


@pytest.mark.parametrize(
    "answer",
    [
        {"role": "assistant", "tool_calls": [CHAT_CALL]},
        {"choices": []},
        {"output": [ITEM]},
        {"candidates": []},
    ],
)
def test_a_whole_answer_is_not_taken_for_a_call(answer: Any) -> None:
    with pytest.raises(InputError, match="one at a time"):
        ContextChef(memory={}, store=InMemoryBackend()).handle_tool_sync(answer)


def test_what_the_model_got_wrong_comes_back_as_text() -> None:
    chef = ContextChef(memory={}, store=InMemoryBackend())

    broken = chef.handle_tool_sync({**BLOCK, "input": {"key": ""}})
    unread = chef.handle_tool_sync({**ITEM, "arguments": "{"})
    nameless = chef.check_tool_call_sync({"type": "tool_use", "id": "c1", "name": "", "input": {}})

    assert broken.startswith("Error:")
    assert unread.startswith("Error:")
    assert not nameless.allowed
    assert "needs the name of a tool" in str(nameless.reason)


def test_a_tool_of_the_agent_itself_is_named_in_the_refusal() -> None:
    with pytest.raises(UnknownToolError, match=r"'deploy'.*owns_tool"):
        ContextChef(memory={}, store=InMemoryBackend()).handle_tool_sync(
            {**BLOCK, "name": "deploy"}
        )


CHAT_ANSWER = ChatCompletion.model_validate(
    {
        "id": "a1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls",
                "message": {"role": "assistant", "content": None, "tool_calls": [CHAT_CALL]},
            }
        ],
    }
)
ANTHROPIC_ANSWER = AnthropicMessage.model_validate(
    {
        "id": "a1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "stop_reason": "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, BLOCK],
    }
)
RESPONSES_ANSWER = Response.model_validate(
    {
        "id": "a1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "output": [ITEM],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
)
GEMINI_ANSWER = gemini.GenerateContentResponse.model_validate(
    {"candidates": [{"content": {"role": "model", "parts": [{"functionCall": GEMINI_CALL}]}}]}
)


def _gemini_content(answer: Any) -> Any:
    return answer.candidates[0].content


FEEDS: dict[str, tuple[Any, Callable[[ContextChef, Any], object]]] = {
    "openai": (CHAT_ANSWER, lambda chef, answer: chef.append(answer.choices[0].message)),
    "openai-responses": (
        RESPONSES_ANSWER,
        lambda chef, answer: chef.extend(from_openai_responses(answer.output).history),
    ),
    "anthropic": (
        ANTHROPIC_ANSWER,
        lambda chef, answer: chef.extend(from_anthropic(answer).history),
    ),
    "gemini": (
        GEMINI_ANSWER,
        lambda chef, answer: chef.extend(from_gemini(_gemini_content(answer)).history),
    ),
}


@pytest.mark.parametrize("target", FEEDS)
def test_three_rounds_of_a_loop_keep_every_call_with_its_result(target: str) -> None:
    answer, feed = FEEDS[target]
    chef = ContextChef(memory={}, store=InMemoryBackend(), pipeline_checks=True).append(
        {"role": "user", "content": "Go."}
    )

    for _ in range(3):
        feed(chef, answer)
        for call in chef.history[-1].tool_calls:
            content = chef.handle_tool_sync(call)
            chef.append({"role": "tool", "tool_call_id": call.id, "content": content})
        payload = chef.compile_sync(target)

    assert chef.get_memory().get_sync("colour") == "green"
    assert payload.to_json().count(b'"colour"') + payload.to_json().count(b'\\"colour\\"') >= 3
    assert not [repair for repair in payload.report.repairs if "result" in repair.rule]


@pytest.mark.parametrize(
    ("row", "way_out"),
    [
        (_gemini_content(GEMINI_ANSWER), "from_gemini"),
        ({"role": "user", "parts": [{"text": "hello"}]}, "from_gemini"),
        (GEMINI_ANSWER, "from_gemini"),
        (CHAT_ANSWER, "choices[0].message"),
        (CHAT_ANSWER.choices[0], "`message`"),
        (RESPONSES_ANSWER, "from_openai_responses"),
        (RESPONSES_ANSWER.output[0], "from_openai_responses"),
        ({"type": "function_call_output", "output": "x"}, "from_openai_responses"),
        (ANTHROPIC_ANSWER, "from_anthropic"),
        (ANTHROPIC_ANSWER.content[1], "from_anthropic"),
        ({"messages": []}, "from_openai"),
    ],
)
def test_what_is_another_providers_form_is_refused_with_its_reader(row: Any, way_out: str) -> None:
    chef = ContextChef()

    with pytest.raises(InputError) as refused:
        chef.append(row)

    assert way_out in str(refused.value)
    assert chef.history == ()


def test_an_answer_of_gemini_is_not_read_as_an_empty_request() -> None:
    with pytest.raises(InputError, match="candidates"):
        from_gemini(GEMINI_ANSWER)
