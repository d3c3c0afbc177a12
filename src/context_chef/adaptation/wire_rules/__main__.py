"""Writes the page of the wire rules to the file that is named, or prints their tables."""

from __future__ import annotations

import sys
from pathlib import Path

from context_chef.adaptation.wire_rules.table import rules_page, rules_table

if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(rules_page(), encoding="utf-8")
    else:
        sys.stdout.write(rules_table())
