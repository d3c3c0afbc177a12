"""Real conversations: recorded requests need no repair, and no cut of a trace is ever refused."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.adaptation.sendable import make_sendable, thinking_mode
from context_chef.ir.blocks import Provider
from tests.adaptation.provider_requests import MODELS, TARGETS, body_of, needs_checker, problems
from tests.shared_data import DATA, needs_data

pytestmark = needs_data

READ: dict[Provider, Callable[[Any], Conversation]] = {
    "anthropic": from_anthropic,
    "openai": from_openai,
    "openai-responses": from_openai_responses,
    "gemini": from_gemini,
}
MENDED = {
    # The recording's own flaws: another id than the call's, an id that was masked.
    "dd-trace-py--anthropic-completion-tools-call-with-tool-result-stream--0",
    "rig--messages-preserve-system-role-after-server-tool-result--1",
    # A body without a model (Bedrock has it in the address) that ends with an answer.
    "opentelemetry-pyth--test-invoke-model-with-content-assistant-content-as-string--0",
    # Results in another order than their calls: told apart by name, they are put in order.
    "rig--hand-driven-parallel-tool-calls-arrive-in-one-step--1",
}
NO_CONVERSATION = re.compile(r"rig--(edge|sys)-.*")
"""Requests that create a cached content: they hold no conversation yet."""


def cassettes(target: Provider) -> Iterator[tuple[str, dict[str, Any]]]:
    folder = DATA / "cassettes" / target.replace("-", "_") / "accepted"
    for path in sorted(folder.glob("*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_provider_accepted_is_left_alone(target: Provider) -> None:
    for name, record in cassettes(target):
        request = record["request"]
        if name in MENDED or NO_CONVERSATION.fullmatch(name):
            continue
        found = re.search(r"models/([^:]+):", record.get("endpoint") or "")
        model = request.get("model") or (found and found.group(1))

        mended = make_sendable(
            READ[target](request).messages,
            target=target,
            profile=profile_for(model, target),
            thinking=thinking_mode(request),
            stateful=bool(request.get("previous_response_id") or request.get("conversation")),
        )

        assert mended.repairs == (), name


@cache
def traces() -> dict[str, Conversation]:
    """Every trace, read as the format it is kept in says."""
    found: dict[str, Conversation] = {}
    for path in sorted((DATA / "traces").glob("*/*.json")):
        found[path.stem] = read_trace(path)
    return found


def read_trace(path: Path) -> Conversation:
    trace = json.loads(path.read_text(encoding="utf-8"))
    messages, system, tools = trace["messages"], trace.get("system"), trace.get("tools")
    body: dict[str, Any] = {"tools": tools} if tools else {}
    match path.parent.name:
        case "gemini":
            body["contents"] = messages
            if system:
                parts = [{"text": system}] if isinstance(system, str) else system["parts"]
                body["systemInstruction"] = {"parts": parts}
            return from_gemini(body)
        case "openai_responses":
            body["input"] = messages
            return from_openai_responses({**body, "instructions": system} if system else body)
        case "anthropic":
            body["messages"] = messages
            return from_anthropic({**body, "system": system} if system else body)
        case _:
            opening = [{"role": "system", "content": system}] if system else []
            return from_openai({**body, "messages": [*opening, *messages]})


@needs_checker
@pytest.mark.parametrize("target", TARGETS)
def test_no_trace_is_refused_wherever_it_is_cut(target: Provider) -> None:
    """The same sample every time; `python -m tests.adaptation.test_sendable_data` does all."""
    pick = random.Random(target)
    model = MODELS[target][0]
    for name, trace in traces().items():
        history = trace.history
        for _ in range(2 if len(history) < 200 else 1):
            cut = pick.randint(1, len(history))
            for part in (history[:cut], history[cut - 1 :]):
                body = body_of((*trace.system, *part), target, model, tools=trace.tools)

                assert problems(target, body, model) == [], (name, cut)


def main() -> None:
    """Every trace, cut at every boundary, both halves, on every target."""
    count = 0
    for name, trace in traces().items():
        for target in TARGETS:
            model = MODELS[target][0]
            for cut in range(len(trace.history) + 1):
                for part in (trace.history[:cut], trace.history[cut:]):
                    if part:
                        body = body_of((*trace.system, *part), target, model, tools=trace.tools)
                        for problem in problems(target, body, model):
                            print(name, target, cut, problem)
                        count += 1
        print(f"{count} requests after {name}", flush=True)


if __name__ == "__main__":
    main()
