"""`JanitorTurn`: one pass that is not published yet, as the pipeline sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.message import Message
from context_chef.ir.window import Budget, OverflowResult, WindowLineage
from context_chef.selection.overflow_pass import OverflowPass
from context_chef.selection.strategy import WORKING

if TYPE_CHECKING:  # a turn belongs to a janitor, which makes it
    from context_chef.selection.janitor import Janitor


class JanitorTurn:
    """One pass, not published yet.

    `result` is what the strategy left, `lineage` the windows as they will be.
    """

    def __init__(self, janitor: Janitor, done: OverflowPass, generation: int) -> None:
        self._janitor = janitor
        self._pass = done
        self._generation = generation
        self.result: OverflowResult = done.result

    @property
    def lineage(self) -> WindowLineage:
        """The lineage after `publish()`."""
        return self._pass.lineage

    def read_budget(self, history: Sequence[Message], *, overhead: float = 0) -> Budget:
        """A reading as it will be after `publish()`: a report that this pass used up is gone."""
        state = self._janitor.state
        reported = None if self._pass.consumed_report else state.reported
        return self._janitor.gauge.read(
            history,
            overhead=overhead,
            reported=reported,
            factor=self._pass.factor,
            learnt=state.learnt,
        )

    @property
    def factor(self) -> float:
        """What counts are multiplied by to compare them with the limit."""
        return self._pass.factor

    def uri_of(self, message: Message) -> str | None:
        """Where a message that left in this pass is stored in full."""
        return self._pass.uris.get(id(message), self.result.archive_uri)

    def fate_of(self, message: Message) -> str | None:
        """`shortened` or `dropped`, for a message that did not fit the window whatever was done."""
        return self._pass.fates.get(id(message))

    @property
    def landed(self) -> OverflowResult:
        """The result as the strategy left it, before it was made to fit."""
        return self._pass.landed

    @property
    def worked(self) -> bool:
        """Whether the strategy changed something, the mere fitting left aside."""
        return self._pass.strategy_result is not None

    @property
    def at_work(self) -> bool:
        """Whether the strategy works on, and its answer comes later."""
        return self._pass.landed.reason in WORKING

    @property
    def may_try_again(self) -> bool:
        """Whether the strategy failed, and has not failed too often in a row."""
        return self._pass.failed and not self._janitor.breaker_after(self._pass).open

    @property
    def stands(self) -> bool:
        """Whether the emergency cut of an earlier pass is what is sent."""
        return self._pass.stands

    @property
    def provisional(self) -> bool:
        """Whether history was cut only until the strategy has done its work."""
        return self._pass.provisional

    def take_notes(self) -> tuple[list[Diagnostic], list[Repair]]:
        """What the pass has to tell, each once."""
        return self._pass.notes.take()

    async def refit(self, overhead: float) -> OverflowResult:
        """Fit the result with what really stands around the history. Raises WindowFullError."""
        await self._pass.refit(overhead)
        self.result = self._pass.result
        return self.result

    def publish(self) -> None:
        """Make the pass count. Nothing happens when the janitor was reset or restored meanwhile."""
        self._janitor.publish(self._pass, self._generation)
