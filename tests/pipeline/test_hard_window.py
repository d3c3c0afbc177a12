"""The compiled request fits the window with everything that stands around the history."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import (
    ContextChef,
    InMemoryBackend,
    Message,
    WindowFullError,
    anchored,
    background,
    chain,
    clear,
    estimate,
    reset,
    summarize,
)
from context_chef.testing.doubles import CharacterTokenizer, ScriptedModel

HARD = 9_000


def chef_with(**settings: Any) -> ContextChef:
    overflow = settings.pop("overflow", {"strategy": reset(), "archive": "vfs"})
    janitor = {
        "context_window": HARD + 1_000,
        "reserve_output": 1_000,
        "trigger_ratio": 0.9,
        "tokenizer": CharacterTokenizer(),
    }
    return ContextChef(janitor=janitor, overflow=overflow, store=InMemoryBackend(), **settings)


def talk(turns: int = 7) -> list[Message]:
    rows: list[Message] = []
    for number in range(turns):
        rows.append(Message.user(f"question {number} " + "x" * 500))
        rows.append(Message.assistant(f"answer {number} " + "y" * 500))
    return [*rows, Message.user("and now?")]


def characters_of(payload: Any) -> int:
    return sum(len(str(message["content"])) for message in payload["messages"])


def test_what_handlers_inject_is_in_the_window_too() -> None:
    calls: list[int] = []

    def inject(context: Any) -> None:
        calls.append(1)
        context.inject("z" * 5_000)

    chef = chef_with().set_history(talk())
    chef.use("before-assemble", inject)

    payload = chef.compile_sync()

    assert characters_of(payload) <= HARD
    assert len(calls) == 1
    assert "z" * 5_000 in str(payload)
    assert payload.report.budget is not None
    assert payload.report.budget.current <= HARD
    out = [span for span in payload.report.spans if span.place == "out"]
    assert out
    assert all(span.uri and chef.resolve_recall_sync(span.uri) for span in out)


def test_what_left_in_a_refitted_window_stays_out() -> None:
    chef = chef_with().set_history(talk())
    chef.use("before-assemble", lambda context: context.inject("z" * 5_000))

    windows = []
    for _ in range(3):
        payload = chef.compile_sync()
        windows.append(payload.to_json())
        assert "question 0" not in str(payload)

    # The first has learnt what the injected context takes: from then on everything stands still.
    assert windows[1] == windows[2]


def test_memory_and_tools_count_as_they_are() -> None:
    chef = chef_with(memory={}).set_history(talk())
    chef.register_tools([{"name": "look", "description": "d" * 1_500, "parameters": {}}])
    for number in range(4):
        chef.get_memory().set_sync(f"key{number}", "m" * 500)

    payload = chef.compile_sync()

    assert characters_of(payload) + 1_500 <= HARD
    assert "m" * 500 in str(payload)


def test_an_after_assemble_handler_is_asked_once_and_its_work_stays() -> None:
    calls: list[int] = []

    def add(messages: Any) -> Any:
        calls.append(1)
        return [*messages, Message.user("from the handler " + "h" * 4_000)]

    chef = chef_with().set_history(talk())
    chef.use("after-assemble", add)

    payload = chef.compile_sync()

    assert calls == [1]
    assert characters_of(payload) <= HARD
    assert "from the handler" in payload["messages"][-1]["content"]


def test_a_veto_holds_the_strategy_back_but_not_the_window() -> None:
    chef = chef_with().set_history(talk(12))
    chef.use("before-overflow", lambda context: False)

    payload = chef.compile_sync()

    assert characters_of(payload) <= HARD
    assert payload["messages"][-1]["content"] == "and now?"


def test_what_cannot_fit_is_refused_before_a_model_is_asked() -> None:
    model = ScriptedModel("<summary>S</summary>")
    chef = chef_with(overflow={"strategy": summarize(compression_model=model)})
    chef.set_system_prompt("rule " * 2_000).set_history(talk(12))

    with pytest.raises(WindowFullError, match=r"system prompt 1000\d") as caught:
        chef.compile_sync()

    assert model.calls == []
    assert caught.value.limit == HARD
    assert chef.window == chef.history


def test_an_injected_context_that_is_too_large_is_named() -> None:
    chef = chef_with().set_history(talk(2))
    chef.use("before-assemble", lambda context: context.inject("z" * 20_000))
    before = chef.snapshot_sync()

    with pytest.raises(WindowFullError, match="tail: implicit context 20"):
        chef.compile_sync()

    assert chef.snapshot_sync().transcript == before.transcript


def test_an_estimate_refuses_only_what_is_beyond_doubt() -> None:
    def chef(words: int) -> ContextChef:
        made = ContextChef(janitor={"context_window": 10_000}).set_history([Message.user("hi")])
        return made.set_system_prompt("and then " * words)

    per_word = estimate("and then " * 1_000) / 1_000
    fits, exceeds = int(13_000 / per_word), int(14_000 / per_word)
    assert chef(fits).compile_sync()["messages"][-1]["content"] == "hi"
    with pytest.raises(WindowFullError):
        chef(exceeds).compile_sync()


def test_whoever_wants_it_sends_it_as_it_is() -> None:
    chef = chef_with(overflow={"oversize": "send", "strategy": reset()})
    chef.set_history([Message.user("x" * 20_000)])

    assert characters_of(chef.compile_sync()) == 20_000


def _summary(messages: Any) -> str:
    return "<summary>It went well.</summary>"


STRATEGIES: dict[str, Any] = {
    "clear": lambda: clear(),
    "reset": lambda: reset(),
    "summarize": lambda: summarize(compression_model=_summary),
    "dropping": lambda: summarize(preserve_ratio=0.4),
    "anchored": lambda: anchored(compression_model=_summary),
    "chain": lambda: chain(clear(), reset()),
    "background": lambda: background(summarize(compression_model=_summary)),
}
MODELS = [
    ("openai", "gpt-4o"),
    ("openai-responses", "gpt-5.6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("gemini", "gemini-3-pro-preview"),
]


@pytest.mark.parametrize(("target", "model"), MODELS)
@pytest.mark.parametrize("tail", ["append", "replace"])
@pytest.mark.parametrize("name", STRATEGIES)
def test_a_retry_in_a_full_window_is_the_same_request(
    name: str, tail: Any, target: str, model: str
) -> None:
    chef = ContextChef(
        janitor={"context_window": 200}, overflow={"strategy": STRATEGIES[name]()}, tail=tail
    )
    differing: list[int] = []
    for turn in range(5):
        chef.set_dynamic_state(None, {"turn": turn, "note": "x" * (turn * 7 % 20)})
        chef.append(Message.user(f"question {turn} " + "w " * (10 + turn * 13 % 25)))
        requests = {chef.compile_sync(target, model=model).to_json() for _ in range(3)}
        if len(requests) > 1:
            differing.append(turn)
        chef.append(Message.assistant("answer " + "w " * 15))

    assert differing == []
    assert chef.window != chef.history
