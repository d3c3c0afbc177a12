"""A live session moves between all targets, mid-loop, with everything in it: valid on arrival."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest

from context_chef import (
    ContextChef,
    Conversation,
    Payload,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
)
from tests.histories import PNG
from tests.properties.provider_check import problems, sequence_problems

MODELS = {
    "openai": ("gpt-4o", "gpt-5.6"),
    "openai-responses": ("gpt-4o", "gpt-5.6"),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5-5"),
    "gemini": ("gemini-2.5-flash", "gemini-3.8-flash"),
}
PAIRS = list(permutations(MODELS, 2))

TOOL = {
    "name": "look",
    "description": "Looks at a file.",
    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
}
DATA_URL = f"data:image/png;base64,{PNG}"


def _openai() -> Conversation:
    calls = [
        {
            "id": id,
            "type": "function",
            "function": {"name": "look", "arguments": f'{{"path":"{id}.txt"}}'},
        }
        for id in ("call_a", "call_b")
    ]
    picture = {"type": "image_url", "image_url": {"url": DATA_URL}}
    return from_openai(
        {
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": "You look at files."},
                {"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]},
                {"role": "assistant", "content": "It is a dot."},
                {"role": "user", "content": "Compare a and b."},
                {"role": "assistant", "content": "I look at both.", "tool_calls": calls},
                {"role": "tool", "tool_call_id": "call_a", "content": "text of a"},
                {"role": "tool", "tool_call_id": "call_b", "content": "text of b"},
            ],
        }
    )


def _responses() -> Conversation:
    return from_openai_responses(
        {
            "model": "gpt-5.6",
            "store": False,
            "instructions": "You look at files.",
            "input": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_text", "text": "What is this?"},
                        {"type": "input_image", "image_url": DATA_URL},
                    ],
                },
                {"type": "compaction", "id": "cmp_1", "encrypted_content": "sealed"},
                _reasoning(1),
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "It is a dot."}],
                },
                {"role": "user", "content": "Compare a and b."},
                _reasoning(2),
                _function_call("a"),
                _function_call("b"),
                {"type": "function_call_output", "call_id": "call_a", "output": "text of a"},
                {"type": "function_call_output", "call_id": "call_b", "output": "text of b"},
            ],
        }
    )


def _reasoning(number: int) -> dict[str, Any]:
    return {
        "type": "reasoning",
        "id": f"rs_{number}",
        "summary": list[Any](),
        "encrypted_content": f"e{number}",
    }


def _function_call(name: str) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": f"call_{name}",
        "name": "look",
        "arguments": f'{{"path":"call_{name}.txt"}}',
    }


def _anthropic() -> Conversation:
    image = {"type": "base64", "media_type": "image/png", "data": PNG}
    return from_anthropic(
        {
            "model": "claude-opus-4-8",
            "max_tokens": 64,
            "system": "You look at files.",
            "messages": [
                {
                    "role": "assistant",
                    "content": [{"type": "compaction", "content": "Earlier: a greeting."}],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is this?"},
                        {"type": "image", "source": image},
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "a dot", "signature": "s1"},
                        {"type": "text", "text": "It is a dot."},
                    ],
                },
                {"role": "user", "content": "Compare a and b."},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "both", "signature": "s2"},
                        {"type": "redacted_thinking", "data": "c2VhbGVk"},
                        {"type": "text", "text": "I look at both."},
                        _tool_use("a"),
                        _tool_use("b"),
                    ],
                },
                {"role": "user", "content": [_tool_result("a"), _tool_result("b", image)]},
            ],
        }
    )


def _tool_use(name: str) -> dict[str, Any]:
    inputs = {"path": f"call_{name}.txt"}
    return {"type": "tool_use", "id": f"toolu_{name}", "name": "look", "input": inputs}


def _tool_result(name: str, image: Any = None) -> dict[str, Any]:
    content: list[Any] = [{"type": "text", "text": f"text of {name}"}]
    if image is not None:
        content.append({"type": "image", "source": image})
    return {"type": "tool_result", "tool_use_id": f"toolu_{name}", "content": content}


def _gemini() -> Conversation:
    return from_gemini(
        {
            "systemInstruction": {"parts": [{"text": "You look at files."}]},
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"text": "What is this?"},
                        {"inlineData": {"mimeType": "image/png", "data": PNG}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {"text": "a dot", "thought": True},
                        {"text": "It is a dot.", "thoughtSignature": "c2ln"},
                    ],
                },
                {"role": "user", "parts": [{"text": "Compare a and b."}]},
                {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"name": "look", "args": {"path": "call_a.txt"}},
                            "thoughtSignature": "c2lnbmVk",
                        },
                        {"functionCall": {"name": "look", "args": {"path": "call_b.txt"}}},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "look", "response": {"result": text}}}
                        for text in ("text of a", "text of b")
                    ],
                },
            ],
        }
    )


SESSIONS = {
    "openai": _openai,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
WORDS = ("What is this?", "It is a dot.", "Compare a and b.", "text of a", "text of b")
# What only its own provider can read: elsewhere it is not sent, and a diagnostic names it.
BOUND_TO_ITS_PROVIDER = {
    "openai": set[str](),
    "openai-responses": {"block-dropped", "opaque-dropped"},
    "anthropic": {"thinking-dropped"},
    "gemini": {"thinking-dropped"},
}


def _chef(source: str) -> ContextChef:
    conversation = SESSIONS[source]()
    chef = ContextChef(cache="auto").register_tools([TOOL])
    return chef.set_system_prompt(conversation.system).set_history(conversation.history)


def _wire(payload: Payload) -> str:
    return json.dumps(payload.body, ensure_ascii=False)


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda name: str(name))
def test_a_session_is_valid_on_arrival_and_nothing_is_lost(source: str, target: str) -> None:
    for model in MODELS[target]:
        payload = _chef(source).compile_sync(target, model=model)
        wire = _wire(payload)

        assert problems(target, payload, model) == []
        for words in WORDS:
            assert words in wire, (words, model)
        assert PNG in wire  # every one of these models sees images
        assert wire.count("call_a.txt") == wire.count("call_b.txt") == 1
        codes = {note.code for note in payload.report.diagnostics}
        assert bool(codes & BOUND_TO_ITS_PROVIDER[source]) is (source != "openai"), codes
        assert not any(code.startswith("refused") for code in codes)


@pytest.mark.parametrize("target", ["openai", "openai-responses", "gemini"])
def test_the_words_of_a_compaction_block_go_along(target: str) -> None:
    payload = _chef("anthropic").compile_sync(target, model=MODELS[target][1])

    assert "Earlier: a greeting." in _wire(payload)


@pytest.mark.parametrize("target", ["openai-responses", "anthropic", "gemini"])
def test_the_image_in_a_result_goes_along(target: str) -> None:
    payload = _chef("anthropic").compile_sync(target, model=MODELS[target][1])

    assert _wire(payload).count(PNG) == 2


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda name: str(name))
def test_a_session_goes_there_and_back_in_the_middle_of_a_loop(source: str, target: str) -> None:
    chef = _chef(source)
    sent: dict[str, list[Payload]] = {source: [], target: []}
    for step, name in enumerate((source, target, source, target)):
        payload = chef.compile_sync(name, model=MODELS[name][1])
        sent[name].append(payload)
        assert problems(name, payload, MODELS[name][1]) == [], step
        chef.append(_answer(step))
        chef.append({"role": "tool", "tool_call_id": f"id{step}", "content": f"step {step}"})

    for name, payloads in sent.items():
        assert sequence_problems(name, payloads, MODELS[name][1]) == []
        whole = _wire(payloads[-1])
        assert [f"step {n}" in whole for n in range(2)] == [True, True]


def _answer(step: int) -> dict[str, Any]:
    function = {"name": "look", "arguments": f'{{"path":"{step}.txt"}}'}
    call = {"id": f"id{step}", "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


@pytest.mark.parametrize("source", SESSIONS)
def test_what_its_own_provider_made_goes_back_to_it_whole(source: str) -> None:
    model = {"anthropic": "claude-opus-4-8"}.get(source, MODELS[source][1])
    wire = _wire(_chef(source).compile_sync(source, model=model))
    kept = {
        "openai": ("call_a",),
        "openai-responses": ("rs_1", "rs_2", "e2", "fc_a", "cmp_1"),
        "anthropic": ('"s1"', '"s2"', "c2VhbGVk", "compaction"),
        "gemini": ("c2lnbmVk",),
    }[source]
    for piece in kept:
        assert piece in wire, piece
