"""Messages and blocks: unchangeable, equal by content, readable from JSON."""

from __future__ import annotations

import copy
import pickle

import msgspec
import pytest

from context_chef.ir.blocks import Media, Opaque, Text, Thinking, ToolCall, Url
from context_chef.ir.frozen import FrozenDict, thaw
from context_chef.ir.message import Message


def test_a_message_keeps_its_blocks_in_the_order_given() -> None:
    blocks = (
        Thinking(text="hm", signature="s1"),
        Text(text="first"),
        ToolCall(id="c", name="f", arguments="{}"),
        Thinking(text="again", signature="s2"),
        Text(text="second"),
    )

    message = Message.assistant(blocks)

    assert message.content == blocks
    assert message.text == "first\nsecond"
    assert [call.name for call in message.tool_calls] == ["f"]


def test_what_a_caller_handed_in_can_change_without_the_message_changing() -> None:
    native = {"anthropic": {"citations": [{"n": 1}]}}
    message = Message.user("hi", native=native)

    native["anthropic"]["citations"].append({"n": 2})

    assert message.native["anthropic"]["citations"] == [{"n": 1}]


def test_nothing_inside_a_message_can_be_changed() -> None:
    block = Opaque(provider="anthropic", value={"type": "x", "list": [1, {"a": 2}]})

    for change in (
        lambda: block.value.update(type="y"),
        lambda: block.value["list"].append(3),
        lambda: block.value["list"][1].pop("a"),
        lambda: block.value.__setitem__("type", "y"),
    ):
        with pytest.raises(TypeError, match="thaw"):
            change()
    with pytest.raises(AttributeError):
        block.provider = "gemini"  # type: ignore[misc]  # refusing this is what is tested


def test_a_thawed_copy_is_plain_and_free() -> None:
    block = Opaque(provider="anthropic", value={"type": "x", "list": [1]})

    plain = thaw(block.value)
    plain["list"].append(2)

    assert type(plain) is dict
    assert block.value == {"type": "x", "list": [1]}


def test_equal_messages_are_equal_bytes_and_equal_hashes() -> None:
    one = Message.user("hi", native={"openai": {"name": "bob"}})
    other = Message.user("hi", native={"openai": {"name": "bob"}})

    assert one == other
    assert hash(one) == hash(other)
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


@pytest.mark.parametrize(
    "message",
    [
        Message.system("be brief", positional=True),
        Message.user([Text(text="see"), Media(kind="image", source=Url(url="https://e.test/i"))]),
        Message.assistant([Thinking(text="t", signature="s", origin="anthropic")], pinned=True),
        Message.tool("done", tool_call_id="c", name="f", is_error=True),
    ],
)
def test_a_message_survives_json_copying_and_pickling(message: Message) -> None:
    decoded = msgspec.json.decode(msgspec.json.encode(message), type=Message)

    assert decoded == message
    assert type(decoded.native) is FrozenDict
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("a\ud83d\ude00b", "a😀b"),
        ("lone \ud83d end", "lone � end"),
        ("nul\x00here", "nul�here"),
        ("plain", "plain"),
    ],
)
def test_text_that_no_request_can_carry_is_mended_where_it_enters(given: str, kept: str) -> None:
    assert Text(text=given).text == kept
    assert ToolCall(id="c", name="f", arguments=given).arguments == kept
    assert Message.user("x", extra={"k": [given]}).extra["k"] == [kept]


def test_with_text_says_something_else_and_leaves_the_rest_in_place() -> None:
    message = Message.assistant(
        [Thinking(text="t"), Text(text="a"), ToolCall(id="c", name="f"), Text(text="b")]
    )

    changed = message.with_text("new")

    assert changed.text == "new"
    assert [type(block).__name__ for block in changed.content] == ["Thinking", "Text", "ToolCall"]
