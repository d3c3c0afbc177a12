"""Mechanical clearing, as a function and as a strategy."""

from __future__ import annotations

from context_chef import Message, clear, compact_messages
from context_chef.bridge import run_sync
from context_chef.ir.blocks import Text, Thinking, ToolCall
from context_chef.selection import Janitor, JanitorConfig, OverflowConfig
from context_chef.testing.doubles import RecordingLogger, characters, overflow_input


def rounds(*names: str, size: int = 300) -> list[Message]:
    messages = [Message.user("task")]
    for at, name in enumerate(names):
        call = ToolCall(id=f"c{at}", name=name, arguments="{}")
        messages.append(Message.assistant("", tool_calls=[call]))
        messages.append(Message.tool(f"{at}" * size, tool_call_id=f"c{at}"))
    return messages


def cleared_places(history) -> list[int]:
    return [at for at, message in enumerate(history) if "was cleared" in message.text]


def test_old_results_give_way_to_a_stub_and_pairs_stay() -> None:
    history = rounds("read", "read", "read", "read")

    result = run_sync(clear(keep_recent=1).apply(overflow_input(history)))

    assert cleared_places(result.history) == [2, 4, 6]
    assert [m.tool_call_id for m in result.history] == [m.tool_call_id for m in history]
    assert result.evicted == (history[2], history[4], history[6])


def test_with_an_archive_the_stub_says_where() -> None:
    janitor = Janitor(
        JanitorConfig(context_window=1_000, tokenizer=characters),
        OverflowConfig(strategy=clear(keep_recent=1), archive=lambda span: "shelf://9"),
        logger=RecordingLogger(),
    )

    result = run_sync(janitor.overflow(rounds("read", "read", "read")))

    assert "shelf://9" in result.history[2].text
    assert result.archive_uri == "shelf://9"


def test_tools_can_be_chosen_and_exempted() -> None:
    history = rounds("read", "bash", "read", "bash", "bash")
    only = run_sync(clear(keep_recent=1, tool_filter=["bash"]).apply(overflow_input(history)))
    never = run_sync(clear(keep_recent=1, exempt_tools=["bash"]).apply(overflow_input(history)))

    assert cleared_places(only.history) == [4, 8]
    assert cleared_places(never.history) == [2]


def test_crumbs_are_not_worth_a_broken_cache() -> None:
    history = rounds("read", "read", size=60)

    result = run_sync(clear(keep_recent=1, min_gain=0.1).apply(overflow_input(history)))

    assert (result.changed, result.reason) == (False, "too_little_to_gain")


def test_a_second_pass_has_nothing_to_clear() -> None:
    strategy = clear(keep_recent=1)
    first = run_sync(strategy.apply(overflow_input(rounds("read", "read", "read"))))

    second = run_sync(strategy.apply(overflow_input(first.history)))

    assert second.reason == "nothing_to_clear"


def test_pinned_turns_are_immune() -> None:
    history = [message.replace(pinned=True) for message in rounds("read", "read", "read")]

    result = run_sync(clear(keep_recent=1, thinking=True).apply(overflow_input(history)))

    assert not result.changed


def test_clearing_reasoning_tags_keeps_calls_and_signatures() -> None:
    call = ToolCall(id="c1", name="read", arguments="{}", signature="sig")
    said = Message.assistant(
        [
            Thinking(text="deep", signature="s"),
            Text(text="<think>hmm</think>Reading.", signature="g"),
            call,
        ]
    )

    [tags] = compact_messages([said], clear=["reasoning-tags"])
    [thinking] = compact_messages([said], clear=["thinking"])

    assert tags.content == (said.content[0], Text(text="Reading.", signature="g"), call)
    assert thinking.content == said.content[1:]
