"""Recorded files as JSON values: one document, or lines, with a torn last line forgiven."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec

from context_chef.errors import InputError
from context_chef.ir.text import clean_text


class Loaded(NamedTuple):
    """What a file holds."""

    values: tuple[Any, ...]
    """The document, or one value per line."""
    numbers: tuple[int, ...]
    """The line of each value, from 1."""
    lines: bool
    """Whether it was JSON Lines."""
    notes: tuple[str, ...] = ()
    broken: tuple[tuple[int, str], ...] = ()
    """Lines in the middle that are no JSON, and why: for the reader of a format to judge."""


class RecordingError(InputError):
    """A recording that cannot be read: names the file and, where there is one, the line."""

    def __init__(self, where: str, reason: str, *, line: int | None = None) -> None:
        self.where = where
        self.line = line
        super().__init__(reason, path=where if line is None else f"{where}, line {line}")

    def under_file(self, where: str) -> RecordingError:
        """The same error of a reader that knew the session only, with the file's name."""
        return RecordingError(where, self.reason, line=self.line)


def row_of(value: Any) -> Mapping[str, Any]:
    """The JSON object that this is, or an empty one."""
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}


def load(path: Path) -> Loaded:
    """The values in a file. Raises RecordingError naming file and line of what is no JSON."""
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise RecordingError(str(path), f"it cannot be read: {reason}.") from error
    return parse(data, str(path))


def parse(data: bytes, where: str) -> Loaded:
    """The values in the bytes of a file. Raises RecordingError."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise RecordingError(where, "it is empty; a recorded session was expected.")
    try:
        return Loaded((_decoded(data),), (1,), lines=False)
    except ValueError as error:
        if not _looks_like_lines(data):
            raise RecordingError(where, f"it is neither JSON nor JSON Lines: {error}.") from error
    return _lines(data, where)


def _decoded(data: bytes) -> Any:
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if b"\\ud" in data.lower():
            mended = _without_half_characters(data)
            if mended is not None:
                return mended
        raise ValueError(str(error)) from error


def _without_half_characters(data: bytes) -> Any:
    """JSON in which text was cut inside of an emoji, as agents write it; None for anything else."""
    try:
        value = json.loads(data, parse_constant=_refuse)
        return msgspec.json.decode(clean_text(json.dumps(value, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> None:
    raise ValueError(f"JSON has no {constant}")


def _looks_like_lines(data: bytes) -> bool:
    """Whether the first line is a JSON object of its own."""
    first = next((line for line in data.splitlines() if line.strip()), b"")
    try:
        return isinstance(_decoded(first), dict)
    except ValueError:
        return False


def _lines(data: bytes, where: str) -> Loaded:
    rows = [(at, row) for at, row in enumerate(data.split(b"\n"), 1) if row.strip()]
    values: list[Any] = []
    numbers: list[int] = []
    notes: list[str] = []
    broken: list[tuple[int, str]] = []
    for place, (at, row) in enumerate(rows):
        try:
            value = _decoded(row)
        except ValueError as error:
            if place == len(rows) - 1 and not data.endswith(b"\n"):
                notes.append(f"the last line ({at}) is torn and was left out")
                break
            broken.append((at, str(error)))
            continue
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise RecordingError(where, f"a line holds an object, not a {kind}.", line=at)
        values.append(cast(Any, value))
        numbers.append(at)
    return Loaded(
        tuple(values), tuple(numbers), lines=True, notes=tuple(notes), broken=tuple(broken)
    )
