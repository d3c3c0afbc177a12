"""The rules as a Markdown page: what `python -m context_chef.adaptation.wire_rules` prints."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.adaptation.wire_rules.checking import RULES
from context_chef.adaptation.wire_rules.rule import Target, WireRule

_TITLES: dict[Target, str] = {
    "openai": "OpenAI Chat Completions",
    "openai-responses": "OpenAI Responses",
    "anthropic": "Anthropic Messages",
    "gemini": "Gemini generateContent",
}
_HEAD = "| rule | what has to hold | message | repair | source | sure |"
_RULER = "|---|---|---|---|---|---|"


def _cell(words: str) -> str:
    return words.replace("|", "\\|").replace("\n", " ")


def _row(rule: WireRule) -> str:
    name = rule.id.partition("/")[2] + (" (over turns)" if rule.over_turns else "")
    repair = rule.repair if rule.repairable else f"None: {rule.repair}"
    cells = (f"`{name}`", rule.summary, rule.gist, repair, rule.source, rule.sureness)
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def rules_table(targets: Sequence[Target] = ()) -> str:
    """The rules of these targets, or of all, as Markdown: a heading and a table for each."""
    pages: list[str] = []
    for target in targets or tuple(RULES):
        rows = [_row(rule) for rule in RULES[target]]
        pages.append("\n".join([f"## {_TITLES[target]} (`{target}`)", "", _HEAD, _RULER, *rows]))
    return "\n\n".join(pages) + "\n"
