"""`anchored()`: each span is worked into one document that is kept for every window."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from context_chef.ir.tokens import utf16_length
from context_chef.ir.window import OverflowInput, OverflowResult, WindowLineage
from context_chef.prompts.compaction import anchored_instruction, compaction_instruction
from context_chef.selection.janitor_config import (
    CompressionModel,
    CompressionOptions,
    SplitRule,
)
from context_chef.selection.strategies.summarize import Span, Summarize
from context_chef.selection.strategy import OverflowStrategy, Runner
from context_chef.selection.summary import summarize_span
from context_chef.selection.summary_message import without_synthetic

KEPT_WINDOWS = 8


class Documents:
    """Documents by window, in the order in which they were written; the newest few are kept."""

    def __init__(self) -> None:
        self._by_window: dict[str, str] = {}
        self._unfiled: str | None = None

    def read(self, window_id: str) -> str | None:
        """The document of a window."""
        if self._unfiled is not None and window_id not in self._by_window:
            self.file(window_id, self._unfiled)
        return self._by_window.get(window_id)

    def file(self, window_id: str, document: str) -> None:
        """File the document of a window that was just opened."""
        self._unfiled = None
        self._by_window.pop(window_id, None)
        self._by_window[window_id] = document
        while len(self._by_window) > KEPT_WINDOWS:
            del self._by_window[next(iter(self._by_window))]

    def state(self) -> dict[str, Any]:
        """The documents as JSON-like state."""
        newest = next(reversed(self._by_window.values()), self._unfiled)
        return {"anchor_doc": newest, "anchors": dict(self._by_window)}

    def restore(self, state: Any) -> None:
        """Take state back; what is no text is left out. None forgets everything."""
        self._by_window, self._unfiled = {}, None
        if not isinstance(state, Mapping):
            return
        known = cast(Mapping[str, Any], state)
        anchors = known.get("anchors")
        if isinstance(anchors, Mapping):
            for window_id, document in cast(Mapping[Any, Any], anchors).items():
                if isinstance(document, str):
                    self._by_window[str(window_id)] = document
            return
        # State from before documents were kept by window: it belongs to whoever reads first.
        document = known.get("anchor_doc", known.get("anchorDoc"))
        self._unfiled = document if isinstance(document, str) else None


@dataclass(frozen=True, kw_only=True)
class Anchored(Summarize):
    """Keep one document up to date. See `anchored()`."""

    name: str = field(default="anchored", init=False)
    documents: Documents = field(default_factory=Documents, init=False, repr=False, compare=False)

    def attach(self, runner: Runner) -> OverflowStrategy:
        """A copy with documents of its own, which reports to this runner."""
        copy = dataclasses.replace(self)
        object.__setattr__(copy, "runner", runner)
        return copy

    async def ask(self, input: OverflowInput, span: Span) -> str | None:
        """The complete document afterwards, None after a failure."""
        document = self.documents.read(input.window.current)
        instruction = compaction_instruction(
            base=anchored_instruction(document),
            guidelines=self.options.compression_guidelines,
            extra=self.options.custom_compression_instructions,
        )
        # The document stands in the instruction: our own rendering of it would say it twice.
        messages = span.messages if document is None else without_synthetic(span.messages)
        request = self.request(
            input,
            span,
            messages,
            instruction,
            grown_from=utf16_length(document) if document else 0,
        )
        return await summarize_span(request, self.runner)

    def commit(self, result: OverflowResult, lineage: WindowLineage) -> None:
        """File the document under the window that it opened."""
        if result.summary is not None:
            self.documents.file(lineage.current, result.summary)
        else:
            self.moved(lineage)

    def moved(self, lineage: WindowLineage) -> None:
        """Something else opened a window: the document goes along."""
        if lineage.previous is None:
            return
        document = self.documents.read(lineage.previous)
        if document is not None and self.options.compression_model is not None:
            self.documents.file(lineage.current, document)

    def snapshot(self) -> dict[str, Any]:
        """The documents."""
        return self.documents.state()

    def restore(self, state: Any) -> None:
        """Take the documents back. None forgets them."""
        self.documents.restore(state)


def anchored(
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
) -> Anchored:
    """Work old turns into one document that is maintained from window to window.

    As `summarize()`, with the document of the current window in the instruction; the answer is the
    complete document afterwards, and only what it grew by is judged. The documents of the newest
    eight windows are kept and ride snapshots. A window that another strategy opens inherits the
    document.
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
    return Anchored(options=options)
