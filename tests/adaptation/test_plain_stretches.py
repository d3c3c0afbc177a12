"""Stretches that are found to be sendable in one pass come out as those that took every step."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.adaptation import sendable
from context_chef.adaptation.mending import Facts, Ledger, Mending
from context_chef.adaptation.plain_stretches import is_plain
from context_chef.adaptation.profiles import profile_for
from context_chef.ir.blocks import Provider, Text, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.running import Starts
from tests.adaptation.provider_requests import MODELS, TARGETS

# Nearly always what is in order, so that the odd one does not hide behind others.
_OFTEN = st.sampled_from([True] * 7 + [False])


def _or_odd(plain: st.SearchStrategy[Any], *odd: Any) -> st.SearchStrategy[Any]:
    return _OFTEN.flatmap(lambda often: plain if often else st.sampled_from(odd))


ids = _or_odd(st.integers(0, 10**9).map(lambda number: f"c{number}"), "", "c1", "a b", "x" * 50)
names = _or_odd(st.just("run"), "a tool", "1st", "look_up")
words = _or_odd(st.just("words"), "", " ", "\u3000")
texts = st.builds(
    lambda text, signature: Text(text=text, signature=signature), words, _or_odd(st.none(), "c2ln")
)
calls = st.builds(
    lambda identifier, name, signature: ToolCall(id=identifier, name=name, signature=signature),
    ids, names, _or_odd(st.none(), "c2ln"),
)  # fmt: skip


@st.composite
def _turns(draw: st.DrawFn) -> list[Message]:
    role = draw(st.sampled_from(["user", "assistant", "round", "round", "system", "tool"]))
    content = draw(st.lists(texts, min_size=draw(_or_odd(st.just(1), 0)), max_size=2))
    if role == "tool":
        return [Message.tool(content, tool_call_id=draw(ids))] if draw(st.booleans()) else []
    if role != "round":
        return [Message(role=role, content=tuple(content), positional=draw(st.booleans()))]
    said = draw(st.lists(calls, min_size=1, max_size=3))
    answered = draw(_or_odd(st.just(said), said[1:], said[::-1], [*said, said[0]]))
    results = [
        Message.tool(draw(st.lists(texts, max_size=2)), tool_call_id=call.id, name=draw(names))
        for call in answered
    ]
    return [Message.assistant(content, tool_calls=said), *results]


histories = st.lists(_turns(), min_size=1, max_size=6).map(lambda turns: [*chain(*turns)])


def _mended(history: list[Message], facts: Facts) -> tuple[Any, ...]:
    """What comes of it, and what the ledger holds then."""
    kept = sendable._Kept(facts, Starts())
    placed, repairs = kept.whole(tuple(history))
    ledger = kept._ledger
    return placed, repairs, ledger.opened, ledger.taken._ids, ledger.known._ids, ledger._made


@pytest.mark.parametrize("target", TARGETS)
@given(history=histories, data=st.data(), renamed=st.booleans())
@settings(max_examples=50, deadline=None)
def test_one_pass_says_what_all_the_steps_make_of_it(
    target: Provider, history: list[Message], data: st.DataObject, renamed: bool
) -> None:
    facts = Facts(
        target=target,
        profile=profile_for(data.draw(st.sampled_from(MODELS[target])), target),
        thinking=None,
        names={"a tool": "a_tool", "look_up": "look_up_2"} if renamed else {},
        stateful=data.draw(st.booleans()),
        reasoning_as_text=False,
    )
    found = _mended(history, facts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sendable, "is_plain", lambda *_: False)
        assert found == _mended(history, facts)


def test_repairs_are_told_by_place_where_signing_and_opening_are_all_there_is_to_mend() -> None:
    called = Message.assistant(tool_calls=[ToolCall(id="c1", name="run")])
    history = [Message.assistant("Hm."), called, Message.tool("done", tool_call_id="c1")]

    repairs = sendable.make_sendable(history, target="gemini").repairs

    assert [repair.where for repair in repairs] == ["messages[0]", "messages[1]"]


@pytest.mark.parametrize("target", TARGETS)
def test_a_round_in_order_is_told_in_one_pass_and_another_leaves_the_ledger_alone(
    target: Provider,
) -> None:
    asked = Message.user("Look.")
    called = Message.assistant("So.", tool_calls=[ToolCall(id="c1", name="run")])
    result = Message.tool("", tool_call_id="c1").with_text("done")
    facts = Facts(
        target=target, profile=None, thinking=None, names={}, stateful=False,
        reasoning_as_text=False,
    )  # fmt: skip
    mending = Mending(facts, Ledger())

    assert not is_plain([asked, called], mending)
    assert "c1" not in mending.ledger.known
    assert is_plain([asked, called, result], mending)
    assert "c1" in mending.ledger.known
