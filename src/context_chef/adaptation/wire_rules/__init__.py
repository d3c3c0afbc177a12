"""What each provider refuses, as named rules with a checker, a source and two examples each."""

from __future__ import annotations

from context_chef.adaptation.wire_rules.checking import (
    RULES,
    PayloadChecker,
    all_rules,
    check_payload,
    check_sequence,
)
from context_chef.adaptation.wire_rules.rule import (
    ANTHROPIC_VERSION,
    Example,
    Fault,
    Finding,
    Request,
    Severity,
    Target,
    WireRule,
)
from context_chef.adaptation.wire_rules.table import rules_table

__all__ = [
    "ANTHROPIC_VERSION",
    "Example",
    "Fault",
    "Finding",
    "PayloadChecker",
    "RULES",
    "Request",
    "Severity",
    "Target",
    "WireRule",
    "all_rules",
    "check_payload",
    "check_sequence",
    "rules_table",
]
