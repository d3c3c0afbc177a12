"""Fill in a skill's placeholders in one literal pass, and list the skills there are."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import msgspec

from context_chef.errors import SettingsError, nearest, shown
from context_chef.given import check_mapping, check_text, check_whole, read_list
from context_chef.patterns import regex
from context_chef.placement.skills import Skill, SkillLike, read_skill
from context_chef.prompts.skills import (
    arguments_line,
    base_dir_line,
    plain_entry,
    xml_entry,
    xml_listing,
)

ListingFormat: TypeAlias = Literal["plain", "xml"]

_VAR: Final = r"\{(?P<var>[A-Za-z_][A-Za-z0-9_]*)\}"
_INDEXED: Final = r"ARGUMENTS\[(?P<indexed>[0-9]+)\]"
# A number with decimals or thousands is a price, not a place: `$5.99`, `$1,000`.
_PLACE: Final = r"(?P<place>[0-9]+)(?![A-Za-z0-9_])(?![.,][0-9])"
_ALL: Final = r"(?P<all>ARGUMENTS)"
_TOKEN: Final = regex(r"\"([^\"]*)\"|'([^']*)'|(\S+)")
_CUT_MARK: Final = "..."


def render_skill(
    skill: SkillLike,
    *,
    args: str | None = None,
    argument_names: Sequence[str] = (),
    vars: Mapping[str, Any] | None = None,
    include_base_dir: bool = False,
    append_args_if_no_placeholder: bool = True,
) -> Skill:
    r"""A copy of the skill with its placeholders filled in.

    - `${NAME}`: the value of that key of `vars`; other names are left alone.
    - With `args` given, even empty: `$name` for each of `argument_names`, `$0` … and
      `$ARGUMENTS[0]` … for a single argument, counted from 0, and `$ARGUMENTS` for the whole text.
      Arguments are split at whitespace; quotes keep one together. One that was not given is
      empty. Prices are left alone: `$5.99`, and `$20` unless there are that many arguments.
    - Where none of these occurs, a line with the arguments is added at the end, unless switched
      off.
    - `include_base_dir` puts a line with the skill's directory in front.

    Everything happens in one pass: what is put in is never looked at again. A backslash before a
    placeholder keeps it as it is written: `\$0` becomes `$0`, and `\\$0` a backslash and the
    argument. Backslashes anywhere else are left alone.
    """
    skill = read_skill(skill)
    check_text(args, "args", optional=True)
    argument_names = read_list(argument_names, "argument_names", str)
    if vars is not None:
        check_mapping(vars, "vars")
    filler = _Filler(args=args, argument_names=argument_names, values=vars or {})
    text = filler.fill(skill.instructions)
    if include_base_dir and skill.base_dir:
        text = f"{base_dir_line(skill.base_dir)}\n\n{text}"
    asked = append_args_if_no_placeholder and args is not None and args.strip()
    if asked and not filler.placed_arguments:
        text = f"{text}\n\n{arguments_line(args or '')}"
    return msgspec.structs.replace(skill, instructions=text)


class _Filler:
    """One pass over one text."""

    def __init__(
        self, *, args: str | None, argument_names: Sequence[str], values: Mapping[str, Any]
    ) -> None:
        self.placed_arguments = False
        self._args = args or ""
        self._tokens = split_arguments(args) if args is not None else []
        self._names = {name: place for place, name in reversed(list(enumerate(argument_names)))}
        self._values = values
        places = [_VAR]
        if args is not None:
            named = "|".join(re.escape(name) for name in argument_names if name)
            if named:
                places.append(rf"(?P<named>{named})(?![\[A-Za-z0-9_])")
            places += [_INDEXED, _PLACE, _ALL]
        # A run of backslashes is looked at from its first one only: from each, a long run that
        # leads to no placeholder would cost the square of its length.
        self._pattern = re.compile(r"(?<!\\)(?P<slashes>\\*)\$(?:" + "|".join(places) + ")")

    def fill(self, text: str) -> str:
        return self._pattern.sub(self._replace, text)

    def _replace(self, match: re.Match[str]) -> str:
        value = self._value(match)
        if value is None:
            return match[0]
        slashes = len(match["slashes"])
        kept = "\\" * (slashes // 2)
        if slashes % 2:
            return kept + match[0][slashes:]
        if match["var"] is None:
            self.placed_arguments = True
        return kept + value

    def _value(self, match: re.Match[str]) -> str | None:
        """What belongs here; None where this is no placeholder after all."""
        groups = match.groupdict()
        if (name := groups["var"]) is not None:
            return str(self._values[name]) if name in self._values else None
        if (name := groups.get("named")) is not None:
            return self._token(self._names[name])
        if (index := groups["indexed"]) is not None:
            return self._token(_number(index))
        if (index := groups["place"]) is not None:
            place = _number(index)
            is_price = place >= len(self._tokens) and place >= 10
            return None if is_price else self._token(place)
        return self._args

    def _token(self, place: int) -> str:
        return self._tokens[place] if place < len(self._tokens) else ""


def _number(digits: str) -> int:
    # More digits than any argument list has places, and than int() cares to read.
    return int(digits) if len(digits) < 10 else 10**9


def split_arguments(args: str) -> list[str]:
    """Arguments as a shell user expects them: at whitespace, quoted ones kept together.

    A quote that is never closed, or stands inside a word, is an ordinary character.
    """
    return [match[match.lastindex or 0] for match in _TOKEN.finditer(args)]


def format_skill_listing(
    skills: Sequence[SkillLike],
    *,
    format: ListingFormat = "plain",
    max_chars: int | None = None,
    include_when_to_use: bool = True,
) -> str:
    """The skills as a list for the model, in the order given.

    `max_chars` caps its length, counted in UTF-16 units. The plain list is cut and ends in `...`;
    the XML list leaves out whole skills from its end, so that it is always well formed, and is
    empty where not even its own tags fit. No text of a skill can add an entry or close a tag.
    """
    if format not in ("plain", "xml"):
        raise SettingsError(
            f"`format` cannot be {shown(format)}. {nearest(format, ('plain', 'xml'))}"
        )
    if max_chars is not None:
        check_whole(max_chars, "max_chars")
    skills = read_list(skills, "skills")
    if max_chars is not None and max_chars <= 0:
        return ""
    write = xml_entry if format == "xml" else plain_entry
    entries = [
        write(skill.name, skill.description, skill.when_to_use if include_when_to_use else None)
        for skill in map(read_skill, skills)
    ]
    if format == "plain":
        return _cut("\n".join(entries), max_chars)
    return _fitting(entries, max_chars)


def _fitting(entries: Sequence[str], max_chars: int | None) -> str:
    if max_chars is None:
        return xml_listing(list(entries))
    kept: list[str] = []
    size = _units(xml_listing([""])) - 1
    for entry in entries:
        size += _units(entry) + 1
        if size > max_chars:
            break
        kept.append(entry)
    listing = xml_listing(kept)
    return listing if _units(listing) <= max_chars else ""


def _cut(text: str, max_chars: int | None) -> str:
    if max_chars is None or _units(text) <= max_chars:
        return text
    if max_chars <= len(_CUT_MARK):
        return _first(text, max_chars)
    return _first(text, max_chars - len(_CUT_MARK)) + _CUT_MARK


def _units(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _first(text: str, units: int) -> str:
    """As many whole characters as fit."""
    encoded = text.encode("utf-16-le")[: units * 2]
    return encoded.decode("utf-16-le", "ignore")
