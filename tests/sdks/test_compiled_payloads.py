"""What `compile` answers, handed to the official clients as it is: `create(**payload)`.

The bodies that arrive are compared with `payload.body`. Conversations are the recorded ones where
the shared data is, and the session that the project ships everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, Payload, read_recording
from tests.sdks import test_gemini_sdk as gemini
from tests.sdks.recorder import Recorder, recording
from tests.sdks.test_anthropic_sdk import ANSWER as ANTHROPIC_ANSWER
from tests.sdks.test_openai_client import CHAT_ANSWER, RESPONSE_ANSWER
from tests.shared_data import DATA

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
genai = pytest.importorskip("google.genai")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "session.json"
MODELS = {
    "openai": "gpt-5.6",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3-pro-preview",
}
ANSWERS: dict[str, dict[str, Any]] = {
    "openai": CHAT_ANSWER,
    "openai-responses": RESPONSE_ANSWER,
    "anthropic": ANTHROPIC_ANSWER,
    "gemini": gemini.ANSWER,
}
Send = Callable[[Payload], dict[str, Any]]


@pytest.fixture(scope="module")
def clients() -> Iterator[dict[str, Send]]:
    """For each target, what sends a payload and answers the body that arrived."""
    with ExitStack() as stack:
        servers: dict[str, Recorder] = {
            target: stack.enter_context(recording(answer)) for target, answer in ANSWERS.items()
        }
        base = {target: server.url for target, server in servers.items()}
        chat = stack.enter_context(openai.OpenAI(api_key="t", base_url=base["openai"]))
        items = stack.enter_context(openai.OpenAI(api_key="t", base_url=base["openai-responses"]))
        claude = stack.enter_context(anthropic.Anthropic(api_key="t", base_url=base["anthropic"]))
        options = genai.types.HttpOptions(base_url=base["gemini"])
        google = stack.enter_context(genai.Client(api_key="t", http_options=options))
        calls: dict[str, Callable[..., Any]] = {
            "openai": chat.chat.completions.create,
            "openai-responses": items.responses.create,
            "anthropic": lambda **given: claude.messages.create(max_tokens=64, timeout=30, **given),
            "gemini": google.models.generate_content,
        }

        def sender(target: str) -> Send:
            def send(payload: Payload) -> dict[str, Any]:
                calls[target](model=MODELS[target], **payload)
                return servers[target].body

            return send

        yield {target: sender(target) for target in MODELS}


def _recordings() -> list[Path]:
    traces = sorted((DATA / "traces").glob("*/*.json"), key=lambda path: path.stat().st_size)
    return [EXAMPLE, *traces]


@pytest.mark.parametrize("path", _recordings(), ids=lambda path: path.stem[:60])
def test_every_recording_arrives_as_it_was_compiled(path: Path, clients: dict[str, Send]) -> None:
    conversation, _ = read_recording(json.loads(path.read_text("utf-8")))
    chef = ContextChef(cache="auto").set_system_prompt(conversation.system)
    chef.set_history(conversation.history).register_tools(conversation.tools)
    chef.set_dynamic_state(None, {"step": 1})
    for target, send in clients.items():
        payload = chef.compile_sync(target, model=MODELS[target])
        arrived = send(payload)
        expected = json.loads(payload.to_json())
        if target == "gemini":
            assert gemini._meaning(arrived) == gemini._meaning(expected)
            continue
        ours = {key: value for key, value in arrived.items() if key not in ("model", "max_tokens")}
        assert ours == expected, target
