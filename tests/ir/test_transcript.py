"""Transcript, folds and window: the summary is paid for once, and an edit gives history back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from context_chef.ir.message import Message
from context_chef.ir.transcript import Transcript


def said(*texts: str) -> tuple[Message, ...]:
    return tuple(Message.user(text) for text in texts)


def folded(transcript: Transcript, *, keep: int, summary: str = "SUM") -> Transcript:
    """The transcript after a pass that left a summary and the last `keep` messages."""
    window = (Message.user(summary), *transcript.items[len(transcript.items) - keep :])
    return transcript.folded_to(window, strategy="test", window_id=f"w-{summary}", span=1)


def test_a_fold_stands_for_the_beginning_of_the_transcript() -> None:
    transcript = folded(Transcript(items=said("a", "b", "c")), keep=1)

    assert [m.text for m in transcript.window] == ["SUM", "c"]
    assert [m.text for m in transcript.items] == ["a", "b", "c"]


def test_the_same_list_set_again_gives_the_same_window() -> None:
    transcript = folded(Transcript(items=said("a", "b", "c")), keep=1)

    realigned = transcript.realigned(said("a", "b", "c"))

    assert realigned.transcript.window == transcript.window
    assert realigned.dropped == ()


def test_messages_at_the_end_are_new_and_folds_stay() -> None:
    transcript = folded(Transcript(items=said("a", "b", "c")), keep=1)

    realigned = transcript.realigned(said("a", "b", "c", "d"))

    assert [m.text for m in realigned.transcript.window] == ["SUM", "c", "d"]
    assert realigned.changed_at is None


def test_an_edit_inside_a_fold_drops_exactly_the_folds_it_reaches() -> None:
    first = folded(Transcript(items=said("a", "b", "c")), keep=1, summary="S1")
    second = folded(first.extended(said("d", "e")), keep=1, summary="S2")

    realigned = second.realigned(said("a", "b", "c!", "d", "e"))

    assert [fold.window_id for fold in realigned.dropped] == ["w-S2"]
    assert realigned.changed_at == 2
    assert [m.text for m in realigned.transcript.window] == ["S1", "c!", "d", "e"]


def test_a_rewind_behind_a_fold_keeps_it() -> None:
    transcript = folded(Transcript(items=said("a", "b", "c", "d")), keep=2)

    realigned = transcript.realigned(said("a", "b", "c"))

    assert realigned.dropped == ()
    assert [m.text for m in realigned.transcript.window] == ["SUM", "c"]


def test_a_rewind_into_a_fold_gives_the_messages_back() -> None:
    transcript = folded(Transcript(items=said("a", "b", "c")), keep=1)

    realigned = transcript.realigned(said("a"))

    assert len(realigned.dropped) == 1
    assert [m.text for m in realigned.transcript.window] == ["a"]


def test_the_window_fed_back_is_recognised() -> None:
    """Callers who store the compacted form do not lose what stands behind it."""
    transcript = folded(Transcript(items=said("a", "b", "c")), keep=1)

    realigned = transcript.realigned((*transcript.window, Message.user("d")))

    assert [m.text for m in realigned.transcript.items] == ["a", "b", "c", "d"]
    assert [m.text for m in realigned.transcript.window] == ["SUM", "c", "d"]
    assert realigned.dropped == ()


def test_an_older_window_fed_back_drops_the_newer_fold() -> None:
    first = folded(Transcript(items=said("a", "b", "c")), keep=1, summary="S1")
    second = folded(first.extended(said("d")), keep=1, summary="S2")

    realigned = second.realigned((*first.window, Message.user("e")))

    assert [fold.window_id for fold in realigned.dropped] == ["w-S2"]
    assert [m.text for m in realigned.transcript.window] == ["S1", "c", "e"]


def test_a_pass_that_takes_the_last_message_folds_everything() -> None:
    transcript = Transcript(items=said("a", "b"))

    landed = transcript.folded_to(transcript.items[:1], strategy="drop_last", window_id="w", span=1)

    assert [m.text for m in landed.window] == ["a"]
    assert [m.text for m in landed.extended(said("c")).window] == ["a", "c"]


@given(st.lists(st.sampled_from("abc"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6),
       st.integers(0, 6))  # fmt: skip
def test_realigning_always_ends_with_the_list_that_was_set(
    old: list[str], new: list[str], keep: int
) -> None:
    transcript = Transcript(items=said(*old))
    if keep < len(old):
        transcript = folded(transcript, keep=keep, summary="SUM")

    realigned = transcript.realigned(said(*new)).transcript

    assert [m.text for m in realigned.items] == new
    assert all(fold.end <= len(new) for fold in realigned.folds)
    assert realigned.realigned(said(*new)).transcript == realigned
