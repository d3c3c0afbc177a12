"""The library's wording behind the placeholders that the records use, so that structure compares."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from context_chef.prompts import adaptation, guardrails, placement, repair
from context_chef.prompts.vocabulary import LEGACY_VOCABULARY, UNIFIED_VOCABULARY

_SENTINEL = "\x01SENTINEL\x01"


def _around(rendered: str, pattern: str = r"([\s\S]*?)") -> re.Pattern[str]:
    """What a rendering looks like with anything where the sentinel stood."""
    return re.compile(pattern.join(re.escape(part) for part in rendered.split(_SENTINEL)))


def _notice(template: str) -> re.Pattern[str]:
    return _around(template.replace("{n_remaining}", _SENTINEL), r"(\d+)")


def _keys(template: str) -> re.Pattern[str]:
    return _around(template.replace("{keys}", _SENTINEL), r"([^\n]*?)")


_MASKS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (_around(guardrails.output_contract(_SENTINEL)), r"{{XML_GUARDRAIL:\1}}"),
    (_around(guardrails.prefill_enforcement(_SENTINEL)), r"{{PREFILL_ENFORCEMENT:\1}}"),
]
for vocabulary, prefix, instruction in (
    # The unified wording first: a legacy sentence may be the beginning of a unified one.
    (UNIFIED_VOCABULARY, "CONTEXT_", "CONTEXT_STORE_INSTRUCTION"),
    (LEGACY_VOCABULARY, "", "MEMORY_INSTRUCTION"),
):
    _MASKS += [
        (re.compile(re.escape(vocabulary.memory_instruction)), f"{{{{{instruction}}}}}"),
        (
            re.compile(re.escape(vocabulary.memory_block_header)),
            f"{{{{{prefix}MEMORY_BLOCK_HEADER}}}}",
        ),
        (_keys(vocabulary.existing_keys), rf"{{{{{prefix}MEMORY_KEYS_EXISTING:\1}}}}"),
        (_keys(vocabulary.allowed_keys), rf"{{{{{prefix}MEMORY_KEYS_ALLOWED:\1}}}}"),
        (_notice(vocabulary.handoff_notice), rf"{{{{{prefix}HANDOFF_NOTICE:\1}}}}"),
    ]
_CONSTANTS = {
    placement.ANCHOR_LINE: "{{ANCHOR_LINE}}",
    placement.STATE_HEADING: "{{STATE_HEADING}}",
    adaptation.COMPACTION_HEADING: "{{COMPACTION_HEADER}}",
    repair.CONVERSATION_CONTINUES: "{{CONTINUATION_PLACEHOLDER}}",
    repair.MISSING_RESULT: "{{MISSING_RESULT_PLACEHOLDER}}",
}
_MASKS += [(re.compile(re.escape(text)), token) for text, token in _CONSTANTS.items()]


def masked(value: Any) -> Any:
    """The value with every wording of ours replaced by its placeholder."""
    if isinstance(value, str):
        for pattern, token in _MASKS:
            value = pattern.sub(token, value)
        return re.sub(r"updated_at=[0-9T:.Z-]+", "updated_at={{TIMESTAMP}}", value)
    if isinstance(value, dict):
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item) for item in value]
    return value


class WindowNames:
    """Window ids by first appearance: the ids themselves are opaque."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def name(self, window_id: str) -> str:
        return self._names.setdefault(window_id, f"{{{{WINDOW_{len(self._names) + 1}}}}}")
