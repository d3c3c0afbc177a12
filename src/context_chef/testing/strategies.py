"""`OverflowStrategySuite`: hold an overflow strategy of your own to our promises."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from context_chef.ir.blocks import ToolCall
from context_chef.ir.message import Message
from context_chef.ir.repair import ensure_valid_history
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.janitor import Janitor
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.strategy import CanSnapshot, OverflowStrategy, ask
from context_chef.testing.doubles import characters, overflow_input
from context_chef.testing.loops import in_a_loop


def long_history() -> tuple[Message, ...]:
    """A rule that is pinned, tool rounds, and a question that waits: far over the trigger."""
    rounds: list[Message] = []
    for number in range(6):
        call = ToolCall(id=f"c{number}", name="read", arguments=f'{{"n":{number}}}')
        rounds += [
            Message.assistant(f"step {number}", tool_calls=[call]),
            Message.tool("r" * 150, tool_call_id=f"c{number}", name="read"),
        ]
    return (
        Message.user("Never deploy on Fridays.", pinned=True),
        Message.user("Find the fault." + "q" * 200),
        *rounds,
        Message.user("And now?"),
    )


class OverflowStrategySuite:
    """Give it a `strategy` fixture and your strategy is held to our promises.

    Needs nothing but pytest: no plugin, and no mode of one. Each test has an event loop of its own.
    """

    @pytest.fixture
    def history(self) -> tuple[Message, ...]:
        return long_history()

    @in_a_loop
    async def test_it_has_a_name(self, strategy: OverflowStrategy) -> None:
        assert isinstance(strategy.name, str)
        assert strategy.name

    @in_a_loop
    async def test_an_unchanged_answer_is_the_history_itself(
        self, strategy: OverflowStrategy
    ) -> None:
        window = overflow_input([Message.user("hi", pinned=True)])

        result = await _apply(strategy, window)

        assert result.changed or result.history == window.history
        assert result.changed or (result.evicted, result.span) == ((), ())

    @in_a_loop
    async def test_pins_survive_word_for_word(
        self, strategy: OverflowStrategy, history: tuple[Message, ...]
    ) -> None:
        window = overflow_input(history)

        result = await _apply(strategy, window)

        assert all(history[index] in result.history for index in window.pinned)

    @in_a_loop
    async def test_calls_and_results_stay_together(
        self, strategy: OverflowStrategy, history: tuple[Message, ...]
    ) -> None:
        result = await _apply(strategy, overflow_input(history))

        repairs = ensure_valid_history(result.history).repairs
        assert [repair.rule for repair in repairs if repair.rule.startswith("tool-result")] == []

    @in_a_loop
    async def test_nothing_is_lost_unnamed(
        self, strategy: OverflowStrategy, history: tuple[Message, ...]
    ) -> None:
        """What is not in the window any more is among the evicted: that is what gets archived."""
        result = await _apply(strategy, overflow_input(history))

        named = (*result.history, *result.evicted)
        assert all(message in named for message in history)

    @in_a_loop
    async def test_the_same_input_has_the_same_answer(
        self, strategy: OverflowStrategy, history: tuple[Message, ...]
    ) -> None:
        first = await _apply(strategy, overflow_input(history))
        second = await _apply(strategy, overflow_input(history))

        working = ("background_started", "background_in_flight")
        assert first.history == second.history or {first.reason, second.reason} & set(working)

    @in_a_loop
    async def test_a_snapshot_can_be_taken_back(self, strategy: OverflowStrategy) -> None:
        if not isinstance(strategy, CanSnapshot):
            pytest.skip(f"{strategy.name} has no state")
        state = strategy.snapshot()

        strategy.restore(state)

        assert strategy.snapshot() == state

    @in_a_loop
    async def test_what_is_sent_fits_the_window(
        self, strategy: OverflowStrategy, history: tuple[Message, ...]
    ) -> None:
        janitor = Janitor(
            JanitorConfig(context_window=900, tokenizer=characters),
            OverflowConfig(strategy=strategy),
        )

        result = await janitor.overflow(history)

        assert characters(result.history) <= 900


async def _apply(strategy: OverflowStrategy, window: OverflowInput) -> OverflowResult:
    return await ask(strategy, window)


def texts(messages: Sequence[Message]) -> list[str]:
    """What messages say, for assertions that are easy to read."""
    return [message.text for message in messages]
