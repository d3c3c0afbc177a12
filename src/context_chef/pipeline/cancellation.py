"""Stopping a compile from outside: an asyncio cancel works as always, a passed-in token here."""

from __future__ import annotations

from typing import Any

from context_chef.errors import CompileAborted, SettingsError, shown


class CancelToken:
    """Pass it as `signal=`, call `cancel()` from anywhere: the compile stops at the next stage."""

    def __init__(self) -> None:
        self.cancelled = False
        self.reason: BaseException | None = None

    def cancel(self, reason: BaseException | None = None) -> None:
        """Ask every compile that was given this token to stop. `reason` is what it will raise."""
        self.cancelled = True
        self.reason = reason


def check_token(signal: object) -> None:
    """Refuse something that is no token. Raises SettingsError."""
    if signal is None or isinstance(signal, CancelToken):
        return
    if not callable(getattr(signal, "is_set", None)):
        raise SettingsError(
            f"`signal` is a `CancelToken` or an event with `is_set()`, not {shown(signal)}."
        )


def raise_if_cancelled(signal: Any) -> None:
    """Raise the token's own reason, or CompileAborted, once it was cancelled."""
    if signal is None:
        return
    if isinstance(signal, CancelToken):
        if signal.cancelled:
            raise signal.reason or CompileAborted("The compile was cancelled through its `signal`.")
    elif signal.is_set():
        raise CompileAborted("The compile was cancelled through its `signal`.")
