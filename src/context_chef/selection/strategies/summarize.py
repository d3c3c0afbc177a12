"""`summarize()`: the old span gives way to a summary of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from context_chef.ir.message import Message
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.prompts.compaction import compaction_instruction
from context_chef.selection.cut import find_cut, kept_in_span
from context_chef.selection.janitor_config import (
    CompressionModel,
    CompressionOptions,
    SplitRule,
)
from context_chef.selection.runner import DETACHED
from context_chef.selection.strategy import OverflowStrategy, Runner
from context_chef.selection.summary_message import (
    dropped_marker,
    is_summary_message,
    is_synthetic,
    render_summary_message,
)

if TYPE_CHECKING:
    from context_chef.selection.summary import SummaryRequest

MIN_GAIN = 0.2
"""A summary is not written again for less than this share of the room of history, or of the trigger
where that is less."""


class Span:
    """What a pass would take out, and what stays."""

    def __init__(self, input: OverflowInput, cut: int, *, keep_open_request: bool) -> None:
        history = input.history
        kept = kept_in_span(input, cut, keep_open_request=keep_open_request)
        self.kept = tuple(history[index] for index in sorted(kept))
        self.tail = history[cut:]
        # System messages are no part of the conversation: they stay, and no summary covers them.
        self.messages = tuple(m for m in history[:cut] if m.role != "system")
        self.evicted = tuple(m for at, m in enumerate(history[:cut]) if at not in kept)
        self.fresh = tuple(message for message in self.evicted if not is_synthetic(message))

    def reason_to_stay(self, input: OverflowInput) -> str | None:
        """Why the span should stay after all, or None."""
        if not self.evicted:
            return "only_pinned"
        if not self.fresh:
            return "no_boundary"
        again = any(is_summary_message(message) for message in self.evicted)
        if again and not input.forced and input.budget.current <= input.budget.limit:
            gain = input.tokenizer(self.fresh)
            room = min(input.budget.limit - input.overhead, input.budget.trigger)
            if gain < MIN_GAIN * room:
                return "too_little_to_gain"
        return None


@dataclass(frozen=True, kw_only=True)
class Summarize:
    """Replace everything before the cut with a summary. See `summarize()`."""

    options: CompressionOptions = field(default_factory=CompressionOptions)
    name: str = field(default="summarize", init=False)
    runner: Runner = field(default=DETACHED, init=False, repr=False, compare=False)

    def attach(self, runner: Runner) -> OverflowStrategy:
        """A copy that reports to this runner."""
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "runner", runner)
        return copy

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Summarise what stands before the cut, or say why not."""
        cut = find_cut(input, self.options)
        if cut.at is None:
            return input.unchanged(self.name, cut.reason)
        span = Span(input, cut.at, keep_open_request=self.options.keep_open_request)
        stay = span.reason_to_stay(input)
        if stay is not None:
            return input.unchanged(self.name, stay)
        if self.options.compression_model is None:
            return self.dropped(input, span)
        summary = await self.ask(input, span)
        if summary is None:
            return input.unchanged(self.name, "rejected")
        return self.result(input, span, summary)

    async def ask(self, input: OverflowInput, span: Span) -> str | None:
        """The accepted summary of the span, None after a failure."""
        from context_chef.selection.summary import summarize_span  # where a model is asked

        options = self.options
        instruction = compaction_instruction(
            guidelines=options.compression_guidelines,
            extra=options.custom_compression_instructions,
        )
        return await summarize_span(
            self.request(input, span, span.messages, instruction), self.runner
        )

    def request(
        self,
        input: OverflowInput,
        span: Span,
        messages: tuple[Message, ...],
        instruction: str,
        grown_from: int = 0,
    ) -> SummaryRequest:
        """What the model is asked."""
        from context_chef.selection.summary import SummaryRequest

        window = self.options.compression_window
        return SummaryRequest(
            span=messages,
            kept=span.tail,
            instruction=instruction,
            options=self.options,
            tokenizer=input.tokenizer,
            capacity=input.budget.limit if window is None else window,
            capacity_known=window is not None,
            stays=frozenset(map(id, span.kept)),
            grown_from=grown_from,
            signal=input.signal,
        )

    def result(
        self, input: OverflowInput, span: Span, summary: str, **notes: Any
    ) -> OverflowResult:
        """The history with the summary in place of the span."""
        return OverflowResult(
            history=(render_summary_message(summary), *span.kept, *span.tail),
            evicted=span.evicted,
            span=span.messages,
            summary=summary,
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
            notes=notes,
            drops_open_turn=not self.options.keep_open_request,
        )

    def dropped(self, input: OverflowInput, span: Span) -> OverflowResult:
        """The history without the span, and a marker in its place."""
        marker = (dropped_marker(len(span.messages)),) if self.options.mark_dropped else ()
        return OverflowResult(
            history=(*marker, *span.kept, *span.tail),
            evicted=span.evicted,
            span=span.messages,
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
            drops_open_turn=not self.options.keep_open_request,
        )


def summarize(
    *,
    compression_model: CompressionModel | None = None,
    preserve_ratio: float | None = None,
    preserve_recent_messages: int | None = None,
    split: SplitRule | None = None,
    min_shrink_ratio: float = 0.5,
    tool_result_stub_threshold: int | None = None,
    compression_guidelines: Sequence[str] = (),
    custom_compression_instructions: str | None = None,
    validate_compression: Any = None,
    compression_window: float | None = None,
    mark_dropped: bool = True,
    keep_open_request: bool = True,
) -> Summarize:
    """Replace old turns with a summary that `compression_model` writes.

    The newest turns stay: as many as fit `preserve_ratio` of the trigger, or
    `preserve_recent_messages` turns. Pinned turns, system messages and the request that tools are
    still at work on stay verbatim. A summary that is blank, cut off, hardly shorter than its span
    (`min_shrink_ratio`) or refused by `validate_compression` counts as a failure and changes
    nothing. Without a model the span is dropped.
    """
    options = CompressionOptions(
        compression_model=compression_model,
        preserve_ratio=preserve_ratio,
        preserve_recent_messages=preserve_recent_messages,
        split=split,
        min_shrink_ratio=min_shrink_ratio,
        tool_result_stub_threshold=tool_result_stub_threshold,
        compression_guidelines=compression_guidelines,
        custom_compression_instructions=custom_compression_instructions,
        validate_compression=validate_compression,
        compression_window=compression_window,
        mark_dropped=mark_dropped,
        keep_open_request=keep_open_request,
    )
    return Summarize(options=options)
