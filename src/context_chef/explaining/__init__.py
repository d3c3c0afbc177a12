"""Takes requests apart: who brought what and why, and what two of them have not in common."""

from __future__ import annotations

from context_chef.explaining.bodies import explain_body
from context_chef.explaining.causes import Cause, CauseKind
from context_chef.explaining.diff import Difference, PayloadDiff, diff
from context_chef.explaining.explanation import CacheView, Explanation

__all__ = [
    "CacheView",
    "Cause",
    "CauseKind",
    "Difference",
    "Explanation",
    "PayloadDiff",
    "diff",
    "explain_body",
]
