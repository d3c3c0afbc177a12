"""Replay: a recorded session under other settings, offline, with what each would have done."""

from __future__ import annotations

from context_chef.replay.configuration import (
    ReplayConfiguration,
    as_toml,
    configuration,
    read_configurations,
)
from context_chef.replay.lines import RecordingError
from context_chef.replay.read import SESSION_FORMATS, read_session
from context_chef.replay.replaying import ReplayOptions, play_all, read_all, replay
from context_chef.replay.result import (
    FACT_KINDS,
    FATES,
    RESULT_VERSION,
    SOURCES,
    BustRecord,
    ConfigurationInfo,
    Fact,
    FoldRecord,
    FoundFault,
    MendedPlace,
    RecordedUsage,
    ReplayedRequest,
    ReplayResult,
    Retention,
    Run,
    SessionReplay,
    SpanText,
    Totals,
)
from context_chef.replay.session import RecordedSession, SessionRequest

__all__ = [
    "FACT_KINDS",
    "FATES",
    "RESULT_VERSION",
    "SESSION_FORMATS",
    "SOURCES",
    "BustRecord",
    "ConfigurationInfo",
    "Fact",
    "FoldRecord",
    "FoundFault",
    "MendedPlace",
    "RecordedSession",
    "RecordedUsage",
    "RecordingError",
    "ReplayConfiguration",
    "ReplayOptions",
    "ReplayResult",
    "ReplayedRequest",
    "Retention",
    "Run",
    "SessionReplay",
    "SessionRequest",
    "SpanText",
    "Totals",
    "as_toml",
    "configuration",
    "play_all",
    "read_all",
    "read_configurations",
    "read_session",
    "replay",
]
