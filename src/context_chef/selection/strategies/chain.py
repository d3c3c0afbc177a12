"""`chain()`: the next strategy where the one before changed nothing, or not enough."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from context_chef.ir.message import Message
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage
from context_chef.selection import strategy as abilities
from context_chef.selection.janitor_config import check_strategy
from context_chef.selection.mend import read_answer
from context_chef.selection.runner import DETACHED
from context_chef.selection.strategy import OverflowStrategy, Runner


@dataclass(frozen=True)
class Chain:
    """Ask strategies in turn until history fits. See `chain()`."""

    steps: tuple[OverflowStrategy, ...] = ()
    runner: Runner = field(default=DETACHED, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for step in self.steps:
            check_strategy("chain", step)

    @property
    def name(self) -> str:
        """`chain(first>second)`."""
        return f"chain({'>'.join(step.name for step in self.steps)})"

    def attach(self, runner: Runner) -> OverflowStrategy:
        """A copy whose steps report to this runner."""
        steps = tuple(abilities.attach(step, runner) for step in self.steps)
        copy = dataclasses.replace(self, steps=steps)
        object.__setattr__(copy, "runner", runner)
        return copy

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Run steps until history fits the trigger, or there are none left."""
        landing = not input.forced and not input.budget.over
        taken = _Taken(input)
        for place, step in enumerate(self.steps):
            if landing and not abilities.pending(step):
                continue  # within budget only what is waiting may land; nothing is escalated
            given = taken.next_input(escalated=place > 0)
            answer = await abilities.attempt(step, given, self.runner)
            result = read_answer(answer, given, step.name)
            if not result.changed:
                taken.reason = result.reason
                if result.reason in abilities.WORKING:
                    break
                continue
            taken.adopt(place, result)
            if landing:
                continue
            if input.tokenizer(taken.history) + input.overhead <= input.budget.trigger:
                taken.reason = None
                break
            taken.reason = f"still_above:{step.name}"
        return taken.result(self.name)

    def commit(self, result: OverflowResult, lineage: WindowLineage) -> None:
        """Every step that took part commits its own result; the others learn of the new window."""
        contributed = dict(result.parts)
        for place, step in enumerate(self.steps):
            if place in contributed:
                abilities.commit(step, contributed[place], lineage)
            else:
                abilities.moved(step, lineage)

    def moved(self, lineage: WindowLineage) -> None:
        """Passed on to every step."""
        for step in self.steps:
            abilities.moved(step, lineage)

    def pending(self) -> bool:
        """Whether any step holds an answer from earlier."""
        return any(abilities.pending(step) for step in self.steps)

    def snapshot(self) -> list[Any]:
        """One entry for each step."""
        return [abilities.snapshot(step) for step in self.steps]

    def restore(self, state: Any) -> None:
        """By position; anything but a list takes every step back to the beginning."""
        states = cast(Sequence[Any], state) if isinstance(state, (list, tuple)) else ()
        for place, step in enumerate(self.steps):
            abilities.restore(step, states[place] if place < len(states) else None)


class _Taken:
    """What the steps of one pass have taken out so far."""

    def __init__(self, input: OverflowInput) -> None:
        self._input = input
        self._said = {id(message) for message in input.history}
        self._pinned = {id(input.history[index]) for index in input.pinned}
        self._evicted: dict[int, Message] = {}
        self._span: dict[int, Message] = {}
        self._parts: list[tuple[int, OverflowResult]] = []
        self._summary: str | None = None
        self._head: Message | None = None
        self.history = input.history
        self.reason: str | None = None

    def next_input(self, *, escalated: bool) -> OverflowInput:
        pinned = frozenset(
            at for at, message in enumerate(self.history) if id(message) in self._pinned
        )
        return msgspec.structs.replace(
            self._input, history=self.history, pinned=pinned, escalated=escalated
        )

    def adopt(self, place: int, result: OverflowResult) -> None:
        self._parts.append((place, result))
        self.history = result.history
        # What an earlier step of this very pass has written was never said by anybody.
        for message in result.evicted:
            if id(message) in self._said:
                self._evicted.setdefault(id(message), message)
        for message in result.span:
            if id(message) in self._said:
                self._span.setdefault(id(message), message)
        if result.summary is not None:
            self._summary, self._head = result.summary, self.history[0]
        elif self._head is None or not self.history or self.history[0] is not self._head:
            self._summary = self._head = None

    def result(self, name: str) -> OverflowResult:
        if not self._parts:
            return self._input.unchanged(name, self.reason or "no_step_changed")
        return OverflowResult(
            history=self.history,
            evicted=tuple(self._evicted.values()),
            span=tuple(self._span.values()),
            summary=self._summary,
            strategy=name,
            window_id=self._input.window.current,
            changed=True,
            reason=self.reason,
            parts=tuple(self._parts),
            drops_open_turn=any(result.drops_open_turn for _, result in self._parts),
        )


def chain(*steps: OverflowStrategy) -> Chain:
    """Ask each strategy in turn: the next one runs where history still does not fit the trigger.

    While a background step is at work nothing is escalated, and a turn within budget only lands
    what is waiting.
    """
    return Chain(steps)
