"""Breakpoints: where `auto` puts them, and what the audit finds."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.ir.blocks import CacheBreakpoint, Text, Thinking
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.placement.cache import (
    CachePlan,
    audit_anthropic_cache_placement,
    audit_breakpoints,
    mark_tools,
    place_breakpoints,
)

SYSTEM = Message.system("rules " * 300)


def marked(messages: Sequence[Message]) -> list[int]:
    return [
        index
        for index, message in enumerate(messages)
        if message.cache or any(block.cache for block in message.content)
    ]


def place(messages: Sequence[Message], **options: object) -> list[int]:
    settings = {"stable_until": len(messages), "prefix_end": 1, **options}
    placed, _ = place_breakpoints(
        messages,
        plan=CachePlan(),
        tokens=lambda _: 5000,
        **settings,  # type: ignore[arg-type]  # test shorthand
    )
    return marked(placed)


def test_auto_marks_the_prefix_and_the_newest_end() -> None:
    messages = [SYSTEM, Message.user("a"), Message.assistant("b"), Message.user("c")]

    assert place(messages) == [0, 3]


def test_auto_marks_where_the_last_request_wrote_so_that_it_is_found_again() -> None:
    messages = [SYSTEM, *[Message.user(str(n)) for n in range(40)]]

    assert place(messages, previous=5) == [0, 5, 40]


def test_without_a_last_request_a_mark_stands_within_reach_of_the_lookback() -> None:
    messages = [SYSTEM, *[Message.user(str(n)) for n in range(40)]]

    assert place(messages) == [0, 22, 40]


def test_the_volatile_tail_is_never_marked() -> None:
    tail = Text(text="state", source="dynamic_state")
    anchor = Text(text="The state above is current.", source="anchor")
    messages = [SYSTEM, Message.user([Text(text="q"), tail, anchor])]

    placed, _ = place_breakpoints(
        messages, plan=CachePlan(), stable_until=2, prefix_end=1, tokens=lambda _: 5000
    )

    assert [block.cache is not None for block in placed[1].content] == [True, False, False]
    assert placed[1].cache is None


def test_a_tail_that_stays_is_marked_like_everything_else() -> None:
    tail = Message.user([Text(text="state", source="dynamic_state")])

    assert place([SYSTEM, Message.user("q"), tail], tails_stay=True) == [0, 2]
    assert place([SYSTEM, Message.user("q"), tail]) == [0, 1]


def test_tools_count_towards_the_minimum_and_their_marks_towards_the_limit() -> None:
    tools = [ToolDefinition(name="f"), ToolDefinition(name="g")]
    plan = CachePlan(minimum_tokens=4096)
    messages = [Message.user("a")]
    few, _ = place_breakpoints(
        messages, plan=plan, stable_until=1, prefix_end=0, tokens=lambda _: 5, tools=tools
    )
    many, _ = place_breakpoints(
        messages,
        plan=plan,
        stable_until=1,
        prefix_end=0,
        tokens=lambda _: 5,
        tools=tools,
        tool_tokens=9000,
    )

    assert (marked(few), marked(many)) == ([], [0])
    assert [tool.cache is not None for tool in mark_tools(tools)] == [False, True]
    held_back = ToolDefinition(name="h", defer_loading=True)
    assert [tool.cache is not None for tool in mark_tools([tools[0], held_back])] == [True, False]
    four = [ToolDefinition(name=str(n), cache=CacheBreakpoint()) for n in range(4)]
    assert place(messages, prefix_end=0, tools=four) == []


def test_what_an_assistant_said_is_not_marked_where_the_wire_has_no_mark_for_it() -> None:
    messages = [SYSTEM, Message.user("a"), Message.assistant("b")]
    placed, last = place_breakpoints(
        messages,
        plan=CachePlan(on_assistant=False),
        stable_until=3,
        prefix_end=1,
        tokens=lambda _: 5000,
    )

    assert (marked(placed), last) == ([0, 1], 1)


def test_thinking_and_blank_text_carry_no_mark() -> None:
    thought = Thinking(text="t", signature="s")
    said = Message.assistant([Text(text="said"), thought])
    silent = Message.assistant([Text(text=" "), thought])

    # A whole message is marked: the writer puts the mark behind its last block that carries one.
    assert place([SYSTEM, said]) == [0, 1]
    assert place([SYSTEM, silent]) == [0]


def test_explicit_marks_win_and_no_more_than_four_stand() -> None:
    messages = [SYSTEM, *[Message.user(str(n), cache=CacheBreakpoint()) for n in range(4)],
                Message.user("end")]  # fmt: skip

    assert place(messages) == [1, 2, 3, 4]


def test_no_short_mark_stands_before_a_long_one() -> None:
    messages = [SYSTEM, Message.user("a", cache=CacheBreakpoint(ttl="1h")), Message.user("b")]

    assert place(messages) == [1, 2]


def test_a_prefix_below_the_minimum_is_not_marked() -> None:
    placed, last = place_breakpoints(
        [SYSTEM, Message.user("a")],
        plan=CachePlan(minimum_tokens=4096),
        stable_until=2,
        prefix_end=1,
        tokens=lambda _: 100,
    )

    assert (marked(placed), last) == ([], None)


def test_the_audit_knows_our_own_blocks_and_not_a_users_words() -> None:
    """W-CACHE-2."""
    quoted = Message.user("what does <dynamic_state> mean?", cache=CacheBreakpoint())
    ours = Message(role="system", content=(Text(text="M", source="memory"),))

    assert audit_breakpoints([quoted]) == []
    [issue] = audit_breakpoints([ours, quoted])
    assert (issue.location, issue.dedupe_key) == ("system[0]", "memory data block@prefix")


def test_any_finished_request_can_be_audited_by_its_words() -> None:
    payload = {
        "system": "plain",
        "messages": [
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
                {"type": "text", "text": "<announcements>"}]}]},
            {"role": "user", "content": [{"type": "text", "text": "q",
                                          "cache_control": {"type": "ephemeral"}}]},
        ],
    }  # fmt: skip

    [issue] = audit_anthropic_cache_placement(payload)

    assert issue.location == "messages[0]"
