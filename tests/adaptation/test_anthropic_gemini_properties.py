"""What holds for every conversation on the Anthropic and Gemini wires."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.anthropic import AnthropicAdapter, to_anthropic
from context_chef.adaptation.gemini import GeminiAdapter, to_gemini
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.errors import InputError
from context_chef.ir.message import Message
from tests.adaptation.same_conversation import anthropic_conversation, gemini_conversation
from tests.histories import damaged_histories, histories

steadily = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""A busy machine is no fault of what is tested."""

words = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12
).filter(lambda text: not text.isspace())
names = st.sampled_from(["f", "read_file", "g-2"])
objects = st.dictionaries(
    words, st.none() | st.integers() | words | st.lists(st.booleans()), max_size=2
)
marks = st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral"}}])
images = st.sampled_from(
    [
        {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
        {"type": "url", "url": "https://e.test/i.png"},
        {"type": "file", "file_id": "file_1"},
    ]
)


def _block(kind: str, **fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.just(kind), **fields})


text_block = st.builds(lambda block, mark: {**block, **mark}, _block("text", text=words), marks)
image_block = _block("image", source=images)
user_block = text_block | image_block | _block("container_upload", file_id=st.just("file_2"))
thinking_block = _block("thinking", thinking=words, signature=words)
answer_block = (
    text_block
    | _block("redacted_thinking", data=words)
    | thinking_block
    | _block("server_tool_use", id=words, name=st.just("web_search"), input=objects)
)


def _rows(said: Any) -> list[dict[str, Any]]:
    return [{"text": said}] if isinstance(said, str) else said


@st.composite
def anthropic_bodies(draw: st.DrawFn) -> dict[str, Any]:
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 4))):
        messages.append(
            {"role": "user", "content": draw(st.lists(user_block, min_size=1, max_size=3) | words)}
        )
        answer = draw(st.lists(answer_block, max_size=3))
        results = []
        for at in range(draw(st.integers(0, 2))):
            call_id = f"toolu_{number}_{at}"
            answer.append(
                {"type": "tool_use", "id": call_id, "name": draw(names), "input": draw(objects)}
            )
            said = draw(
                words | st.lists(_block("text", text=words) | image_block, min_size=1, max_size=2)
            )
            flags = [{}, {"is_error": False}]
            if all(row.get("text", "").strip() for row in _rows(said)):
                flags.append({"is_error": True})  # what failed holds only text
            failed = draw(st.sampled_from(flags))
            results.append(
                {"type": "tool_result", "tool_use_id": call_id, "content": said, **failed}
            )
        answer.append({"type": "text", "text": draw(words)}) if not results else None
        messages.append({"role": "assistant", "content": answer})
        if results:
            messages.append(
                {"role": "user", "content": [*results, *draw(st.lists(text_block, max_size=1))]}
            )
    body: dict[str, Any] = {"model": "claude-test", "max_tokens": 9, "messages": messages}
    if draw(st.booleans()):
        body["system"] = draw(words | st.lists(text_block, min_size=1, max_size=2))
    return body


def _few_marks(body: dict[str, Any]) -> bool:
    return json.dumps(body).count('"cache_control"') <= 4


@steadily
@given(anthropic_bodies().filter(_few_marks))
def test_an_anthropic_body_survives_the_way_in_and_out(body: dict[str, Any]) -> None:
    assert anthropic_conversation(to_anthropic(from_anthropic(body))) == anthropic_conversation(
        body
    )


gemini_part = st.one_of(
    st.fixed_dictionaries({"text": words}),
    st.fixed_dictionaries({"text": words, "thoughtSignature": st.just("U0lH")}),
    st.fixed_dictionaries({"text": words, "thought": st.just(True)}),
    st.fixed_dictionaries({"thoughtSignature": st.just("U0lH")}),
    st.fixed_dictionaries(
        {"inlineData": st.just({"mimeType": "image/png", "data": "iVBORw0KGgo="})}
    ),
    st.fixed_dictionaries({"executableCode": st.just({"language": "PYTHON", "code": "1"})}),
)
SONG = {"mimeType": "audio/mp3", "data": "SUQz", "displayName": "a.mp3"}
user_part = st.one_of(
    st.fixed_dictionaries({"text": words}),
    st.fixed_dictionaries({"fileData": st.just({"mimeType": "video/mp4", "fileUri": "gs://b/v"})}),
    st.fixed_dictionaries({"inlineData": st.just(SONG)}),
)


@st.composite
def gemini_bodies(draw: st.DrawFn) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    with_ids = draw(st.booleans())
    for number in range(draw(st.integers(1, 4))):
        contents.append(
            {"role": "user", "parts": draw(st.lists(user_part, min_size=1, max_size=3))}
        )
        parts = draw(st.lists(gemini_part, max_size=3))
        responses = []
        for at in range(draw(st.integers(0, 3))):
            name = draw(names)
            own = {"id": f"call-{number}-{at}"} if with_ids else {}
            signed = draw(st.sampled_from([{}, {"thoughtSignature": "U0lH"}]))
            parts.append({"functionCall": {"name": name, "args": draw(objects), **own}, **signed})
            result = draw(objects | st.fixed_dictionaries({"error": words}))
            responses.append({"functionResponse": {"name": name, "response": result, **own}})
        parts = parts or [{"text": "a"}]
        contents.append({"role": "model", "parts": parts})
        if responses:
            contents.append({"role": "user", "parts": responses})
    body: dict[str, Any] = {"contents": contents, "generationConfig": {"temperature": 1}}
    if draw(st.booleans()):
        body["systemInstruction"] = {"parts": [{"text": draw(words)}], "role": "user"}
    return body


@steadily
@given(gemini_bodies())
def test_a_gemini_body_survives_the_way_in_and_out(body: dict[str, Any]) -> None:
    assert gemini_conversation(to_gemini(from_gemini(body))) == gemini_conversation(body)


@steadily
@given(gemini_bodies())
def test_every_response_is_paired_with_a_call_of_its_name(body: dict[str, Any]) -> None:
    history = from_gemini(body).history

    called = {call.id: call.name for message in history for call in message.tool_calls}
    answered = [message for message in history if message.role == "tool"]
    assert [called[str(message.tool_call_id)] for message in answered] == [m.name for m in answered]
    assert len({message.tool_call_id for message in answered}) == len(answered)


PROFILES = [
    None,
    ModelProfile(provider="anthropic", name="a", prefill=True, inline_system=True),
    ModelProfile(
        provider="gemini", name="g", thought_signatures=True, response_alone=True, function_ids=True
    ),
]


@pytest.mark.parametrize("adapter", [AnthropicAdapter(), GeminiAdapter()])
@steadily
@given(
    messages=histories(system=True) | damaged_histories(),
    profile=st.sampled_from(PROFILES),
    as_text=st.booleans(),
)
def test_any_messages_are_written_as_json_the_same_way_every_time(
    adapter: AnthropicAdapter | GeminiAdapter,
    messages: tuple[Message, ...],
    profile: ModelProfile | None,
    as_text: bool,
) -> None:
    request = AdaptRequest(messages=messages, profile=profile, preserve_thinking_as_text=as_text)

    first, second = adapter.adapt(request), adapter.adapt(request)

    assert json.dumps(first.body, allow_nan=False) == json.dumps(second.body, allow_nan=False)
    assert (first.repairs, first.diagnostics) == (second.repairs, second.diagnostics)
    assert isinstance(adapter.sdk_arguments(first), dict)


@pytest.mark.parametrize("adapter", [AnthropicAdapter(), GeminiAdapter()])
@steadily
@given(messages=histories(system=True) | damaged_histories())
def test_nothing_empty_is_ever_sent(
    adapter: AnthropicAdapter | GeminiAdapter, messages: tuple[Message, ...]
) -> None:
    body = adapter.adapt(AdaptRequest(messages=messages)).body

    turns = [
        turn.get("content") or turn.get("parts")
        for turn in body.get("contents", body.get("messages", []))
    ]
    assert all(turns)
    assert not any("text" in block and not block["text"] for turn in turns for block in turn)


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["role", "content", "parts", "type", "text", "messages", "contents", "system", "tools",
             "id", "name", "input", "source", "tool_use_id", "functionCall", "functionResponse",
             "inlineData", "response", "config", "cache_control"]
        ),
        inner
        | st.sampled_from(
            ["user", "model", "assistant", "text", "tool_use", "tool_result", "image"]
        ),
        max_size=5,
    ),
    max_leaves=25,
)  # fmt: skip


@pytest.mark.parametrize("read", [from_anthropic, from_gemini])
@steadily
@given(given_=json_like)
def test_whatever_comes_in_is_read_or_refused_by_its_place(read: Any, given_: Any) -> None:
    try:
        conversation = read(given_)
    except InputError as error:
        if not error.path.startswith("$"):
            raise
    else:
        write = to_anthropic if read is from_anthropic else to_gemini
        json.dumps(write(conversation))


@pytest.mark.parametrize("make", [AnthropicAdapter, GeminiAdapter])
@steadily
@given(
    messages=histories(system=True) | damaged_histories(),
    profiles=st.lists(st.sampled_from(PROFILES), min_size=2, max_size=3),
)
def test_an_adapter_that_has_seen_the_messages_writes_what_a_new_one_writes(
    make: Any, messages: tuple[Message, ...], profiles: list[ModelProfile | None]
) -> None:
    """Messages are written once; what surrounds them is not remembered, nor what a caller did."""
    warm = make()
    for cut, profile in enumerate(profiles):
        request = AdaptRequest(messages=messages[cut:], profile=profile)
        adapted, expected = warm.adapt(request), make().adapt(request)
        assert (adapted.body, adapted.betas) == (expected.body, expected.betas)
        assert (adapted.repairs, adapted.diagnostics) == (expected.repairs, expected.diagnostics)
        for turn in adapted.body.get("contents", adapted.body.get("messages", [])):
            for block in turn.get("content") or turn.get("parts"):
                block.clear()
