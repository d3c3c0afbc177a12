"""Where two requests part, why, and what that costs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_chef import ContextChef, InputError, Message, Payload, SettingsError, diff

LONG = "Be careful with what you promise. " * 400


def compiled(system: str = LONG, **more: Any) -> Payload:
    chef = ContextChef(cache="auto", model="claude-sonnet-4-5").set_system_prompt(system)
    chef.set_history(more.get("history", [Message.user("Where is it?")]))
    chef.register_tools(more.get("tools", ()))
    return chef.compile_sync("anthropic")


def test_a_change_at_the_front_bills_everything_again() -> None:
    found = diff(compiled(), compiled("Today is Monday. " + LONG), seconds=10)

    assert found.first is not None
    assert (found.first.path, found.first.place) == ("system[0]", "system")
    assert found.cause is not None
    assert (found.cause.kind, found.cause.name) == ("setter", "set_system_prompt")
    assert found.rebilled_tokens > 2_000
    assert found.rebilled_cost == pytest.approx(found.rebilled_tokens * (3.75 - 0.30) / 1e6)
    assert "processed again" in found.note


def test_a_conversation_that_grew_bills_nothing_again() -> None:
    grown = [Message.user("Where is it?"), Message.assistant("Here."), Message.user("Thanks.")]

    found = diff(compiled(), compiled(history=grown), seconds=10)

    assert found.cause is not None
    assert (found.cause.kind, found.cause.what) == ("history", "added")
    assert (found.rebilled_tokens, found.rebilled_cost) == (0, 0.0)


def test_the_same_request_after_a_long_pause_is_billed_again_without_a_difference() -> None:
    found = diff(compiled(), compiled(), seconds=4_000)

    assert found.same
    assert found.rebilled_tokens > 2_000
    assert "forgotten" in found.note


def test_every_difference_is_told_and_the_first_is_the_first_on_the_wire() -> None:
    tools = [{"name": "look", "description": "Looks."}]
    history = [Message.user("Where is she?")]

    found = diff(compiled(), compiled("Short.", tools=tools, history=history))

    assert found.cause is not None
    assert (found.cause.kind, found.cause.name) == ("tool", "look")
    kinds = [one.cause.kind for one in found.differences]
    assert {"tool", "setter", "history"} <= set(kinds)


def test_bodies_from_a_disk_are_compared_by_their_places() -> None:
    before = json.loads(compiled().to_json())
    after = json.loads(compiled("Today is Monday. " + LONG).to_json())

    found = diff(before, after, target="anthropic", model="claude-sonnet-4-5")

    assert found.first is not None
    assert found.first.path == "system[0]"
    assert found.cause is not None
    assert (found.cause.kind, found.cause.name) == ("wire", "system[0]")
    assert found.rebilled_tokens > 2_000


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It is 2026-11-30 now.", "It is 2026-12-01 now."),
        ("Time: 09:15", "Time: 09:16"),
        ("Now 1764490000, go.", "Now 1764490060, go."),
        ("Nov 30, 2026", "Dec 1, 2026"),
        ("Today is Wednesday.", "Today is Thursday."),
    ],
)
def test_a_clock_in_the_prompt_is_called_one(before: str, after: str) -> None:
    found = diff(compiled(LONG + before), compiled(LONG + after))

    assert found.cause is not None
    assert (found.cause.kind, found.cause.name) == ("clock", "system_prompt")


def test_a_clock_in_a_body_from_a_disk_is_called_one_too() -> None:
    before = {"system": "It is 09:15.", "messages": [{"role": "user", "content": "hi"}]}
    after = {**before, "system": "It is 09:16."}

    found = diff(before, after)

    assert found.cause is not None
    assert found.cause.kind == "clock"


def test_settings_and_models_of_bodies_are_named() -> None:
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "hi"}]}

    model = diff(body, {**body, "model": "gpt-4o"}).cause
    setting = diff(body, {**body, "temperature": 1}).cause

    assert model is not None
    assert (model.kind, model.name) == ("model", "gpt-4o")
    assert setting is not None
    assert (setting.kind, setting.name) == ("setting", "temperature")


def test_targets_that_share_nothing_say_so() -> None:
    chef = ContextChef().set_history([Message.user("hi")])

    found = diff(chef.compile_sync("openai"), chef.compile_sync("gemini"))

    assert found.cause is not None
    assert found.cause.kind == "target"
    assert found.requests is None
    assert found.rebilled_cost is None


def test_it_is_told_as_text_json_and_a_page() -> None:
    found = diff(compiled(LONG + "<b>one</b>"), compiled(LONG + "<b>two</b>"))

    assert "The requests part at system[0]" in found.text()
    assert json.loads(found.to_json())["first"]["cause"]["name"] == "set_system_prompt"
    page = found.html()
    assert "&lt;b&gt;two&lt;/b&gt;" in page
    assert "<b>two</b>" not in page
    assert "are the same" in diff(compiled(), compiled()).html()


def test_what_is_no_request_is_refused() -> None:
    with pytest.raises(InputError, match="payloads and request bodies"):
        diff([1], {})  # type: ignore[arg-type]  # what a caller may do


@pytest.mark.parametrize("seconds", [-1, float("inf"), "soon"])
def test_seconds_that_are_no_time_are_refused(seconds: Any) -> None:
    with pytest.raises(SettingsError, match="`seconds` is a number of seconds, 0 or more"):
        diff(compiled(), compiled(), seconds=seconds)


def test_as_text_no_difference_is_obeyed_by_a_terminal() -> None:
    def said(text: str) -> dict[str, object]:
        return {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}]}

    text = diff(said("a\x1b[31mb"), said("a\x1b[32m\u202ec")).text()

    assert "a\u241b[31mb" in text
    assert not set(text) & {"\x1b", "\u202e"}
