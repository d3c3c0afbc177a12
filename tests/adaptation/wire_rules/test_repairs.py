"""Every rule that claims a repair: a compile mends the failing example, and says that it did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from context_chef import ContextChef, UnsendableError
from context_chef.adaptation.wire_rules import WireRule, all_rules, check_payload

SINGLE = [rule for rule in all_rules() if not rule.over_turns]
MENDED = [rule for rule in SINGLE if rule.repairable]
LARGE = "anthropic/messages-limit"  # 100,001 messages: half a minute, so it has a test of its own
BEYOND = [rule for rule in SINGLE if not rule.repairable and rule.id != LARGE]


def _left_by_a_handler(rule: WireRule) -> ContextChef:
    """A chef whose last handler leaves the failing example in place of the request."""
    body: Mapping[str, Any] = rule.failing.payloads[0]
    model = rule.failing.model or body.get("model")
    chef = ContextChef(model=model if isinstance(model, str) else None)
    chef.append({"role": "user", "content": "Hello"})

    def leave(context: Any) -> None:
        context.payload.clear()
        context.payload.update(body)

    chef.use("after-adapt", leave)
    return chef


@pytest.mark.parametrize("rule", MENDED, ids=lambda rule: rule.id)
def test_a_compile_mends_the_failing_example(rule: WireRule) -> None:
    payload = _left_by_a_handler(rule).compile_sync(rule.target)

    model = rule.failing.model or rule.failing.payloads[0].get("model")
    found = check_payload(
        rule.target,
        payload,
        model=model if isinstance(model, str) else None,
        api_version=rule.failing.api_version,
        partial=True,
    )
    assert [str(fault) for fault in found] == []
    if not rule.warns and rule.failing.api_version is None:
        assert rule.id in {repair.rule for repair in payload.report.repairs}


@pytest.mark.parametrize("rule", BEYOND, ids=lambda rule: rule.id)
def test_what_is_beyond_repair_is_named_with_its_place(rule: WireRule) -> None:
    payload = _left_by_a_handler(rule).compile_sync(rule.target)
    if not check_payload(rule.target, rule.failing.payloads[0], partial=True):
        return  # what the example lacks is the caller's part of a request
    named = {note.code for note in payload.report.diagnostics}
    mended = {repair.rule for repair in payload.report.repairs}
    assert f"refused:{rule.id}" in named or "not-mended" in named or rule.id in mended


def test_too_many_messages_are_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("context_chef.adaptation.anthropic_body.MOST_MESSAGES", 3)
    rows = [{"role": role, "content": "Hi"} for role in ("user", "assistant", "user", "assistant")]
    chef = ContextChef().set_history([*rows, rows[0]])

    with pytest.raises(UnsendableError, match="5 messages, and the provider takes 3"):
        chef.compile_sync("anthropic")
    assert len(chef.set_history(rows[:3]).compile_sync("anthropic")["messages"]) == 3
