"""The official Gemini client takes what we hand it and sends what it means."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.gemini import GeminiAdapter, to_gemini
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.ir.blocks import Inline, Media, Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from tests.adaptation.same_conversation import gemini_conversation
from tests.sdks.recorder import Recorder, recording
from tests.shared_data import DATA, needs_data

genai = pytest.importorskip("google.genai")

ANSWER = {
    "candidates": [
        {"content": {"role": "model", "parts": [{"text": "ok"}]}, "finishReason": "STOP"}
    ],
    "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Recorder]:
    with recording(ANSWER) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def client(server: Recorder) -> Iterator[Any]:
    options = genai.types.HttpOptions(base_url=server.url)
    with genai.Client(api_key="test", http_options=options) as client:
        yield client


def _send(client: Any, adapted: Adapted) -> None:
    arguments = GeminiAdapter().sdk_arguments(adapted)
    client.models.generate_content(model="gemini-test", **arguments)


def _meaning(body: dict[str, Any]) -> dict[str, Any]:
    """A body without what the client spells in its own way: base64, enums, an empty config."""
    told = _spelt(gemini_conversation(json.loads(json.dumps(body))))
    if not told.get("generationConfig"):
        told.pop("generationConfig", None)
    return told


def _spelt(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _spelt(item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_spelt(item) for item in value]
    if isinstance(value, str) and key in ("data", "thoughtSignature"):
        return value.replace("-", "+").replace("_", "/").rstrip("=")
    if isinstance(value, str) and key in ("type", "thinkingLevel"):
        return value.upper()
    return value


def test_a_compiled_window_is_sent_as_it_was_adapted(client: Any, server: Recorder) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="
    image = Media(kind="image", source=Inline(data=png), media_type="image/png")
    adapted = GeminiAdapter().adapt(
        AdaptRequest(
            messages=(
                Message.system("s"),
                Message.user((Text(text="q"), image)),
                Message.assistant(
                    (
                        Thinking(text="T", signature="//79", origin="gemini"),
                        ToolCall(id="c1", name="f", arguments='{"b_c":1.5,"a":"é"}'),
                    )
                ),
                Message.tool((Text(text="see"), image), tool_call_id="c1", is_error=True),
                Message.user("tail"),
            ),
            tools=(ToolDefinition(name="f", parameters={"type": "object", "properties": {}}),),
            profile=ModelProfile(
                provider="gemini",
                name="gemini-test",
                thought_signatures=True,
                response_alone=True,
                function_ids=True,
            ),
        )
    )

    _send(client, adapted)

    assert _meaning(server.body) == _meaning(adapted.body)
    assert adapted.body["contents"][1]["parts"][1]["thoughtSignature"].startswith("skip_")


def test_settings_and_keys_that_the_client_does_not_know_arrive_too(
    client: Any, server: Recorder
) -> None:
    body = {
        "contents": [{"role": "user", "parts": [{"text": "q"}]}],
        "generationConfig": {"temperature": 0.5, "maxOutputTokens": 9},
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
        "somethingNew": {"a": 1},
    }

    _send(client, Adapted(body=body))

    assert _meaning(server.body) == _meaning(body)


# Vertex AI recordings of an old client: it wrote enums as numbers, which the new one refuses.
_NUMERIC_ENUMS = ("test-function-call-choice", "test-tool-events")


def _recorded() -> list[Any]:
    """Every accepted request but those that fill a cache, which is another call."""
    paths = sorted((DATA / "cassettes" / "gemini" / "accepted").glob("*.json"))
    return [
        pytest.param(path, id=path.stem)
        for path in paths
        if not any(name in path.stem for name in _NUMERIC_ENUMS)
        and "contents" in json.loads(path.read_text(encoding="utf-8"))["request"]
    ]


@needs_data
@pytest.mark.parametrize("path", _recorded())
def test_every_recorded_request_goes_through_the_client(
    client: Any, server: Recorder, path: Path
) -> None:
    body = to_gemini(from_gemini(json.loads(path.read_text(encoding="utf-8"))["request"]))
    body.pop("model", None)

    _send(client, Adapted(body=body))

    assert _meaning(server.body) == _meaning(body)
