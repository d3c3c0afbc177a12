"""The library's overflow wording behind the masks of `overflow.md`."""

from __future__ import annotations

import re
from typing import Any

from context_chef.prompts import compaction, overflow, placement, repair
from context_chef.prompts.vocabulary import (
    LEGACY_VOCABULARY,
    LINEAGE_LINE,
    LINEAGE_LINE_WITH_PREVIOUS,
    SUMMARY_WRAPPER,
    UNIFIED_VOCABULARY,
)


def _pattern(template: str, **blanks: str) -> re.Pattern[str]:
    """A template as a pattern, each blank a named group of its own form."""
    parts = re.split(r"(\{\w+\})", template)
    seen: set[str] = set()
    text = ""
    for part in parts:
        name = part[1:-1] if re.fullmatch(r"\{\w+\}", part) else None
        if name is None or name not in blanks:
            text += re.escape(part)
        elif name in seen:
            text += f"(?P={name})"
        else:
            seen.add(name)
            text += f"(?P<{name}>{blanks[name]})"
    return re.compile(text, re.DOTALL)


_ID = r"[\w-]+"
_URI = r"\S+?"
_HEAD, _, _TAIL = SUMMARY_WRAPPER.partition("{summary}")
_ANCHOR_BEFORE, _, _ANCHOR_AFTER = compaction.ANCHORED_INSTRUCTION.partition("{anchor}")

_CONSTANTS = {
    compaction.COMPACTION_INSTRUCTION: "{{COMPACTION_INSTRUCTION}}",
    overflow.CLEARED_TOOL_RESULT: "{{CLEARED_TOOL_RESULT}}",
    repair.MISSING_RESULT: "{{NO_TOOL_RESULT}}",
    repair.CONVERSATION_CONTINUES: "{{CONVERSATION_CONTINUES}}",
    placement.ANCHOR_LINE: "{{STATE_LINE}}",
}
_PATTERNS = [
    (
        _pattern(LINEAGE_LINE_WITH_PREVIOUS, current=_ID, previous=_ID),
        "{{LINEAGE:current=%s;previous=%s}}",
        ("current", "previous"),
    ),
    (_pattern(LINEAGE_LINE, current=_ID), "{{LINEAGE:current=%s}}", ("current",)),
    (
        _pattern(overflow.ARCHIVE_CITATION, count=r"\d+", uri=_URI),
        "{{ARCHIVE_CITATION:uri=%s;count=%s}}",
        ("uri", "count"),
    ),
    (
        _pattern(overflow.RESET_NOTICE_WITH_PREVIOUS, window=_ID, previous=_ID),
        "{{RESET_NOTICE:window=%s;previous=%s}}",
        ("window", "previous"),
    ),
    (_pattern(overflow.RESET_NOTICE, window=_ID), "{{RESET_NOTICE:window=%s}}", ("window",)),
    (
        _pattern(overflow.DROPPED_NOTICE, count=r"\d+", citation=".*?"),
        "{{DROPPED_NOTICE:%s}}",
        ("count",),
    ),
    (
        _pattern(overflow.TOOL_STUB, name=r"[^:\n]*", chars=r"\d+"),
        "{{TOOL_STUB:name=%s;chars=%s}}",
        ("name", "chars"),
    ),
    (
        _pattern(overflow.TOOL_CALL_TEXT, name=r"\S+?", arguments=r"[^\n]*?"),
        "{{TOOL_CALL_TEXT:%s|%s}}",
        ("name", "arguments"),
    ),
    (
        _pattern(LEGACY_VOCABULARY.handoff_notice, n_remaining=r"\d+|∞"),
        "{{HANDOFF_NOTICE:legacy;remaining=%s}}",
        ("n_remaining",),
    ),
    (
        _pattern(UNIFIED_VOCABULARY.handoff_notice, n_remaining=r"\d+|∞"),
        "{{HANDOFF_NOTICE:unified;remaining=%s}}",
        ("n_remaining",),
    ),
]
_RESULT_WITH_ID = _pattern(overflow.TOOL_RESULT_TEXT_WITH_ID, id=r"[^\]\n]*", text=".*")
_RESULT = _pattern(overflow.TOOL_RESULT_TEXT, text=".*")
_ATTACHMENT = re.compile(r"\[(image|document|attachment)(?:: ([^\]\n]+))?\]")


class OverflowMasks:
    """Masks for one session: store ids are numbered by first sight, window ids by opening."""

    def __init__(self) -> None:
        self._stored: dict[str, int] = {}

    def text(self, text: str) -> str:
        """The text with our wording behind its masks. Windows keep their ids."""
        text = self._anchored(text)
        if text == compaction.GUIDELINES_HEADING:
            return "{{GUIDELINES_HEADING}}"
        for constant, mask in _CONSTANTS.items():
            text = text.replace(constant, mask)
        if "{{COMPACTION_INSTRUCTION}}" in text or "{{ANCHORED_INSTRUCTION" in text:
            text = text.replace(
                f"\n{compaction.GUIDELINES_HEADING}\n", "\n{{GUIDELINES_HEADING}}\n"
            )
            text = text.replace(f"\n{compaction.EXTRA_HEADING}\n", "\n{{EXTRA_HEADING}}\n")
        text = self._wrapped(text)
        for pattern, mask, groups in _PATTERNS:
            text = pattern.sub(
                lambda m, mask=mask, groups=groups: mask % tuple(m[g] for g in groups), text
            )
        for template, mode in (
            (LEGACY_VOCABULARY.handoff_notice, "legacy"),
            (UNIFIED_VOCABULARY.handoff_notice, "unified"),
        ):
            text = text.replace(template, f"{{{{HANDOFF_TEMPLATE:{mode}}}}}")
        text = self._flattened(text)
        return re.sub(r"vfs_[0-9a-f]{16}\.txt", self._store_id, text)

    def value(self, value: Any) -> Any:
        """The same for every text of a JSON-like value."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return value

    def attachments(self, text: str) -> str:
        """Lines that stand for media, behind their mask."""
        return _ATTACHMENT.sub(lambda m: f"{{{{ATTACHMENT:{m[1]}:{m[2] or ''}}}}}", text)

    def _store_id(self, match: re.Match[str]) -> str:
        number = self._stored.setdefault(match[0], len(self._stored) + 1)
        return f"{{{{STORE_ID:{number}}}}}"

    def _wrapped(self, text: str) -> str:
        start = text.find(_HEAD)
        if start < 0:
            return text
        end = text.rfind(_TAIL)
        inner = text[start + len(_HEAD) : end]
        return f"{text[:start]}{{{{SUMMARY_WRAPPER:{inner}}}}}{text[end + len(_TAIL) :]}"

    def _anchored(self, text: str) -> str:
        start = text.find(_ANCHOR_BEFORE)
        if start < 0:
            return text
        end = text.find(_ANCHOR_AFTER, start)
        said = text[start + len(_ANCHOR_BEFORE) : end]
        found = re.search(r"<anchor>\n(.*)\n</anchor>", said, re.DOTALL)
        what = f"anchor={found[1]}" if found else "no_anchor"
        return (
            f"{text[:start]}{{{{ANCHORED_INSTRUCTION:{what}}}}}{text[end + len(_ANCHOR_AFTER) :]}"
        )

    def _flattened(self, text: str) -> str:
        if found := _RESULT_WITH_ID.fullmatch(text):
            return f"{{{{TOOL_RESULT_TEXT:id={found['id']};{found['text']}}}}}"
        if found := _RESULT.fullmatch(text):
            return f"{{{{TOOL_RESULT_TEXT:{found['text']}}}}}"
        return text
