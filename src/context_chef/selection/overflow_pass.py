"""One pass on scratch: verdict, strategy, repair, archive, rendering, hooks, fit, in this order."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import msgspec

from context_chef.bridge import settle
from context_chef.errors import AsyncRequiredError
from context_chef.events import Compressed, CompressStarted, Event
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages
from context_chef.ir.turns import pinned_indexes
from context_chef.ir.window import Budget, OverflowInput, OverflowResult, WindowLineage
from context_chef.prompts.overflow import archive_citation, dropped_notice
from context_chef.prompts.vocabulary import Vocabulary
from context_chef.selection import strategy as abilities
from context_chef.selection.breaker import LIMIT
from context_chef.selection.counting import Counter
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.janitor_state import JanitorState
from context_chef.selection.pass_fit import Standing, WindowFit
from context_chef.selection.pass_notes import PassNotes
from context_chef.selection.strategy import Logger, OverflowStrategy, Runner
from context_chef.selection.summary_message import render_summary_message
from context_chef.selection.trigger import Gauge

# What makes room is loaded when room has to be made: most compiles only see that there is some.
if TYPE_CHECKING:
    from context_chef.selection.fit import Fitted


class BeforeCompress(msgspec.Struct, frozen=True, kw_only=True):
    """What `on_before_compress` is told. `limit` is the trigger."""

    current_tokens: float
    limit: float


class CompressDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What `on_compress` is told beside the summary and the count."""

    compressed_messages: tuple[Message, ...]


class PassParts(msgspec.Struct, frozen=True, kw_only=True):
    """What every pass of a janitor works with."""

    config: JanitorConfig
    overflow: OverflowConfig
    gauge: Gauge
    counter: Counter
    archive: Any
    vocabulary: Vocabulary
    logger: Logger
    runner: Runner
    new_window_id: Callable[[], str]


class OverflowPass:
    """The scratch of one pass. Its fields say what `publish` will do."""

    def __init__(
        self,
        parts: PassParts,
        strategy: OverflowStrategy,
        state: JanitorState,
        *,
        history: tuple[Message, ...],
        overhead: float,
        forced: bool,
        signal: Any,
        emit: Callable[[Event], Awaitable[object]] | None,
        now: float,
        decided: OverflowResult | None = None,
        only_fit: bool = False,
        standing: Standing | None = None,
        untold: Sequence[Diagnostic] = (),
    ) -> None:
        self._parts = parts
        self._strategy = strategy
        self._state = state
        self._history = history
        self._overhead = overhead
        self._forced = forced
        self._signal = signal
        self._emit = emit
        self._now = now
        self._decided = decided
        self._only_fit = only_fit
        self._standing = standing
        self._limit = parts.gauge.limit(state.learnt)
        self._factor = state.factor
        self._reported = state.reported
        if state.learnt.recovering and state.reported is not None:
            self._factor = self._corrected_at_last(state.reported)
        elif standing is not None:
            self._reported = self._scaled(standing.on(history), history)
        self._fit = WindowFit(
            parts.counter,
            state.learnt,
            limit=self._limit,
            factor=self._factor,
            tolerance=parts.gauge.tolerance,
        )
        self.notes = PassNotes(parts.logger, untold)
        self.told = len(untold)
        self.report_at_start = state.reported
        self.lineage: WindowLineage = state.lineage
        self.skip_next = state.skip_next
        self.consumed_report = False
        self.failed = self.succeeded = False
        self.published = False
        self.stands = False
        """Whether the emergency cut of an earlier pass goes on standing."""
        self.provisional = False
        """Whether this pass made an emergency cut that holds until the strategy has worked."""
        self.uris: dict[int, str] = {}
        """Where what left is stored, by the identity of the message."""
        self.fates: dict[int, str] = {}
        """What became of messages that did not fit the window, by their identity."""
        self.paid: set[str] = set()
        """Keys of the paid answers that this pass made use of."""
        self.strategy_result: OverflowResult | None = None
        self.result: OverflowResult = self._idle(None)
        self.landed: OverflowResult = self.result
        """The result as the strategy left it, before it was fitted."""

    async def run(self) -> None:
        """Do the pass. Afterwards `result` holds its outcome."""
        result = await self._decide()
        self.landed = self.result = await self._land(result) if result.changed else result
        if self._parts.overflow.oversize != "send" or self._state.learnt.recovering:
            await self._fit_in()

    async def refit(self, overhead: float) -> None:
        """Fit the result once more, with what really stands around it. No strategy is asked."""
        self._overhead = overhead
        await self._fit_in()

    @property
    def factor(self) -> float:
        """What our counts are multiplied by, as this pass knows it."""
        return self._factor

    def _corrected_at_last(self, reported: float) -> float:
        """A refusal's size that no count of ours was there for is compared with this request's."""
        counted = self._parts.gauge.counted(self._history, overhead=self._overhead)
        return max(self._factor, reported / counted) if counted else self._factor

    async def _decide(self) -> OverflowResult:
        """The strategy's answer, or why it was not asked."""
        state = self._state
        if self._only_fit:
            return self._idle("vetoed")
        if self._decided is not None:
            return self._decided
        waiting = bool(self._history) and abilities.pending(self._strategy)
        if state.breaker.open and not waiting and not self._may_try():
            self._tell_of_rest()
            return self._idle("breaker_open")
        budget, reason = self._verdict()
        if budget is not None:
            budget, reason = await self._ask_before(budget)
        if budget is None and waiting:
            budget = self._read()
        if budget is None:
            return self._idle(reason)
        if budget.current > self._limit:
            self._check_least()
        if self._futile(budget) and not waiting:
            self.notes.warn(
                "overhead-over-trigger",
                f"The request is over its trigger by what is not history ({self._overhead:.0f} "
                f"tokens of {budget.trigger:.0f}): overflow cannot help. Trim tools or system "
                "prompt, or raise `context_window`.",
            )
            return self._idle("overhead_over_trigger")
        return await self._apply(budget)

    def _tell_of_rest(self) -> None:
        opened_at = self._state.breaker.opened_at
        left = self._parts.config.breaker_cooldown_seconds
        if opened_at is not None:
            left -= self._now - opened_at
        self.notes.tell(
            "overflow-rests",
            f"Overflow rests after {LIMIT} failures in a row, for {math.ceil(left)} seconds yet "
            "(`breaker_cooldown_seconds`); until then history leaves only where it does not fit "
            "the window. `request_new_context()` tries at once.",
        )

    def _may_try(self) -> bool:
        cooldown = self._parts.config.breaker_cooldown_seconds
        urgent = self._forced or self._state.learnt.recovering
        return urgent or self._state.breaker.may_try(self._now, cooldown)

    def _verdict(self) -> tuple[Budget | None, str | None]:
        """The budget when there is something to do, else why there is not."""
        if not self._history:
            return None, "empty_history" if self._forced else "within_budget"
        if self.skip_next and not self._forced and not self._state.learnt.recovering:
            self.skip_next = False
            return None, "within_budget"
        self.skip_next = False
        budget = self._read()
        self.consumed_report = True
        if self._forced or budget.over:
            return budget, None
        return None, "within_budget"

    def _read(self) -> Budget:
        return self._parts.gauge.read(
            self._history,
            overhead=self._overhead,
            reported=self._reported,
            factor=self._factor,
            learnt=self._state.learnt,
        )

    def _check_least(self) -> None:
        """Refuse before anything is paid for, when even the least that has to be sent is too much.

        Raises WindowFullError.
        """
        if self._parts.overflow.oversize == "clip" or self._state.learnt.recovering:
            self._fit.fitted(self._history, self._overhead)

    def _futile(self, budget: Budget) -> bool:
        """Whether history cannot be what is too much, while everything still fits the window."""
        return (
            not self._forced
            and self._overhead * self._factor >= budget.trigger
            and budget.current <= budget.limit
        )

    async def _ask_before(self, budget: Budget) -> tuple[Budget | None, str | None]:
        """Tell of the pass, and let the user's hook replace the history."""
        await self._tell(
            CompressStarted(
                history_length=len(self._history),
                current_tokens=budget.current,
                limit=budget.trigger,
            )
        )
        hook = self._parts.config.on_before_compress
        if hook is None:
            return budget, None
        info = BeforeCompress(current_tokens=budget.current, limit=budget.trigger)
        try:
            answer = await settle(hook(self._history, info))
            replaced = (
                None if answer is None else read_messages(cast(Sequence[MessageLike], answer))
            )
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001  # a user's hook may raise anything
            self.notes.warn(
                "hook-failed", f"`on_before_compress` failed, and is ignored: {error!r}"
            )
            return budget, None
        if replaced is None:
            return budget, None
        if not replaced:
            self.notes.warn(
                "hook-failed",
                "`on_before_compress` answered an empty history, and is ignored: a window cannot "
                "be emptied by a hook.",
            )
            return budget, None
        self._replace_history(replaced)
        again = self._read()
        return (again, None) if self._forced or again.over else (None, "within_budget")

    def _replace_history(self, history: tuple[Message, ...]) -> None:
        self._reported = self._scaled(self._history, history)
        self._history = history
        self._standing = None

    def _scaled(self, before: tuple[Message, ...], after: tuple[Message, ...]) -> float | None:
        """The report on one history as a report on another: what it said per token still holds."""
        if self._reported is None:
            return None
        counter = self._parts.counter
        if counter.measured:
            return None
        counted = counter.count_messages(before)
        return self._reported * counter.count_messages(after) / counted if counted else None

    async def _apply(self, budget: Budget) -> OverflowResult:
        parts = self._parts
        input = OverflowInput(
            history=self._history,
            budget=budget,
            tokenizer=parts.counter.count_messages,
            measured=parts.counter.measured,
            pinned=pinned_indexes(self._history),
            window=self._state.lineage,
            overhead=self._overhead,
            forced=self._forced,
            signal=self._signal,
        )
        result = await self._asked(input)
        if not result.changed:
            if budget.over and result.reason == "no_boundary":
                self.notes.warn(
                    "nothing-to-cut",
                    f"History is over its trigger ({budget.current:.0f} of {budget.trigger:.0f} "
                    "tokens), and nothing can be cut.",
                )
            return msgspec.structs.replace(result, history=self._history)
        from context_chef.selection.mend import mended

        return mended(result, input, self.notes)

    async def _asked(self, input: OverflowInput) -> OverflowResult:
        """The strategy's answer. Raising is a failure, and history is unchanged."""
        from context_chef.selection.mend import read_answer

        answer = await abilities.attempt(self._strategy, input, self._parts.runner)
        return read_answer(answer, input, self._strategy.name)

    async def _land(self, result: OverflowResult) -> OverflowResult:
        """Open a window for a changed result: archive, render, hooks."""
        self.strategy_result = result
        self._open_window()
        known = frozenset(map(id, self._history))
        citation, uri = "", None
        if result.span:
            uri = await self._store(result.span)
        history = result.history
        if uri is not None:
            from context_chef.selection.archiving import cite

            citation = archive_citation(uri=uri, count=len(result.span))
            history = cite(history, uri=uri, count=len(result.span), known=known)
        vocabulary = self._parts.vocabulary
        if result.summary is not None and history and (citation or vocabulary.unified):
            head = render_summary_message(result.summary, citation, vocabulary, self.lineage)
            history = (head, *history[1:])
        landed = msgspec.structs.replace(result, history=history, archive_uri=uri)
        await self._tell_landed(landed)
        return landed

    def _open_window(self) -> None:
        self.lineage = self.lineage.advance(self._parts.new_window_id())
        # What an emergency cut made fit is looked at again: skipping would cut for ever.
        landed = self.strategy_result is not None
        self.skip_next = landed and self._parts.overflow.keep == "caller"

    async def _store(self, span: Sequence[Message]) -> str | None:
        if self._parts.archive is None:
            return None
        from context_chef.selection.archiving import store_span

        try:
            uri = await store_span(self._parts.archive, span)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001  # a user's archive may raise anything
            self.notes.warn(
                "archive-failed",
                f"The archive failed; the pass lands without a citation: {error!r}",
            )
            return None
        self.uris.update((id(message), uri) for message in span)
        return uri

    async def _tell_landed(self, result: OverflowResult) -> None:
        if result.summary is not None and result.history:
            summary = result.history[0]
        else:
            summary = Message.system(dropped_notice(count=len(result.span)))
        hook = self._parts.config.on_compress
        if hook is not None:
            details = CompressDetails(compressed_messages=result.span)
            try:
                await settle(hook(summary, len(result.span), details))
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001  # a user's hook may raise anything
                self.notes.warn(
                    "hook-failed", f"`on_compress` failed; the result stands: {error!r}"
                )
        await self._tell(
            Compressed(
                summary=summary,
                truncated_count=len(result.span),
                compressed_messages=result.span,
            )
        )

    async def _fit_in(self) -> None:
        """Whatever the strategy did: what is sent fits the window."""
        before = self.landed if self.stands else self.result
        history = before.history
        self.stands, self.result = False, before
        if self._fit.fits(history, self._overhead):
            return
        if self._parts.overflow.oversize == "refuse" and not self._state.learnt.recovering:
            from context_chef.selection.fit import refusal

            count = self._parts.counter.count_messages
            raise refusal(history, limit=self._limit, overhead=self._overhead, count=count)
        if self._go_on_standing(before):
            return
        fitted, uri = await self._fit.stored(history, self._overhead, self._store)
        if fitted.history == history:
            return
        if not before.changed:
            self._open_window()
        self.provisional = self.provisional or self._holds_for_now(before)
        self.result = self._cut(before, fitted, uri)
        self.notes.warn(
            "history-cut",
            "History did not fit "
            + (
                "what the provider takes"
                if self._fit.heavy(history)
                else f"the window of {self._limit:.0f} tokens"
            )
            + f": {len(fitted.clipped)} messages were shortened and {len(fitted.dropped)} left"
            + (", until the strategy has done its work." if self.provisional else "."),
        )
        if not before.changed:
            await self._tell_landed(self.result)

    def _go_on_standing(self, before: OverflowResult) -> bool:
        """Send what an earlier emergency cut left, where nothing better came and it still fits."""
        if self._standing is None or self.strategy_result is not None or before.changed:
            return False  # a history that this pass has cut is none that the cut stands for
        history = self._standing.on(before.history)
        if not self._fit.fits(history, self._overhead):
            return False
        self.stands = True
        self.result = msgspec.structs.replace(before, history=history)
        self.notes.tell(
            "history-cut", "The window holds what an earlier emergency cut left of the history."
        )
        return True

    def _holds_for_now(self, before: OverflowResult) -> bool:
        """Whether the strategy may yet do better with what is cut: it failed, works, or rests.

        What it declined to touch is cut for good.
        """
        if self._parts.overflow.keep == "caller":
            return False
        if self.failed:
            return True
        reason = before.reason
        held_back = reason in abilities.WORKING or reason in ("breaker_open", "vetoed")
        return held_back or (self._standing is not None and reason == "within_budget")

    def _cut(self, before: OverflowResult, fitted: Fitted, uri: str | None) -> OverflowResult:
        said = set(map(id, self._history))
        left = tuple(m for m in fitted.left if id(m) in said)
        self.fates.update((id(message), "dropped") for message in fitted.dropped)
        self.fates.update((id(message), "shortened") for message in fitted.clipped)
        return msgspec.structs.replace(
            before,
            history=fitted.history,
            evicted=(*before.evicted, *left),
            span=(*before.span, *left),
            summary=before.summary if _head_stands(before, fitted.history) else None,
            changed=True,
            reason=before.reason if before.changed else "clipped",
            clipped=before.clipped + len(fitted.clipped),
            archive_uri=before.archive_uri or uri,
        )

    async def _tell(self, event: Event) -> None:
        if self._emit is not None:
            await self._emit(event)

    def _idle(self, reason: str | None) -> OverflowResult:
        return OverflowResult(
            history=self._history,
            strategy=self._strategy.name,
            window_id=self._state.lineage.current,
            reason=reason,
        )


def _head_stands(result: OverflowResult, history: Sequence[Message]) -> bool:
    return bool(result.history and history) and history[0] is result.history[0]
