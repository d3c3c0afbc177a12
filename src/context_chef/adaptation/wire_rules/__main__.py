"""Prints the wire rules as a Markdown page."""

from __future__ import annotations

import sys

from context_chef.adaptation.wire_rules.table import rules_table

if __name__ == "__main__":
    sys.stdout.write(rules_table())
