"""What a message is put together from before it is text or a list of parts, and the notes taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from context_chef.adaptation.call_arguments import parse_arguments
from context_chef.adaptation.notes import Notes
from context_chef.ir.blocks import ToolCall
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic, Repair

_CARRIED: Final = frozenset({"role", "id", "status", "type"})
"""Read on the other wire too, or without meaning there."""
_MARK: Final = "prompt_cache_breakpoint"
N = TypeVar("N", Diagnostic, Repair)


def note_foreign(notes: Notes, native: Mapping[str, Any], wire: str, where: str) -> None:
    """Names the fields that only another provider knows and that say something."""
    for provider, fields in native.items():
        if provider == wire:
            continue
        names = sorted(
            name
            for name, value in fields.items()
            if name[:1] != "_" and name not in _CARRIED and value not in (None, [], {}, "")
        )
        if names:
            notes.diagnose("native-dropped", where, f"{provider} fields: {', '.join(names)}")


def placed(notes: Sequence[N], where: str) -> Iterator[N]:
    """Notes about a message, with the message's own place in front of theirs."""
    return (msgspec.structs.replace(note, where=f"{where}{note.where}") for note in notes)


def marked_part(part: dict[str, Any]) -> dict[str, Any]:
    """The part with a cache breakpoint behind it; its own, where it has one."""
    return {_MARK: {"mode": "explicit"}, **part}


@dataclass(slots=True)
class Piece:
    """One stretch of a message's content: words, or a finished part."""

    text: str = ""
    part: dict[str, Any] | None = None
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    """What a text part says beside its words."""
    prefix: bool = False
    """Stands in front of what was said: a summary, reasoning as text."""
    generated: bool = False
    """Ours, not the caller's: joins the caller's text where the wire has strings."""
    apart: bool = False
    """Words that stand for something which is no text, so a part of their own."""
    marked: bool = False
    """A cache breakpoint behind it."""


def wrap_first(pieces: list[Piece], wrap: Callable[[str], str]) -> None:
    """Puts the first words into `wrap`, making some where there are none."""
    for piece in pieces:
        if piece.part is None:
            piece.text = wrap(piece.text)
            return
    pieces.insert(0, Piece(text=wrap("").rstrip()))


@dataclass(slots=True)
class Draft:
    """A wire message in the making."""

    role: str
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    pieces: list[Piece] = field(default_factory=list[Piece])
    spelled: str = ""
    """How the content was spelled where it was read: `parts`, `null`, `absent`, or nothing."""

    def chat(self, marks: bool) -> dict[str, Any]:
        """The Chat Completions message."""
        row: dict[str, Any] = {"role": self.role}
        if self.pieces:
            row["content"] = self._parts(marks) if self._needs_parts(marks) else self._string()
        elif not self._says_otherwise() or self.spelled not in ("null", "absent"):
            row["content"] = ""
        elif self.spelled == "null":
            row["content"] = None
        row.update(self.fields)
        # Equal messages are equal bytes, whatever order their fields were met in.
        return {key: row[key] for key in sorted(row)}

    def _says_otherwise(self) -> bool:
        """Whether the message holds what allows it to have no content."""
        return any(
            self.fields.get(key) for key in ("tool_calls", "function_call", "audio", "refusal")
        )

    def _needs_parts(self, marks: bool) -> bool:
        pieces = self.pieces
        if self.role == "function":
            return False  # the older form of a result is a string, whatever may be marked
        if self.spelled == "parts" or any(piece.part or piece.fields for piece in pieces):
            return True
        if marks and any(piece.marked for piece in pieces):
            return True
        own = [piece for piece in pieces if not piece.prefix and not piece.generated]
        return len(own) > 1 or (len(pieces) > 1 and any(piece.apart for piece in own))

    def _string(self) -> str:
        texts = [piece.text for piece in self.pieces if piece.text]
        if all(piece.prefix for piece in self.pieces):
            texts.append("")
        return "\n\n".join(texts)

    def _parts(self, marks: bool) -> list[dict[str, Any]]:
        parts: list[dict[str, Any]] = []
        for piece in self.pieces:
            part = piece.part or {"type": "text", "text": piece.text, **piece.fields}
            parts.append(marked_part(part) if marks and piece.marked else part)
        return parts


def written_arguments(call: ToolCall, notes: Notes, where: str) -> str:
    """The argument text of a call as a JSON object, word for word where it is one already.

    Empty text and `null` are no arguments; anything else that is no object goes under
    `raw_arguments`. Servers that parse the history refuse the whole conversation otherwise.
    """
    given, fault = parse_arguments(call.arguments)
    if fault is None and call.arguments.strip():
        return call.arguments
    text = "{}" if call.arguments.strip() in ("", "null") else compact_json(given)
    said = f"{call.arguments[:80]!r} of {call.name!r} goes as {text[:80]}"
    notes.tidy("arguments", where, said)
    return text
