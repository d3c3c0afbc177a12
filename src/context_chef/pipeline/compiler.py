"""Walks the stage table: one compile from its inputs to a payload, on scratch."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from context_chef.errors import ContextChefError, shown
from context_chef.pipeline import hard_window, history_steps, payload_steps, window_steps
from context_chef.pipeline.cancellation import raise_if_cancelled
from context_chef.pipeline.stages import STAGES
from context_chef.pipeline.turn import CompileTurn, CompileWatcher

STEPS: Final[Mapping[str, Callable[[CompileTurn], Awaitable[None]]]] = {
    "start": history_steps.start,
    "transform-tool-results": history_steps.transform_tool_results,
    "handoff": history_steps.handoff,
    "overflow": history_steps.overflow,
    "inject": window_steps.inject,
    "memory": window_steps.memory,
    "skill": window_steps.skill,
    "assemble": window_steps.assemble,
    "tail": hard_window.tail,
    "adapt": payload_steps.adapt,
    "audit": payload_steps.audit,
    "done": payload_steps.done,
}


async def run_stages(turn: CompileTurn) -> None:
    """Run every stage in the table's order. Whatever raises leaves only the scratch behind.

    A passed-in token is looked at after each stage that may wait; an asyncio cancel arrives
    wherever something waits.
    """
    watchers = tuple(turn.parts.watchers)
    try:
        if watchers:
            await _watched(turn, watchers)
            return
        for stage in STAGES:
            await STEPS[stage.name](turn)
            if stage.waits:
                raise_if_cancelled(turn.inputs.signal)
    except RuntimeError as error:
        # Python shows a StopIteration that leaves a coroutine as a RuntimeError without a name.
        if not isinstance(error.__cause__, (StopIteration, StopAsyncIteration)):
            raise
        raise ContextChefError(
            f"`{_raised_in(error.__cause__)}` raised {shown(error.__cause__)} in the compile; "
            "let it "
            "answer a value instead, as with `next(items, None)`."
        ) from error


def _raised_in(error: BaseException) -> str:
    """The function that an error comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "a handler" if trace is None else trace.tb_frame.f_code.co_qualname


async def _watched(turn: CompileTurn, watchers: Sequence[CompileWatcher]) -> None:
    """The same, with everything that watches told when a compile and a stage begin and end."""
    with ExitStack() as compiling:
        for watcher in watchers:
            compiling.enter_context(watcher.compiling(turn))
        for stage in STAGES:
            with ExitStack() as running:
                for watcher in watchers:
                    running.enter_context(watcher.stage(stage.name, turn))
                await STEPS[stage.name](turn)
                if stage.waits:
                    raise_if_cancelled(turn.inputs.signal)
