"""A few lines that say what a large text is: its shape as JSON, CSV, log, diff or HTML."""

from __future__ import annotations

import csv
import html.parser
import io
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, cast

from context_chef.patterns import regex

TextKind: TypeAlias = Literal["json", "csv", "log", "diff", "html"]

MAX_PREVIEW_CHARS: Final = 700
"""No preview is longer, whatever the text."""
_SAMPLE: Final = 200_000
"""Characters that are looked at to tell the kind, and by the parsers that need not see it all."""
_JSON_LIMIT: Final = 20_000_000
"""Larger JSON is not parsed: it would take longer than the preview is worth."""


def preview(text: str) -> str | None:
    """What the text is and how it is built, in at most `MAX_PREVIEW_CHARS`; None for plain text."""
    kind = kind_of_text(text)
    if kind is None:
        return None
    made = _PREVIEWS[kind](text)
    return made if made is None else _clip(made, MAX_PREVIEW_CHARS)


def kind_of_text(text: str) -> TextKind | None:
    """The kind a text is by its own look, or None when nothing is certain."""
    start = text[:_SAMPLE].lstrip("\ufeff \t\r\n")
    if start[:1] in ("{", "["):
        return "json"
    if _HTML_START.match(start):
        return "html"
    lines = [line for line in start[:20_000].split("\n", 60)[:60] if line.strip()]
    if _looks_like_diff(lines):
        return "diff"
    if _csv_delimiter(lines):
        return "csv"
    if _looks_like_log(lines):
        return "log"
    return None


# ── JSON ──────────────────────────────────────────────────────────────────────────────────────


def _json_preview(text: str) -> str | None:
    if len(text) > _JSON_LIMIT:
        return None
    try:
        value = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return _json_lines_preview(text)
    return "JSON: " + _shape(value, depth=0)


def _json_lines_preview(text: str) -> str | None:
    lines = [line for line in text[:_SAMPLE].split("\n") if line.strip()]
    if len(lines) < 2:
        return None
    try:
        first = json.loads(lines[0])
        json.loads(lines[1])
    except (ValueError, RecursionError):
        return None
    return f"JSON lines, {text.count(chr(10)) + 1} lines; the first: {_shape(first, depth=0)}"


def _shape(value: Any, *, depth: int) -> str:
    if isinstance(value, dict):
        return _object_shape(cast("dict[str, Any]", value), depth)
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if not items:
            return "empty array"
        of = _shape(items[0], depth=depth + 1) if depth < 3 else _type(items[0])
        return f"array of {len(items)}, the first: {of}"
    if isinstance(value, str) and len(value) <= 40:
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return f"text of {len(value)} characters"
    return json.dumps(value)


def _object_shape(value: dict[str, Any], depth: int) -> str:
    if not value:
        return "empty object"
    shown = 12 if depth == 0 else 8
    parts: list[str] = []
    for key, item in list(value.items())[:shown]:
        inner = _shape(item, depth=depth + 1) if depth < 2 else _type(item)
        parts.append(f"{_clip(key, 40)}: {inner}")
    if len(value) > shown:
        parts.append(f"… {len(value) - shown} more keys")
    return "{" + ", ".join(parts) + "}"


def _type(value: Any) -> str:
    if isinstance(value, dict):
        return f"object of {len(cast('dict[str, Any]', value))}"
    if isinstance(value, list):
        return f"array of {len(cast('list[Any]', value))}"
    if isinstance(value, str):
        return "text"
    return "null" if value is None else type(value).__name__


# ── CSV ───────────────────────────────────────────────────────────────────────────────────────


def _csv_delimiter(lines: list[str]) -> str | None:
    if len(lines) < 4:
        return None
    for delimiter in (",", "\t", ";", "|"):
        try:
            widths = [len(row) for row in csv.reader(lines[:30], delimiter=delimiter)]
        except csv.Error:
            return None
        usual, times = Counter(widths).most_common(1)[0]
        if usual >= 3 and widths[0] == usual and times >= 0.9 * len(widths):
            return delimiter
    return None


def _csv_preview(text: str) -> str | None:
    lines = [line for line in text[:20_000].split("\n", 60)[:60] if line.strip()]
    delimiter = _csv_delimiter(lines)
    if delimiter is None:
        return None
    rows = csv.reader(io.StringIO(text[:_SAMPLE], newline=""), delimiter=delimiter)
    try:
        header, first = next(rows), next(rows)
    except (csv.Error, StopIteration):
        return None
    records = text.count("\n") + (not text.endswith("\n"))
    columns = ", ".join(_clip(name, 30) for name in header[:20])
    more = f", … {len(header) - 20} more" if len(header) > 20 else ""
    values = ", ".join(_clip(value, 30) for value in first[:20])
    name = "TSV" if delimiter == "\t" else "CSV"
    return (
        f"{name}: about {records} rows of {len(header)} columns.\n"
        f"Columns: {columns}{more}\nFirst row after them: {values}"
    )


# ── Logs ──────────────────────────────────────────────────────────────────────────────────────

_TIME: Final = regex(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d)?|\b\d\d:\d\d:\d\d\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d"
)
_LEVEL: Final = regex(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b", re.I)


def _looks_like_log(lines: list[str]) -> bool:
    if len(lines) < 4:
        return False
    stamped = sum(1 for line in lines if _TIME.search(line[:60]))
    return stamped >= 0.6 * len(lines)


def _log_preview(text: str) -> str | None:
    levels: Counter[str] = Counter()
    first = last = None
    for line in text.split("\n"):
        head = line[:120]
        if stamp := _TIME.search(head):
            first = first or stamp.group()
            last = stamp.group()
        if level := _LEVEL.search(head):
            levels[level.group().upper().replace("WARNING", "WARN")] += 1
    counts = ", ".join(f"{name} {count}" for name, count in levels.most_common())
    span = f" from {first} to {last}" if first else ""
    return f"Log{span}." + (f" Levels: {counts}." if counts else "")


# ── Diffs ─────────────────────────────────────────────────────────────────────────────────────


_HUNK: Final = regex(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


def _looks_like_diff(lines: list[str]) -> bool:
    if any(line.startswith("diff --git ") for line in lines[:20]):
        return True
    hunks = any(_HUNK.match(line) for line in lines)
    return hunks and any(line.startswith("--- ") for line in lines)


def _diff_preview(text: str) -> str | None:
    files: dict[str, list[int]] = {}
    before, current = "", [0, 0]
    old_left = new_left = 0  # lines of the hunk that are still to come
    for line in text.split("\n"):
        if old_left > 0 or new_left > 0:
            if line.startswith("+"):
                current[0] += 1
                new_left -= 1
            elif line.startswith("-"):
                current[1] += 1
                old_left -= 1
            elif not line.startswith("\\"):
                old_left -= 1
                new_left -= 1
        elif line.startswith("--- "):
            before = line[4:].split("\t")[0].removeprefix("a/")
        elif line.startswith("+++ "):
            name = line[4:].split("\t")[0].removeprefix("b/")
            current = files.setdefault(before if name == "/dev/null" else name, [0, 0])
        elif hunk := _HUNK.match(line):
            old_left, new_left = (1 if size is None else int(size) for size in hunk.groups())
    if not files:
        return None
    added = sum(counts[0] for counts in files.values())
    removed = sum(counts[1] for counts in files.values())
    largest = sorted(files.items(), key=lambda item: -sum(item[1]))[:10]
    listed = [f"  {_clip(name, 80)} +{plus} -{minus}" for name, (plus, minus) in largest]
    if len(files) > len(listed):
        listed.append(f"  … {len(files) - len(listed)} more files")
    return (
        f"Diff of {len(files)} file{'' if len(files) == 1 else 's'}, +{added} -{removed}:\n"
        + "\n".join(listed)
    )


# ── HTML ──────────────────────────────────────────────────────────────────────────────────────

_HTML_START: Final = regex(
    r"(?is)(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!doctype html|<html[\s>]|<head[\s>]|<body[\s>])"
)


class _Outline(html.parser.HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.headings: list[str] = []
        self.counts: Counter[str] = Counter()
        self._inside: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] += 1
        if tag in ("title", "h1", "h2", "h3"):
            self._inside = tag
            if tag != "title":
                self.headings.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title += data
        elif self._inside is not None:
            self.headings[-1] += data


def _html_preview(text: str) -> str | None:
    outline = _Outline()
    try:
        outline.feed(text[:_SAMPLE])
    except (ValueError, AssertionError):
        return "HTML page."
    title = " ".join(outline.title.split())
    headings = [" ".join(heading.split()) for heading in outline.headings]
    headings = [_clip(heading, 60) for heading in headings if heading][:8]
    tags = ("a", "table", "form", "img", "script")
    counts = ", ".join(f"{outline.counts[tag]} <{tag}>" for tag in tags if outline.counts[tag])
    lines = ["HTML page" + (f" titled {_clip(title, 120)!r}" if title else "") + "."]
    if headings:
        lines.append("Headings: " + " · ".join(headings))
    if counts:
        lines.append("Holds " + counts + ".")
    return "\n".join(lines)


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


_PREVIEWS: Final[dict[TextKind, Callable[[str], str | None]]] = {
    "json": _json_preview,
    "csv": _csv_preview,
    "log": _log_preview,
    "diff": _diff_preview,
    "html": _html_preview,
}
