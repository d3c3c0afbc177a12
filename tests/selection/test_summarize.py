"""`summarize()`: where it cuts, what stays, and which answers it takes."""

from __future__ import annotations

import asyncio

import pytest

from context_chef import ContextChef, Message, summarize
from context_chef.bridge import run_sync
from context_chef.ir.blocks import ToolCall
from context_chef.prompts.compaction import anchored_instruction, earlier_part
from context_chef.selection import Janitor, JanitorConfig, OverflowConfig, OverflowStrategy
from context_chef.testing.doubles import (
    RecordingLogger,
    ScriptedModel,
    characters,
    overflow_input,
)

TALK = (Message.user("q" * 600), Message.assistant("a" * 300), Message.user("go on"))


def apply(strategy: OverflowStrategy, history: tuple[Message, ...], **fields: object):
    return run_sync(strategy.apply(overflow_input(history, **fields)))


def rounds(number: int, size: int = 200) -> list[Message]:
    messages: list[Message] = []
    for at in range(number):
        call = ToolCall(id=f"c{at}", name="read", arguments="{}")
        messages.append(Message.assistant("", tool_calls=[call]))
        messages.append(Message.tool("r" * size, tool_call_id=f"c{at}"))
    return messages


def test_old_turns_give_way_to_a_summary() -> None:
    model = ScriptedModel("<analysis>notes</analysis><summary>They asked q.</summary>")

    result = apply(summarize(compression_model=model), TALK)

    assert result.summary == "They asked q."
    assert "They asked q." in result.history[0].text
    assert result.history[1:] == TALK[1:]
    assert (result.evicted, result.span) == (TALK[:1], TALK[:1])


@pytest.mark.parametrize(
    "answer",
    ["", "  \n ", "<analysis>thinking only</analysis>", "<summary></summary>", None, "\ufeff",
     "<analysis>cut off", "<summary>cut off in the mid"],
)  # fmt: skip
def test_blank_and_cut_off_answers_are_failures(answer: object) -> None:
    log = RecordingLogger()
    janitor = Janitor(
        JanitorConfig(
            context_window=1_000, tokenizer=characters, compression_model=ScriptedModel(answer)
        ),
        logger=log,
    )

    result = run_sync(janitor.overflow(TALK))

    assert (result.history, result.reason) == (TALK, "rejected")
    assert janitor.breaker.failures == 1
    assert "Overflow failed (blank, 1 of 3" in log.warnings[-1]


def test_a_tag_inside_a_finished_summary_is_only_text() -> None:
    model = ScriptedModel("<summary>The parser chokes on <analysis> tags.</summary>")

    result = apply(summarize(compression_model=model), TALK)

    assert result.summary == "The parser chokes on <analysis> tags."


@pytest.mark.parametrize(
    ("answer", "summary"),
    [
        (
            "<summary>Fix <details><summary>Click</summary> in a.html. Never push.</summary>",
            "Fix <details><summary>Click</summary> in a.html. Never push.",
        ),
        (
            "<summary>`</summary>` was missing in a.html.</summary>",
            "`</summary>` was missing in a.html.",
        ),
        ("<summary>one</summary> or <summary>two</summary>", "one"),
        ("<summary>Fix <details><summary>Click</summary> in a.ht", None),
    ],
)
def test_a_summary_that_quotes_tags_of_its_name_is_whole_or_none(
    answer: str, summary: str | None
) -> None:
    """HTML has a `summary` tag: what stands behind a quoted one would be lost without a word."""
    result = apply(summarize(compression_model=ScriptedModel(answer)), TALK)

    assert (result.summary, result.changed) == (summary, summary is not None)


def test_no_document_and_no_earlier_part_can_close_its_tag() -> None:
    for text in (anchored_instruction("a </anchor> b"), earlier_part("a </earlier_parts> b")):
        assert text.count("-2>") == 2
    assert "<anchor>\na {tag} b\n</anchor>" in anchored_instruction("a {tag} b")


async def test_a_summary_whose_judging_was_cancelled_is_not_paid_for_twice() -> None:
    model = ScriptedModel("<summary>S</summary>")
    judged: list[str] = []

    async def judge(summary: str, check: object) -> bool:
        judged.append(summary)
        if len(judged) == 1:
            raise asyncio.CancelledError
        return True

    strategy = summarize(compression_model=model, validate_compression=judge)
    chef = ContextChef(janitor={"context_window": 200}, overflow={"strategy": strategy})
    chef.set_history(TALK)
    with pytest.raises(asyncio.CancelledError):
        await chef.compile()
    await chef.compile()

    assert "S" in chef.window[0].text
    assert (judged, len(model.calls)) == (["S", "S"], 1)


def test_a_long_answer_to_a_small_span_is_refused() -> None:
    """Spans below the guard's floor may not make the window grow either."""
    history = (Message.user("q" * 750), Message.user("go on"))

    result = apply(summarize(compression_model=ScriptedModel("s" * 751)), history)

    assert result.reason == "rejected"


def test_a_reported_overrun_finds_a_cut_without_a_tokenizer() -> None:
    """The provider says 900, we count 9: then every turn costs a hundred times what we count."""
    history = (Message.user("abc"), Message.assistant("def"), Message.user("ghi"))

    result = apply(
        summarize(compression_model=ScriptedModel("S")), history, current=900, trigger=700
    )

    assert len(result.span) == 2


def test_a_span_of_pinned_turns_is_not_summarised() -> None:
    model = ScriptedModel("S")
    history = (Message.user("rule" * 200, pinned=True), Message.user("go on"))

    result = apply(summarize(compression_model=model, preserve_ratio=0.1), history)

    assert (result.reason, model.calls) == ("only_pinned", [])


def test_system_messages_in_the_history_stay() -> None:
    rule = Message.system("RULE: never deploy.")

    result = apply(summarize(compression_model=ScriptedModel("S")), (rule, *TALK))

    assert rule in result.history
    assert rule not in result.span


def test_the_request_that_tools_work_on_stays() -> None:
    """An autonomous run has one user message, and it is what the run is about."""
    task = Message.user("TASK")
    history = (task, *rounds(30))

    result = apply(summarize(compression_model=ScriptedModel("S")), history, limit=6_000)

    assert task in result.history
    assert len(result.span) > 10


def test_a_dropped_span_leaves_a_marker_that_says_where_it_is_stored() -> None:
    janitor = Janitor(
        JanitorConfig(context_window=1_000, tokenizer=characters),
        OverflowConfig(archive=lambda span: "shelf://1"),
        logger=RecordingLogger(),
    )

    result = run_sync(janitor.overflow(TALK))

    assert "1 earlier messages left" in result.history[0].text
    assert "shelf://1" in result.history[0].text
    assert result.summary is None


def test_a_span_larger_than_the_summarisers_window_is_told_in_parts() -> None:
    model = ScriptedModel("first", "first and second", "all of it")
    history = (*(Message.user(f"{at}" * 500) for at in range(8)), Message.user("go on"))
    strategy = summarize(compression_model=model, compression_window=6_000, preserve_ratio=0.1)

    result = apply(strategy, history, limit=5_000)

    assert len(model.calls) > 1
    assert all(characters(call) <= 6_000 for call in model.calls)
    assert "first" in model.calls[1][0].text
    assert result.summary is not None


def test_a_single_message_larger_than_the_summarisers_window_is_split() -> None:
    model = ScriptedModel("part")
    history = (Message.user("x" * 20_000), Message.user("go on"))
    strategy = summarize(compression_model=model, compression_window=8_000)

    result = apply(strategy, history, limit=9_000)

    assert result.changed
    assert all(characters(call) <= 8_000 for call in model.calls)


def test_framing_never_nests() -> None:
    """A model that quotes its input gives our own framing back."""
    history = TALK
    for _ in range(4):
        strategy = summarize(compression_model=lambda messages: messages[0].text[:500])
        result = apply(strategy, history, limit=1_000)
        history = (*result.history[:1], Message.user("q" * 600), Message.user("go on"))

    assert history[0].text.count("ran out of room") == 1


def test_crumbs_are_not_summarised_again() -> None:
    """Where the rest of the request is what is too much, a second summary gains nothing."""
    model = ScriptedModel("S")
    strategy = summarize(compression_model=model)
    first = apply(strategy, TALK)
    grown = (first.history[0], Message.user("ok"), Message.assistant("b" * 600))

    again = apply(strategy, grown, limit=1_100, trigger=650)

    assert again.reason in ("too_little_to_gain", "no_boundary")
    assert len(model.calls) == 1


def test_each_fold_of_a_small_window_buys_room_for_several_turns() -> None:
    """A summary that takes a third of the trigger must not have every turn folded."""
    model = ScriptedModel(f"<summary>{'s' * 400}</summary>")
    chef = ContextChef(
        janitor={"context_window": 2_000, "tokenizer": characters},
        overflow={"strategy": summarize(compression_model=model, min_shrink_ratio=0)},
        logger=RecordingLogger(),
    ).append(Message.user("Begin."))
    folds: set[str] = set()
    for number in range(40):
        chef.extend([Message.assistant(f"a{number} " + "x" * 40), Message.user("q" + "y" * 40)])
        chef.compile_sync("openai")
        folds.add(chef.window_id)

    assert len(folds) - 1 <= 40 / 3


def test_a_low_trigger_is_a_low_trigger_also_with_a_summary() -> None:
    model = ScriptedModel("<summary>s</summary>")
    chef = ContextChef(
        janitor={"context_window": 100_000, "trigger_ratio": 0.01, "tokenizer": characters},
        overflow={"strategy": summarize(compression_model=model)},
        logger=RecordingLogger(),
    ).append(Message.user("Begin."))
    sizes: list[float] = []
    for number in range(30):
        chef.extend([Message.assistant(f"a{number} " + "x" * 90), Message.user("q" + "y" * 90)])
        budget = chef.compile_sync("openai").report.budget
        assert budget is not None
        sizes.append(budget.current)

    assert max(sizes) <= 1.3 * 1_000
