"""What an overflow strategy is given and what it answers: budget, lineage, input, result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import msgspec

from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """A reading of the window, in tokens. Infinity is a figure like any other."""

    limit: float
    """The room for the whole request: the context window without the reserve for the answer."""
    current: float
    """What the request takes now: history and everything around it."""
    trigger: float
    """Strictly above this, history overflows."""

    @property
    def remaining(self) -> float:
        """Tokens left before the trigger; negative when over it."""
        return self.trigger - self.current

    @property
    def over(self) -> bool:
        """Whether history overflows."""
        return self.remaining < 0


class WindowLineage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which window this is, which came before, and which was the first. Ids are opaque."""

    first: str
    current: str
    previous: str | None = None

    @classmethod
    def begin(cls, window_id: str) -> Self:
        """A lineage of one window."""
        return cls(first=window_id, current=window_id)

    def advance(self, window_id: str) -> WindowLineage:
        """The lineage after `window_id` was opened."""
        return WindowLineage(first=self.first, previous=self.current, current=window_id)


class OverflowInput(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy decides on. It answers data and changes nothing."""

    history: tuple[Message, ...]
    budget: Budget
    tokenizer: Callable[[Sequence[Message]], float]
    """Counts messages: the configured tokenizer, else the estimate."""
    window: WindowLineage
    """The lineage before the pass: `window.current` is the window that a result would close."""
    measured: bool = False
    """Whether `tokenizer` was configured; False when it only estimates."""
    pinned: frozenset[int] = frozenset()
    """Indexes into `history` that have to stay verbatim: pinned messages and their whole turns."""
    overhead: float = 0
    """Tokens in `budget.current` that are not history: tools, system prompt, tail."""
    forced: bool = False
    """Asked for by the caller or the model: shrink even though the budget does not demand it."""
    escalated: bool = False
    """An earlier step of a chain could not make it fit."""
    signal: Any = None
    """The abort signal of the compile, as the caller gave it."""

    def unchanged(self, strategy: str, reason: str | None = None) -> OverflowResult:
        """The answer "leave it as it is"."""
        return OverflowResult(
            history=self.history, strategy=strategy, window_id=self.window.current, reason=reason
        )


class OverflowResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a strategy answers.

    `evicted` holds the messages that left; `span` what the summary stands for, kept pinned ones
    included. The span is what is archived, counted and reported. Both are empty when unchanged.
    """

    history: tuple[Message, ...]
    evicted: tuple[Message, ...] = ()
    span: tuple[Message, ...] = ()
    summary: str | None = None
    """The bare text, when `history[0]` is its rendering. An empty text is one, None is not."""
    strategy: str
    window_id: str
    """The window acted on: the one that a changed result closes."""
    changed: bool = False
    reason: str | None = None
    """Why nothing changed, or what is still open; a code of `REASONS` where it is ours."""
    parts: tuple[tuple[int, OverflowResult], ...] = ()
    """The answers of inner strategies that a composite made this of, by their place in it."""
    notes: dict[str, Any] = EMPTY
    """What a strategy wants to find again in `commit`. Never shown to anyone."""
    clipped: int = 0
    """How many messages were shortened to fit the window."""
    drops_open_turn: bool = False
    """The strategy was told to let go of the turn that waits for an answer. Without it that turn is
    put back, as pins are."""
    archive_uri: str | None = None
    """Where the span is stored in full, once it is."""


REASONS = (
    "within_budget",
    "empty_history",
    "breaker_open",
    "no_boundary",
    "forced_single_turn",
    "rejected",
    "background_started",
    "background_in_flight",
    "stale_within_budget",
    "only_pinned",
    "no_server_target",
    "no_step_changed",
    "too_little_to_gain",
    "overhead_over_trigger",
    "nothing_to_clear",
    "clipped",
    "vetoed",
)
"""Codes that `OverflowResult.reason` uses; a chain adds `still_above:<strategy name>`."""
