"""Making what a pass leaves fit what may be sent: by tokens, and by what a provider refused."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from context_chef.errors import WindowFullError
from context_chef.ir.message import Message
from context_chef.selection.counting import Counter
from context_chef.selection.learnt import Learnt

if TYPE_CHECKING:
    from context_chef.selection.fit import Fitted

Store = Callable[[Sequence[Message]], Awaitable[str | None]]

_SPARE: Final = 0.95
"""After a refusal the request is fitted to this share of the room: counts are never quite exact."""


class Standing(NamedTuple):
    """An emergency cut of an earlier pass: `messages` are sent for the first `covers` of now."""

    messages: tuple[Message, ...]
    covers: int

    def on(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """The history with the cut in the place of what it stands for."""
        return (*self.messages, *history[self.covers :])


class WindowFit:
    """Fits histories into one window. Holds nothing of a history."""

    def __init__(
        self, counter: Counter, learnt: Learnt, *, limit: float, factor: float, tolerance: float
    ) -> None:
        self._count = counter.count_messages
        self._learnt = learnt
        self._limit = limit
        self._factor = factor
        self._tolerance = tolerance

    def room(self, overhead: float) -> float:
        """The tokens, by our own count, that history may have beside so many around it."""
        return self._limit / self._factor - overhead

    def heavy(self, history: Sequence[Message]) -> bool:
        """Whether something weighs more than the provider has taken."""
        return bool(self._lightened(history, None))

    def fits(self, history: Sequence[Message], overhead: float) -> bool:
        """Whether history can be sent as it is."""
        if not history:
            return True
        if self.heavy(history):
            return False
        return math.isinf(self._limit) or self._count(history) <= self.room(overhead)

    def fitted(
        self, history: tuple[Message, ...], overhead: float, uri: str | None = None
    ) -> Fitted:
        """The history that fits, with some room to spare where a request was refused.

        Raises WindowFullError.
        """
        from context_chef.selection.fit import fit_history  # only where something has to go

        share = _SPARE if self._learnt.recovering else 1.0
        for part in sorted({share, 1.0}):
            try:
                return fit_history(
                    history,
                    room=self.room(overhead) * part,
                    limit=self._limit / self._factor,
                    overhead=overhead,
                    count=self._count,
                    uri=uri,
                    lightened=self._lightened(history, uri),
                    tolerance=self._tolerance,
                )
            except WindowFullError:
                if part == 1.0:
                    raise
        raise AssertionError("unreachable")

    async def stored(
        self, history: tuple[Message, ...], overhead: float, store: Store
    ) -> tuple[Fitted, str | None]:
        """The history that fits, its originals stored and cited."""
        uri: str | None = None
        fitted = self.fitted(history, overhead)
        # The address takes room itself, which may push out one more: until what left is stored.
        for _ in range(4):
            found = await store(fitted.left)
            if found is None:
                return fitted, uri
            uri = found
            again = self.fitted(history, overhead, uri)
            stored = {id(message) for message in fitted.left}
            fitted = again
            if all(id(message) in stored for message in again.left):
                break
        return fitted, uri

    def _lightened(self, history: Sequence[Message], uri: str | None) -> dict[int, Message]:
        """Lighter forms of what weighs more than the provider has taken."""
        learnt = self._learnt
        if learnt.bytes is None and learnt.characters is None:
            return {}
        from context_chef.selection.weight import lighter

        return lighter(history, most_bytes=learnt.bytes, longest=learnt.characters, uri=uri)
