"""A tool list that changes within a session: told with its cost, or said without touching it."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from context_chef import ChefSnapshot, ContextChef, Message, Payload, Text, Thinking
from tests.properties.provider_check import problems, sequence_problems
from tests.shared_data import DATA, needs_data

CLAUDE, GPT = "claude-opus-4-8", "gpt-5.6"
BOUND = "claude-opus-5-5"
"""A model that binds its thinking to everything in front of it, the tools included."""


def tools(*names: str, **changes: Any) -> list[dict[str, Any]]:
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    return [
        {"name": name, "description": changes.get(name, f"Does {name}."), "parameters": schema}
        for name in names
    ]


def make(target: str, model: str, *names: str, **settings: Any) -> ContextChef:
    chef = ContextChef(default_target=target, model=model, **settings)
    chef.set_system_prompt("Rules. " * 40).register_tools(tools(*names))
    return chef.append(Message.user("first question " * 20))


def answered(chef: ContextChef, text: str) -> ContextChef:
    thinking = Thinking(text="t", signature=f"sig-{text}", origin="anthropic")
    answer = Message(role="assistant", content=(thinking, Text(text=text)))
    return chef.append(answer).append(Message.user(f"after {text}"))


def told(payload: Payload) -> list[tuple[str, str | None, bool]]:
    return [(c.what, c.name, c.kept) for c in payload.report.prefix_changes]


def test_a_first_request_and_an_unchanged_one_have_nothing_to_tell() -> None:
    chef = make("openai", "gpt-4o", "a")

    assert chef.compile_sync().report.prefix_changes == ()
    assert answered(chef, "a1").compile_sync().report.prefix_changes == ()


def test_what_comes_goes_or_changes_is_told_with_what_it_costs() -> None:
    chef = make("openai", "gpt-4o", "a", "b", "c")
    chef.compile_sync()
    chef.register_tools(tools("b", "a", "new", a="Another description."))

    report = answered(chef, "a1").compile_sync().report

    assert told_of(report) == [
        ("tool-changed", "a"),
        ("tool-added", "new"),
        ("tool-removed", "c"),
        ("tools-reordered", None),
    ]
    standing = report.sections["system"] + sum(
        span.tokens for span in report.spans if span.source == "history[0]"
    )
    assert standing <= report.rebilled_tokens < report.tokens


def told_of(report: Any) -> list[tuple[str, str | None]]:
    return [(change.what, change.name) for change in report.prefix_changes]


def test_a_tool_at_the_end_costs_less_than_one_at_the_front() -> None:
    def cost(*names: str) -> int:
        chef = make("openai", "gpt-4o", "a", "b", "c")
        chef.compile_sync()
        return (
            answered(chef.register_tools(tools(*names)), "a1").compile_sync().report.rebilled_tokens
        )

    assert 0 < cost("a", "b", "c", "new") < cost("new", "a", "b", "c")


def test_a_new_system_prompt_or_skill_costs_the_conversation() -> None:
    chef = make("openai", "gpt-4o", "a")
    chef.compile_sync()

    prompt = answered(chef.set_system_prompt("Other."), "a1").compile_sync().report
    chef.activate_skill({"name": "s", "instructions": "I"})
    skill = answered(chef, "a2").compile_sync().report

    assert told_of(prompt) == [("system", "system_prompt")]
    assert told_of(skill) == [("skill", "skill:s")]
    assert 0 < prompt.rebilled_tokens < skill.rebilled_tokens


def test_another_model_reads_nothing_from_the_cache() -> None:
    chef = make("openai", "gpt-4o", "a")
    chef.compile_sync()

    report = chef.compile_sync(model="gpt-4.1").report

    assert told_of(report) == [("model", None)]
    assert report.rebilled_tokens == report.tokens


def test_blocking_a_tool_changes_nothing_that_is_sent() -> None:
    chef = make("anthropic", CLAUDE, "a", "b")
    before = chef.compile_sync()
    chef.get_pruner().set_blocked_tools(["a"])

    after = chef.compile_sync()

    assert after.to_json() == before.to_json()
    assert after.report.prefix_changes == ()


def test_a_held_back_tool_stands_outside_of_the_prefix() -> None:
    chef = make("anthropic", CLAUDE, "a")
    chef.register_tools([*tools("a"), {**tools("far")[0], "defer_loading": True}])
    chef.compile_sync()
    far = [{**tool, "defer_loading": True} for tool in tools("far", "further")]
    chef.register_tools([*tools("a"), *far])

    report = answered(chef, "a1").compile_sync().report

    assert [(c.name, c.kept, c.rebilled_tokens) for c in report.prefix_changes] == [
        ("further", True, 0)
    ]


@pytest.mark.parametrize(
    ("target", "model", "omitted"),
    [
        ("gemini", "gemini-3.8-flash", True),
        ("openai-responses", "gpt-5.4-nano", True),
        ("openai-responses", "gpt-5.6", False),
        ("anthropic", "claude-opus-4-1", True),
        ("anthropic", CLAUDE, False),
        ("anthropic", None, True),
    ],
)
def test_tools_to_be_held_back_are_left_out_where_that_is_asked_for(
    target: str, model: str | None, omitted: bool
) -> None:
    chef = ContextChef(deferred_tools="omit", model=model, default_target=target)
    chef.append({"role": "user", "content": "q"})
    chef.register_tools([*tools("a"), {**tools("far")[0], "defer_loading": True}])

    payload = chef.compile_sync()

    assert ('"far"' not in payload.to_json().decode()) is omitted
    said = [entry.code for entry in payload.report.diagnostics]
    assert said == (["deferred-tool-omitted"] if omitted else [])
    assert problems(target, payload, model or "claude-sonnet-4-5") == []


@pytest.mark.parametrize("model", ["gpt-4.1", "o3"])
def test_models_that_take_no_additional_tools_get_a_changed_list(model: str) -> None:
    chef = ContextChef(tool_changes="inline", model=model, default_target="openai-responses")
    chef.append({"role": "user", "content": "q"}).register_tools(tools("a"))
    chef.compile_sync()
    chef.register_tools(tools("a", "b"))

    payload = answered(chef, "a1").compile_sync()

    assert "additional_tools" not in payload.to_json().decode()
    assert [tool["name"] for tool in payload["tools"]] == ["a", "b"]


def changing(chef: ContextChef, model: str, target: str) -> list[Payload]:
    """A session whose tools come and go, one request a turn."""
    payloads = [chef.compile_sync()]
    for turn, names in enumerate([("a", "b", "c"), ("a", "c"), ("a", "b", "c"), ("a",)]):
        chef.register_tools(tools(*names))
        payloads.append(answered(chef, f"a{turn}").compile_sync())
    for payload in payloads:
        assert problems(target, payload, model) == []
    return payloads


@pytest.mark.parametrize("model", [CLAUDE, BOUND])
def test_inline_changes_leave_everything_in_front_of_them_alone(model: str) -> None:
    payloads = changing(
        make("anthropic", model, "a", "b", tool_changes="inline"), model, "anthropic"
    )

    first = payloads[0].body
    for before, after in pairwise(payloads):
        assert after.body["tools"] == first["tools"]
        assert after.body["system"] == first["system"]
        sent = before.body["messages"]
        assert after.body["messages"][: len(sent)] == sent
        assert all(change.kept for change in after.report.prefix_changes)
        assert after.report.rebilled_tokens == 0
    assert sequence_problems("anthropic", payloads, model) == []
    said = [
        (block["type"], block["tool"].get("name") or block["tool"]["definition"]["name"])
        for message in payloads[-1].body["messages"]
        if message["role"] == "system"
        for block in message["content"]
    ]
    assert said == [
        ("tool_addition", "c"),
        ("tool_removal", "b"),
        ("tool_addition", "b"),
        ("tool_removal", "c"),
        ("tool_removal", "b"),
    ]
    betas = payloads[-1]["extra_headers"]["anthropic-beta"]
    assert "inline-tools-2026-09-15" in betas
    assert "mid-conversation-tool-changes-2026-07-01" in betas


def test_inline_additions_are_items_of_their_own_on_responses() -> None:
    chef = make("openai-responses", GPT, "a", tool_changes="inline")
    first = chef.compile_sync()
    chef.register_tools(tools("new", "a"))
    second = answered(chef, "a1").compile_sync()
    third = answered(chef, "a2").compile_sync()

    assert first["tools"] == second["tools"] == third["tools"]
    [item] = [row for row in third["input"] if row.get("type") == "additional_tools"]
    assert [tool["name"] for tool in item["tools"]] == ["new"]
    assert third["input"][: len(second["input"])] == second["input"]
    assert told(second) == [("tool-added", "new", True)]
    for payload in (second, third):
        assert problems("openai-responses", payload, GPT) == []


@needs_data
def test_additions_have_the_shape_that_the_providers_accepted() -> None:
    name = "pydantic-ai--test-tool-availability-portability-matrix-r"
    anthropic = DATA / f"cassettes/anthropic/accepted/{name}4-t1-tool-addition--0.json"
    openai = DATA / f"cassettes/openai_responses/accepted/{name}4-t3-additional-tools--0.json"
    [recorded] = json.loads(anthropic.read_text("utf-8"))["request"]["messages"][1]["content"]
    [item] = [
        row
        for row in json.loads(openai.read_text("utf-8"))["request"]["input"]
        if row.get("type") == "additional_tools"
    ]

    chef = make("anthropic", CLAUDE, "a", "b", tool_changes="inline")
    body = changing(chef, CLAUDE, "anthropic")[-1].body
    [_, again, *_] = [
        block
        for message in body["messages"]
        if message["role"] == "system"
        for block in message["content"]
        if block["type"] == "tool_addition"
    ]
    chef = make("openai-responses", GPT, "a", tool_changes="inline")
    chef.compile_sync()
    chef.register_tools(tools("a", "new"))
    [ours] = [
        row for row in answered(chef, "x").compile_sync()["input"]
        if row.get("type") == "additional_tools"
    ]  # fmt: skip

    assert again == {**recorded, "tool": {**recorded["tool"], "name": "b"}}
    assert ours.keys() == item.keys()
    assert ours["tools"][0].keys() == item["tools"][0].keys()


@pytest.mark.parametrize(
    ("target", "model"),
    [("openai", "gpt-4o"), ("gemini", "gemini-2.5-flash"), ("anthropic", "claude-sonnet-4-5")],
)
def test_where_a_model_takes_no_changes_the_list_changes(target: str, model: str) -> None:
    chef = make(target, model, "a", tool_changes="inline")
    chef.compile_sync()
    chef.register_tools(tools("a", "new"))

    payload = answered(chef, "a1").compile_sync()

    assert told(payload) == [("tool-added", "new", False)]
    assert b'"new"' in payload.to_json()


def test_a_changed_definition_changes_the_list() -> None:
    """One name cannot stand for two definitions."""
    chef = make("anthropic", CLAUDE, "a", tool_changes="inline")
    chef.compile_sync()
    chef.register_tools(tools("a", a="Another."))

    payload = answered(chef, "a1").compile_sync()

    assert told(payload) == [("tool-changed", "a", False)]


def test_inline_changes_outlive_a_fold_and_a_snapshot() -> None:
    def window(messages: Any) -> str:
        return "<summary>s</summary>"

    settings: dict[str, Any] = {
        "tool_changes": "inline",
        "janitor": {"context_window": 8_000, "compression_model": window, "preserve_ratio": 0.05},
        "new_window_id": lambda: "w",
    }
    chef = make("anthropic", CLAUDE, "a", **settings)
    chef.compile_sync()
    chef.register_tools(tools("a", "new"))
    answered(chef, "a1").compile_sync()
    answered(chef, "a2").compile_sync()
    answered(chef, "a3").request_new_context()

    folded = chef.compile_sync()
    other = make("anthropic", CLAUDE, **settings)
    other.restore_sync(ChefSnapshot.from_json(chef.snapshot_sync().to_json()))

    assert len(chef.window) < len(chef.history)
    assert b'"tool_addition"' in folded.to_json()
    assert problems("anthropic", folded, CLAUDE) == []
    assert other.compile_sync().to_json() == chef.compile_sync().to_json()


def test_repairs_made_at_registration_are_in_every_report() -> None:
    chef = ContextChef().append(Message.user("q"))
    chef.register_tools([{"name": "f", "parameters": {"city": {"type": "string"}}}])

    for _ in range(2):
        report = chef.compile_sync().report
        assert [repair.rule for repair in report.repairs] == ["tool-schema"]
