"""Three failures in a row and overflow rests; after a while, or on request, one attempt is made."""

from __future__ import annotations

from typing import Final

import msgspec

LIMIT: Final = 3


class Breaker(msgspec.Struct, frozen=True, kw_only=True):
    """Failures in a row, and since when overflow rests (seconds)."""

    failures: int = 0
    opened_at: float | None = None

    @property
    def open(self) -> bool:
        """Whether overflow rests."""
        return self.failures >= LIMIT

    def may_try(self, now: float, cooldown: float) -> bool:
        """Whether a resting overflow may make an attempt."""
        return self.opened_at is None or now - self.opened_at >= cooldown

    def failed(self, now: float) -> Breaker:
        """After one more failure. A failed attempt starts the rest anew."""
        failures = min(LIMIT, self.failures + 1)
        return Breaker(failures=failures, opened_at=now if failures >= LIMIT else None)

    def closed(self) -> Breaker:
        """After a success."""
        return Breaker()
