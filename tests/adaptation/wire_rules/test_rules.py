"""Every rule is complete data: its examples show it, its source and repair are said."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from context_chef.adaptation.wire_rules import (
    RULES,
    Example,
    Fault,
    WireRule,
    all_rules,
    check_payload,
    check_sequence,
    rules_table,
)

NAMES = {
    "anthropic": """shape json-text image-type image-size media-count error-result
        messages-empty messages-limit empty-content empty-text whitespace-text
        block-role system-role-model system-role-placement prefill-unsupported prefill-thinking
        prefill-whitespace document-role citations-role base64-data tool-result-missing
        tool-result-orphan tool-result-order tool-result-duplicate tool-use-id
        server-tool-result-orphan server-tool-use-unanswered tool-name tool-name-duplicate
        tool-schema strict-schema strict-limits tool-choice tool-choice-forced defer-all
        defer-cache-control defer-search-tool tool-reference-unknown mcp-pairing thinking-type
        thinking-budget thinking-first thinking-signature thinking-last effort preserved-thinking
        max-tokens sampling context-edits compaction-combined compaction-block beta-missing
        cache-breakpoints cache-ttl-order tool-search-model tool-refused tool-changes-model""",
    "openai": """shape json-text
        messages-empty tool-reply-missing tool-reply-orphan tool-reply-duplicate
        tool-call-id content-null empty-array tools-limit tool-calls-limit tool-name
        function-schema strict-schema tool-choice role-model name-field image-url file-part
        audio-model search-model
        reasoning-params reasoning-effort reasoning-tools json-mode format-name range
        dependent-option cache-options""",
    "openai-responses": """shape json-text item-id-length
        input-empty call-unanswered output-orphan call-id item-id-prefix
        item-id-duplicate reasoning-follower reasoning-dropped not-stored content-type
        content-source tool-name tools-limit function-schema strict-schema format-name json-mode
        tool-choice tool-search state-conflict range reasoning-params reasoning-model
        cache-options tool-search-model tool-changes-model""",
    "gemini": """shape json-text
        contents-empty role parts-empty part-data part-role call-turn response-turn
        response-count response-match response-alone model-tail thought-signature function-name
        function-duplicate schema schema-exclusive tool-config tool-combination cached-content
        response-format thinking range inline-data file-data""",
}
"""What is known of each provider; ids are public and do not change."""

BY_ID = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.id)


def _judge(rule: WireRule, example: Example) -> list[Fault]:
    settings = {"model": example.model, "api_version": example.api_version, "warnings": True}
    if rule.over_turns:
        return check_sequence(rule.target, example.payloads, **settings)
    return check_payload(rule.target, example.payloads[0], **settings)


def test_every_known_rule_is_there_under_its_id() -> None:
    found = {target: {rule.id for rule in rules} for target, rules in RULES.items()}
    assert found == {
        target: {f"{target}/{name}" for name in names.split()} for target, names in NAMES.items()
    }


@BY_ID
def test_the_passing_example_passes(rule: WireRule) -> None:
    assert _judge(rule, rule.passing) == []


@BY_ID
def test_the_failing_example_breaks_that_rule_and_no_other(rule: WireRule) -> None:
    faults = _judge(rule, rule.failing)
    assert {fault.rule for fault in faults} == {rule.id}
    assert {fault.severity for fault in faults} == {"warning" if rule.warns else "error"}
    for fault in faults:
        assert re.fullmatch(r"(\[\d+\]\.)?\w+([.\[].*)?", fault.path), fault.path
        assert len(fault.message) > 10
        assert str(fault).startswith(f"{fault.severity} {rule.id} at {fault.path}: ")


@BY_ID
def test_every_rule_says_what_holds_where_it_comes_from_and_what_is_done(rule: WireRule) -> None:
    assert rule.summary.endswith((".", "…"))
    assert rule.repair.endswith(".")
    assert rule.source
    assert rule.sureness in ("A", "B", "C")


def test_the_table_has_a_row_for_every_rule() -> None:
    page = rules_table()
    for rule in all_rules():
        assert f"| `{rule.id.partition('/')[2]}" in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    # Bars inside a cell are escaped: every row has six cells.
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    assert rules_table(["gemini"]).startswith("## Gemini generateContent (`gemini`)")


def test_the_table_is_printed_by_the_module_itself() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "context_chef.adaptation.wire_rules"],
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
    )
    assert printed.stdout == rules_table()
