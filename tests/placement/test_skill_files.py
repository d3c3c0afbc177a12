"""SKILL.md as people write it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared_data import DATA, needs_data

from context_chef.errors import SettingsError, SkillError
from context_chef.placement.front_matter import read_front_matter
from context_chef.placement.skill_files import (
    MAX_SKILL_BYTES,
    LoadedSkills,
    SkillProblem,
    load_skill,
    load_skills_dir,
    load_skills_dirs,
)
from context_chef.placement.skills import Skill


def write(directory: Path, name: str, text: str | bytes) -> Path:
    file = directory / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def load(directory: Path, text: str | bytes) -> tuple[Skill, list[SkillProblem]]:
    warnings: list[SkillProblem] = []
    skill = load_skill(write(directory, "s", text), on_warning=warnings.append)
    return skill, [warning for warning in warnings if warning.rule != "description_too_short"]


def head(lines: str) -> str:
    return f"---\nname: x\ndescription: d\n{lines}\n---\nB\n"


def metadata(directory: Path, lines: str) -> dict[str, object]:
    return dict(load(directory, head(lines))[0].metadata)


# Values


def test_values_stay_the_text_that_was_written(tmp_path: Path) -> None:
    found = metadata(tmp_path, "version: 1.10\nenabled: yes\ndate: 2024-01-01\nempty:\nnull: ~")

    assert found == {
        "version": "1.10",
        "enabled": "yes",
        "date": "2024-01-01",
        "empty": "",
        "null": "~",
    }


def test_nested_metadata_is_kept(tmp_path: Path) -> None:
    found = metadata(tmp_path, "metadata:\n  author: me\n  tags: [a, 'b, c']\n  deep:\n    n: 1")

    assert found == {"metadata": {"author": "me", "tags": ["a", "b, c"], "deep": {"n": "1"}}}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'it''s'", "it's"),
        (r'"a\tb"', "a\tb"),
        ('"Say: \\"hi\\""  # a comment', 'Say: "hi"'),
        ("[a, b]", ["a", "b"]),
        ('["a, b", c]', ["a, b", "c"]),
        ("[f(a, b), don't, c]", ["f(a, b)", "don't", "c"]),
        ("[[a, b], {c: d}]", [["a", "b"], {"c": "d"}]),
        ("[\n  a,\n  b\n]", ["a", "b"]),
        ("\n  - a\n  - 'b'\n", ["a", "b"]),
        ("\n- a\n- b", ["a", "b"]),
        ("\n- Bash(git: *)", ["Bash(git: *)"]),
        ("\n- '*.py'\n- *.md", ["*.py", "*.md"]),
        ("\n  - a: 1\n    b: 2", [{"a": "1", "b": "2"}]),
        ("one\n  two\n\n  three", "one two\nthree"),
        ("\n  on the next\n  lines", "on the next lines"),
        ("https://x.test/a#b", "https://x.test/a#b"),
        ("#fff", "#fff"),
    ],
)
def test_a_value_is_read_as_its_author_meant_it(
    tmp_path: Path, written: str, value: object
) -> None:
    assert metadata(tmp_path, f"key: {written}") == {"key": value}


@pytest.mark.parametrize(
    ("line", "rule", "value"),
    [
        (
            "key: Prepares a release: notes, tags",
            "unquoted_colon",
            "Prepares a release: notes, tags",
        ),
        ('key: [target] or "all"', "not_yaml", '[target] or "all"'),
        ("key: [unclosed", "not_yaml", "[unclosed"),
        ("key: {{placeholder}} text", "not_yaml", "{{placeholder}} text"),
        ("key: {{placeholder}}", "not_yaml", "{{placeholder}}"),
        ('key: "a" and "b"', "not_yaml", '"a" and "b"'),
        ('key: "C:\\path"', "not_yaml", "C:\\path"),
        ('key: "', "not_yaml", '"'),
        ("key: *bold* words", "not_yaml", "*bold* words"),
        ("key: @mention", "reserved_start", "@mention"),
        ("key: issue #12 # done", "unquoted_hash", "issue #12 # done"),
        ("key:value", "no_space", "value"),
        ("key: one\nkey: two", "duplicate_key", "two"),
        ("key:\n\t- a\n\t- b", "tab_indentation", ["a", "b"]),
        ("key: - a\n- b", "list_on_key_line", ["a", "b"]),
    ],
)
def test_a_common_mistake_is_mended_with_a_warning_that_names_its_line(
    tmp_path: Path, line: str, rule: str, value: object
) -> None:
    skill, warnings = load(tmp_path, head(line))

    assert skill.metadata == {"key": value}
    assert rule in [warning.rule for warning in warnings]
    assert {warning.line for warning in warnings} <= {4, 5}
    assert all("SKILL.md, line" in str(warning) for warning in warnings)


def test_block_scalars_lose_their_common_indentation(tmp_path: Path) -> None:
    found = metadata(tmp_path, "folded: >-\n  one\n  two\n\n  three\nliteral: |\n  a\n    b\n  ---")

    assert found == {"folded": "one two\nthree", "literal": "a\n  b\n---"}


# The file around them


def test_a_mark_and_carriage_returns_leave_no_trace(tmp_path: Path) -> None:
    skill, warnings = load(
        tmp_path,
        b"\xef\xbb\xbf---\r\nname: tidy-up\r\ndescription: cleans\r\n---\r\nOne\r\nTwo\r\n",
    )

    assert (skill.name, skill.description, skill.instructions) == ("tidy-up", "cleans", "One\nTwo")
    assert warnings == []


def test_dashes_in_the_body_belong_to_the_body(tmp_path: Path) -> None:
    body = "Intro\n\n---\n\n```yaml\n---\nkey: v\n---\n```\nEnd"

    assert load(tmp_path, f"---\nname: x\ndescription: d\n---\n{body}\n")[0].instructions == body


def test_front_matter_ends_at_a_fence_no_deeper_than_the_first(tmp_path: Path) -> None:
    skill, _ = load(tmp_path, "---\nname: x\ndescription: |\n  one\n  ---\n  two\n---\nbody")

    assert (skill.description, skill.instructions) == ("one\n---\ntwo", "body")


def test_an_indented_fence_ends_it_when_there_is_no_other(tmp_path: Path) -> None:
    skill, warnings = load(tmp_path, "---\nname: x\ndescription: d\n  ---\nbody")

    assert (skill.description, skill.instructions) == ("d", "body")
    assert [warning.rule for warning in warnings] == ["indented_fence"]


def test_front_matter_that_is_indented_throughout_is_read(tmp_path: Path) -> None:
    skill, warnings = load(tmp_path, "---\n  name: x\n  description: d\n---\nbody")

    assert (skill.name, skill.description, warnings) == ("x", "d", [])


def test_bytes_that_are_not_utf8_are_replaced_and_reported(tmp_path: Path) -> None:
    skill, warnings = load(tmp_path, b"---\nname: x\ndescription: caf\xe9\n---\nB")

    assert skill.description == "caf\ufffd"
    assert [(warning.rule, warning.line) for warning in warnings] == [("not_utf8", 3)]


def test_the_base_directory_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "s", head("a: b"))
    monkeypatch.chdir(tmp_path)

    assert load_skill("s/SKILL.md").base_dir == str(tmp_path / "s")
    assert load_skill("s") == load_skill(Path("s") / "SKILL.md")


# Errors


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("# Title\n", 1, "first line has to be `---`"),
        ("\n---\nname: x\n---\n", 1, "it is blank"),
        ("---\nname: x\n", 1, "never closed"),
        ("---\nname: x\n---\n", 1, "no `description`"),
        ("---\nNAME: x\ndescription: d\n---\n", 1, "There is `NAME`"),
        ("---\nname:\ndescription: d\n---\n", 2, "`name` is blank"),
        ("---\nname: [a]\ndescription: d\n---\n", 2, "`name` has to be text"),
        ("---\nname: x\ndescription: d\nloose words\n---\n", 4, "'loose words'"),
        ("---\nname: x\n: v\n---\n", 3, "no key before the colon"),
        ("---\n- name: x\n---\n", 2, "belongs to no key"),
        ("---\n{name: x}\n---\n", 2, "lines of `key: value`"),
        ("---\nname: x\ndescription:\n  a: 1\n---\n", 3, "`description` has to be text"),
        ("---\nname: x\ndescription: d\nallowed-tools:\n---\n", 4, "`allowed-tools` is empty"),
        ("---\nname: x\ndescription: d\nallowed-tools: {a: b}\n---\n", 4, "list of tool names"),
        ("---\nname: x\ndescription: d\nwhen-to-use: [a]\n---\n", 4, "`when-to-use` has to be"),
        ("---\nname: x\ndescription: d\na: &a [x]\n---\n", 4, "the anchor `&a`"),
        ("---\nname: x\ndescription: d\na: *a\n---\n", 4, "the alias `*a`"),
        ("---\nname: x\ndescription: d\na:\n  b:\n    - &c x\n---\n", 6, "the anchor `&c`"),
        ("---\nname: x\ndescription: d\na: !!python/name:os.system\n---\n", 4, "the tag"),
    ],
)
def test_an_error_names_file_line_and_reason(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    file = write(tmp_path, "s", text)

    with pytest.raises(SkillError) as caught:
        load_skill(file)

    assert (caught.value.path, caught.value.line) == (str(file), line)
    assert f"{file}, line {line}: " in str(caught.value)
    assert words in str(caught.value)


def test_a_yaml_bomb_is_refused(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]" for a, b in ["ab", "bc", "cd", "de", "ef"]]

    with pytest.raises(SkillError, match="anchor"):
        load_skill(write(tmp_path, "s", head("\n".join(lines))))


def test_brackets_that_would_cost_seconds_are_refused_before_yaml_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context_chef.placement.yaml_text.yaml.parse", None)
    many = 30_000
    with pytest.raises(SkillError, match="line 4: `x`: nested deeper"):
        metadata(tmp_path, f"x: {'[' * many}{']' * many}")


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="nested deeper"):
        load(tmp_path, head(f"key: {'[' * 200 + ']' * 200}"))


def test_endless_brackets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="nested deeper"):
        load(tmp_path, head(f"key: {'[' * 20_000}"))


def test_a_file_too_large_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "s", head("a: b") + "x" * MAX_SKILL_BYTES)

    with pytest.raises(SkillError, match="Larger than"):
        load_skill(file)


def test_front_matter_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="front matter is longer"):
        load_skill(write(tmp_path, "s", head("k: " + "x" * 70_000)))


def test_utf16_is_named(tmp_path: Path) -> None:
    with pytest.raises(SkillError, match="UTF-16"):
        load_skill(write(tmp_path, "s", head("a: b").encode("utf-16")))


def test_a_missing_file_is_the_systems_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load_skill(tmp_path / "nowhere" / "SKILL.md")


@given(st.text(alphabet=st.sampled_from("ab:-|>[]{}\"'&*!#,\t\n \\%@?")))
def test_any_front_matter_loads_or_fails_with_a_skill_error(lines: str) -> None:
    text = f"---\n{lines}\n---\nB"
    try:
        found = read_front_matter(text, path="f", warn=lambda line, rule, message: None)
    except SkillError as error:
        where = (error.path, error.line is not None)
    else:
        where = ("f", found.body.endswith("B"))

    assert where == ("f", True)


# Tools


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Read, Write", ("Read", "Write")),
        ("Read Write Bash(git:*)", ("Read", "Write", "Bash(git:*)")),
        ("Edit(*.ts), Bash(pnpm, git, gh)", ("Edit(*.ts)", "Bash(pnpm, git, gh)")),
        ("[read, \"grep\", 'ls', ]", ("read", "grep", "ls")),
        ("\n  - Read\n  - Bash(git commit:*)", ("Read", "Bash(git commit:*)")),
        ("\n- Read\n- Write", ("Read", "Write")),
        ("- Read\n- Write", ("Read", "Write")),
        ("[]", ()),
    ],
)
@pytest.mark.parametrize("key", ["allowed-tools", "allowedTools"])
def test_tools_may_be_a_list_or_text(
    tmp_path: Path, key: str, written: str, names: tuple[str, ...]
) -> None:
    assert load(tmp_path, head(f"{key}: {written}"))[0].allowed_tools == names


def test_without_a_line_about_tools_nothing_is_said_of_them(tmp_path: Path) -> None:
    assert load(tmp_path, head("a: b"))[0].allowed_tools is None


# Directories


def names(loaded: LoadedSkills) -> list[str]:
    return [skill.name for skill in loaded.skills]


def test_a_file_that_fails_spoils_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, "b", "nope")
    write(tmp_path, "c", "---\nname: c\ndescription: long enough to pass unnoticed\n---\n")
    write(tmp_path, "A", "---\nname: a\ndescription: long enough to pass unnoticed\n---\n")
    (tmp_path / "file.md").write_text("x")
    (tmp_path / "empty").mkdir()

    loaded = load_skills_dir(tmp_path)

    assert names(loaded) == ["a", "c"]
    assert [(e.path, e.line) for e in loaded.errors] == [(str(tmp_path / "b" / "SKILL.md"), 1)]
    assert loaded.warnings == ()


@pytest.mark.parametrize(
    ("lines", "description"),
    [
        (
            "description: Prepares a release: notes, tags, checks",
            "Prepares a release: notes, tags, checks",
        ),
        ('description: d\nargument-hint: [target] or "all"', "d"),
        ("description: >-\n  short text\n  more text", "short text more text"),
        ("description: |\n  short text\n  more text", "short text\nmore text"),
    ],
    ids=["BR-112", "BR-120", "BR-118-folded", "BR-118-literal"],
)
def test_reported_from_the_field(tmp_path: Path, lines: str, description: str) -> None:
    """Each of these made a skill, or its whole directory, vanish without a word elsewhere."""
    odd = write(tmp_path, "odd", f"---\nname: odd\n{lines}\n---\nBody\n")
    write(tmp_path, "valid", "---\nname: valid\ndescription: long enough to be useful\n---\n")

    loaded = load_skills_dir(tmp_path)

    assert names(loaded) == ["odd", "valid"]
    assert loaded.skills[0].description == description
    assert loaded.errors == ()
    assert all(warning.path == str(odd) for warning in loaded.warnings)


def test_a_directory_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    loaded = load_skills_dir(tmp_path / "nowhere")

    assert (loaded.skills, len(loaded.errors)) == ((), 1)


def test_a_name_can_come_from_the_directory(tmp_path: Path) -> None:
    write(tmp_path, "from-here", "---\ndescription: d\n---\nB")

    assert names(load_skills_dir(tmp_path)) == []
    assert names(load_skills_dir(tmp_path, infer_names=True)) == ["from-here"]


def test_of_two_skills_with_one_name_precedence_chooses(tmp_path: Path) -> None:
    for place in ("one", "two"):
        write(tmp_path / place, "s", f"---\nname: same\ndescription: from {place}\n---\n")
        write(tmp_path / place, "t", f"---\nname: {place}\ndescription: from {place}\n---\n")
    dirs = [tmp_path / "one", tmp_path / "two"]

    last, first = load_skills_dirs(dirs), load_skills_dirs(dirs, precedence="first-wins")

    assert names(last) == names(first) == ["same", "one", "two"]
    assert (last.skills[0].description, first.skills[0].description) == ("from two", "from one")
    assert [w.path.split(os.sep)[-3] for w in last.warnings if w.path.endswith("s/SKILL.md")] == [
        "two"
    ]


def test_a_directory_reached_twice_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / "real", "bad", "nope")
    (tmp_path / "link").symlink_to(tmp_path / "real")

    assert len(load_skills_dirs([tmp_path / "real", tmp_path / "link"]).errors) == 1


def test_a_namespace_goes_before_the_name(tmp_path: Path) -> None:
    write(tmp_path / "team", "s", head("a: b"))

    loaded = load_skills_dirs([tmp_path / "team"], namespace=lambda path: Path(path).name)

    assert names(loaded) == ["team:x"]


def test_an_unknown_precedence_is_refused() -> None:
    with pytest.raises(SettingsError, match="`precedence`"):
        load_skills_dirs([], precedence="newest")  # type: ignore[arg-type]  # the test is about it


# In the wild


@needs_data
def test_skills_in_the_wild_load_or_fail_for_a_reason_a_person_agrees_with() -> None:
    """Names, descriptions and bodies are those that PyYAML reads, wherever it can read them."""
    index = {x["file"]: x for x in json.loads((DATA / "skills" / "index.json").read_text())}

    loaded = load_skills_dir(DATA / "skills")

    failed = {Path(error.path).parent.name.split("-", 1)[0]: error for error in loaded.errors}
    assert {
        number: error.message.split(",")[0].split(":")[0] for number, error in failed.items()
    } == {
        "26": "There is no `description`",
        "30": "No front matter",
        "31": "There is no `name`",
        "32": "There is no `name`",
        "35": "There is no `name`",
    }
    assert len(loaded.skills) + len(failed) == len(index)
    for skill in loaded.skills:
        entry = index[f"{Path(str(skill.base_dir)).name}/SKILL.md"]
        assert 0 <= entry["body_chars"] - len(skill.instructions) < 8  # blank lines around it
        if entry["yaml_error"]:
            assert any(w.line for w in loaded.warnings if entry["file"] in w.path)
            continue
        expected = entry["frontmatter"]
        assert skill.name == expected.pop("name")
        assert skill.description == expected.pop("description").strip()
        expected.pop("allowed-tools", None)
        assert list(skill.metadata) == list(expected)


@needs_data
def test_a_skill_without_a_name_loads_when_its_directory_may_name_it() -> None:
    loaded = load_skills_dir(DATA / "skills", infer_names=True)

    assert [Path(e.path).parent.name[:2] for e in loaded.errors] == ["26", "30"]
    assert [s.allowed_tools for s in loaded.skills if s.name.startswith("35-")] == [
        ("Edit(*.ts)", "Write(*.ts)", "Bash(pnpm, git, gh)")
    ]
