"""`Recorder`: sessions as they happen, written to JSON Lines that a replay reads."""

from __future__ import annotations

from context_chef.recording.recorder import RECORDING_VERSION, Recorder
from context_chef.recording.redaction import Redact, redacted

__all__ = ["RECORDING_VERSION", "Recorder", "Redact", "redacted"]
