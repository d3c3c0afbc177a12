"""`PayloadChecker`: the requests of a session, each judged as `check_payload` judges it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from context_chef.adaptation.wire_rules import PayloadChecker, Target, check_payload
from context_chef.ir.handed_out import HandedOut, Sealed, sealed

_LISTS: Mapping[Target, str] = {
    "anthropic": "messages",
    "openai": "messages",
    "openai-responses": "input",
    "gemini": "contents",
}


def _row(target: Target, role: str, text: str) -> Sealed:
    if target == "gemini":
        named = "model" if role == "assistant" else role
        return sealed({"role": named, "parts": [{"text": text}]})
    return sealed({"role": role, "content": text})


def _body(target: Target, rows: Sequence[Sealed]) -> dict[str, Any]:
    return {_LISTS[target]: HandedOut(rows)}


@pytest.mark.parametrize("target", _LISTS)
def test_each_request_of_a_session_is_judged_as_if_it_stood_alone(target: Target) -> None:
    checker = PayloadChecker(target, partial=True)
    rows = [_row(target, "user", "hello")]
    odd = sealed({**_row(target, "user", "odd"), "nobody_knows": 1})
    broken = sealed({"role": 5})
    said = _row(target, "assistant", "ho")
    found: list[int] = []
    for more in ([], [said], [odd], [said, broken], [_row(target, "user", "on")]):
        rows = [*rows, *more]
        for kept in (rows, [row for row in rows if row is not odd], rows):
            faults = checker.check(_body(target, kept))
            assert faults == check_payload(target, _body(target, kept), partial=True)
            found.append(len(faults))
    assert found[0] == 0
    assert max(found) > 0


def test_a_row_that_is_nobodys_own_is_not_opened() -> None:
    rows = HandedOut([_row("anthropic", "user", "hello")])

    PayloadChecker("anthropic", partial=True).check({"messages": rows})

    assert [type(row) for row in rows.raw()] == [Sealed]


def test_what_nests_too_deeply_is_a_fault() -> None:
    deep: Any = "x"
    for _ in range(120):
        deep = [deep]

    [fault] = PayloadChecker("anthropic").check({"messages": deep})

    assert fault.rule == "anthropic/shape"
