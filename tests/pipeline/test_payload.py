"""What comes out of a compile: SDK-ready, valid, the same bytes everywhere, nobody else's."""

from __future__ import annotations

import copy
import json
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest

from context_chef import ContextChef, Message, UnsendableError
from context_chef.testing import check_payload

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def faults(target: str, payload: Any, **more: Any) -> list[Any]:
    """Faults of the request that a caller would send."""
    own = {"anthropic": {"model": "m", "max_tokens": 9}, "gemini": {}}.get(target, {"model": "m"})
    return check_payload(target, {**own, **payload, **more})


def busy_chef() -> ContextChef:
    chef = ContextChef(cache="auto")
    chef.set_system_prompt("You look at things.")
    chef.set_history(
        [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "a tree"},
        ]
    )
    schema = {"type": "object", "properties": {"at": {"type": "integer"}}}
    chef.register_tools([{"name": "look", "description": "Look.", "parameters": schema}])
    chef.set_dynamic_state(None, {"turn": 1, "where": "wood"})
    chef.announce("weather", "It rains.")
    chef.with_guardrails({"enforce_xml": {"output_tag": "out"}, "prefill": "<out>"})
    return chef


@pytest.mark.parametrize("target", TARGETS)
def test_a_payload_holds_only_what_the_sdk_takes(target: str) -> None:
    payload = busy_chef().compile_sync(target)

    keys = {
        "openai": {"messages", "tools"},
        "openai-responses": {"input", "instructions", "tools"},
        "anthropic": {"messages", "system", "tools"},
        "gemini": {"contents", "config"},
    }
    assert set(payload) == keys[target]
    assert payload.meta.target == target
    assert faults(target, payload) == []


@pytest.mark.parametrize("target", TARGETS)
def test_changing_a_payload_changes_nothing_inside(target: str) -> None:
    chef = busy_chef()
    before = chef.compile_sync(target)
    kept = copy.deepcopy(dict(before))

    def spoil(value: object) -> None:
        if isinstance(value, dict):
            for inner in value.values():
                spoil(inner)
            value.clear()
        elif isinstance(value, list):
            for inner in value:
                spoil(inner)
            value.clear()

    spoil(before)

    assert dict(chef.compile_sync(target)) == kept


@pytest.mark.parametrize("target", TARGETS)
def test_changing_what_was_passed_in_changes_nothing_inside(target: str) -> None:
    rows = [{"role": "user", "content": [{"type": "text", "text": "hi"}], "more": {"a": [1]}}]
    state = {"list": [1, 2]}
    chef = ContextChef().set_history(rows).set_dynamic_state(None, state)
    kept = dict(chef.compile_sync(target))

    rows[0]["content"][0]["text"] = "changed"  # type: ignore[index]  # a caller's own dict
    rows.append({"role": "user", "content": "more"})
    state["list"].append(3)

    assert dict(chef.compile_sync(target)) == kept


@pytest.mark.parametrize("target", TARGETS)
def test_to_json_is_the_http_body_of_the_dict(target: str) -> None:
    payload = busy_chef().compile_sync(target)

    body = json.loads(payload.to_json())

    assert body == payload.body
    assert ("contents" if target == "gemini" else next(iter(payload))) in body
    if target == "gemini":
        assert set(body) == {"contents", "systemInstruction", "tools"}


_PROGRAM = """
import sys
from tests.pipeline.test_payload import TARGETS, busy_chef
for target in TARGETS:
    sys.stdout.buffer.write(busy_chef().compile_sync(target).to_json() + b"\\n")
"""


def test_two_processes_write_the_same_bytes() -> None:
    """Hash seed and locale have no say in it."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    written = {
        subprocess.run(
            [sys.executable, "-c", _PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": locale, "PYTHONPATH": root},
            capture_output=True,
            check=True,
        ).stdout
        for seed, locale in (("0", "C"), ("1", "C.UTF-8"), ("4711", "POSIX"))
    }

    assert len(written) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_what_would_be_refused_is_mended_and_reported(target: str) -> None:
    chef = ContextChef().set_history(
        [
            {"role": "user", "content": "q"},
            {"role": "tool", "tool_call_id": "lost", "content": "orphan"},
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "user", "content": "next"},
        ]
    )

    payload = chef.compile_sync(target)

    assert faults(target, payload) == []
    assert len(payload.report.repairs) >= 2
    assert len(chef.history) == 4


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_handler_breaks_is_mended_and_reported(target: str) -> None:
    chef = busy_chef()
    chef.use("after-assemble", lambda messages: [m for m in messages if m.role != "tool"])

    def spoil(context: object) -> None:
        payload = context.payload  # type: ignore[attr-defined]  # an `AfterAdapt`
        key = "contents" if "contents" in payload else "input" if "input" in payload else "messages"
        orphan = {
            "openai": {"role": "tool", "tool_call_id": "zz", "content": "x"},
            "openai-responses": {"type": "function_call_output", "call_id": "zz", "output": "x"},
            "anthropic": {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "zz"}],
            },
            "gemini": {
                "role": "user",
                "parts": [{"functionResponse": {"name": "f", "response": {}}}],
            },
        }[target]  # fmt: skip
        payload[key].append(orphan)

    chef.use("after-adapt", spoil)

    payload = chef.compile_sync(target)

    assert faults(target, payload) == []
    assert payload.report.repairs


def test_a_chef_that_knows_nothing_says_what_is_missing() -> None:
    with pytest.raises(UnsendableError, match="message"):
        ContextChef().compile_sync("openai")


def test_the_report_accounts_for_every_part_of_the_window() -> None:
    report = busy_chef().compile_sync("anthropic", model="claude-sonnet-4-5").report

    sources = [span.source for span in report.spans]

    assert "system_prompt" in sources
    assert "tool:look" in sources
    assert [f"history[{n}]" in sources for n in range(3)] == [True] * 3
    assert {"dynamic_state", "announcements", "guardrail", "prefill"} <= set(sources)
    assert report.tokens == sum(report.sections.values())
    assert all(span.tokens > 0 for span in report.spans)


def test_the_prefill_is_native_only_where_the_model_takes_it() -> None:
    takes = busy_chef().compile_sync("anthropic", model="claude-sonnet-4-5")
    refuses = busy_chef().compile_sync("anthropic", model="claude-sonnet-4-6")
    unknown = busy_chef().compile_sync("anthropic")

    assert takes["messages"][-1]["role"] == "assistant"
    assert refuses["messages"][-1]["role"] == unknown["messages"][-1]["role"] == "user"


def test_messages_may_be_given_as_values_or_as_dicts() -> None:
    one = ContextChef().set_history([Message.user("hi")]).compile_sync()
    other = ContextChef().set_history([{"role": "user", "content": "hi"}]).compile_sync()

    assert one == other


def test_tools_that_the_endpoint_refuses_for_sure_are_an_error_with_the_way_out() -> None:
    spent: list[int] = []
    chef = ContextChef(
        janitor={"context_window": 200, "compression_model": lambda _: spent.append(1) or "s"},
        clock=lambda: 1_700_000_000_000,
    ).set_history([Message.user("x" * 400), Message.assistant("a"), Message.user("q")])
    chef.register_tools([{"name": "f"}])
    before = chef.snapshot_sync().to_json()

    with pytest.raises(UnsendableError, match="`openai-responses`") as caught:
        chef.compile_sync("openai", model="gpt-6.1")

    assert '"chat_tools": "always"' in str(caught.value)
    assert spent == []
    assert chef.snapshot_sync().to_json() == before
    assert "tools" in chef.compile_sync("openai-responses", model="gpt-6.1")


def test_a_gateway_that_takes_the_tools_is_one_setting_away() -> None:
    chef = ContextChef(profiles={"gpt-6.1": {"chat_tools": "always"}}).append(Message.user("q"))
    chef.register_tools([{"name": "f"}])

    assert "tools" in chef.compile_sync("openai", model="gpt-6.1")
    bare = ContextChef().append(Message.user("q"))
    assert "tools" not in bare.compile_sync("openai", model="gpt-6.1")


@pytest.mark.parametrize(
    ("model", "said", "code"),
    [
        ("house-model-1", "hi", "model-unknown"),
        ("claude-sonnet-4-5", "hi", "model-of-another-provider"),
        ("gpt-4o", "many words " * 100_000, "request-beyond-model"),
        ("gpt-4o", "hi", None),
    ],
)
def test_a_doubtful_model_is_told_in_the_report(model: str, said: str, code: str | None) -> None:
    """Never an error: gateways use names of their own."""
    chef = ContextChef(model=model).append({"role": "user", "content": said})

    notes = chef.compile_sync("openai").report.diagnostics

    assert [note.code for note in notes] == ([code] if code else [])


@pytest.mark.parametrize("target", TARGETS)
def test_copies_of_a_payload_are_payloads_of_their_own(target: str) -> None:
    chef = busy_chef()
    payload = chef.compile_sync(target)
    sent = payload.to_json()

    for other in (copy.deepcopy(payload), pickle.loads(pickle.dumps(payload))):
        assert (other, other.meta, other.report) == (payload, payload.meta, payload.report)
        assert other.to_json() == sent
        next(value for value in other.values() if isinstance(value, list)).clear()
        assert other.to_json() != sent
    assert payload.to_json() == chef.compile_sync(target).to_json() == sent
    assert copy.copy(payload).explain().to_dict() == payload.explain().to_dict()
