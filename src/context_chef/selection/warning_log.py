"""Where warnings of this axis go: the caller's logger, whichever way it spells `warning`."""

from __future__ import annotations

from typing import Any, cast

from context_chef.errors import SettingsError, shown
from context_chef.events import LibraryLog
from context_chef.selection.strategy import Logger


class _WarnOnly:
    """A logger that only knows `warn` (the contract's name for it)."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def warning(self, message: str, *details: Any) -> None:
        self._logger.warn(message, *details)


def log_of(logger: Any) -> Logger:
    """A logger with `warning`. Raises SettingsError for what cannot be one."""
    if logger is None:
        return LibraryLog()
    if callable(getattr(logger, "warning", None)):
        return cast(Logger, logger)
    if callable(getattr(logger, "warn", None)):
        return _WarnOnly(logger)
    raise SettingsError(
        f"`logger` needs a method `warning(message, *args)`; {shown(logger)} has none."
    )
