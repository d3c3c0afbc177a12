"""The memory block and the wording around it: what the model sees of what it remembers.

Nothing stored can close a tag of the block or forge an entry: text is escaped as in XML.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

LEGACY_MEMORY_INSTRUCTION: Final = (
    "You have a memory that outlives this conversation. Remember a fact with `create_memory`; "
    "change or forget one with `modify_memory`. Keep what will matter again: preferences, "
    "conventions, decisions and the reasons for them. Leave out what is easy to look up or soon "
    "over."
)

LEGACY_BLOCK_HEADER: Final = "Recalled from earlier conversations:"
UNIFIED_BLOCK_HEADER: Final = "Current content of context://memory/*:"

LEGACY_EXISTING_KEYS: Final = (
    "Existing memory keys: {keys}. Prefer updating one of them over adding another that says the "
    "same."
)
LEGACY_ALLOWED_KEYS: Final = (
    "Memory keys that may be created, changed or removed: {keys}. Any other key is refused."
)
UNIFIED_EXISTING_KEYS: Final = (
    "Existing memory keys: {keys}. Each can be edited at context://memory/<key> with the `context` "
    "tool. Prefer updating one of them over adding another that says the same."
)
UNIFIED_ALLOWED_KEYS: Final = (
    "Memory keys that may be created, changed or removed at context://memory/<key>: {keys}. "
    "Any other key is refused."
)

CREATE_MEMORY_DESCRIPTION: Final = (
    "Remember a fact across conversations: a preference, a convention, a decision. A key that "
    "exists already is refused; change it with `modify_memory`."
)
CREATE_MEMORY_PROPERTIES: Final = {
    "key": "A clear name that says what the fact is about, such as `test-command`.",
    "value": "The fact itself, short and complete.",
    "description": "What the fact is for, and when to consult it.",
}
MODIFY_MEMORY_DESCRIPTION: Final = "Change a remembered fact (`update`) or forget it (`delete`)."
MODIFY_MEMORY_PROPERTIES: Final = {
    "action": "`update` replaces the value, `delete` forgets the entry.",
    "key": "The key of the entry. The memory block lists them; an unknown key is refused safely.",
    "value": "The new value. Needed for `update`, ignored for `delete`.",
    "description": "For `update`: a new description, when it changes.",
}


class RenderedEntry(Protocol):
    """What the block shows of a memory entry."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def description(self) -> str | None: ...
    @property
    def updated_at(self) -> int: ...
    @property
    def update_count(self) -> int: ...


def memory_xml(entries: Sequence[RenderedEntry]) -> str:
    """The `<memory>` block, entries in the order given; empty when there are none."""
    return join_entries([render_entry(entry) for entry in entries])


def join_entries(rendered: Sequence[str]) -> str:
    """The `<memory>` block around entries that are rendered already."""
    return "<memory>\n" + "\n\n".join(rendered) + "\n</memory>" if rendered else ""


def render_entry(entry: RenderedEntry) -> str:
    """One `<entry>`: its key as an escaped attribute, its texts escaped."""
    lines = [f'<entry key="{escape_attribute(entry.key)}">']
    if entry.description:
        lines += ["<description>", escape_text(entry.description), "</description>"]
    lines += [
        "<metadata>",
        f"- updated_at={iso_time(entry.updated_at)}",
        f"- update_count={entry.update_count}",
        "</metadata>",
        "<value>",
        escape_text(entry.value),
        "</value>",
        "</entry>",
    ]
    return "\n".join(lines)


def memory_block(
    xml: str, *, header: str, keys: Sequence[str], allowed: Sequence[str] | None, words: KeyWords
) -> str:
    """Header, `<memory>` block and the line about keys; empty without entries."""
    if not xml:
        return ""
    guidance = key_guidance(keys, allowed=allowed, words=words)
    return f"{header}\n{xml}\n\n{guidance}" if guidance else f"{header}\n{xml}"


class KeyWords(Protocol):
    """The two lines about keys that a vocabulary has."""

    @property
    def existing_keys(self) -> str: ...
    @property
    def allowed_keys(self) -> str: ...


def key_guidance(keys: Sequence[str], *, allowed: Sequence[str] | None, words: KeyWords) -> str:
    """Which keys there are, or which are accepted at all; empty when there is nothing to say."""
    if allowed:
        return words.allowed_keys.replace("{keys}", ", ".join(map(escape_line, allowed)))
    if keys:
        return words.existing_keys.replace("{keys}", ", ".join(map(escape_line, keys)))
    return ""


def create_memory_parameters(allowed: Sequence[str] | None) -> Mapping[str, Any]:
    """JSON Schema of `create_memory`; with allowed keys, `key` takes only those."""
    key: dict[str, Any] = {"type": "string", "description": CREATE_MEMORY_PROPERTIES["key"]}
    if allowed:
        key["enum"] = list(allowed)
    return {
        "type": "object",
        "properties": {
            "key": key,
            "value": {"type": "string", "description": CREATE_MEMORY_PROPERTIES["value"]},
            "description": {
                "type": "string",
                "description": CREATE_MEMORY_PROPERTIES["description"],
            },
        },
        "required": ["key", "value"],
    }


def modify_memory_parameters() -> Mapping[str, Any]:
    """JSON Schema of `modify_memory`."""
    words = MODIFY_MEMORY_PROPERTIES
    return {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["update", "delete"],
                "description": words["action"],
            },
            "key": {"type": "string", "description": words["key"]},
            "value": {"type": "string", "description": words["value"]},
            "description": {"type": "string", "description": words["description"]},
        },
        "required": ["action", "key"],
    }


def escape_text(text: str) -> str:
    """Text that cannot begin a tag. `&lt;` and `&amp;` stand for the two characters, as in XML."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def escape_attribute(text: str) -> str:
    """Text for inside double quotes, on one line."""
    escaped = escape_text(text).replace(">", "&gt;").replace('"', "&quot;")
    return "".join(f"&#{ord(c)};" if _breaks_line(c) else c for c in escaped)


def escape_line(text: str) -> str:
    """Text for the middle of a sentence: no tag, no line of its own."""
    return "".join(f"&#{ord(c)};" if _breaks_line(c) else c for c in escape_text(text))


def _breaks_line(character: str) -> bool:
    return character < " " or character in "\x7f\x85\u2028\u2029"


def iso_time(milliseconds: float) -> str:
    """ISO 8601 in UTC with milliseconds and `Z`; `unknown` for a time no calendar has."""
    try:
        whole = math.floor(milliseconds)
        moment = datetime.fromtimestamp(whole // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "unknown"
    return f"{moment:%Y-%m-%dT%H:%M:%S}".rjust(19, "0") + f".{whole % 1000:03d}Z"
