"""Input that no request can carry is mended or refused where it enters, never met later."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any

import pytest

from context_chef import ContextChef, InputError, Message, ToolDefinition, ToolError
from context_chef.ir.blocks import Inline, Media, Opaque, Text, Thinking, ToolCall, Url
from context_chef.ir.frozen import MAX_DEPTH, freeze

HALF = "a\ud800b"
TARGETS = ("openai", "openai-responses", "anthropic", "gemini")
USER = {"role": "user", "content": "q"}
SCHEMA = {"type": "object", "properties": {HALF: {"description": HALF, "enum": [HALF]}}}


class Marked(str):
    """Marked-up text, as template engines have it."""

    def __str__(self) -> str:
        return f"<{str.__str__(self)}>"


class Word(enum.StrEnum):
    X = "x"


class Number(enum.IntEnum):
    THREE = 3


class Mapped(dict[str, Any]):
    """A dict of somebody's own."""


def deep(levels: int = 2000) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def inside_itself() -> dict[str, Any]:
    value: dict[str, Any] = {}
    value["x"] = value
    return value


def turn_with_call(**call: Any) -> list[dict[str, Any]]:
    function = {"name": "f", "arguments": "{}", **call.pop("function", {})}
    return [
        USER,
        {"role": "assistant", "tool_calls": [{"id": "1", "function": function, **call}]},
        {"role": "tool", "tool_call_id": call.get("id", "1"), "content": "r"},
    ]


TOOL = {"name": "t", "description": HALF, "parameters": SCHEMA}
HALVES: dict[str, Callable[[ContextChef], Any]] = {
    "tool": lambda c: c.register_tools([TOOL, {**TOOL, "name": HALF}]),
    "typed tool": lambda c: c.register_tools([ToolDefinition(name=HALF, parameters=SCHEMA)]),
    "namespace": lambda c: c.register_namespaces([{"name": "n", "tools": [TOOL]}]),
    "attachment": lambda c: c.append(
        {
            **USER,
            "attachments": [{"mediaType": "application/pdf", "data": "aGk=", "filename": HALF}],
        }
    ),
    "image": lambda c: c.append(
        {"role": "user", "content": [{"type": "image_url", "image_url": f"https://x/{HALF}"}]}
    ),
    "text signature": lambda c: c.extend(
        [{"role": "assistant", "content": "x", "_gemini_thought_signature": HALF}, USER]
    ),
    "call": lambda c: c.extend(
        turn_with_call(id=HALF, thought_signature=HALF, function={"name": HALF, "arguments": HALF})
    ),
    "thinking": lambda c: c.extend(
        [
            {"role": "assistant", "content": "x", "thinking": {"thinking": "t", "signature": HALF}},
            USER,
        ]
    ),
    "native": lambda c: c.append({**USER, "native": {t: {HALF: HALF} for t in TARGETS}}),
    "system": lambda c: c.set_system_prompt(HALF),
    "announcement": lambda c: c.announce(HALF, HALF),
    "guardrails": lambda c: c.with_guardrails(
        {"enforce_xml": {"output_tag": HALF}, "prefill": HALF}
    ),
    "state": lambda c: c.set_dynamic_state(None, {HALF: HALF}),
    "skill": lambda c: c.activate_skill({"name": HALF, "instructions": HALF}),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("entry", HALVES)
def test_half_a_surrogate_pair_never_reaches_a_request(entry: str, target: str) -> None:
    chef = ContextChef().append(USER)
    HALVES[entry](chef)

    payload = chef.compile_sync(target)

    payload.to_json().decode("utf-8")
    repr(dict(payload)).encode("ascii", "backslashreplace")
    assert "\\ud800" not in repr(dict(payload))


@pytest.mark.parametrize("model", [None, "claude-opus-5-5"])
@pytest.mark.parametrize("word", [Marked("x"), Word.X])
def test_subclasses_of_str_are_plain_text_everywhere(word: str, model: str | None) -> None:
    chef, plain = ContextChef(), ContextChef()
    for each, x in ((chef, word), (plain, "x")):
        each.set_system_prompt(x).append({"role": "user", "content": x}).announce(x, x)
        each.extend(turn_with_call(function={"name": x, "arguments": x}))
        each.append(Message.user(x, native={"anthropic": {x: x}}))
        each.set_dynamic_state(None, {x: x, "many": [x]})
        each.register_tools([{"name": x, "description": x, "parameters": {"default": x}}])

    for target in TARGETS:
        given = chef.compile_sync(target, model=model if target == "anthropic" else None)
        wanted = plain.compile_sync(target, model=model if target == "anthropic" else None)
        assert given.to_json() == wanted.to_json()


def test_subclasses_of_plain_types_inside_json_values_become_plain() -> None:
    message = Message.user("q", native={"anthropic": Mapped(n=Number.THREE, many=(Word.X,))})

    fields = message.native["anthropic"]
    assert fields == {"n": 3, "many": ["x"]}
    assert type(fields["n"]) is int
    assert type(fields["many"][0]) is str


def test_sets_get_an_order_of_their_own() -> None:
    words = {f"w{number}" for number in range(50)}

    assert freeze(words) == sorted(words)
    assert freeze({frozenset({2, 1})}) == [[1, 2]]
    assert ToolDefinition(name="t", tags=words).tags == tuple(sorted(words))  # type: ignore[arg-type]  # what callers do


REFUSED: dict[str, dict[str, Any]] = {
    "native without provider": {"native": {"a": 1}},
    "native of a provider no mapping": {"native": {"openai": 5}},
    "native no mapping": {"native": 5},
    "extra no mapping": {"extra": "x"},
    "signature": {"thinking": {"thinking": "x", "signature": {"a": 1}}},
    "filename": {"content": [{"type": "file", "file": {"file_data": "aGk=", "filename": 5}}]},
    "empty block": {"content": [{"type": "opaque", "provider": "anthropic", "value": {}}]},
    "type a list": {"content": [{"type": ["text"]}]},
    "audio": {"content": [{"type": "input_audio", "input_audio": 5}]},
    "object in native": {"content": [{"type": "text", "text": "x", "native": {"a": {"b": print}}}]},
    "bytes": {"_openai_reasoning": [{"type": "reasoning", "x": b"x"}]},
    "NaN": {"native": {"openai": {"x": math.nan}}},
    "tuple key": {"native": {"openai": {(1, 2): 3}}},
    "deep native": {"native": {"openai": deep()}},
    "deep extra": {"whatever": deep()},
    "deep content": {"content": deep()},
    "deep part": {"content": [deep()]},
    "deep name": {"name": deep()},
    "deep blocks": {"blocks": [deep()]},
    "native inside itself": {"native": inside_itself()},
    "extra inside itself": {"extra": inside_itself()},
    "content inside itself": {"content": inside_itself()},
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_row_that_cannot_be_sent_is_refused_with_its_place(case: str) -> None:
    chef = ContextChef().append(USER)

    with pytest.raises(InputError) as refusal:
        chef.append({**USER, **REFUSED[case]})

    assert refusal.value.path.startswith("$[1]")
    assert len(str(refusal.value)) < 1000
    assert len(chef.history) == 1


@pytest.mark.parametrize(
    "arguments",
    [{"x": math.nan}, {"x": b"x"}, {(1, 2): 3}, {"x": print}, deep(), inside_itself(), 5],
    ids=["NaN", "bytes", "tuple key", "object", "deep", "inside itself", "number"],
)
def test_arguments_that_are_no_json_are_refused(arguments: Any) -> None:
    with pytest.raises(InputError, match="arguments"):
        ContextChef().extend(turn_with_call(function={"arguments": arguments}))


def test_a_set_in_arguments_is_a_list_in_order() -> None:
    chef = ContextChef().extend(turn_with_call(function={"arguments": {"x": {"b", "a"}}}))

    assert chef.history[1].tool_calls[0].arguments == '{"x":["a","b"]}'


TYPED: dict[str, Callable[[], Any]] = {
    "content None": lambda: Message(role="user", content=None),  # type: ignore[arg-type]  # refused
    "texts as blocks": lambda: Message.user(["a", "b"]),  # type: ignore[list-item]  # refused
    "user None": lambda: Message.user(None),  # type: ignore[arg-type]  # refused
    "role": lambda: Message(role="robot"),  # type: ignore[arg-type]  # refused
    "flag": lambda: Message.user("x", pinned="yes"),
    "text None": lambda: Text(text=None),  # type: ignore[arg-type]  # refused
    "text list": lambda: Text(text=[]),  # type: ignore[arg-type]  # refused
    "text number": lambda: Text(text=5),  # type: ignore[arg-type]  # refused
    "data bytes": lambda: Inline(data=b"x"),  # type: ignore[arg-type]  # refused
    "media kind": lambda: Media(kind="robot", source=Url(url="x")),  # type: ignore[arg-type]  # refused
    "media source": lambda: Media(kind="image", source="x"),  # type: ignore[arg-type]  # refused
    "origin": lambda: Thinking(text="x", origin=5),  # type: ignore[arg-type]  # refused
    "arguments": lambda: ToolCall(id="1", name="f", arguments={}),  # type: ignore[arg-type]  # refused
    "opaque": lambda: Opaque(provider="anthropic", value={}),
}


@pytest.mark.parametrize("case", TYPED)
def test_typed_values_judge_their_own_fields(case: str) -> None:
    with pytest.raises(InputError):
        TYPED[case]()


@pytest.mark.parametrize("parameters", [deep(), inside_itself(), {"default": math.nan}])
def test_a_schema_that_no_request_can_carry_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        ContextChef().register_tools([{"name": "t", "parameters": parameters}])


def test_what_is_nested_as_deep_as_allowed_is_sent() -> None:
    chef = ContextChef().append({**USER, "native": {"openai": {"x": deep(MAX_DEPTH - 3)}}})

    assert b'"a"' in chef.compile_sync("openai").to_json()


@pytest.mark.parametrize("target", TARGETS)
def test_argument_text_of_any_depth_compiles(target: str) -> None:
    text = '{"a":' * 500 + "1" + "}" * 500
    chef = ContextChef().extend(turn_with_call(function={"arguments": text}))

    assert chef.compile_sync(target).to_json()


def test_a_number_too_long_to_write_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="too large to show"):
        ContextChef().append({"role": "user", "content": 10**5000})
