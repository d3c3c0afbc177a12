"""Traces and metrics of compiles for OpenTelemetry (extra `otel`).

Attributes follow the GenAI semantic conventions where these have a name for the thing; what only a
context compiler knows is under `context_chef.*`. A compile is no call of a model, so nothing here
is named `gen_ai.usage.*`: that is what the provider says it counted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from context_chef.errors import MissingExtraError
from context_chef.events import FoldDropped, MemoryChanged, OffloadCreated, ToolBlocked
from context_chef.ir.report import Report

try:
    from opentelemetry import metrics, trace
    from opentelemetry.trace import SpanKind, Status, StatusCode
except ImportError as error:
    raise MissingExtraError("Tracing compiles with OpenTelemetry", "otel") from error

if TYPE_CHECKING:
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, TracerProvider

    from context_chef.chef import ContextChef
    from context_chef.pipeline.turn import CompileTurn

SCOPE: Final = "context_chef"
COMPILE_SPAN: Final = "context_chef.compile"
PROVIDERS: Final[Mapping[str, str]] = {
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
    "gemini": "gcp.gemini",
}
"""`gen_ai.provider.name` by target. A target of your own goes by its own name."""
DURATIONS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Bucket boundaries in seconds: a warm compile takes milliseconds, one that summarises seconds."""
TOKENS: Final = tuple(4**power for power in range(14))
"""Bucket boundaries of the conventions for token counts: 1, 4, 16 … 67,108,864."""

Attributes = dict[str, "str | bool | int | float"]


def instrument(
    chef: ContextChef,
    *,
    tracer_provider: TracerProvider | None = None,
    meter_provider: MeterProvider | None = None,
    attributes: Mapping[str, str | bool | int | float] | None = None,
) -> Callable[[], None]:
    """Trace and measure the compiles of this chef. Answers the way off, which may be called twice.

    A span `context_chef.compile` holds one span for each stage, `context_chef.stage.<name>`. What
    is counted for the report is counted here for every compile. `attributes` are put on every
    span and measurement, such as a tenant. No text of a conversation is ever recorded. Without
    providers the global ones are used.
    """
    tracer = trace.get_tracer(SCOPE, tracer_provider=tracer_provider)
    meter = metrics.get_meter(SCOPE, meter_provider=meter_provider)
    instruments = _Instruments(meter)
    watcher = _Watcher(tracer, instruments, dict(attributes or {}))
    ways_off = [
        chef.watch_stages(watcher),
        chef.on(OffloadCreated, watcher.offloaded),
        chef.on(FoldDropped, watcher.dropped),
        chef.on(ToolBlocked, watcher.blocked),
        chef.on(MemoryChanged, watcher.remembered),
    ]

    def off() -> None:
        while ways_off:
            ways_off.pop()()

    return off


class _Instruments:
    def __init__(self, meter: Any) -> None:
        self.duration = meter.create_histogram(
            "context_chef.compile.duration",
            unit="s",
            description="Duration of compiles.",
            explicit_bucket_boundaries_advisory=DURATIONS,
        )
        self.tokens = meter.create_histogram(
            "context_chef.compile.tokens",
            unit="{token}",
            description="Tokens of compiled requests as counted here, by section.",
            explicit_bucket_boundaries_advisory=TOKENS,
        )
        self.rebilled = meter.create_counter(
            "context_chef.cache.rebilled_tokens",
            unit="{token}",
            description="Tokens that a prompt cache could not serve because a prefix changed.",
        )
        self.folds = meter.create_counter(
            "context_chef.folds",
            unit="{fold}",
            description="Overflow passes that landed, by strategy.",
        )
        self.evicted = meter.create_counter(
            "context_chef.evicted_messages",
            unit="{message}",
            description="Messages that left a window.",
        )
        self.dropped = meter.create_counter(
            "context_chef.folds.dropped",
            unit="{fold}",
            description="Folds that an edit of folded history took back.",
        )
        self.repairs = meter.create_counter(
            "context_chef.repairs",
            unit="{repair}",
            description="Things mended so that the provider accepts the request, by rule.",
        )
        self.offloads = meter.create_counter(
            "context_chef.offloads",
            unit="{entry}",
            description="Large texts that went to the store.",
        )
        self.blocked = meter.create_counter(
            "context_chef.tools.blocked",
            unit="{call}",
            description="Tool calls that the gate refused.",
        )
        self.memory = meter.create_counter(
            "context_chef.memory.changes",
            unit="{entry}",
            description="Memory entries that were set, deleted or expired.",
        )


class _Watcher:
    """Opens a span for a compile and for each stage, and measures what came of it."""

    def __init__(self, tracer: trace.Tracer, instruments: _Instruments, common: Attributes) -> None:
        self._tracer = tracer
        self._instruments = instruments
        self.common = common

    @contextmanager
    def compiling(self, turn: CompileTurn) -> Generator[None]:
        start = time.perf_counter()
        with self._tracer.start_as_current_span(
            COMPILE_SPAN,
            kind=SpanKind.INTERNAL,
            attributes=self.common,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            failure: dict[str, str] = {}
            try:
                yield
            except BaseException as error:
                failure["error.type"] = _failed(span, error)
                raise
            finally:
                shared = {**self.common, **_request(turn)}
                span.set_attributes(shared)
                if not failure:
                    self._finished(turn, span, shared)
                self._instruments.duration.record(time.perf_counter() - start, shared | failure)

    @contextmanager
    def stage(self, name: str, turn: CompileTurn) -> Generator[None]:
        with self._tracer.start_as_current_span(
            f"context_chef.stage.{name}",
            kind=SpanKind.INTERNAL,
            attributes={**self.common, "context_chef.stage": name},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield
            except BaseException as error:
                _failed(span, error)
                raise

    def offloaded(self, event: OffloadCreated) -> None:
        self._instruments.offloads.add(1, self.common)

    def dropped(self, event: FoldDropped) -> None:
        self._instruments.dropped.add(1, self.common)

    def blocked(self, event: ToolBlocked) -> None:
        self._instruments.blocked.add(1, {**self.common, "gen_ai.tool.name": event.name})

    def remembered(self, event: MemoryChanged) -> None:
        self._instruments.memory.add(1, {**self.common, "context_chef.memory.change": event.type})

    def _finished(self, turn: CompileTurn, span: Span, shared: Attributes) -> None:
        assert turn.payload is not None
        report = turn.payload.report
        span.set_attributes(_tokens(report) | _cache(turn, report) | _overflow(turn, report))
        for section, tokens in report.sections.items():
            labels = {**shared, "context_chef.section": section}
            self._instruments.tokens.record(tokens, labels)
        if report.rebilled_tokens:
            self._instruments.rebilled.add(report.rebilled_tokens, shared)
        if turn.overflow is not None and turn.overflow.changed:
            labels = {**shared, "context_chef.overflow.strategy": turn.overflow.strategy}
            self._instruments.folds.add(1, labels)
            self._instruments.evicted.add(len(turn.overflow.evicted), labels)
        for repair in report.repairs:
            self._instruments.repairs.add(1, {**shared, "context_chef.rule": repair.rule})


def _failed(span: Span, error: BaseException) -> str:
    """Mark a span by the kind of error alone: its text may quote a conversation."""
    kind = type(error).__qualname__
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR, kind))
    return kind


def _request(turn: CompileTurn) -> Attributes:
    target = turn.target_name or "unknown"
    found: Attributes = {
        "gen_ai.provider.name": PROVIDERS.get(target, target),
        "context_chef.target": target,
    }
    if turn.inputs.model is not None:
        found["gen_ai.request.model"] = turn.inputs.model
    return found


def _tokens(report: Report) -> Attributes:
    found: Attributes = {"context_chef.tokens": report.tokens}
    for section, tokens in report.sections.items():
        found[f"context_chef.tokens.{section}"] = tokens
    if report.budget is not None:
        found["context_chef.budget.current"] = report.budget.current
        if math.isfinite(report.budget.limit):  # no window is set otherwise
            found["context_chef.budget.limit"] = report.budget.limit
            found["context_chef.budget.trigger"] = report.budget.trigger
    return found


def _cache(turn: CompileTurn, report: Report) -> Attributes:
    marked = sum(
        (message.cache is not None) + sum(block.cache is not None for block in message.content)
        for message in turn.messages
    )
    return {
        "context_chef.cache.breakpoints": marked,
        "context_chef.cache.prefix_changes": len(report.prefix_changes),
        "context_chef.cache.rebilled_tokens": report.rebilled_tokens,
    }


def _overflow(turn: CompileTurn, report: Report) -> Attributes:
    overflow = turn.overflow
    found: Attributes = {
        "context_chef.window.id": turn.window_id,
        "context_chef.overflow.changed": overflow is not None and overflow.changed,
        "context_chef.overflow.evicted_messages": len(turn.evicted),
        "context_chef.folds": len(turn.transcript.folds),
        "context_chef.repairs": len(report.repairs),
        "context_chef.diagnostics": len(report.diagnostics),
        "context_chef.messages": len(turn.messages),
    }
    if overflow is not None and overflow.changed:
        found["context_chef.overflow.strategy"] = overflow.strategy
    elif overflow is not None and overflow.reason:
        found["context_chef.overflow.reason"] = overflow.reason
    return found
