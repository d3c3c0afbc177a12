"""`Janitor`: when to ask the strategy, what becomes of its answer, and what a compile publishes.

A pass works on scratch. `begin()` answers a `JanitorTurn`; nothing of the janitor has changed until
its `publish()` is called, which the pipeline does when the compile succeeded.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import msgspec

from context_chef.bridge import run_sync
from context_chef.errors import SettingsError
from context_chef.events import Event
from context_chef.given import check_callable, check_instance, check_mapping
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import as_messages
from context_chef.ir.running import Starts
from context_chef.ir.tools import ToolDefinition
from context_chef.ir.window import Budget, OverflowResult, WindowLineage
from context_chef.prompts.handoff import render_handoff_notice
from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, Vocabulary
from context_chef.selection import strategy as abilities
from context_chef.selection.breaker import Breaker
from context_chef.selection.counting import (
    Counter,
    EstimateCounter,
    MessageCounter,
    resolve_tokenizer,
)
from context_chef.selection.janitor_config import (
    HandoffConfig,
    JanitorConfig,
    OverflowConfig,
    number,
    section,
)
from context_chef.selection.janitor_state import (
    JanitorState,
    anchor_doc,
    reader,
    snapshot_of,
    state_from,
)
from context_chef.selection.janitor_turn import JanitorTurn
from context_chef.selection.learnt import Sent, lesson_of
from context_chef.selection.overflow_pass import OverflowPass, PassParts
from context_chef.selection.pass_fit import Standing
from context_chef.selection.resolve import VFS_NEEDS_CHEF, resolve_overflow_strategy
from context_chef.selection.strategy import Logger, OverflowStrategy, Runner
from context_chef.selection.trigger import Gauge, check_usage
from context_chef.selection.warning_log import log_of
from context_chef.selection.window_ids import opaque_window_id

if TYPE_CHECKING:
    from context_chef.selection.clearing import ClearTarget

Emit = Callable[[Event], Awaitable[object]]
M = TypeVar("M", bound=MessageLike)

_PAID_ANSWERS: Final = 256
_UNTOLD: Final = 8


class Janitor:
    """Runs the overflow strategy of one session.

    `vfs` is what `archive="vfs"` stands for: it stores a span and answers its address. `clock`
    answers seconds, `new_window_id` a fresh opaque id.
    """

    def __init__(
        self,
        config: JanitorConfig | Mapping[str, Any] | None = None,
        overflow: OverflowConfig | Mapping[str, Any] | None = None,
        *,
        context_management: Mapping[str, Any] | None = None,
        vfs: Callable[[Sequence[Message]], Any] | None = None,
        vocabulary: Vocabulary = LEGACY_VOCABULARY,
        provider: Provider | None = None,
        clock: Callable[[], float] = time.time,
        new_window_id: Callable[[], str] | None = None,
        logger: Any = None,
        warn_at_construction: bool = True,
    ) -> None:
        self.config = section(JanitorConfig, config, "janitor")
        self.overflow_config = section(OverflowConfig, overflow, "overflow")
        if context_management is not None:
            check_mapping(context_management, "context_management")
        check_instance(vocabulary, "vocabulary", Vocabulary)
        check_callable(vfs, "vfs")
        check_callable(clock, "clock", optional=False)
        check_callable(new_window_id, "new_window_id")
        self.logger: Logger = log_of(
            self.config.logger if self.config.logger is not None else logger
        )
        self._counter = _counter(self.config, provider)
        self._new_window_id = new_window_id or opaque_window_id
        self._clock = clock
        self.gauge = Gauge(self.config, self._counter)
        self._paid: dict[str, Any] = {}
        self._untold: tuple[Diagnostic, ...] = ()
        self._active: OverflowPass | None = None
        self._generation = 0
        self.state = JanitorState(lineage=WindowLineage.begin(self._new_window_id()))
        warn = self._warn_of_settings if warn_at_construction else None
        chosen = resolve_overflow_strategy(
            self.config,
            self.overflow_config,
            context_management=context_management,
            warn=warn,
        )
        self.runner: Runner = _Runner(self)
        self.strategy: OverflowStrategy = abilities.attach(chosen, self.runner)
        self._parts = PassParts(
            config=self.config,
            overflow=self.overflow_config,
            gauge=self.gauge,
            counter=self._counter,
            archive=self._archive(vfs, warn),
            vocabulary=vocabulary,
            logger=self.logger,
            runner=self.runner,
            new_window_id=self._new_window_id,
        )
        self._vocabulary = vocabulary

    # Counting

    @property
    def counts_history_only(self) -> bool:
        """Whether a caller's function counts, which is given the history and nothing else."""
        return not self._counter.calibrates

    @property
    def measured(self) -> bool:
        """Whether a tokenizer was configured."""
        return self._counter.measured

    @property
    def starts(self) -> Starts:
        """Where the lists part that are counted."""
        counter = self._counter
        return counter.starts if isinstance(counter, MessageCounter) else Starts()

    def count(self, messages: Sequence[Message]) -> float:
        """Tokens of messages, each counted once."""
        return self._counter.count_messages(messages)

    def count_text(self, text: str) -> float:
        """Tokens of a text."""
        return self._counter.count(text)

    def count_message(self, message: Message) -> float:
        """Tokens of one message."""
        return self._counter.count_message(message)

    def count_tools(self, tools: Iterable[ToolDefinition]) -> float:
        """Tokens of tool definitions."""
        return self._counter.count_tools(tools)

    def read_budget(self, history: Sequence[Message], *, overhead: float = 0) -> Budget:
        """The budget of a request with this history. Reading changes nothing."""
        state = self.state
        return self.gauge.read(
            history,
            overhead=overhead,
            reported=state.reported,
            factor=state.factor,
            learnt=state.learnt,
        )

    @property
    def limit(self) -> float:
        """The tokens that a request may have: configured, or learnt where that is less."""
        return self.gauge.limit(self.state.learnt)

    @property
    def recovering(self) -> bool:
        """Whether the next pass makes good for a refused request."""
        return self.state.learnt.recovering

    def recover(self, error: object) -> bool:
        """Learn from a provider's answer that the last request was too large.

        True: the next pass runs whatever rests or is skipped, and makes history fit what the
        provider takes. False: the error says something else, or no shorter request would help.
        """
        # The wordings of all providers, for those who were refused.
        from context_chef.selection.overflow_errors import read_overflow_error

        refused = read_overflow_error(error)
        if refused is None:
            return False
        state = self.state
        lesson = lesson_of(
            refused,
            learnt=state.learnt,
            factor=state.factor,
            sent=state.sent,
            limit=self.limit,
            reserve=self.config.reserve_output,
        )
        if lesson is None:
            self.logger.warning(
                "The answer alone was to get %s of the %s tokens that the model takes; ask for "
                "less.",
                refused.output_tokens,
                refused.limit_tokens,
            )
            return False
        self.state = msgspec.structs.replace(
            state,
            learnt=lesson.learnt,
            factor=lesson.factor,
            reported=lesson.reported if lesson.reported is not None else state.reported,
        )
        self.logger.warning(
            "The provider refused a request as too large; the next one is made to fit: %s",
            refused.message,
        )
        return True

    def note_sent(self, sent: Sent) -> None:
        """What the request was that is about to be made: reports and refusals are about it."""
        self.state = msgspec.structs.replace(
            self.state,
            sent=sent,
            learnt=msgspec.structs.replace(self.state.learnt, recovering=False),
        )

    def report_usage(self, tokens: float) -> None:
        """The provider's count of the last request. The last report wins, until a verdict takes it.

        Where our own counter counted that request, later counts are corrected by it.
        """
        reported = check_usage(tokens)
        state = self.state
        counted = None if state.sent is None else state.sent.tokens
        factor = self.gauge.corrected(state.factor, counted=counted, reported=reported)
        self.state = msgspec.structs.replace(state, reported=reported, factor=factor, sent=None)

    # The pass

    @property
    def lineage(self) -> WindowLineage:
        """The windows so far."""
        return self.state.lineage

    @property
    def breaker(self) -> Breaker:
        """Failures in a row, and whether overflow rests."""
        return self.state.breaker

    async def begin(
        self,
        history: Sequence[MessageLike],
        *,
        overhead: float = 0,
        forced: bool = False,
        signal: Any = None,
        emit: Emit | None = None,
        decided: OverflowResult | None = None,
        only_fit: bool = False,
        standing: Standing | None = None,
        are_messages: bool = False,
    ) -> JanitorTurn:
        """One pass on scratch: budget, strategy, archive, hooks.

        With `decided` the answer is there already; with `only_fit` no strategy is asked. `standing`
        is an emergency cut of an earlier pass, which is sent as long as nothing better comes. With
        `are_messages` there is nothing to read in `history`.

        A strategy that raises has failed, in the background and here: that counts toward the
        breaker, and history is only made to fit. Raises SettingsError for an answer that is none,
        and WindowFullError; the janitor is then as it was.
        """
        work = OverflowPass(
            self._parts,
            self.strategy,
            self.state,
            history=tuple(cast(Any, history) if are_messages else as_messages(history)),
            overhead=overhead,
            forced=forced,
            signal=signal,
            emit=emit,
            now=self._clock(),
            decided=decided,
            only_fit=only_fit,
            standing=standing,
            untold=self._untold,
        )
        outer, self._active = self._active, work
        try:
            await work.run()
        finally:
            self._active = outer
        return JanitorTurn(self, work, self._generation)

    async def overflow(
        self,
        history: Sequence[MessageLike],
        *,
        overhead: float = 0,
        forced: bool = False,
        signal: Any = None,
        emit: Emit | None = None,
    ) -> OverflowResult:
        """A pass that is published at once: for use without a chef."""
        number("overhead", overhead)
        turn = await self.begin(history, overhead=overhead, forced=forced, signal=signal, emit=emit)
        turn.publish()
        self.note_sent(
            Sent(tokens=self.count(turn.result.history) + overhead, messages=turn.result.history)
        )
        return turn.result

    def overflow_sync(self, history: Sequence[MessageLike], **options: Any) -> OverflowResult:
        """`overflow` where no part has to wait."""
        return run_sync(self.overflow(history, **options))

    async def compress(
        self, history: Sequence[M], *, forced: bool = False, overhead: float = 0
    ) -> Sequence[M | Message]:
        """The history after a pass; the very object that was given when nothing changed."""
        before = tuple(as_messages(history))
        result = await self.overflow(before, forced=forced, overhead=overhead)
        return history if result.history is before or result.history == before else result.history

    def compress_sync(self, history: Sequence[M], **options: Any) -> Sequence[M | Message]:
        """`compress` where no part has to wait."""
        return run_sync(self.compress(history, **options))

    def compact(
        self, history: Sequence[MessageLike], *, clear: Iterable[ClearTarget]
    ) -> list[Message]:
        """`compact_messages`: mechanical clearing, no model, no state."""
        from context_chef.selection.clearing import compact_messages

        return compact_messages(history, clear=clear)

    def publish(self, done: OverflowPass, generation: int) -> None:
        """Take over what a pass decided. Called through `JanitorTurn.publish`, once."""
        if generation != self._generation or done.published:
            return
        done.published = True
        state = self.state
        breaker = self.breaker_after(done)
        taken = done.consumed_report and state.reported is done.report_at_start
        self.state = msgspec.structs.replace(
            state,
            lineage=done.lineage,
            reported=None if taken else state.reported,
            skip_next=done.skip_next,
            breaker=breaker,
            factor=max(state.factor, done.factor),
        )
        self._untold = self._untold[done.told :]
        if not done.result.changed:
            return
        if done.strategy_result is not None:
            for key in done.paid:
                self._paid.pop(key, None)
        if done.strategy_result is not None:
            abilities.commit(self.strategy, done.strategy_result, done.lineage)
        else:
            abilities.moved(self.strategy, done.lineage)

    def breaker_after(self, done: OverflowPass) -> Breaker:
        """The breaker once a pass is published. A cut that only made history fit closes none."""
        breaker = self.state.breaker
        if done.succeeded or done.strategy_result is not None:
            return breaker.closed()
        return breaker.failed(self._clock()) if done.failed else breaker

    # Handoff

    @property
    def handoff(self) -> HandoffConfig | None:
        """The handoff configuration, checked."""
        return cast("HandoffConfig | None", self.overflow_config.handoff)

    def handoff_due(self, budget: Budget) -> bool:
        """Whether the window is about to end: inside the band, and not beyond it."""
        handoff = self.handoff
        return handoff is not None and 0 <= budget.remaining <= handoff.budget_tokens

    def handoff_notice(self, remaining: float) -> str:
        """The notice for so many tokens left."""
        handoff = self.handoff
        prompt = None if handoff is None else handoff.prompt
        return render_handoff_notice(prompt or self._vocabulary.handoff_notice, remaining)

    # State

    def get_anchor_doc(self) -> str | None:
        """The newest anchored document, wherever in the strategy it is kept."""
        return anchor_doc(abilities.snapshot(self.strategy))

    def reset(self) -> None:
        """A new lineage, and everything else forgotten."""
        self._start_over(JanitorState(lineage=WindowLineage.begin(self._new_window_id())))
        abilities.restore(self.strategy, None)

    def snapshot_state(self) -> dict[str, Any]:
        """JSON-like state, the strategy's own included."""
        state, strategy = self.state, abilities.snapshot(self.strategy)
        snapshot = snapshot_of(state, strategy)
        if paid := {key: answer for key, answer in self._paid.items() if isinstance(answer, str)}:
            snapshot["paid"] = paid  # calls that are under way are no data
        return snapshot

    def restore_state(self, snapshot: Mapping[str, Any]) -> None:
        """Take a snapshot back. What it lacks begins anew; camelCase names are read as well."""
        read = reader(snapshot)
        self._start_over(state_from(snapshot, new_window_id=self._new_window_id, clock=self._clock))
        self._paid.update(msgspec.convert(thaw(read("paid") or {}), dict[str, str]))
        strategy = read("strategy")
        if strategy is None and read("anchor_doc") is not None:
            strategy = {"anchor_doc": read("anchor_doc")}
        abilities.restore(self.strategy, strategy)

    def adopt(self, other: Janitor) -> None:
        """Know what another janitor of the same settings knows, its counts of messages included."""
        self.restore_state(other.snapshot_state())
        self.state = other.state
        if isinstance(self._counter, MessageCounter) and isinstance(other._counter, MessageCounter):
            self._counter.adopt(other._counter)

    def _start_over(self, state: JanitorState) -> None:
        self._generation += 1
        self._paid.clear()
        self._untold = ()
        self.state = state
        if isinstance(self._counter, MessageCounter):
            self._counter.forget()

    # What a runner does

    def count_failure(self, reason: str, details: Sequence[Any], *, between: bool) -> None:
        """Count a failure and warn. Within a pass it is provisional, and at most one counts."""
        active = None if between else self._active
        if active is not None:
            active.failed, active.succeeded = True, False
            number = min(3, self.state.breaker.failures + 1)
        else:
            self.state = msgspec.structs.replace(
                self.state, breaker=self.state.breaker.failed(self._clock())
            )
            number = self.state.breaker.failures
        said = "; ".join(str(detail) or repr(detail) for detail in details)
        message = (
            f"Overflow failed ({reason}, {number} of 3 in a row); history is unchanged: {said}"
        )
        if active is not None:
            active.notes.warn("overflow-failed", message)
            return
        self.logger.warning("%s", message)
        untold = Diagnostic(code="overflow-failed", where="overflow", message=message)
        self._untold = (*self._untold, untold)[-_UNTOLD:]

    def count_success(self, *, between: bool) -> None:
        """Zero the count: within a pass when it is published."""
        active = None if between else self._active
        if active is not None:
            active.failed, active.succeeded = False, True
        else:
            self.state = msgspec.structs.replace(self.state, breaker=Breaker())

    def paid(self, key: str, *, between: bool) -> Any:
        """A paid answer that has not reached the window yet."""
        answer = self._paid.get(key)
        if answer is not None and self._active is not None and not between:
            self._active.paid.add(key)
        return answer

    def keep_paid(self, key: str, answer: Any, *, between: bool) -> None:
        """Keep a paid answer until what it went into is in the window. The oldest go first.

        None forgets it.
        """
        self._paid.pop(key, None)
        if answer is None:
            return
        self._paid[key] = answer
        if self._active is not None and not between:
            self._active.paid.add(key)
        while len(self._paid) > _PAID_ANSWERS:
            del self._paid[next(iter(self._paid))]

    def _archive(
        self, vfs: Callable[[Sequence[Message]], Any] | None, warn: Callable[[str], object] | None
    ) -> Any:
        archive = self.overflow_config.archive
        archive = self.config.archive if archive is None else archive
        if archive != "vfs":
            return archive
        if vfs is None and warn is not None:
            warn(VFS_NEEDS_CHEF)
        return vfs

    def _warn_of_settings(self, message: str) -> None:
        self.logger.warning(message)


class _Runner:
    """What a strategy may ask of its janitor."""

    def __init__(self, janitor: Janitor, *, between: bool = False) -> None:
        self._janitor = janitor
        self._between = between

    @property
    def logger(self) -> Logger:
        return self._janitor.logger

    def fail(self, reason: str, *details: Any) -> None:
        self._janitor.count_failure(reason, details, between=self._between)

    def succeed(self) -> None:
        self._janitor.count_success(between=self._between)

    def recall(self, key: str) -> Any:
        return self._janitor.paid(key, between=self._between)

    def keep(self, key: str, answer: Any) -> None:
        self._janitor.keep_paid(key, answer, between=self._between)

    def between(self) -> Runner:
        return _Runner(self._janitor, between=True)


def _counter(config: JanitorConfig, provider: Provider | None) -> Counter:
    if config.tokenizer is None and config.estimate is not None:
        return EstimateCounter(config.estimate)
    if config.tokenizer is not None and config.estimate is not None:
        raise SettingsError("`tokenizer` and `estimate` exclude each other; give one of them.")
    return resolve_tokenizer(config.tokenizer, provider=provider)
