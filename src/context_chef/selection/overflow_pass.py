"""One pass on scratch: verdict, strategy, repair, fit, archive, rendering, hooks, in this order."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from context_chef.bridge import settle
from context_chef.errors import AsyncRequiredError, SettingsError, WindowFullError
from context_chef.events import Compressed, CompressStarted, Event
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages
from context_chef.ir.turns import pinned_indexes
from context_chef.ir.window import Budget, OverflowInput, OverflowResult, WindowLineage
from context_chef.prompts.overflow import archive_citation, dropped_notice
from context_chef.prompts.vocabulary import Vocabulary
from context_chef.selection import strategy as abilities
from context_chef.selection.archiving import cite, store_span
from context_chef.selection.counting import Counter
from context_chef.selection.fit import Fitted, fit_history, refusal
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.mend import mended
from context_chef.selection.strategy import Logger, OverflowStrategy
from context_chef.selection.summary_message import render_summary_message
from context_chef.selection.trigger import Gauge
from context_chef.selection.weight import lighter

if TYPE_CHECKING:  # the janitor's state is its own file's business; here it is only read
    from context_chef.selection.janitor import JanitorState


_SPARE: Final = 0.95
"""After a refusal the request is fitted to this share of the room: counts are never quite exact."""


class BeforeCompress(msgspec.Struct, frozen=True, kw_only=True):
    """What `on_before_compress` is told. `limit` is the trigger."""

    current_tokens: float
    limit: float


class CompressDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What `on_compress` is told beside the summary and the count."""

    compressed_messages: tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class PassParts:
    """What every pass of a janitor works with."""

    config: JanitorConfig
    overflow: OverflowConfig
    gauge: Gauge
    counter: Counter
    archive: Any
    vocabulary: Vocabulary
    logger: Logger
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
        self._limit = parts.gauge.limit(state.learnt)
        self._factor = state.factor
        self._reported = state.reported
        if state.learnt.recovering and state.reported is not None:
            self._factor = self._corrected_at_last(state.reported)
        self.report_at_start = state.reported
        self.lineage: WindowLineage = state.lineage
        self.skip_next = state.skip_next
        self.consumed_report = False
        self.failed = self.succeeded = False
        self.published = False
        self.uris: dict[int, str] = {}
        """Where what left is stored, by the identity of the message."""
        self.strategy_result: OverflowResult | None = None
        self.result: OverflowResult = self._idle(None)

    async def run(self) -> None:
        """Do the pass. Afterwards `result` holds its outcome."""
        result = await self._decide()
        self.result = await self._land(result) if result.changed else result
        if self._parts.overflow.oversize != "send" or self._state.learnt.recovering:
            await self._fit()

    async def refit(self, overhead: float) -> None:
        """Fit the result once more, with what really stands around it. No strategy is asked."""
        self._overhead = overhead
        await self._fit()

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
        state, parts = self._state, self._parts
        if self._only_fit:
            return self._idle("vetoed")
        if self._decided is not None:
            return self._decided
        waiting = bool(self._history) and abilities.pending(self._strategy)
        if state.breaker.open and not waiting and not self._may_try():
            if self._forced:
                parts.logger.warning(
                    "The request for a new window was dropped: overflow rests after failures."
                )
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
            parts.logger.warning(
                "The request is over its trigger by what is not history (%d tokens of %d): "
                "overflow cannot help. Trim tools or system prompt, or raise `context_window`.",
                self._overhead,
                budget.trigger,
            )
            return self._idle("overhead_over_trigger")
        return await self._apply(budget)

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
            room = self._limit / self._factor - self._overhead
            self._fitted_once(self._history, room, None)

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
            self._parts.logger.warning("`on_before_compress` failed, and is ignored: %r", error)
            return budget, None
        if replaced is None:
            return budget, None
        if not replaced:
            self._parts.logger.warning(
                "`on_before_compress` answered an empty history, and is ignored: a window cannot "
                "be emptied by a hook."
            )
            return budget, None
        self._replace_history(replaced)
        again = self._read()
        return (again, None) if self._forced or again.over else (None, "within_budget")

    def _replace_history(self, history: tuple[Message, ...]) -> None:
        counter = self._parts.counter
        if self._reported is not None and not counter.measured:
            # The report was of the old list: what it said per token of ours still holds.
            before = counter.count_messages(self._history)
            after = counter.count_messages(history)
            self._reported = self._reported * after / before if before else None
        else:
            self._reported = None
        self._history = history

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
        result = await abilities.ask(self._strategy, input)
        if not isinstance(result, OverflowResult):  # pyright: ignore[reportUnnecessaryIsInstance]  # custom strategies
            raise SettingsError(
                f"The strategy {self._strategy.name!r} answered {result!r}; `apply` has to answer "
                "an `OverflowResult` (`input.unchanged(name)` leaves everything as it is)."
            )
        if not result.changed:
            if budget.over and result.reason == "no_boundary":
                parts.logger.warning(
                    "History is over its trigger (%d of %d tokens), and nothing can be cut.",
                    budget.current,
                    budget.trigger,
                )
            return msgspec.structs.replace(result, history=self._history)
        return mended(result, input, parts.logger)

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
        self.skip_next = self._parts.overflow.keep == "caller"

    async def _store(self, span: Sequence[Message]) -> str | None:
        if self._parts.archive is None:
            return None
        try:
            uri = await store_span(self._parts.archive, span)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001  # a user's archive may raise anything
            self._parts.logger.warning(
                "The archive failed; the pass lands without a citation: %r", error
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
                self._parts.logger.warning("`on_compress` failed; the result stands: %r", error)
        await self._tell(
            Compressed(
                summary=summary,
                truncated_count=len(result.span),
                compressed_messages=result.span,
            )
        )

    async def _fit(self) -> None:
        """Whatever the strategy did: what is sent fits the window."""
        limit = self._limit
        history = self.result.history
        count = self._parts.counter.count_messages
        room = limit / self._factor - self._overhead
        heavy = self._lightened(history, None)
        if not history or (not heavy and (math.isinf(limit) or count(history) <= room)):
            return
        if self._parts.overflow.oversize == "refuse" and not self._state.learnt.recovering:
            raise refusal(history, limit=limit, overhead=self._overhead, count=count)
        fitted, uri = await self._fitted(history, room)
        if fitted.history == history:
            return
        if not self.result.changed:
            self._open_window()
        before = self.result
        said = set(map(id, self._history))
        left = tuple(m for m in fitted.left if id(m) in said)
        self.result = msgspec.structs.replace(
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
        self._parts.logger.warning(
            "History did not fit %s: %d messages were shortened and %d left.",
            "what the provider takes" if heavy else f"the window of {limit:.0f} tokens",
            len(fitted.clipped),
            len(fitted.dropped),
        )
        if not before.changed:
            await self._tell_landed(self.result)

    def _lightened(self, history: Sequence[Message], uri: str | None) -> dict[int, Message]:
        """Lighter forms of what weighs more than the provider has taken."""
        learnt = self._state.learnt
        if learnt.bytes is None and learnt.characters is None:
            return {}
        return lighter(history, most_bytes=learnt.bytes, longest=learnt.characters, uri=uri)

    def _fitted_once(self, history: tuple[Message, ...], room: float, uri: str | None) -> Fitted:
        """The history that fits, with some room to spare where a request was refused."""
        share = _SPARE if self._state.learnt.recovering else 1.0
        for part in sorted({share, 1.0}):
            try:
                return fit_history(
                    history,
                    room=room * part,
                    limit=self._limit / self._factor,
                    overhead=self._overhead,
                    count=self._parts.counter.count_messages,
                    uri=uri,
                    lightened=self._lightened(history, uri),
                    tolerance=self._parts.gauge.tolerance,
                )
            except WindowFullError:
                if part == 1.0:
                    raise
        raise AssertionError("unreachable")

    async def _fitted(self, history: tuple[Message, ...], room: float) -> tuple[Fitted, str | None]:
        """The history that fits, its originals stored and cited."""
        uri: str | None = None
        fitted = self._fitted_once(history, room, None)
        # The address takes room itself, which may push out one more: until what left is stored.
        for _ in range(4):
            found = await self._store(fitted.left)
            if found is None:
                return fitted, uri
            uri = found
            again = self._fitted_once(history, room, uri)
            stored = {id(message) for message in fitted.left}
            fitted = again
            if all(id(message) in stored for message in again.left):
                break
        return fitted, uri

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
