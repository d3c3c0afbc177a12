"""Read SKILL.md files: one, a directory of skills, or several in order of precedence."""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import unquote

import msgspec

from context_chef.errors import SettingsError, SkillError, nearest, shown
from context_chef.given import check_callable, check_text, file_path
from context_chef.ir.text import clean_text
from context_chef.patterns import regex
from context_chef.placement.front_matter import FrontMatter, read_front_matter
from context_chef.placement.skills import Skill
from context_chef.placement.yaml_text import split_outside, unquoted

SKILL_FILE: Final = "SKILL.md"
MAX_SKILL_BYTES: Final = 2 * 1024 * 1024

StrPath: TypeAlias = str | os.PathLike[str]
Precedence: TypeAlias = Literal["last-wins", "first-wins"]

_MIN_DESCRIPTION_CHARS: Final = 20
_MAX_INSTRUCTION_TOKENS: Final = 4000
_LINK: Final = regex(r"\]\(\s*<?((?:\./|references/)[^)>\s]*)")
_CJK: Final = regex(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")


class SkillProblem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is wrong with a file, or odd about it.

    `rule` is a stable name such as `unquoted_colon`; `line` counts from 1 in the file.
    """

    path: str
    message: str
    rule: str = ""
    line: int | None = None

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}, line {self.line}"
        return f"{where}: {self.message}"


class LoadedSkills(msgspec.Struct, frozen=True, kw_only=True):
    """The skills that loaded, the files that did not, and what was odd about those that did."""

    skills: tuple[Skill, ...] = ()
    errors: tuple[SkillProblem, ...] = ()
    warnings: tuple[SkillProblem, ...] = ()


def load_skill(
    path: StrPath,
    *,
    infer_name: bool = False,
    on_warning: Callable[[SkillProblem], object] | None = None,
) -> Skill:
    """The skill of one SKILL.md, or of the directory that holds it.

    Mistakes that leave no doubt about what was meant are mended, and `on_warning` is told of each.
    With `infer_name`, a file without a name takes that of its directory. Raises SkillError naming
    file and line for anything else, SettingsError for what can name no file, and OSError when the
    file cannot be opened.
    """
    warnings: list[SkillProblem] = []
    check_callable(on_warning, "on_warning")
    file = file_path(path)
    if os.path.isdir(file):
        file = os.path.join(file, SKILL_FILE)
    skill = _load(file, infer_name=infer_name, warnings=warnings)
    for warning in warnings if on_warning else ():
        on_warning(warning)  # pyright: ignore[reportOptionalCall]  # the line above asks
    return skill


def load_skills_dir(directory: StrPath, *, infer_names: bool = False) -> LoadedSkills:
    """The skill of every directory right below this one, sorted by directory name.

    Directories without a file SKILL.md are skipped. No file raises: what cannot be read is among
    the errors, and spoils nothing else. Raises SettingsError for what can name no directory.
    """
    root = file_path(directory, "directory")
    try:
        names = sorted(os.listdir(root))
    except OSError as error:
        problem = SkillProblem(path=root, message=_os_reason(error), rule="unreadable")
        return LoadedSkills(errors=(problem,))
    skills: list[Skill] = []
    errors: list[SkillProblem] = []
    warnings: list[SkillProblem] = []
    for name in names:
        file = os.path.join(root, name, SKILL_FILE)
        found: list[SkillProblem] = []
        try:
            if not stat.S_ISREG(os.stat(file).st_mode):
                continue
            skills.append(_load(file, infer_name=infer_names, warnings=found))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except SkillError as error:
            errors.append(
                SkillProblem(path=file, message=error.reason, rule="invalid", line=error.line)
            )
        except OSError as error:
            errors.append(SkillProblem(path=file, message=_os_reason(error), rule="unreadable"))
        else:
            warnings += found
    return LoadedSkills(skills=tuple(skills), errors=tuple(errors), warnings=tuple(warnings))


def load_skills_dirs(
    directories: Sequence[StrPath],
    *,
    precedence: Precedence = "last-wins",
    namespace: Callable[[str], str | None] | None = None,
    infer_names: bool = False,
) -> LoadedSkills:
    """The skills of several directories, one for each name.

    A directory that occurs twice, also through a link, is read once. `namespace` may name a
    directory; its skills are then called `namespace:name`. Where two skills have one name,
    `precedence` decides; the order is that in which names first occur. Warnings are those of the
    skills that remain, errors are all of them.
    """
    chosen = precedence.replace("_", "-") if isinstance(precedence, str) else precedence  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
    check_callable(namespace, "namespace")
    if chosen not in ("last-wins", "first-wins"):
        raise SettingsError(
            f"`precedence` cannot be {shown(precedence)}. "
            f"{nearest(precedence, ('last-wins', 'first-wins'))}"
        )
    kept: dict[str, tuple[Skill, tuple[SkillProblem, ...]]] = {}
    errors: list[SkillProblem] = []
    seen: set[str] = set()
    for given in _several(directories):
        directory = file_path(given, "directories")
        real = os.path.realpath(directory)
        if real in seen:
            continue
        seen.add(real)
        loaded = load_skills_dir(directory, infer_names=infer_names)
        errors += loaded.errors
        prefix = namespace(directory) if namespace else None
        check_text(prefix, "namespace", optional=True)
        for skill in loaded.skills:
            named = skill
            if prefix:
                named = msgspec.structs.replace(skill, name=f"{prefix}:{skill.name}")
            if named.name in kept and chosen == "first-wins":
                continue
            kept[named.name] = (named, _warnings_of(skill, loaded.warnings))
    return LoadedSkills(
        skills=tuple(skill for skill, _ in kept.values()),
        errors=tuple(errors),
        warnings=tuple(warning for _, warnings in kept.values() for warning in warnings),
    )


def _several(directories: Sequence[StrPath]) -> Sequence[StrPath]:
    given: Any = directories  # callers are not all typed
    if isinstance(given, (str, bytes, os.PathLike)) or not isinstance(given, Iterable):
        raise SettingsError(
            f"`directories` is a list of directories, not {shown(cast(object, given))}; "
            "`load_skills_dir` reads a single one."
        )
    return tuple(cast("Iterable[StrPath]", given))


def _warnings_of(skill: Skill, warnings: Sequence[SkillProblem]) -> tuple[SkillProblem, ...]:
    return tuple(
        warning
        for warning in warnings
        if os.path.abspath(os.path.dirname(warning.path)) == skill.base_dir
    )


def _load(file: str, *, infer_name: bool, warnings: list[SkillProblem]) -> Skill:
    def warn(line: int | None, rule: str, message: str) -> None:
        warnings.append(SkillProblem(path=file, message=message, rule=rule, line=line))

    head = read_front_matter(_text(file, warn), path=file, warn=warn)
    base_dir = os.path.abspath(os.path.dirname(file))
    if infer_name and "name" not in head.values:
        head.values["name"], head.lines["name"] = os.path.basename(base_dir), 1
        warn(1, "name_inferred", f"There is no `name`; {head.values['name']!r} is its directory's.")
    fields = _Fields(head, path=file, warn=warn)
    name = " ".join(fields.required("name").split("\n"))
    description = fields.required("description")
    _look_at_lengths(description, head.body, warn)
    skill = Skill(
        name=name,
        description=description,
        instructions=head.body,
        when_to_use=fields.optional("whenToUse", "when-to-use"),
        allowed_tools=fields.tools("allowedTools", "allowed-tools"),
        base_dir=base_dir,
        metadata={key: head.values[key] for key in head.values if key not in fields.taken},
    )
    _look_at_links(head.body, Path(base_dir), warn)
    return skill


def _text(file: str, warn: Callable[[int | None, str, str], None]) -> str:
    with open(file, "rb") as opened:
        if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
            raise SkillError("Not a regular file.", path=file)
        data = opened.read(MAX_SKILL_BYTES + 1)
    if len(data) > MAX_SKILL_BYTES:
        raise SkillError(
            f"Larger than {MAX_SKILL_BYTES} bytes. Move parts of it to files beside it.", path=file
        )
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise SkillError("Written in UTF-16; save it as UTF-8.", path=file, line=1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        warn(line, "not_utf8", "Not valid UTF-8; what cannot be read became U+FFFD.")
        text = data.decode("utf-8-sig", "replace")
    return clean_text(text.replace("\r\n", "\n").replace("\r", "\n"))


class _Fields:
    """The known fields of a front matter, judged."""

    def __init__(
        self,
        head: FrontMatter,
        *,
        path: str,
        warn: Callable[[int | None, str, str], None],
    ) -> None:
        self.taken: set[str] = set()
        self._head = head
        self._path = path
        self._warn = warn

    def required(self, key: str) -> str:
        text = self.optional(key)
        if text is None:
            close = [other for other in self._head.values if other.lower() == key]
            hint = f" There is `{close[0]}`; keys are in lower case." if close else ""
            if key == "name" and not close:
                hint = " With `infer_name` its directory may name it."
            raise SkillError(
                f"There is no `{key}`, and a skill needs one.{hint}", path=self._path, line=1
            )
        if not text:
            raise self._fault(key, "is blank, and a skill needs one")
        return text

    def optional(self, *spellings: str) -> str | None:
        key, value = self._find(spellings)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._fault(key, f"has to be text, not {shown(value)}")
        return value.strip()

    def tools(self, *spellings: str) -> tuple[str, ...] | None:
        """A list of names. Text is split at its commas, or at its blanks when it has none."""
        key, value = self._find(spellings)
        if value is None:
            return None
        if isinstance(value, str):
            if not value.strip():
                raise self._fault(key, "is empty; name the tools, or take the line out")
            parts = split_outside(value, ",")
            if len(parts) == 1:
                parts = [part for part in split_outside(value, " \t\n") if part]
            value = [unquoted(part) for part in parts]
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):  # pyright: ignore[reportUnknownVariableType]  # values are JSON-like
            raise self._fault(
                key, f"has to be a list of tool names, not {shown(cast(object, value))}"
            )
        names: list[str] = [str(name).strip() for name in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  # checked above
        line = self._head.lines[key]
        if not all(names):
            self._warn(line, "allowed_tools_empty_entry", f"`{key}` holds an empty entry.")
        named = [name for name in names if name]
        if len(set(named)) < len(named):
            self._warn(line, "allowed_tools_duplicate", f"`{key}` names a tool twice.")
        return tuple(named)

    def _find(self, spellings: Sequence[str]) -> tuple[str, Any]:
        """The first spelling that is there; every spelling counts as taken."""
        present = [key for key in spellings if key in self._head.values]
        self.taken.update(spellings)
        return (present[0], self._head.values[present[0]]) if present else (spellings[0], None)

    def _fault(self, key: str, what: str) -> SkillError:
        return SkillError(f"`{key}` {what}.", path=self._path, line=self._head.lines.get(key, 1))


def _look_at_lengths(
    description: str, body: str, warn: Callable[[int | None, str, str], None]
) -> None:
    if len(description) < _MIN_DESCRIPTION_CHARS:
        warn(
            None,
            "description_too_short",
            f"`description` has fewer than {_MIN_DESCRIPTION_CHARS} characters; say what the "
            "skill does and when to use it.",
        )
    tokens = _estimated_tokens(body)
    if tokens > _MAX_INSTRUCTION_TOKENS:
        warn(
            None,
            "instructions_too_long",
            f"The instructions are about {tokens} tokens, more than {_MAX_INSTRUCTION_TOKENS}; "
            "move parts of them to files beside the skill.",
        )


def _look_at_links(body: str, base: Path, warn: Callable[[int | None, str, str], None]) -> None:
    for target in dict.fromkeys(_LINK.findall(body)):
        file = target.split("#", 1)[0]
        if not any(_exists(base / name) for name in (file, unquote(file))):
            warn(None, "relative_link_missing", f"The link {target!r} leads to no file.")


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _estimated_tokens(text: str) -> int:
    cjk = len(_CJK.findall(text))
    # Tenths, so that no rounding of floats moves the limit.
    return math.ceil(((len(text) - cjk) * 3 + cjk * 15) / 10)


def _os_reason(error: OSError) -> str:
    return f"Cannot be read: {error.strerror or error}."
