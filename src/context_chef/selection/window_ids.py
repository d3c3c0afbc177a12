"""Fresh window ids: opaque, and different in every process."""

from __future__ import annotations

import os
import time


def opaque_window_id() -> str:
    """A fresh window id: time and randomness in base 36."""
    stamp = _base36(time.time_ns() // 1_000_000)
    return f"w_{stamp}{_base36(int.from_bytes(os.urandom(4), 'big')).rjust(6, '0')[-6:]}"


def _base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = digits[digit] + text
    return text or "0"
