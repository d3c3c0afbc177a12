"""A list that is given whole again is read where it changed, and every change is noticed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from context_chef import ContextChef, Message, Opaque
from context_chef.errors import InputError
from context_chef.ir.known_rows import KnownRows
from context_chef.ir.rows import read_messages


def rows() -> list[Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": {"a": 1}}}
    return [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "done", "tool_call_id": "c1", "is_error": False},
        {"role": "user", "content": [{"type": "text", "text": "two"}]},
    ]


def test_rows_that_are_equal_give_the_same_messages() -> None:
    known, given = KnownRows(), rows()
    first = known.read(given)

    assert first == read_messages(given)
    again = known.read([*copy.deepcopy(given), {"role": "user", "content": "more"}])
    assert [a is b for a, b in zip(first, again, strict=False)] == [True] * 4
    assert again[4].text == "more"


def _arguments(row: dict[str, Any]) -> dict[str, Any]:
    return row["tool_calls"][0]["function"]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows[0].update(content="other"),
        lambda rows: rows[3]["content"][0].update(text="other"),
        lambda rows: _arguments(rows[1])["arguments"].update(a=True),
        lambda rows: _arguments(rows[1])["arguments"].update(a=1.0),
        lambda rows: _arguments(rows[1]).update(arguments={"b": 2, "a": 1}),
        lambda rows: rows[2].update(is_error=True),
        lambda rows: rows[0].update(pinned=True),
        lambda rows: rows.pop(),
        lambda rows: rows.insert(0, {"role": "user", "content": "before"}),
        lambda rows: rows[3]["content"].append({"type": "text", "text": "more"}),
    ],
)
def test_a_change_in_place_is_noticed(change: Any) -> None:
    known, given = KnownRows(), rows()
    known.read(given)
    change(given)

    read = known.read(given)

    assert [repr(message) for message in read] == [repr(m) for m in read_messages(given)]


def test_what_is_changed_behind_an_edit_is_read_again_and_the_rest_is_not() -> None:
    known, given = KnownRows(), rows()
    first = known.read(given)
    given[1]["content"] = "thinking aloud"
    again = known.read(given)

    assert [a is b for a, b in zip(first, again, strict=True)] == [True, False, True, True]


def test_a_row_that_cannot_be_read_is_named_and_changes_nothing() -> None:
    known, given = KnownRows(), rows()
    first = known.read(given)

    with pytest.raises(InputError, match=r"\$\[4\]"):
        known.read([*given, {"role": "nobody"}])
    assert all(a is b for a, b in zip(first, known.read(given), strict=True))


class _Incomparable(dict[str, Any]):
    def __eq__(self, other: object) -> bool:
        raise ValueError("not to be compared")

    __hash__ = None  # type: ignore[assignment]


def test_rows_that_cannot_be_compared_are_read_each_time() -> None:
    known = KnownRows()
    given = [_Incomparable(role="user", content="one"), {"role": "user", "content": "two"}]

    assert [m.text for m in known.read(given)] == ["one", "two"]
    assert [m.text for m in known.read(given)] == ["one", "two"]


FORMS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda flag: [{"role": "user", "content": "q", "native": {"openai": {"n": flag}}}],
    "messages": lambda flag: [Message.user("q").replace(native={"openai": {"n": flag}})],
    "an iterator": lambda flag: iter(FORMS["rows"](flag)),
    "blocks": lambda flag: [
        Message(role="user", content=(Opaque(provider="openai", value={"type": "x", "n": flag}),))
    ],
}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("said", ["set_history", "set_system_prompt"])
@pytest.mark.parametrize(("was", "now"), [(1, True), (False, 0)])
def test_a_flag_in_place_of_a_number_is_another_request(
    form: str, said: str, was: Any, now: Any
) -> None:
    """Python calls `1` and `True` equal; a provider does not."""
    chef = ContextChef()
    getattr(chef, said)(FORMS[form](was))
    chef.compile_sync("openai")
    getattr(chef, said)(FORMS[form](now))

    new = getattr(ContextChef(), said)(FORMS[form](now))
    assert chef.compile_sync("openai").to_json() == new.compile_sync("openai").to_json()
    assert f'"n":{json.dumps(now)}'.encode() in chef.compile_sync("openai").to_json()


def test_what_a_store_hands_back_in_another_order_is_the_same_conversation() -> None:
    def said(fields: dict[str, Any]) -> list[Any]:
        return [{"role": "user", "content": "q", "native": {"openai": fields}}]

    chef = ContextChef().set_history(said({"a": {"x": 1.0, "y": 2}, "b": "c"}))
    before = chef.history
    chef.set_history(said({"b": "c", "a": {"y": 2, "x": 1}}))

    assert chef.history[0] is before[0]
