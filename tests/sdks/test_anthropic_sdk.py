"""The official Anthropic client takes what we hand it and sends exactly that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.anthropic import AnthropicAdapter, to_anthropic
from context_chef.adaptation.anthropic_body import needed_betas
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.ir.blocks import CacheBreakpoint, Inline, Media, Text, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from tests.sdks.recorder import Recorder, recording
from tests.shared_data import DATA, needs_data

anthropic = pytest.importorskip("anthropic")

ANSWER = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Recorder]:
    with recording(ANSWER) as recorder:
        yield recorder


@pytest.fixture(scope="module")
def client(server: Recorder) -> Iterator[Any]:
    with anthropic.Anthropic(api_key="test", base_url=server.url, max_retries=0) as client:
        yield client


def _send(client: Any, adapted: Adapted, model: str = "claude-test") -> None:
    arguments = AnthropicAdapter().sdk_arguments(adapted)
    client.messages.create(model=model, max_tokens=64, timeout=30, **arguments)


def test_a_compiled_window_is_sent_as_it_was_adapted(client: Any, server: Recorder) -> None:
    png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAAA="
    image = Media(kind="image", source=Inline(data=png), media_type="image/png")
    adapted = AnthropicAdapter().adapt(
        AdaptRequest(
            messages=(
                Message.system("s", cache=CacheBreakpoint(ttl="1h")),
                Message.user((Text(text="q"), image)),
                Message.assistant(
                    "", tool_calls=[ToolCall(id="c1", name="f", arguments='{"b":1.0,"a":"é"}')]
                ),
                Message.tool((Text(text="see"), image), tool_call_id="c1", is_error=True),
                Message.system("note", positional=True),
            ),
            tools=(ToolDefinition(name="f", parameters={"type": "object", "properties": {}}),),
            profile=ModelProfile(provider="anthropic", name="claude-test", inline_system=True),
        )
    )

    _send(client, adapted)

    assert server.body == {**adapted.body, "model": "claude-test", "max_tokens": 64}


def test_context_management_and_its_betas_go_through_the_stable_call(
    client: Any, server: Recorder
) -> None:
    body = {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}],
        "context_management": {"edits": [{"type": "compact_20260112"}]},
    }

    _send(client, Adapted(body=body, betas=("compact-2026-01-12", "mcp-client-2025-11-20")))

    assert server.body == {**body, "model": "claude-test", "max_tokens": 64}
    sent = server.headers[-1]["anthropic-beta"].replace(" ", "").split(",")
    assert set(sent) >= {"compact-2026-01-12", "mcp-client-2025-11-20"}


@needs_data
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem)
        for path in sorted((DATA / "cassettes" / "anthropic" / "accepted").glob("*.json"))
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the client's, about models and settings
def test_every_recorded_request_goes_through_the_client(
    client: Any, server: Recorder, path: Path
) -> None:
    body = to_anthropic(from_anthropic(json.loads(path.read_text(encoding="utf-8"))["request"]))
    for key in ("max_tokens", "stream", "model"):
        body.pop(key, None)

    _send(client, Adapted(body=body, betas=needed_betas(body)))

    assert server.body == {**body, "model": "claude-test", "max_tokens": 64}
