"""The runner of a strategy that no janitor runs: it warns, and counts nothing."""

from __future__ import annotations

from typing import Any

from context_chef.events import LibraryLog
from context_chef.selection.strategy import Logger, Runner


class DetachedRunner:
    """Failures of a strategy used by itself are only logged."""

    @property
    def logger(self) -> Logger:
        return LibraryLog()

    def fail(self, reason: str, *details: Any) -> None:
        self.logger.warning("An overflow pass failed (%s): %s", reason, list(details))

    def succeed(self) -> None:
        return None

    def recall(self, key: str) -> Any:
        return None

    def keep(self, key: str, answer: Any) -> None:
        return None

    def between(self) -> Runner:
        return self


DETACHED = DetachedRunner()
