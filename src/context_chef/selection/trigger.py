"""Is the window full enough? Counted and reported figures, and how one corrects the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from context_chef.errors import SettingsError, shown
from context_chef.ir.message import Message
from context_chef.ir.window import Budget
from context_chef.selection.counting import Counter
from context_chef.selection.janitor_config import JanitorConfig
from context_chef.selection.learnt import Learnt

_MOST: Final = 10**15
"""No request has more tokens; what is no number is in no range."""

_PLAUSIBLE: Final = (0.5, 2.5)
"""A report outside these shares of our count was of another request: it corrects nothing."""

_DOUBT: Final = 1.35
"""An estimate counts at most so much too much: what it finds above that does not fit."""


class Gauge:
    """Reads the budget. Holds no state of a session."""

    def __init__(self, config: JanitorConfig, counter: Counter) -> None:
        self._config = config
        self._counter = counter
        self._limit = config.context_window - config.reserve_output
        self.tolerance = 1.0 if counter.measured else _DOUBT
        """How far over its limit a request may be counted before it is refused."""

    def limit(self, learnt: Learnt) -> float:
        """The room for a request: as configured, or as the provider taught where that is less."""
        return self._limit if learnt.tokens is None else min(self._limit, learnt.tokens)

    def read(
        self,
        history: Sequence[Message],
        *,
        overhead: float = 0,
        reported: float | None = None,
        factor: float = 1.0,
        learnt: Learnt,
    ) -> Budget:
        """The budget of a request with this history and `overhead` tokens around it."""
        current = self._current(history, overhead, reported, factor)
        limit = self.limit(learnt)
        trigger = limit * self._config.trigger_ratio
        return Budget(limit=_plain(limit), current=_plain(current), trigger=_plain(trigger))

    def counted(
        self, history: Sequence[Message], *, overhead: float = 0, factor: float = 1.0
    ) -> float:
        """Our own count, corrected by `factor`."""
        return (self._counter.count_messages(history) + overhead) * factor

    def corrected(self, factor: float, *, counted: float | None, reported: float) -> float:
        """The factor after a report on a request of which we had counted so many tokens."""
        if not self._counter.calibrates or not counted:
            return factor
        ratio = reported / counted
        if not _PLAUSIBLE[0] <= ratio <= _PLAUSIBLE[1]:
            return factor
        # Counting too little is the dangerous side: up at once, down by halves.
        return ratio if ratio > factor else (factor + ratio) / 2

    def _current(
        self,
        history: Sequence[Message],
        overhead: float,
        reported: float | None,
        factor: float,
    ) -> float:
        preference = self._config.usage_preference
        if not self._counter.measured or preference == "feedFirst":
            if reported is not None:
                return reported
            return self.counted(history, overhead=overhead, factor=factor)
        counted = self.counted(history, overhead=overhead, factor=factor)
        if preference == "tokenizerFirst" or reported is None:
            return counted
        return max(counted, reported)


def check_usage(tokens: object) -> float:
    """A reported figure. Raises SettingsError for what cannot be one."""
    if isinstance(tokens, bool) or not isinstance(tokens, (int, float)) or not 0 <= tokens <= _MOST:
        raise SettingsError(
            "Reported usage is the number of tokens of the last request, a finite number of 0 or "
            f"more, not {shown(tokens)}."
        )
    return tokens


def _plain(figure: float) -> float:
    """Whole figures as integers, so that they read as what they are."""
    return figure if math.isinf(figure) or figure != int(figure) else int(figure)
