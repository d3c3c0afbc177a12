"""Holds any finished payload to the wire rules of its provider, whoever built it."""

from __future__ import annotations

from context_chef.adaptation.wire_rules import Fault, check_payload, check_sequence

__all__ = ["Fault", "check_payload", "check_sequence"]
