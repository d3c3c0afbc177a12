"""`chain()`, `server()` and custom strategies: who goes on where another stopped."""

from __future__ import annotations

from typing import Any

from context_chef import (
    Message,
    OverflowInput,
    OverflowResult,
    anthropic_server_context_management,
    background,
    chain,
    reset,
    server,
    summarize,
)
from context_chef.bridge import run_sync
from context_chef.ir.blocks import ToolCall
from context_chef.selection import (
    Janitor,
    JanitorConfig,
    OverflowConfig,
    OverflowStrategy,
    is_server_strategy,
)
from context_chef.testing.doubles import (
    HeldModel,
    RecordingLogger,
    ScriptedModel,
    characters,
    numbered_windows,
)

TALK = (Message.user("q" * 600), Message.assistant("a" * 300), Message.user("go on"))


def janitor_with(strategy: OverflowStrategy, **overflow: Any) -> Janitor:
    return Janitor(
        JanitorConfig(context_window=1_000, tokenizer=characters),
        OverflowConfig(strategy=strategy, **overflow),
        logger=RecordingLogger(),
        new_window_id=numbered_windows(),
    )


class TakesAnything:
    """A custom strategy that takes out whatever it is told to."""

    name = "takes"

    def __init__(self, *places: int) -> None:
        self.places = places

    async def apply(self, input: OverflowInput) -> OverflowResult:
        gone = tuple(m for at, m in enumerate(input.history) if at in self.places)
        kept = tuple(m for at, m in enumerate(input.history) if at not in self.places)
        return OverflowResult(
            history=kept,
            evicted=gone,
            span=gone,
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
        )


def test_the_next_step_runs_where_history_still_does_not_fit() -> None:
    history = (*TALK[:2], Message.assistant("c" * 650))
    steps = chain(summarize(compression_model=ScriptedModel("S")), reset("N"))

    result = run_sync(janitor_with(steps, oversize="send").overflow(history))

    assert result.strategy == "chain(summarize>reset)"
    assert "N" in result.history[0].text


def test_one_pass_is_at_most_one_failure() -> None:
    model = ScriptedModel(RuntimeError("down"))
    steps = chain(*(summarize(compression_model=model) for _ in range(3)))
    janitor = janitor_with(steps)

    run_sync(janitor.overflow(TALK))

    assert (len(model.calls), janitor.breaker.failures) == (3, 1)


async def test_nothing_is_escalated_while_a_background_step_works() -> None:
    model = HeldModel("S")
    janitor = janitor_with(chain(background(summarize(compression_model=model)), reset("N")))

    started = await janitor.overflow(TALK)
    flying = await janitor.overflow(TALK)
    await model.release()
    landed = await janitor.overflow(TALK)

    assert (started.reason, flying.reason) == ("background_started", "background_in_flight")
    assert started.history == TALK
    assert landed.summary == "S"


def test_a_chain_keeps_the_summary_that_still_stands() -> None:
    steps = chain(
        summarize(compression_model=ScriptedModel("S" * 300), min_shrink_ratio=0),
        TakesAnything(1),
    )
    history = (Message.user("q" * 600), Message.assistant("a" * 550), Message.user("go on"))

    result = run_sync(janitor_with(steps, archive=lambda span: "shelf://1").overflow(history))

    assert result.summary == "S" * 300
    assert "shelf://1" in result.history[0].text
    assert all(message in history for message in result.span)


def test_a_nested_server_strategy_is_found() -> None:
    nested = chain(background(server({"edits": [{"type": "x"}]})), reset())

    assert is_server_strategy(nested)
    assert anthropic_server_context_management(nested).context_management == {
        "edits": [{"type": "x"}]
    }
    assert not is_server_strategy(chain(reset(), summarize()))


def test_pins_that_a_custom_strategy_took_are_back_in_their_place() -> None:
    rule = Message.user("rule", pinned=True)

    result = run_sync(janitor_with(TakesAnything(0, 1)).overflow((TALK[0], rule, *TALK[1:])))

    assert result.history == (rule, *TALK[1:])


def test_half_a_tool_turn_brings_the_other_half_back() -> None:
    call = ToolCall(id="c1", name="read", arguments="{}")
    turn = (Message.assistant("", tool_calls=[call]), Message.tool("r" * 10, tool_call_id="c1"))

    result = run_sync(janitor_with(TakesAnything(0, 1)).overflow((TALK[0], *turn, TALK[1])))

    assert result.history == (*turn, TALK[1])
    assert result.evicted == (TALK[0],)


def test_any_object_with_a_name_and_an_apply_will_do() -> None:
    class Plain:
        name = "plain"

        def apply(self, input: OverflowInput) -> OverflowResult:
            return input.unchanged(self.name, "not today")

    assert run_sync(janitor_with(Plain()).overflow(TALK)).reason == "not today"
