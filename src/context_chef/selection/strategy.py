"""`OverflowStrategy`, the abilities a strategy may add, and the runner it may be attached to."""

from __future__ import annotations

import inspect
import os.path
from collections.abc import Mapping
from typing import Any, Final, Protocol, runtime_checkable

from context_chef.bridge import MaybeAwaitable, settle
from context_chef.errors import AsyncRequiredError, CompileAborted, SettingsError, shown
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage

WORKING: Final = frozenset({"background_started", "background_in_flight"})
"""Reasons of a strategy that is at work: nothing is escalated meanwhile."""


@runtime_checkable
class OverflowStrategy(Protocol):
    """Decides what leaves the window and what stands in for it. When to ask is not its business."""

    @property
    def name(self) -> str:
        """Stands in results, reasons and warnings."""
        ...

    def apply(self, input: OverflowInput, /) -> MaybeAwaitable[OverflowResult]:
        """Answer a new history. Best written `async def`, with what it calls through `settle()`.

        `apply` may be speculative: what it answers may never be used.
        """
        ...


@runtime_checkable
class CanCommit(Protocol):
    """Has state that follows from a result that entered the window."""

    def commit(self, result: OverflowResult, lineage: WindowLineage, /) -> object:
        """The compile succeeded. `lineage.current` is the window that the result opened."""
        ...


@runtime_checkable
class CanFollow(Protocol):
    """Wants to know of a new window that it had no part in."""

    def moved(self, lineage: WindowLineage, /) -> object:
        """`lineage.current` was opened by something else, out of `lineage.previous`."""
        ...


@runtime_checkable
class CanWait(Protocol):
    """May hold an answer from earlier that has not landed yet."""

    def pending(self) -> bool:
        """Asked before the budget is looked at. True has `apply` called whatever the budget."""
        ...


@runtime_checkable
class CanSnapshot(Protocol):
    """Has state that a snapshot carries."""

    def snapshot(self) -> Mapping[str, Any] | list[Any] | None:
        """JSON-like state, None when there is none."""
        ...

    def restore(self, state: Any, /) -> None:
        """Take the state back. None means back to the beginning."""
        ...


@runtime_checkable
class CanAttach(Protocol):
    """Works with a runner: reports failures, logs, keeps paid answers."""

    def attach(self, runner: Runner, /) -> OverflowStrategy | None:
        """Answer the strategy to use with this runner, None for this very one.

        The built-in strategies are values: they answer a copy with state of its own, so that one
        value may be given to several sessions.
        """
        ...


class Logger(Protocol):
    """Anything that takes warnings."""

    def warning(self, message: str, /, *details: Any) -> Any: ...


class Runner(Protocol):
    """What a strategy may ask of the janitor that runs it."""

    @property
    def logger(self) -> Logger: ...

    def fail(self, reason: str, /, *details: Any) -> None:
        """Count a failure toward the breaker, with a warning. At most one counts in each pass."""
        ...

    def succeed(self) -> None:
        """Zero the count. Needed only for a success that never reaches the window."""
        ...

    def recall(self, key: str, /) -> Any:
        """A paid answer that never reached the window, or None."""
        ...

    def keep(self, key: str, answer: Any, /) -> None:
        """Keep a paid answer until what it went into reaches the window. None forgets it."""
        ...

    def between(self) -> Runner:
        """A runner for work that goes on between passes: its failures count when they happen."""
        ...


async def ask(strategy: OverflowStrategy, input: OverflowInput) -> OverflowResult:
    """What a strategy answers. An `async def` runs on in a sync call, as long as it never waits."""
    answer = strategy.apply(input)
    return await (answer if inspect.iscoroutine(answer) else settle(answer))


async def attempt(
    strategy: OverflowStrategy, input: OverflowInput, runner: Runner
) -> OverflowResult:
    """`ask`, where raising is a failure like any other: it is counted, and nothing changes.

    What says that the compile is over, or is not set up rightly, is raised: cancellation, a part
    that has to wait in a sync call, a SettingsError.
    """
    try:
        return await ask(strategy, input)
    except (AsyncRequiredError, CompileAborted, SettingsError):
        raise
    except Exception as error:  # a user's strategy may raise anything
        if stopped(input.signal):
            raise  # the reason that the caller gave for stopping
        runner.fail("crash", crash(strategy.name, error))
        return input.unchanged(strategy.name, "rejected")


def crash(name: str, error: BaseException) -> str:
    """What is said of a strategy that raised: whose it is, what it raised, and where."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    # The file's name alone: what is reported may be kept, and paths are nobody's business.
    place = f" at {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"the strategy {shown(name)} raised {shown(error)}{place}"


def stopped(signal: Any) -> bool:
    """Whether a compile's signal was given: a token that was cancelled, an event that is set."""
    is_set = getattr(signal, "is_set", None)
    return getattr(signal, "cancelled", False) is True or (callable(is_set) and bool(is_set()))


def attach(strategy: OverflowStrategy, runner: Runner) -> OverflowStrategy:
    """The strategy as this runner has to use it."""
    if isinstance(strategy, CanAttach):
        bound = strategy.attach(runner)
        return strategy if bound is None else bound
    return strategy


def commit(strategy: OverflowStrategy, result: OverflowResult, lineage: WindowLineage) -> None:
    """Tell a strategy that its result entered the window, if it wants to know."""
    if isinstance(strategy, CanCommit):
        strategy.commit(result, lineage)
    elif isinstance(strategy, CanFollow):
        strategy.moved(lineage)


def moved(strategy: OverflowStrategy, lineage: WindowLineage) -> None:
    """Tell a strategy that something else opened a window, if it wants to know."""
    if isinstance(strategy, CanFollow):
        strategy.moved(lineage)


def pending(strategy: OverflowStrategy) -> bool:
    """Whether a strategy holds an answer from earlier."""
    return isinstance(strategy, CanWait) and bool(strategy.pending())


def snapshot(strategy: OverflowStrategy) -> Any:
    """A strategy's state, None when it has none."""
    return strategy.snapshot() if isinstance(strategy, CanSnapshot) else None


def restore(strategy: OverflowStrategy, state: Any) -> None:
    """Give a strategy its state back, if it has any."""
    if isinstance(strategy, CanSnapshot):
        strategy.restore(state)
