"""Skills: instructions with a name, which of them are known, and which one is active."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias, cast

import msgspec

from context_chef.errors import InputError, SettingsError, SkillError, nearest, shown
from context_chef.ir.frozen import EMPTY, FrozenDict, frozen, thaw
from context_chef.ir.text import clean_text


class Skill(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Instructions for one kind of task.

    `allowed_tools` and `metadata` are annotations: they are carried for the host and enforce
    nothing. Metadata read from a file is text, lists and mappings of text, as it was written.
    """

    name: str
    description: str = ""
    instructions: str = ""
    when_to_use: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    """None where the skill says nothing about tools; empty where it allows none."""
    base_dir: str | None = None
    """Absolute directory of the file it came from."""
    metadata: Mapping[str, Any] = EMPTY

    def __post_init__(self) -> None:
        for field in ("name", "description", "instructions", "when_to_use", "base_dir"):
            text = getattr(self, field)
            if isinstance(text, str):
                msgspec.structs.force_setattr(self, field, clean_text(text))
        if type(self.metadata) is not FrozenDict:
            msgspec.structs.force_setattr(self, "metadata", frozen(self.metadata))


SkillLike: TypeAlias = Skill | Mapping[str, Any]
"""A skill, or a plain mapping with its fields in snake_case, camelCase or kebab-case."""

_TEXTS: Final = ("name", "description", "instructions", "when_to_use", "base_dir")
_FIELDS: Final = (*_TEXTS, "allowed_tools", "metadata")
_SPELLINGS: Final = {
    "whenToUse": "when_to_use",
    "when-to-use": "when_to_use",
    "allowedTools": "allowed_tools",
    "allowed-tools": "allowed_tools",
    "baseDir": "base_dir",
    "base-dir": "base_dir",
}


def read_skill(value: SkillLike, *, path: str = "$") -> Skill:
    """A skill from a skill or a plain mapping. Raises InputError naming the field."""
    if isinstance(value, Skill):
        return value
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise InputError(f"A skill is a `Skill` or a mapping, not {shown(value)}.", path=path)
    fields: dict[str, Any] = {}
    for key, item in value.items():
        field = _SPELLINGS.get(key, key)
        if field not in _FIELDS:
            raise InputError(
                f"A skill has no field {shown(key)}. {nearest(key, _FIELDS)}", path=path
            )
        if item is not None:
            fields[field] = item
    if "name" not in fields:
        raise InputError("A skill needs a `name`.", path=path)
    for field in _TEXTS:
        if field in fields and not isinstance(fields[field], str):
            raise InputError(f"Must be text, not {shown(fields[field])}.", path=f"{path}.{field}")
    if "allowed_tools" in fields:
        fields["allowed_tools"] = _names(fields["allowed_tools"], path=f"{path}.allowed_tools")
    if not isinstance(fields.get("metadata", EMPTY), Mapping):
        raise InputError(
            f"Must be a mapping, not {shown(fields['metadata'])}.", path=f"{path}.metadata"
        )
    return Skill(**fields)


def _names(value: Any, *, path: str) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        names = cast(Sequence[Any], value)
        if all(isinstance(name, str) for name in names):
            return tuple(names)
    raise InputError(f"Must be a list of tool names, not {shown(cast(Any, value))}.", path=path)


class SkillShelf:
    """The skills a session knows, and the one that is active.

    What goes in and comes out is frozen, so nothing a caller does later reaches the shelf.
    Registering anew does not touch the active skill.
    """

    def __init__(self) -> None:
        self._skills: tuple[Skill, ...] = ()
        self._active: Skill | None = None

    @property
    def skills(self) -> tuple[Skill, ...]:
        """What is registered, in the order of registration."""
        return self._skills

    @property
    def active(self) -> Skill | None:
        return self._active

    def register(self, skills: Sequence[SkillLike]) -> None:
        """Put these skills in place of the ones registered before.

        Two skills of one name are allowed; a name finds the first. Raises InputError naming index
        and field, and then changes nothing.
        """
        given: Any = skills  # callers are not all typed
        if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
            raise InputError(f"a list of skills was expected, not {shown(cast(Any, given))}.")
        self._skills = tuple(
            read_skill(skill, path=f"$[{index}]") for index, skill in enumerate(skills)
        )

    def activate(self, skill: str | SkillLike | None) -> Skill | None:
        """Make this the active skill: by registered name, as given, or none at all.

        Raises SkillError for a name that is not registered, naming those that are.
        """
        self._active = self._find(skill) if isinstance(skill, str) else _given(skill)
        return self._active

    def adopt(self, other: SkillShelf) -> None:
        """Hold what another shelf holds. Nothing is copied: skills are immutable."""
        self._skills, self._active = other._skills, other._active

    def snapshot_state(self) -> dict[str, Any]:
        """What is registered and what is active, as plain data."""
        active = self._active
        state: dict[str, Any] = {
            "active_skill_name": active.name if active else None,
            "skill_instructions": active.instructions if active else None,
        }
        if active is not None:
            state["active_skill"] = skill_fields(active)
        if self._skills:
            state["skills"] = [skill_fields(skill) for skill in self._skills]
        return state

    def restore_state(
        self, state: Mapping[str, Any], *, prefer: Literal["registry", "snapshot"] = "registry"
    ) -> None:
        """Take up the skills of a snapshot. One that cannot be read changes nothing.

        With `prefer="registry"` the skills that are registered here stay, and speak their present
        words; a name that is not among them is a skill of that name with the instructions of the
        snapshot and nothing else. Where none are registered those of the snapshot are.

        With `prefer="snapshot"` everything is as it was, so that a changed file does not change a
        restored session. A snapshot of another implementation holds only name and instructions.
        """
        if prefer not in ("registry", "snapshot"):
            raise SettingsError(
                f"`prefer` cannot be {shown(prefer)}. {nearest(prefer, ('registry', 'snapshot'))}"
            )
        saved = _saved(state)
        active = self._restored(state, prefer)
        if saved is not None and (prefer == "snapshot" or not self._skills):
            self._skills = saved
        self._active = active

    def _restored(self, state: Mapping[str, Any], prefer: str) -> Skill | None:
        name, instructions = state.get("active_skill_name"), state.get("skill_instructions")
        if not isinstance(name, str):
            return None
        whole = state.get("active_skill")
        if prefer == "snapshot" and isinstance(whole, Mapping):
            return read_skill(cast(Mapping[str, Any], whole), path="$.skill.active_skill")
        words = instructions if isinstance(instructions, str) else None
        known = next((skill for skill in self._skills if skill.name == name), None)
        if known is None:
            return None if words is None else Skill(name=name, instructions=words)
        if prefer == "snapshot" and words is not None:
            return msgspec.structs.replace(known, instructions=words)
        return known

    def _find(self, name: str) -> Skill:
        for skill in self._skills:
            if skill.name == name:
                return skill
        names = ", ".join(skill.name for skill in self._skills) or "(none)"
        raise SkillError(
            f"No skill is registered as {shown(name)}. Registered: {names}. "
            "Register it first, or activate a `Skill` itself."
        )


def _saved(state: Mapping[str, Any]) -> tuple[Skill, ...] | None:
    skills = state.get("skills")
    if not isinstance(skills, (list, tuple)):
        return None
    return tuple(
        read_skill(skill, path=f"$.skill.skills[{index}]")
        for index, skill in enumerate(cast(Sequence[Any], skills))
    )


def _given(skill: SkillLike | None) -> Skill | None:
    return None if skill is None else read_skill(skill)


def skill_fields(skill: Skill) -> dict[str, Any]:
    """A skill as plain data: the fields that are set, free to be changed."""
    return {
        field: thaw(value)
        for field in _FIELDS
        if (value := getattr(skill, field)) is not None and value != EMPTY
    }
