"""Cases about skills, caching, summaries of media, and what a compile does to its caller's data."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_chef import (
    CacheBreakpoint,
    ContextChef,
    Message,
    OverflowConfig,
    load_skill,
    load_skills_dir,
    summarize,
)
from context_chef.adaptation.read_anthropic import from_anthropic
from tests.cases.notation import case
from tests.properties.provider_check import problems

MODELS = {
    "openai": "gpt-4.1",
    "openai-responses": "gpt-4.1",
    "anthropic": "claude-opus-4-8",
    "gemini": "gemini-3.8-flash",
}
VALID = "---\nname: valid\ndescription: a valid skill\n---\nBody\n"


def beside_a_valid_one(folder: Path, text: str | bytes) -> Any:
    for name, content in (("odd", text), ("valid", VALID)):
        (folder / name).mkdir()
        data = content.encode() if isinstance(content, str) else content
        (folder / name / "SKILL.md").write_bytes(data)
    return load_skills_dir(folder)


@pytest.mark.parametrize(
    ("identifier", "name", "description"),
    [
        ("BR-112", "release-prep", "Prepares a release: notes, tags, checks"),
        ("BR-120", "x", "d"),
    ],
)
def test_br_112_and_120_what_yaml_refuses_loads_as_it_was_meant(
    tmp_path: Path, identifier: str, name: str, description: str
) -> None:
    loaded = beside_a_valid_one(tmp_path, case(identifier)["input"]["file"])

    found = {skill.name: skill.description for skill in loaded.skills}
    assert found == {name: description, "valid": "a valid skill"}


def test_br_113_a_mark_and_carriage_returns_are_no_part_of_a_skill(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_bytes(b"\xef\xbb\xbf---\r\nname: tidy-up\r\ndescription: cleans\r\n---\r\nSteps\r\n")

    skill = load_skill(file)

    assert (skill.name, skill.description) == ("tidy-up", "cleans")
    assert skill.instructions.strip() == "Steps"


def test_br_116_dashes_in_the_body_do_not_end_anything(tmp_path: Path) -> None:
    file = tmp_path / "SKILL.md"
    file.write_text(case("BR-116")["input"]["file"], "utf-8")

    skill = load_skill(file)

    assert skill.name == "x"
    assert skill.instructions.startswith("Intro")
    assert skill.instructions.rstrip().endswith("End")
    assert skill.instructions.count("---") == 3


def test_br_118_a_block_description_is_its_text(tmp_path: Path) -> None:
    read: list[str] = []
    for index, text in enumerate(case("BR-118")["input"]["files"]):
        file = tmp_path / f"{index}.md"
        file.write_text(text, "utf-8")
        read.append(load_skill(file).description.rstrip("\n"))

    assert read == ["short text more text", "short text\nmore text"]


async def test_br_031_a_summariser_is_told_of_an_image_and_not_given_its_bytes() -> None:
    given = case("BR-031")["input"]
    read: list[str] = []

    def record(messages: Any) -> str:
        read.append("\n".join(message.text for message in messages))
        return "<summary>s</summary>"

    chef = ContextChef(
        janitor={"context_window": 2_000, "trigger_ratio": 0.001, "preserve_ratio": 0.0001},
        overflow=OverflowConfig(strategy=summarize(compression_model=record)),
    )
    await chef.set_history(from_anthropic(given["history"]).messages).compile("anthropic")

    [said] = read
    assert "image" in said.lower()
    assert "iVBOR" not in said


@pytest.mark.parametrize(
    "register",
    [
        "register_tools({ToolDefinition(name=name) for name in names})",
        "register_namespaces([{'name': 'all', 'tools': {ToolDefinition(name=n) for n in names}}])",
        "register_namespaces(frozenset(ToolGroup(name=n, tools=(look,)) for n in names))",
        "register_toolkits(frozenset(ToolGroup(name=n, tools=(look,)) for n in names))",
    ],
)
def test_br_039_tools_have_one_order_whatever_the_hash_seed(register: str) -> None:
    """A set has no order of its own, so registering one gives it one: that of the names."""
    program = (
        "from context_chef import ContextChef, ToolDefinition, ToolGroup\n"
        f"names = {case('BR-039')['input']['tools']}\n"
        "look = ToolDefinition(name='look')\n"
        "chef = ContextChef().append({'role': 'user', 'content': 'q'})\n"
        f"chef.{register}\n"
        "print({chef.compile_sync().to_json() for _ in range(20)})"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(5)
    }

    assert len(printed) == 1


async def test_br_041_a_mark_never_lands_on_thinking() -> None:
    given = case("BR-041")["input"]
    messages = [
        message.replace(cache=CacheBreakpoint()) if message.role == "assistant" else message
        for message in from_anthropic(
            [{k: v for k, v in row.items() if k != "cache_breakpoint"} for row in given["history"]]
        ).messages
    ]

    payload = (
        await ContextChef().set_history(messages).compile("anthropic", model="claude-opus-4-8")
    )

    answer = payload["messages"][1]["content"]
    thinking = [block for block in answer if block["type"] == "thinking"]
    assert all("cache_control" not in block for block in thinking)
    assert problems("anthropic", payload, "claude-opus-4-8") == []


async def test_br_043_four_marks_are_left_the_same_every_time_and_the_others_are_named() -> None:
    mark = {"type": "ephemeral"}

    def chef() -> ContextChef:
        tool = {"name": "f", "input_schema": {"type": "object"}, "cache_control": mark}
        system = [
            {"role": "system", "content": text, "cache_control": mark} for text in ("one", "two")
        ]
        rows = [
            {"role": role, "content": [{"type": "text", "text": "x", "cache_control": mark}]}
            for role in ("user", "assistant", "user")
        ]
        made = ContextChef().register_tools([tool])
        made.set_system_prompt(
            [Message.system(row["content"]).replace(cache=CacheBreakpoint()) for row in system]
        )
        return made.set_history(from_anthropic(rows).messages)

    first = await chef().compile("anthropic", model="claude-opus-4-8")
    second = await chef().compile("anthropic", model="claude-opus-4-8")

    assert first.to_json().count(b'"cache_control"') == 4
    assert first.to_json() == second.to_json()
    told = [*first.report.repairs, *first.report.diagnostics]
    assert [item for item in told if "breakpoint" in repr(item).lower()]
    assert problems("anthropic", first, "claude-opus-4-8") == []


async def test_br_141_nothing_of_the_callers_is_changed() -> None:
    rows: list[dict[str, Any]] = []
    for turn in range(10):
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "f", "arguments": {"n": [turn]}},
        }
        rows += [
            {
                "role": "user",
                "content": [{"type": "text", "text": f"q{turn}"}],
                "pinned": turn == 0,
            },
            {"role": "assistant", "content": "working", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": "r" * 300},
            {"role": "assistant", "content": [{"type": "text", "text": f"a{turn}"}]},
        ]
    rows.append({"role": "user", "content": "last"})
    before = copy.deepcopy(rows)
    chef = ContextChef(
        janitor={"context_window": 1_500, "trigger_ratio": 0.5},
        overflow=OverflowConfig(strategy=summarize(compression_model=lambda messages: "s")),
        cache="auto",
        vfs={"automatic": True, "threshold": 200},
    )

    for target, model in MODELS.items():
        payload = await chef.set_history(rows).compile(target, model=model)
        expected = payload.to_json()
        _spoil(payload)
        assert (await chef.compile(target, model=model)).to_json() == expected

    assert rows == before


def _spoil(value: Any) -> None:
    if isinstance(value, dict):
        for item in list(value.values()):
            _spoil(item)
        value.clear()
    elif isinstance(value, list):
        for item in value:
            _spoil(item)
        value.clear()
