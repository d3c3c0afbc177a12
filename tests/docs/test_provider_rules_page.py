"""The page of provider rules is what the rules in the code say, and names what spec lists name."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.shared_data import DATA

from context_chef.adaptation.wire_rules import RULES, all_rules
from context_chef.adaptation.wire_rules.table import rules_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "provider-rules.md"
SPEC = DATA.parent / "spec" / "4-provider-rules.md"


def test_the_page_is_current() -> None:
    if os.environ.get("CONTEXT_CHEF_WRITE"):
        PAGE.write_text(rules_page(), "utf-8")
    assert PAGE.read_text("utf-8") == rules_page()


def test_the_counts_add_up_to_all_rules() -> None:
    counted = re.findall(r"^\| `[a-z-]+` \| (\d+) \| (\d+) \| (\d+) \|$", rules_page(), re.M)
    assert len(counted) == len(RULES)
    assert sum(int(total) for total, _, _ in counted) == len(all_rules())
    assert all(int(total) == int(mended) + int(rest) for total, mended, rest in counted)


@pytest.mark.skipif(not SPEC.is_file(), reason="the list of provider rules is not beside the data")
def test_every_rule_of_the_list_that_was_collected_is_one_of_ours() -> None:
    sections = re.split(r"^## ", SPEC.read_text("utf-8"), flags=re.M)
    titles = {
        "anthropic": "2. Anthropic",
        "openai": "3. OpenAI Chat",
        "openai-responses": "4. OpenAI Responses",
        "gemini": "5. Gemini",
    }
    ours = {rule.id for rule in all_rules()}
    for target, title in titles.items():
        section = next(part for part in sections if part.startswith(title))
        cells = re.findall(r"^\| ((?:`[a-z-]+`(?: \([^)]*\))?(?:, )?)+) \|", section, re.M)
        names = {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)}
        named = {f"{target}/{name}" for name in names if "-20" not in name}
        missing = named - ours - NOT_RULES
        assert len(named) > 15
        assert missing == set(), missing


NOT_RULES = {f"anthropic/{name}" for name in ("context_management", "fallbacks", "thread")}
"""First cells of other tables in the same section."""
