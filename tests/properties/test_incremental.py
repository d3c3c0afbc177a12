"""A chef that has compiled before answers what a chef that never has would answer: byte for byte.

Whatever is remembered between compiles, and whatever became of the requests that were handed out.
"""

from __future__ import annotations

import gc
import json
import random
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef import ContextChef, Message, Payload, anchored, chain, clear, reset, summarize
from context_chef.adaptation.adapter import AdaptRequest
from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.gemini import GeminiAdapter
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.adaptation.openai_responses import OpenAIResponsesAdapter
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.sendable import make_sendable
from context_chef.ir.rows import flat_row
from context_chef.testing.doubles import CharacterTokenizer, RecordingLogger
from tests.histories import damaged_histories, histories

MODELS = {
    "openai": ("gpt-4o", "gpt-5.6", None),
    "openai-responses": ("gpt-5.6", None),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5-5", None),
    "gemini": ("gemini-2.5-flash", "gemini-3.8-flash", None),
}
ADAPTERS: dict[str, Callable[[], Any]] = {
    "openai": OpenAIAdapter,
    "openai-responses": OpenAIResponsesAdapter,
    "anthropic": AnthropicAdapter,
    "gemini": GeminiAdapter,
}


def _summary(messages: Sequence[Message]) -> str:
    size = sum(len(message.text) for message in messages)
    return f"<summary>There were {size} characters of work.</summary>"


STRATEGIES: dict[str, Callable[[], Any]] = {
    "summarize": lambda: summarize(compression_model=_summary, preserve_ratio=0.5),
    "anchored": lambda: anchored(compression_model=_summary, preserve_ratio=0.5),
    "reset": reset,
    "clear": lambda: clear(keep_recent=2, min_gain=0.0),
    "chain": lambda: chain(clear(keep_recent=2), summarize(preserve_ratio=0.5), reset()),
}
TOOLS = [
    {"name": name, "description": f"Tool {name}.", "parameters": {"type": "object"}}
    for name in ("search", "read_file", "run", "get weather")
]


def scramble(value: Any) -> None:
    """Change everything that can be reached and changed."""
    if isinstance(value, dict):
        for item in value.values():
            scramble(item)
        value["scrambled"] = True
    elif isinstance(value, list):
        for item in value:
            scramble(item)
        value.append("scrambled")


class Twins:
    """A chef, and before each of its compiles another that knows the same and made nothing yet."""

    def __init__(self, seed: int, strategy: str, tail: str, cache: str | None) -> None:
        self.chance = random.Random(seed)
        self.step = 0
        self._settings: dict[str, Any] = {
            "janitor": {"context_window": 9_000, "tokenizer": CharacterTokenizer()},
            "overflow": {"archive": "vfs"},
            "tail": tail,
            "cache": cache,
            "new_window_id": lambda: f"w{self.step}",
            "logger": RecordingLogger(),
            "clock": lambda: 1_000,
        }
        self._strategy = STRATEGIES[strategy]
        self.warm = self.new()
        self.rows: list[Any] = []

    def new(self) -> ContextChef:
        overflow = {**self._settings["overflow"], "strategy": self._strategy()}
        chef = ContextChef(**{**self._settings, "overflow": overflow})
        return chef.set_system_prompt("Be brief.").register_tools(TOOLS)

    def play(self, history: Sequence[Message]) -> None:
        """Say it bit by bit, with edits, rewinds and other changes in between."""
        waiting = list(history)
        while waiting:
            self.step += 1
            count = self.chance.randint(1, 4)
            self.say(waiting[:count])
            del waiting[:count]
            self.change()
            self.compile()

    def say(self, messages: list[Message]) -> None:
        """In one of the ways in which a caller may."""
        if self.chance.random() < 0.4:
            self.warm.extend(messages)
            self.rows += messages
            return
        plain = self.chance.random() < 0.5
        self.rows += [flat_row(message) for message in messages] if plain else messages
        self.warm.set_history(self.rows)

    def change(self) -> None:
        """Perhaps something else changes as well."""
        match self.chance.randrange(9):
            case 0 if self.rows:  # in place, where the caller's own dict is one
                at = self.chance.randrange(len(self.rows))
                row = self.rows[at]
                if isinstance(row, dict) and isinstance(row.get("content"), str):
                    row["content"] += f" edited {self.step}"
                elif isinstance(row, Message) and not row.media:
                    self.rows[at] = row.replace(pinned=not row.pinned)
                self.warm.set_history(self.rows)
            case 1:
                del self.rows[max(1, len(self.rows) - self.chance.randint(1, 5)) :]
                self.warm.set_history(self.rows)
            case 2:
                self.warm.set_dynamic_state(None, {"step": self.step, "note": "<b>"})
            case 3:
                self.warm.announce(f"a{self.step % 2}", f"Step {self.step}.")
            case 4:
                self.warm.set_system_prompt(f"Be brief, {self.chance.randrange(2)}.")
            case 5:
                self.warm.with_guardrails(
                    self.chance.choice(
                        [None, {"prefill": "So", "enforce_xml": {"output_tag": "o"}}]
                    )
                )
            case 6:
                self.warm.register_tools(TOOLS[: self.chance.randint(1, 4)])
            case _:
                pass

    def compile(self) -> None:
        target = self.chance.choice(list(MODELS))
        model = self.chance.choice(MODELS[target])
        cold = self.new()
        cold.register_tools(self.warm.visible_tools())
        cold.restore_sync(self.warm.snapshot_sync())
        expected = cold.compile_sync(target, model=model)
        payload = self.warm.compile_sync(target, model=model)

        assert payload == expected
        assert payload.report == expected.report
        if self.chance.random() < 0.5:
            scramble(payload["contents" if target == "gemini" else next(iter(payload))])
            payload = self.warm.compile_sync(target, model=model)
        assert payload.to_json() == expected.to_json()
        assert payload.to_json() == _encoded(payload.body)
        scramble(payload)


def _encoded(body: dict[str, Any]) -> bytes:
    whole = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return whole.encode()


@settings(max_examples=20, deadline=None)
@given(
    st.one_of(histories(max_turns=12), damaged_histories(max_turns=12)),
    st.integers(0, 10**6),
    st.sampled_from(sorted(STRATEGIES)),
    st.sampled_from(["auto", "append", "replace"]),
    st.sampled_from([None, "auto"]),
)
def test_a_chef_that_has_compiled_before_answers_what_a_new_one_would(
    history: tuple[Message, ...], seed: int, strategy: str, tail: str, cache: str | None
) -> None:
    Twins(seed, strategy, tail, cache).play(history)


@pytest.mark.parametrize("target", sorted(ADAPTERS))
@settings(max_examples=10, deadline=None)
@given(damaged_histories(max_turns=14), st.integers(0, 10**6), st.booleans())
def test_an_adapter_that_has_written_before_writes_what_a_new_one_would(
    target: Any, history: tuple[Message, ...], seed: int, mended: bool
) -> None:
    chance = random.Random(seed)
    adapter, messages = ADAPTERS[target](), list(history)
    shown = chance.randint(0, len(messages))
    for _ in range(6):
        model = chance.choice(MODELS[target][-2:])
        profile = profile_for(model, target)
        sent = tuple(messages[:shown])
        if mended and sent:
            sent = make_sendable(sent, target=target, profile=profile).messages
        if chance.random() < 0.3:
            sent = (*sent, Message.assistant("So", prefill=True))
        request = AdaptRequest(messages=sent, profile=profile)
        adapted = adapter.adapt(request)

        assert adapted == ADAPTERS[target]().adapt(request)
        scramble(adapted.body)
        shown = min(len(messages), shown + chance.randint(-3, 6)) if shown > 3 else len(messages)
        if chance.random() < 0.3:
            at = chance.randrange(len(messages))
            messages[at] = messages[at].with_text(f"edited {shown}")


def test_what_was_handed_out_is_nobody_elses() -> None:
    chef = ContextChef().set_history([{"role": "user", "content": "one"}])
    first: Payload = chef.compile_sync("openai")
    as_it_was = first.to_json()
    second = chef.compile_sync("openai")
    first["messages"][0]["content"] = "changed"
    first["messages"].append({"role": "user", "content": "more"})

    assert second.to_json() == as_it_was
    assert chef.compile_sync("openai").to_json() == as_it_was
    assert b"changed" in first.to_json()
    assert b"more" in first.to_json()


ASKED = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}


def test_equal_results_stand_for_themselves_also_where_they_were_transformed_before() -> None:
    chef = ContextChef(transform_tool_result=lambda text, info: text + "!")
    result = {"role": "tool", "content": "done", "tool_call_id": "c1"}
    chef.set_history([ASKED, result, ASKED, {**result}, ASKED])
    chef.compile_sync()
    flag = {**result, "native": {"openai": {"n": True}}}
    chef.set_history([{"role": "user", "content": "go"}, ASKED, {**result}, ASKED, flag])
    payload = chef.compile_sync()
    chef.set_history([ASKED, {**flag, "native": {"openai": {"n": 1}}}])

    sources = [span.source for span in payload.report.spans if span.role == "tool"]
    assert sources == ["history[2]", "history[4]"]
    assert b'"n":1' in chef.compile_sync().to_json()


def test_a_conversation_that_was_cleared_is_let_go_at_once() -> None:
    chef = ContextChef(janitor={"context_window": 100_000})
    for number in range(80):
        chef.append({"role": "user", "content": f"question {number}"})
    for target in ("openai", "openai-responses", "anthropic", "gemini"):
        chef.compile_sync(target)
    said = [weakref.ref(message) for message in chef.history]
    chef.clear_history()
    gc.collect()

    assert not any(message() for message in said)
