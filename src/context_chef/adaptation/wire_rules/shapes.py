"""Tables of keys and types in a small notation, and the walk that holds a value against them.

A table is text, one type a line (indented lines go on): its name, a colon, its fields. `key=spec`
is a field that may be absent, `key!=spec` one that must be there. A spec is `str`, `bytes` (base64
text), `int`, `num`, `bool`, `null`, `any`, a quoted constant, `[spec]` for a list, `{spec}` for an
object with any keys, the name of another type, or several of them with `|` between. `Name = spec`
names a spec, and `+Name` in a type's fields takes over the fields of another one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import msgspec

from context_chef.adaptation.wire_rules.base64_media import is_base64

_NULL, _ANY = "null", "any"
_SCALARS = ("str", "bytes", "int", "num", "bool", _NULL, _ANY)


class ShapeFault(NamedTuple):
    """A key or type that is not in the table."""

    path: str
    message: str
    breaking: bool
    """The value's kind is wrong, so that nothing can be said about what is inside. An unknown key
    is not breaking."""


class _Spec(msgspec.Struct, frozen=True):
    scalars: frozenset[str] = frozenset()
    constants: tuple[Any, ...] = ()
    lists: tuple[_Spec, ...] = ()
    maps: tuple[_Spec, ...] = ()
    types: tuple[str, ...] = ()


class _Field(msgspec.Struct, frozen=True):
    spec: _Spec
    required: bool


def _alternatives(text: str) -> list[str]:
    """The parts between `|` that stand outside brackets and quotes."""
    parts, depth, quoted, current = [""], 0, False, ""
    for char in text:
        if char == "'":
            quoted = not quoted
        elif not quoted and char in "[{":
            depth += 1
        elif not quoted and char in "]}":
            depth -= 1
        if char == "|" and depth == 0 and not quoted:
            parts[-1] = current
            parts.append("")
            current = ""
        else:
            current += char
    parts[-1] = current
    return parts


def kind_of(value: Any) -> str:
    """How JSON calls that kind of value."""
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "str"
    if isinstance(value, Mapping):
        return "object"
    return "list" if isinstance(value, (list, tuple)) else type(cast(object, value)).__name__


class ShapeTable:
    """A parsed table. `null_is_absent`: any optional key may be null, as if it were not there.
    `single_is_list`: one object may stand for a list of one."""

    def __init__(
        self, text: str, *, null_is_absent: bool = False, single_is_list: bool = False
    ) -> None:
        self._text = text
        self._null_is_absent = null_is_absent
        self._single_is_list = single_is_list
        # Worked out once for every union of types, and for every type and role that it knows: facts
        # about the table, as many as it has constants.
        self._marks: dict[tuple[str, ...], list[Any]] = {}
        self._chosen: dict[tuple[tuple[str, ...], Any, Any], tuple[str, ...]] = {}

    @cached_property
    def _parsed(self) -> tuple[dict[str, dict[str, _Field]], dict[str, _Spec]]:
        lines: list[str] = []
        for line in self._text.strip().splitlines():
            if line.startswith(" ") and lines:
                lines[-1] += line.strip() if line.strip().startswith("|") else " " + line.strip()
            elif line.strip():
                lines.append(line.strip())
        named: dict[str, str] = {}
        fields: dict[str, str] = {}
        for line in lines:
            match = re.match(r"\+?(\w+) ?([:=])", line)
            assert match is not None, line
            into = fields if match[2] == ":" else named
            into[match[1]] = line[match.end() :].strip()
        aliases: dict[str, _Spec] = {}
        for name, spec in named.items():
            aliases[name] = self._spec(spec, aliases)
        types: dict[str, dict[str, _Field]] = {}
        for name, text in fields.items():
            types[name] = self._fields(text, fields, aliases)
        return types, aliases

    def _fields(
        self, text: str, all_fields: Mapping[str, str], aliases: Mapping[str, _Spec]
    ) -> dict[str, _Field]:
        found: dict[str, _Field] = {}
        for item in text.split():
            if item.startswith("+"):
                found |= self._fields(all_fields[item[1:]], all_fields, aliases)
                continue
            key, _, spec = item.partition("=")
            found[key.rstrip("!")] = _Field(self._spec(spec, aliases), key.endswith("!"))
        return found

    def _spec(self, text: str, aliases: Mapping[str, _Spec]) -> _Spec:
        scalars: set[str] = set()
        constants: list[Any] = []
        lists: list[_Spec] = []
        maps: list[_Spec] = []
        types: list[str] = []
        for part in _alternatives(text):
            if part in _SCALARS:
                scalars.add(part)
            elif part.startswith("'"):
                constants.append(part.strip("'"))
            elif part.startswith("["):
                lists.append(self._spec(part[1:-1], aliases))
            elif part.startswith("{"):
                maps.append(self._spec(part[1:-1], aliases))
            elif part in aliases:
                alias = aliases[part]
                scalars |= alias.scalars
                constants += alias.constants
                lists += alias.lists
                maps += alias.maps
                types += alias.types
            else:
                types.append(part)
        return _Spec(frozenset(scalars), tuple(constants), tuple(lists), tuple(maps), tuple(types))

    def fields_of(self, name: str) -> frozenset[str]:
        """The keys of that type."""
        return frozenset(self._parsed[0][name])

    def values_of(self, name: str, key: str) -> tuple[str, ...]:
        """The constants that this field of that type may hold."""
        return self._parsed[0][name][key].spec.constants

    def judges_alone(self, name: str, key: str) -> bool:
        """Whether each row of a list in this field of that type is judged for itself."""
        field = self._parsed[0][name].get(key)
        return field is not None and len(field.spec.lists) == 1

    def check(self, value: Any, name: str = "Request", path: str = "") -> list[ShapeFault]:
        """Every place where the value differs from the type of that name."""
        if not isinstance(value, Mapping):
            return [ShapeFault(path, f"an object is expected, not {kind_of(value)}", True)]
        return self._object(cast("Mapping[str, Any]", value), name, path)

    def _object(self, value: Mapping[str, Any], name: str, path: str) -> list[ShapeFault]:
        fields = self._parsed[0][name]
        faults: list[ShapeFault] = []
        for key, field in fields.items():
            where = f"{path}.{key}" if path else key
            if key not in value:
                if field.required:
                    faults.append(ShapeFault(where, "this key is required", True))
            elif value[key] is not None or field.required or not self._null_is_absent:
                faults += self._value(value[key], field.spec, where)
        for key in value:
            if key not in fields:
                where = f"{path}.{key}" if path else str(key)
                faults.append(ShapeFault(where, "no such key is known here", False))
        return faults

    def _value(self, value: Any, spec: _Spec, path: str) -> list[ShapeFault]:
        if _ANY in spec.scalars:
            return []
        # `type` first: texts are what there is most of, and abstract classes are slow to ask.
        kind = cast("type[Any]", type(value))
        if kind is not str:
            if kind is dict or isinstance(value, Mapping):
                return self._mapping(cast("Mapping[str, Any]", value), spec, path)
            if isinstance(value, (list, tuple)):
                return self._list(cast("Sequence[Any]", value), spec, path)
        if self._fits(value, spec):
            return []
        if isinstance(value, str) and spec.constants:
            known = ", ".join(repr(constant) for constant in spec.constants)
            return [ShapeFault(path, f"{value!r} is none of {known}", True)]
        return [ShapeFault(path, f"{_expected(spec)} is expected, not {kind_of(value)}", True)]

    @staticmethod
    def _fits(value: Any, spec: _Spec) -> bool:
        if value is None:
            return _NULL in spec.scalars
        if isinstance(value, bool):
            return "bool" in spec.scalars
        if isinstance(value, str):
            if "bytes" in spec.scalars and (not value or is_base64(value)):
                return True
            return "str" in spec.scalars or value in spec.constants
        if isinstance(value, int):
            return bool(spec.scalars & {"int", "num"})
        if isinstance(value, float):
            return "num" in spec.scalars or ("int" in spec.scalars and value.is_integer())
        return False

    def _list(self, value: Sequence[Any], spec: _Spec, path: str) -> list[ShapeFault]:
        if not spec.lists:
            return [ShapeFault(path, f"{_expected(spec)} is expected, not list", True)]
        if len(spec.lists) == 1:
            each = spec.lists[0]
            return [
                fault
                for index, item in enumerate(value)
                for fault in self._value(item, each, f"{path}[{index}]")
            ]
        tries = [
            [
                fault
                for index, item in enumerate(value)
                for fault in self._value(item, each, f"{path}[{index}]")
            ]
            for each in spec.lists
        ]
        return min(tries, key=len)

    def _mapping(self, value: Mapping[str, Any], spec: _Spec, path: str) -> list[ShapeFault]:
        if self._single_is_list and spec.lists and not spec.types and not spec.maps:
            return self._value(value, spec.lists[0], path)
        candidates, reason = self._candidates(value, spec.types)
        if len(candidates) == 1 and not spec.maps:
            return self._object(value, candidates[0], path)
        tries = [self._object(value, name, path) for name in candidates]
        for each in spec.maps:
            tries.append(
                [
                    fault
                    for key, item in value.items()
                    for fault in self._value(item, each, f"{path}.{key}")
                ]
            )
        if tries:
            return min(tries, key=len)
        if spec.types:
            return [ShapeFault(path, reason, True)]
        return [ShapeFault(path, f"{_expected(spec)} is expected, not object", True)]

    def _candidates(
        self, value: Mapping[str, Any], names: tuple[str, ...]
    ) -> tuple[tuple[str, ...], str]:
        """The types whose constants (`type`, `role`) the value carries, or why there are none."""
        if len(names) < 2:
            return names, ""
        kind, role = value.get("type"), value.get("role")
        plain = (kind is None or type(kind) is str) and (role is None or type(role) is str)
        if plain and (chosen := self._chosen.get((names, kind, role))) is not None:
            return chosen, ""
        if (marks := self._marks.get(names)) is None:
            marks = self._marks[names] = [(name, self._marks_of(name)) for name in names]
        given = {"type": kind, "role": role}
        fitting = tuple(
            name
            for name, wanted in marks
            if all(
                given[key] in constants or (given[key] is None and not required)
                for key, constants, required in wanted
            )
        )
        if fitting:
            if plain:
                self._chosen[names, kind, role] = fitting
            return fitting, ""
        for key in ("type", "role"):
            known = [each for _, wanted in marks for mark, each, _ in wanted if mark == key]
            constants = dict.fromkeys(constant for each in known for constant in each)
            if known and given[key] not in tuple(constants):
                found = repr(given[key]) if key in value else "missing"
                listed = ", ".join(repr(constant) for constant in constants)
                return (), f"`{key}` is {found}; known here: {listed}"
        return (), "no known combination of `type` and `role`"

    def _marks_of(self, name: str) -> list[tuple[str, tuple[Any, ...], bool]]:
        """The fields by which that type is told from others: key, constants, whether required."""
        fields = self._parsed[0][name]
        return [
            (key, field.spec.constants, field.required)
            for key in ("type", "role")
            if (field := fields.get(key)) is not None
            and field.spec.constants
            and not field.spec.scalars - {_NULL}
        ]


def _expected(spec: _Spec) -> str:
    kinds = sorted(spec.scalars)
    if spec.constants:
        kinds.append("one of " + ", ".join(repr(constant) for constant in spec.constants))
    kinds += ["list"] * bool(spec.lists) + ["object"] * bool(spec.maps or spec.types)
    return " or ".join(kinds)
