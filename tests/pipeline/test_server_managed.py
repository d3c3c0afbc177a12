"""Overflow left to the provider: what the request says, what comes back, and who does no work."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import (
    ContextChef,
    InMemoryBackend,
    Message,
    Opaque,
    SettingsError,
    background,
    chain,
    reset,
    server,
    summarize,
)
from context_chef.adaptation.wire_rules import check_payload
from context_chef.testing.doubles import CharacterTokenizer, ScriptedModel
from tests.properties.provider_check import problems
from tests.shared_data import HAVE_DATA

WINDOW = {"context_window": 10_000, "trigger_ratio": 0.3, "tokenizer": CharacterTokenizer()}
SUMMARY = {"type": "compaction", "content": "So far: ten questions.", "signature": "c2lnbmVk"}


def talk(turns: int = 10) -> list[Message]:
    rows: list[Message] = []
    for number in range(turns):
        rows.append(Message.user(f"question {number} " + "x" * 300))
        rows.append(Message.assistant(f"answer {number}"))
    return [*rows, Message.user("and now?")]


def chef_with(strategy: Any, **settings: Any) -> ContextChef:
    return ContextChef(janitor=WINDOW, overflow={"strategy": strategy, **settings})


def signed(value: dict[str, Any] = SUMMARY) -> Message:
    return Message(role="assistant", content=(Opaque(provider="anthropic", value=value),))


def asks_for(payload: Any) -> Any:
    return payload.get("extra_body", {})


def is_accepted(payload: Any, target: str = "anthropic", model: str = "claude-sonnet-4-5") -> None:
    request = {"model": model, "max_tokens": 1_000, **payload} if target == "anthropic" else payload
    assert [f for f in check_payload(target, request) if f.severity == "error"] == []
    if HAVE_DATA:
        assert problems(target, payload, model) == []


# Anthropic's request of its own


def test_within_the_trigger_nothing_is_asked() -> None:
    payload = chef_with(server(compaction=True)).set_history(talk(2)).compile_sync("anthropic")

    assert asks_for(payload) == {}
    assert not payload.meta.compacting


def test_over_the_trigger_the_request_asks_for_a_summary_of_what_is_closed() -> None:
    strategy = server(compaction={"instructions": "Keep the paths."}, fallback=reset())
    chef = chef_with(strategy).set_history(talk())

    payload = chef.compile_sync("anthropic", model="claude-sonnet-4-5")

    assert payload.meta.compacting
    assert asks_for(payload) == {
        "compaction": {"type": "summarize", "instructions": "Keep the paths."}
    }
    assert payload["extra_headers"] == {"anthropic-beta": "compact-2026-09-04"}
    assert "and now?" not in str(payload)
    assert len(chef.window) == 21
    is_accepted(payload)


def test_the_signed_summary_stands_first_in_every_later_request() -> None:
    chef = chef_with(server(compaction=True)).set_history(talk())
    chef.compile_sync("anthropic")
    chef.append(signed())
    later = []

    for number in range(3):
        later.append(chef.compile_sync("anthropic", model="claude-sonnet-4-5"))
        chef.extend([Message.assistant(f"reply {number}"), Message.user("go on")])

    for payload in later:
        first = payload["messages"][0]
        assert (first["role"], first["content"]) == ("assistant", [SUMMARY])
        assert payload["extra_headers"] == {"anthropic-beta": "compact-2026-09-04"}
        assert not payload.meta.compacting
        assert "question 3" not in str(payload)
        is_accepted(payload)
    assert later[0]["messages"][1]["content"][0]["text"] == "and now?"
    assert len(chef.history) == 28


def test_setting_the_whole_list_again_keeps_the_summary_in_its_place() -> None:
    chef = chef_with(server(compaction=True))
    rows = [*talk(), signed()]
    first = chef.set_history(rows).compile_sync("anthropic")

    again = chef.set_history([*rows]).compile_sync("anthropic")

    assert first.to_json() == again.to_json()


def test_pins_and_the_archive_are_kept_beside_the_summary() -> None:
    chef = ContextChef(
        janitor=WINDOW,
        overflow={"strategy": server(compaction=True), "archive": "vfs"},
        store=InMemoryBackend(),
    )
    rows = talk()
    rows[2] = rows[2].replace(pinned=True)
    chef.set_history([*rows, signed()])

    payload = chef.compile_sync("anthropic")

    assert "question 1" in str(payload["messages"][1])
    out = [span for span in payload.report.spans if span.place == "out"]
    assert len(out) == 19
    assert all(span.uri and chef.resolve_recall_sync(span.uri) for span in out)


def test_a_second_summary_takes_the_place_of_the_first() -> None:
    chef = chef_with(server(compaction=True)).set_history([*talk(), signed()])
    chef.compile_sync("anthropic")
    chef.append(Message.assistant("fine")).extend(talk())
    second = {**SUMMARY, "content": "Twenty questions.", "signature": "bmV3"}

    asked = chef.compile_sync("anthropic")
    chef.append(signed(second))
    payload = chef.compile_sync("anthropic", model="claude-sonnet-4-5")

    assert asked.meta.compacting
    assert asked["messages"][0]["content"] == [SUMMARY]
    assert payload["messages"][0]["content"] == [second]
    assert "So far: ten" not in str(payload)
    is_accepted(payload)


def test_on_another_target_the_summary_is_told_and_the_fallback_works() -> None:
    model = ScriptedModel("<summary>All of it.</summary>")
    strategy = server(compaction=True, fallback=summarize(compression_model=model))
    chef = chef_with(strategy).set_history([*talk(), signed()])

    told = chef.compile_sync("openai")
    chef.append(Message.assistant("fine")).extend(talk())
    chef.compile_sync("openai")

    assert "So far: ten questions." in str(told)
    assert len(model.calls) == 1


def test_a_compaction_that_came_to_nothing_is_not_asked_for_again_at_once() -> None:
    model = ScriptedModel("<summary>Ours.</summary>")
    strategy = server(compaction=True, fallback=summarize(compression_model=model))
    chef = chef_with(strategy).set_history(talk())
    chef.compile_sync("anthropic")
    chef.append(signed({"type": "compaction", "content": None}))

    payload = chef.compile_sync("anthropic", model="claude-sonnet-4-5")

    assert not payload.meta.compacting
    assert len(model.calls) == 1
    is_accepted(payload)


# The edits of Anthropic, and Responses


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: chain(s, reset()), background])
def test_where_the_server_works_nobody_else_does(wrap: Any) -> None:
    model = ScriptedModel("<summary>Ours.</summary>")
    inner = server(responses=50_000, fallback=summarize(compression_model=model))
    chef = chef_with(wrap(inner)).set_history(talk())

    anthropic = chef.compile_sync("anthropic")
    responses = chef.compile_sync("openai-responses")

    assert asks_for(anthropic) == {"context_management": {"edits": [{"type": "compact_20260112"}]}}
    entries = [{"type": "compaction", "compact_threshold": 50_000}]
    assert responses["context_management"] == entries
    assert model.calls == []
    assert len(chef.window) == 21


def test_the_newest_compaction_item_of_responses_stands_for_what_came_before_it() -> None:
    item = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VhbGVk"}
    came = Message(role="assistant", content=(Opaque(provider="openai-responses", value=item),))
    rows = [*talk(), came, Message.assistant("Now this."), Message.user("more?")]
    rows[4] = rows[4].replace(pinned=True)
    chef = chef_with(server(responses=True)).set_history(rows)

    payload = chef.compile_sync("openai-responses", model="gpt-5.6")

    assert payload["context_management"] == [{"type": "compaction"}]
    assert item in payload["input"]
    assert "question 2" in str(payload["input"][0])
    assert "question 3" not in str(payload)
    assert len(chef.window) == len(rows)
    assert "question 3" in str(chef_with(reset()).set_history(rows[:10]).compile_sync("openai"))
    is_accepted(payload, "openai-responses", "gpt-5.6")


def test_a_server_that_was_not_enough_is_helped_after_a_refusal() -> None:
    chef = ContextChef(
        janitor={"tokenizer": CharacterTokenizer()}, overflow={"strategy": server()}
    ).set_history(talk(40))
    sent = len(str(chef.compile_sync("anthropic")["messages"]))

    assert chef.recover({"error": {"message": f"prompt is too long: {sent} tokens > 8000 maximum"}})

    assert len(str(chef.compile_sync("anthropic")["messages"])) < 10_000


@pytest.mark.parametrize(
    "options",
    [
        {"compaction": {"type": "shorten"}},
        {"compaction": True, "config": {"edits": []}},
        {"responses": -1},
        {"responses": []},
        {"responses": [{"compact_threshold": "many"}]},
        {"config": ["edits"]},
    ],
)
def test_a_meaningless_setting_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="server"):
        server(**options)
