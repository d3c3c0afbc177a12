"""The rules as Markdown: `docs/provider-rules.md` is made of this."""

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


_INTRODUCTION = """\
# Provider rules

What makes each provider refuse a request, as of {as_of}. This page is made from the rules in the
code by `python -m context_chef.adaptation.wire_rules docs/provider-rules.md`; a test holds it to
them.

Every rule has an id, a checker, a source, and an example that passes and one that fails.
`context-chef check FILE --target ...` lists what a request breaks, with path and rule, and
`context_chef.testing.check_payload` does it in a test. A compile keeps all of them: what can be
mended is mended and named in `payload.report.repairs` under the rule's id.

- **message** is the gist of the provider's answer, not its exact text.
- **repair** says what a compile does about it. *None* stands in front of the reason why it can do
  nothing.
- **sure**: A was seen in a recorded answer or is quoted in public reports, B stands in the official
  documentation or in the official SDK's types, C is disputed or inferred (reported as a warning).

| target | rules | mended | beyond repair |
|---|---|---|---|
{counts}

"""


def rules_page() -> str:
    """The whole page, with its introduction."""
    counts: list[str] = []
    for target, rules in RULES.items():
        mended = sum(rule.repairable for rule in rules)
        counts.append(f"| `{target}` | {len(rules)} | {mended} | {len(rules) - mended} |")
    head = _INTRODUCTION.replace("{as_of}", "November 2026").replace("{counts}", "\n".join(counts))
    return head + rules_table()
