"""Replay: a recorded session under other settings, offline, with what each would have done."""

from __future__ import annotations

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

__all__ = [
    "FACT_KINDS",
    "FATES",
    "RESULT_VERSION",
    "SOURCES",
    "BustRecord",
    "ConfigurationInfo",
    "Fact",
    "FoldRecord",
    "FoundFault",
    "MendedPlace",
    "RecordedUsage",
    "ReplayResult",
    "ReplayedRequest",
    "Retention",
    "Run",
    "SessionReplay",
    "SpanText",
    "Totals",
]
