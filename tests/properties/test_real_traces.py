"""Every recorded conversation, for every target: nothing that a provider would refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, Conversation, Payload, read_recording
from tests.properties.provider_check import problems, sequence_problems
from tests.shared_data import DATA, needs_data

MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
}
NEWEST = {"anthropic": "claude-opus-5-5", "gemini": "gemini-3.8-flash"}


def _traces() -> Iterator[Path]:
    yield from sorted((DATA / "traces").glob("*/*.json"))


@cache
def _read(path: Path) -> Conversation:
    conversation, _ = read_recording(json.loads(path.read_text("utf-8")))
    return conversation


def _chef(path: Path, **settings: Any) -> ContextChef:
    conversation = _read(path)
    chef = ContextChef(cache="auto", **settings)
    return chef.set_system_prompt(conversation.system).register_tools(conversation.tools)


def _decorated(chef: ContextChef) -> ContextChef:
    chef.set_dynamic_state(None, {"step": 1, "files": ["a.py", "b.py"]})
    chef.announce("tools", "The tool list changed.")
    return chef.with_guardrails({"enforce_xml": {"output_tag": "out"}, "prefill": "<out>"})


def _refused(payload: Payload) -> list[str]:
    return [d.code for d in payload.report.diagnostics if d.code.startswith("refused")]


@needs_data
@pytest.mark.parametrize("path", list(_traces()), ids=lambda path: path.stem[:60])
def test_every_trace_is_accepted_by_every_target(path: Path) -> None:
    chef = _chef(path).set_history(_read(path).history)
    models = [*MODELS.items(), *NEWEST.items()]
    for decorate in (False, True):
        if decorate:
            _decorated(chef)
        for target, model in models:
            payload = chef.compile_sync(target, model=model)

            assert problems(target, payload, model) == [], (target, model, decorate)
            assert _refused(payload) == [], (target, model, decorate)


def _turns(conversation: Conversation, most: int) -> list[int]:
    """Where a request would be made: before each assistant message, thinned out for long traces."""
    history = conversation.history
    ends = [n for n, message in enumerate(history) if message.role == "assistant" and n > 0]
    ends.append(len(history))
    step = max(1, len(ends) // most)
    return sorted({*ends[::step], *ends[-3:]})


LONG = sorted(_traces(), key=lambda path: -path.stat().st_size)[:16]
"""The longest: what happens over many turns shows there, and the suite has to stay quick."""


@needs_data
@pytest.mark.parametrize("path", LONG, ids=lambda path: path.stem[:60])
@pytest.mark.parametrize(("target", "model"), [*MODELS.items(), *NEWEST.items()])
def test_a_session_played_turn_by_turn_stays_valid(path: Path, target: str, model: str) -> None:
    """State changes every turn, announcements come and go: no thinking is ever unbound."""
    conversation = _read(path)
    chef = _chef(path)
    payloads: list[Payload] = []
    for number, end in enumerate(_turns(conversation, most=10)):
        chef.set_history(conversation.history[:end])
        chef.set_dynamic_state(None, {"turn": number})
        if number % 3 == 0:
            chef.announce("now", f"Notice {number}.")
        else:
            chef.retract_announcement("now")
        payloads.append(chef.compile_sync(target, model=model))

    assert [problems(target, payload, model) for payload in payloads] == [[]] * len(payloads)
    assert sequence_problems(target, payloads, model) == []
