"""Read the front matter of a SKILL.md the way its author meant it.

Authors write it by hand and without a YAML checker. So a file is split into its top-level entries
first: one value that YAML would refuse is read as the text it is, with a warning, and spoils
nothing else. Lists, mappings and quoted texts are YAML's business. Every value stays text:
`version: 1.10` is not the number 1.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import msgspec
import yaml

from context_chef.errors import SkillError
from context_chef.patterns import regex
from context_chef.placement.yaml_text import (
    RefusedYaml,
    flow_items,
    is_closed_flow,
    read_yaml,
)

MAX_FRONT_MATTER_CHARS: Final = 64 * 1024

_BLOCK: Final = regex(r"(?P<style>[|>])(?:[+-]?[0-9]*|[0-9]+[+-]?)(?:\s+#.*)?")
_ITEM: Final = regex(r"[ \t]*-(?:[ \t]+(?P<text>.*))?")
_BLANK: Final = " \t\ufeff\xa0"
_RESERVED: Final = tuple("@`%|>,]}")


class FrontMatter(msgspec.Struct, frozen=True, kw_only=True):
    """The values by key as written, the line each began on, and the body."""

    values: dict[str, Any]
    lines: dict[str, int]
    body: str


Warn = Callable[[int, str, str], None]
"""Is told the line, the name of the rule, and what was found and done."""


def read_front_matter(text: str, *, path: str, warn: Warn) -> FrontMatter:
    """Front matter and body of a file's text. Raises SkillError naming file and line."""
    lines = text.split("\n")
    end = _closing_fence(lines, path=path, warn=warn)
    head = lines[1:end]
    if sum(map(len, head)) > MAX_FRONT_MATTER_CHARS:
        raise SkillError(
            f"The front matter is longer than {MAX_FRONT_MATTER_CHARS} characters. "
            "Move text to the body.",
            path=path,
            line=1,
        )
    reader = _Reader(_dedented(head), path=path, warn=warn)
    reader.read()
    body = "\n".join(lines[end + 1 :]).strip()
    return FrontMatter(values=reader.values, lines=reader.lines, body=body)


def _closing_fence(lines: Sequence[str], *, path: str, warn: Warn) -> int:
    """Where the front matter ends: a `---` that is indented no deeper than the opening one."""
    first = lines[0]
    if first.strip() != "---":
        shown = f"not {first.strip()[:60]!r}" if first.strip() else "but it is blank"
        raise SkillError(
            f"No front matter: the first line has to be `---`, {shown}.", path=path, line=1
        )
    depth = len(first) - len(first.lstrip())
    fences = [place for place, line in enumerate(lines) if place and line.strip() == "---"]
    for place in fences:
        if len(lines[place]) - len(lines[place].lstrip()) <= depth:
            return place
    if fences:
        warn(fences[0] + 1, "indented_fence", "The closing `---` is indented; it was taken as one.")
        return fences[0]
    raise SkillError(
        "The front matter that begins here is never closed; end it with a line `---`.",
        path=path,
        line=1,
    )


def _dedented(lines: Sequence[str]) -> list[str]:
    written = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    depth = min((len(line) - len(line.lstrip(" ")) for line in written), default=0)
    return [line[depth:] if line[:depth].isspace() else line for line in lines]


class _Reader:
    """Walks the entries of one front matter. Line numbers are those of the file."""

    def __init__(self, lines: Sequence[str], *, path: str, warn: Warn) -> None:
        self.values: dict[str, Any] = {}
        self.lines: dict[str, int] = {}
        self._source = lines
        self._path = path
        self._warn = warn

    def read(self) -> None:
        at = 0
        while at < len(self._source):
            line = self._source[at]
            if not line.strip() or line.lstrip().startswith("#"):
                at += 1
            elif line[0] in " \t":
                self._warn(at + 2, "stray_line", f"Ignored: {line.strip()[:60]!r} has no key.")
                at += 1
            else:
                at = self._entry(at)

    def _entry(self, at: int) -> int:
        """Read the entry that begins here; answer where the next one begins."""
        number = at + 2
        key, value = self._key_and_value(self._source[at], number)
        more, after = self._following(at + 1, value)
        if key in self.values:
            self._warn(
                number,
                "duplicate_key",
                f"`{key}` stands here again, after line {self.lines[key]}; the last one counts.",
            )
        self.lines[key] = number
        try:
            self.values[key] = self._value(key, value, more, number)
        except RefusedYaml as refused:
            self._fail(f"`{key}`: {refused.reason}", number + refused.line)
        return after

    def _key_and_value(self, line: str, number: int) -> tuple[str, str]:
        if line[0] in "{[":
            self._fail("The front matter has to be lines of `key: value`.", number)
        if _ITEM.fullmatch(line):
            self._fail(f"The list item {line.strip()[:60]!r} belongs to no key.", number)
        quoted = re.match(r"""("[^"]*"|'[^']*')\s*(?=:)""", line)
        head = quoted[0] if quoted else line.split(":", 1)[0]
        if len(head) == len(line):
            self._fail(f"Expected `key: value`, not {line.strip()[:60]!r}.", number)
        key = quoted[1][1:-1] if quoted else head.strip()
        if not key:
            self._fail(f"There is no key before the colon of {line.strip()[:60]!r}.", number)
        rest = line[len(head) + 1 :]
        if rest and rest[0] not in _BLANK:
            self._warn(number, "no_space", f"`{key}:` should be followed by a blank.")
        return key, rest.strip()

    def _following(self, at: int, value: str) -> tuple[list[str], int]:
        """The lines that belong to the entry above them, and where they end."""
        block = _BLOCK.fullmatch(value) is not None
        listing = not value or value.startswith(("- ", "#"))
        end = at
        for place in range(at, len(self._source)):
            line = self._source[place]
            if not line.strip():
                continue
            if line[0] in " \t" or (listing and _ITEM.fullmatch(line)):
                end = place + 1
            elif not (line[0] == "#" and not block):
                break
        flow = value[:1] in ("[", "{") and end < len(self._source)
        if flow and self._source[end][:1] in ("]", "}"):
            end += 1
        return list(self._source[at:end]), end

    def _value(self, key: str, value: str, more: list[str], number: int) -> Any:
        if block := _BLOCK.fullmatch(value):
            return _block_text(more, folded=block["style"] == ">")
        more = [line for line in more if not line.lstrip().startswith("#")]
        written = any(line.strip() for line in more)
        if not value or (value.startswith("# ") and written):
            return self._nested(key, more, number) if written else ""
        if value.startswith("- ") and (key_is_list(key) or any(map(_ITEM.fullmatch, more))):
            self._warn(number, "list_on_key_line", f"The list of `{key}` should begin below it.")
            return self._nested(key, [value, *(line.lstrip() for line in more)], number)
        if value[0] in "[{":
            return self._flow(key, value, more, number)
        if value[0] in "\"'":
            return self._quoted(key, value, more, number)
        return self._plain(key, value, more, number)

    def _nested(self, key: str, more: list[str], number: int) -> Any:
        """What stands below a key that has nothing behind it: a list, a mapping or text."""
        lines = self._without_tabs(more, number)
        items = [match for line in lines if line.strip() and (match := _ITEM.fullmatch(line))]
        texts = [(item["text"] or "").strip() for item in items]
        simple = len(items) == sum(bool(line.strip()) for line in lines)
        if simple and not any(text[:1] in tuple("[{&*!\"'") and text for text in texts):
            return texts
        try:
            return read_yaml("\n".join(lines), offset=1)
        except yaml.YAMLError as error:
            if simple:
                return [text[1:-1] if _in_quotes(text) else text for text in texts]
            if key_is_known(key):
                self._fail(f"`{key}` cannot be read: {_why(error)}.", number + _line_of(error))
            self._warn(number, "not_yaml", f"`{key}` was read as text: {_why(error)}.")
            return _block_text(lines, folded=False)

    def _flow(self, key: str, value: str, more: list[str], number: int) -> Any:
        lines = [value, *self._without_tabs(more, number)]
        if is_closed_flow(value) and value[0] == "[" and not any(map(str.strip, more)):
            items = flow_items(value)
            if items is not None:
                return items
        try:
            return read_yaml("\n".join(lines))
        except yaml.YAMLError as error:
            self._warn(number, "not_yaml", f"`{key}` was read as text: {_why(error)}.")
            return _folded(lines)

    def _quoted(self, key: str, value: str, more: list[str], number: int) -> Any:
        lines = [value, *self._without_tabs(more, number)]
        try:
            return read_yaml("\n".join(lines))
        except yaml.YAMLError as error:
            self._warn(number, "not_yaml", f"`{key}` was read as text: {_why(error)}.")
        text = _folded(lines)
        return text[1:-1] if _in_quotes(text) and text[0] not in text[1:-1] else text

    def _plain(self, key: str, value: str, more: list[str], number: int) -> str:
        text = _folded([value, *more])
        if value[0] in "&*!":
            # A real anchor, alias or tag is refused by name; anything else is text.
            try:
                read_yaml(value)
            except yaml.YAMLError as error:
                self._warn(number, "not_yaml", f"`{key}` was read as text: {_why(error)}.")
        elif value.startswith(_RESERVED) or re.match(r"[-?](?:\s|$)", value):
            self._warn(
                number, "reserved_start", f"`{key}` begins with {value[0]!r}; put it in quotes."
            )
        if re.search(r":(?:\s|$)", text):
            self._warn(
                number,
                "unquoted_colon",
                f"`{key}` holds a colon and a blank; the whole line was taken as its text. "
                "Put it in quotes, since other readers refuse it.",
            )
        if re.search(r"\s#", text):
            self._warn(
                number,
                "unquoted_hash",
                f"`{key}` holds ` #`; what follows was kept as text. Put it in quotes, "
                "since other readers take it for a comment.",
            )
        return text

    def _without_tabs(self, lines: list[str], number: int) -> list[str]:
        """YAML refuses tabs in an indentation; each counts as two blanks here."""
        mended: list[str] = []
        for line in lines:
            depth = len(line) - len(line.lstrip(" \t"))
            mended.append(line[:depth].replace("\t", "  ") + line[depth:])
        if mended != lines:
            self._warn(
                number, "tab_indentation", "Indented with tabs; each was read as two blanks."
            )
        return mended

    def _fail(self, message: str, line: int) -> NoReturn:
        raise SkillError(message, path=self._path, line=line)


def key_is_list(key: str) -> bool:
    return key in ("allowedTools", "allowed-tools", "allowed_tools")


def key_is_known(key: str) -> bool:
    return key in ("name", "description", "whenToUse", "when-to-use") or key_is_list(key)


def _block_text(lines: Sequence[str], *, folded: bool) -> str:
    """A block scalar. Indentation common to its lines is removed, whatever its indicators say."""
    written = [line for line in lines if line.strip()]
    depth = min((len(line) - len(line.lstrip(" \t")) for line in written), default=0)
    kept = [line[depth:].rstrip() if line.strip() else "" for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return _folded(kept) if folded else "\n".join(kept)


def _folded(lines: Sequence[str]) -> str:
    """Lines become one, each blank line a line break."""
    text = ""
    for line in map(str.strip, lines):
        if not line:
            text += "\n"
        else:
            text += line if not text or text.endswith("\n") else f" {line}"
    return text.rstrip("\n")


def _in_quotes(text: str) -> bool:
    return len(text) >= 2 and text[0] in "\"'" and text[-1] == text[0]


def _why(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        return str(error.problem or error.context or "not YAML")
    return "not YAML"


def _line_of(error: yaml.YAMLError) -> int:
    mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
    return mark.line + 1 if mark is not None else 0
