"""`background()`: overflow is worked out between turns and lands when it still applies."""

from __future__ import annotations

import asyncio
import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from context_chef.bridge import stepping
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage
from context_chef.selection import strategy as abilities
from context_chef.selection.janitor_config import check_strategy
from context_chef.selection.mend import read_answer
from context_chef.selection.runner import DETACHED
from context_chef.selection.strategy import Logger, OverflowStrategy, Runner

_STEPS_TO_FIRST_WAIT: Final = 3


class _Job:
    """One run of the inner strategy, and the history it was started on."""

    def __init__(self, source: tuple[Message, ...], task: asyncio.Task[OverflowResult]) -> None:
        self.source = source
        self.task = task

    @property
    def running(self) -> bool:
        # The loop of an earlier `asyncio.run` is gone, and the job with it.
        return not self.task.done() and not self.task.get_loop().is_closed()

    @property
    def result(self) -> OverflowResult | None:
        task = self.task
        if not task.done() or task.cancelled() or task.exception() is not None:
            return None
        return task.result()


class _InnerRunner:
    """What the inner strategy reports to: between turns, unless its work is done within one."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.within_turn = False

    @property
    def logger(self) -> Logger:
        return self._runner.logger

    def fail(self, reason: str, *details: Any) -> None:
        self._now().fail(reason, *details)

    def succeed(self) -> None:
        self._now().succeed()

    def recall(self, key: str) -> Any:
        return self._now().recall(key)

    def keep(self, key: str, answer: Any) -> None:
        self._now().keep(key, answer)

    def between(self) -> Runner:
        return self._runner.between()

    def _now(self) -> Runner:
        return self._runner if self.within_turn else self._runner.between()


class _Desk:
    """Where the one job lies."""

    def __init__(self) -> None:
        self.job: _Job | None = None
        self.inner_runner: _InnerRunner | None = None


@dataclass(frozen=True, kw_only=True)
class Background:
    """Run another strategy off the turn. See `background()`."""

    inner: OverflowStrategy
    runner: Runner = field(default=DETACHED, init=False, repr=False, compare=False)
    desk: _Desk = field(default_factory=_Desk, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_strategy("background", self.inner)

    @property
    def name(self) -> str:
        """`background(…)`."""
        return f"background({self.inner.name})"

    def attach(self, runner: Runner) -> OverflowStrategy:
        """A copy with a job of its own. What fails in the job counts when it happens."""
        inner_runner = _InnerRunner(runner)
        copy = dataclasses.replace(self, inner=abilities.attach(self.inner, inner_runner))
        object.__setattr__(copy, "runner", runner)
        copy.desk.inner_runner = inner_runner
        return copy

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Land a finished job, leave a running one alone, or start one."""
        job = self.desk.job
        if job is not None:
            if job.running:
                return input.unchanged(self.name, "background_in_flight")
            landed = self._landed(job, input)
            if landed is not None:
                return landed
            self.desk.job = None
            finished = job.result
            if finished is not None and finished.changed:
                self.runner.succeed()
                if not input.forced and not input.budget.over:
                    return input.unchanged(self.name, "stale_within_budget")
        if stepping():
            # A sync call has no loop that would go on afterwards: the work is done here.
            return self._own(await self._at_once(input))
        await self._start(input)
        return input.unchanged(self.name, "background_started")

    async def _at_once(self, input: OverflowInput) -> OverflowResult:
        runner = self.desk.inner_runner
        if runner is None:
            return await self._answer(input)
        runner.within_turn = True
        try:
            return await self._answer(input)
        finally:
            runner.within_turn = False

    async def _answer(self, input: OverflowInput) -> OverflowResult:
        answer = await abilities.attempt(self.inner, input, self.runner)
        return read_answer(answer, input, self.inner.name)

    def _landed(self, job: _Job, input: OverflowInput) -> OverflowResult | None:
        """The finished job on the current history, when what it replaces is still there."""
        result = job.result
        if result is None or not result.changed:
            return None
        source, current = job.source, input.history
        shared = 0
        most = min(len(source), len(result.history))
        while shared < most and result.history[-1 - shared] is source[-1 - shared]:
            shared += 1
        cut = len(source) - shared
        if cut == 0 or len(current) < cut or not _same(current[:cut], source[:cut]):
            return None
        head = result.history[: len(result.history) - shared]
        landed = msgspec.structs.replace(
            result, history=(*head, *current[cut:]), window_id=input.window.current
        )
        return self._own(landed, inner=result)

    def _own(self, result: OverflowResult, inner: OverflowResult | None = None) -> OverflowResult:
        parts = ((0, inner or result),) if result.changed else ()
        return msgspec.structs.replace(result, strategy=self.name, parts=parts)

    async def _start(self, input: OverflowInput) -> None:
        task = asyncio.create_task(self._run(input))
        task.add_done_callback(self._finished)
        self.desk.job = _Job(input.history, task)
        # Let the job, and the model call it starts, reach their first wait.
        for _ in range(_STEPS_TO_FIRST_WAIT):
            await asyncio.sleep(0)

    async def _run(self, input: OverflowInput) -> OverflowResult:
        # The compile that starts the job ends long before it: its signal is not the job's.
        input = msgspec.structs.replace(input, signal=None)
        return read_answer(await abilities.ask(self.inner, input), input, self.inner.name)

    def _finished(self, task: asyncio.Task[OverflowResult]) -> None:
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self.runner.between().fail("crash", abilities.crash(self.inner.name, error))

    def commit(self, result: OverflowResult, lineage: WindowLineage) -> None:
        """The job landed: only now its inner state follows."""
        self.desk.job = None
        for _, inner in result.parts:
            abilities.commit(self.inner, inner, lineage)

    def moved(self, lineage: WindowLineage) -> None:
        """Passed on."""
        abilities.moved(self.inner, lineage)

    def pending(self) -> bool:
        """Whether a finished job waits to land."""
        job = self.desk.job
        result = None if job is None else job.result
        return result is not None and result.changed

    def snapshot(self) -> Any:
        """The inner strategy's state; a job is no part of it."""
        return abilities.snapshot(self.inner)

    def restore(self, state: Any) -> None:
        """Take the inner state back and give the job up."""
        job, self.desk.job = self.desk.job, None
        if job is not None and job.running:
            job.task.get_loop().call_soon_threadsafe(job.task.cancel)
        abilities.restore(self.inner, state)


def background(inner: OverflowStrategy) -> Background:
    """Work overflow out between turns.

    The compile that overflows starts a job and sends what it has; a later one lands the result,
    when every message that it replaces is still as it was. Failures of the job count toward the
    breaker when they happen. In a sync compile the work is done at once.
    """
    return Background(inner=inner)


def _same(current: tuple[Message, ...], source: tuple[Message, ...]) -> bool:
    return all(
        now is then or _essence(now) == _essence(then)
        for now, then in zip(current, source, strict=True)
    )


def _essence(message: Message) -> Message:
    """A message without what changes nothing about what was said."""
    return message.replace(cache=None, id=None, extra=EMPTY)
