"""`anchored()`: one document, maintained from window to window."""

from __future__ import annotations

from context_chef import Message, anchored, chain, reset
from context_chef.bridge import run_sync
from context_chef.selection import Janitor, JanitorConfig, OverflowConfig, OverflowStrategy
from context_chef.testing.doubles import ScriptedModel, characters, numbered_windows

TALK = (Message.user("q" * 600), Message.assistant("a" * 300), Message.user("go on"))


def janitor_with(strategy: OverflowStrategy) -> Janitor:
    return Janitor(
        JanitorConfig(context_window=1_000, tokenizer=characters),
        OverflowConfig(strategy=strategy),
        new_window_id=numbered_windows(),
    )


def test_the_document_of_the_window_is_in_the_next_instruction() -> None:
    model = ScriptedModel("DOC ONE", "DOC TWO")
    janitor = janitor_with(anchored(compression_model=model))

    run_sync(janitor.overflow(TALK))
    run_sync(janitor.overflow(TALK))

    assert "There is no document yet" in model.calls[0][-1].text
    assert "<anchor>\nDOC ONE\n</anchor>" in model.calls[1][-1].text
    assert janitor.get_anchor_doc() == "DOC TWO"


def test_the_document_is_told_once() -> None:
    """Our own rendering of it, at the head of the window, is no news to the model."""
    model = ScriptedModel("DOC ONE", "DOC TWO")
    janitor = janitor_with(anchored(compression_model=model))
    first = run_sync(janitor.overflow(TALK))

    run_sync(janitor.overflow((*first.history, Message.user("w" * 900))))

    assert sum("DOC ONE" in message.text for message in model.calls[1]) == 1


def test_a_rejected_answer_leaves_the_document_alone() -> None:
    janitor = janitor_with(anchored(compression_model=ScriptedModel("DOC", "<summary>cut")))
    run_sync(janitor.overflow(TALK))

    run_sync(janitor.overflow(TALK))

    assert janitor.get_anchor_doc() == "DOC"


def test_the_document_goes_along_when_another_step_opens_the_window() -> None:
    model = ScriptedModel("DOC", RuntimeError("down"), "DOC TWO")
    janitor = janitor_with(chain(anchored(compression_model=model), reset("N")))
    for _ in range(2):
        run_sync(janitor.overflow(TALK))

    run_sync(janitor.overflow(TALK))

    assert "<anchor>\nDOC\n</anchor>" in model.calls[2][-1].text


def test_the_document_is_found_inside_a_chain() -> None:
    janitor = janitor_with(chain(anchored(compression_model=ScriptedModel("DOC")), reset("N")))

    run_sync(janitor.overflow(TALK))

    assert janitor.get_anchor_doc() == "DOC"


def test_one_value_serves_two_sessions_without_mixing_them() -> None:
    strategy = anchored(compression_model=ScriptedModel("DOC"))
    one, other = janitor_with(strategy), janitor_with(strategy)

    run_sync(one.overflow(TALK))

    assert (one.get_anchor_doc(), other.get_anchor_doc()) == ("DOC", None)


def test_an_older_state_belongs_to_the_window_that_reads_it_first() -> None:
    model = ScriptedModel("NEW")
    janitor = janitor_with(anchored(compression_model=model))

    janitor.restore_state({"anchor_doc": "OLD"})
    run_sync(janitor.overflow(TALK))

    assert "<anchor>\nOLD\n</anchor>" in model.calls[0][-1].text
