"""Anthropic's memory tool, answered from the same memory."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from context_chef import ContextChef
from context_chef.errors import UnknownToolError
from context_chef.persistence import InMemoryBackend
from tests.retrieval.hosts import Tools


@pytest.fixture
def tools() -> Tools:
    return Tools(native_memory=True)


def test_the_six_commands_as_the_official_client_types_them(tools: Tools) -> None:
    def send(command: Any) -> str:
        return tools.call("memory", command.model_dump(exclude_none=True))

    path = "/memories/notes/plan.md"
    assert (
        send(
            BetaMemoryTool20250818CreateCommand(command="create", path=path, file_text="one\ntwo\n")
        )
        == f"File created successfully at: {path}"
    )
    assert send(BetaMemoryTool20250818ViewCommand(command="view", path=path)) == (
        f"Here's the content of {path} with line numbers:\n     1\tone\n     2\ttwo\n     3\t"
    )
    assert "     2\t2" in send(
        BetaMemoryTool20250818StrReplaceCommand(
            command="str_replace", path=path, old_str="two", new_str="2"
        )
    )
    assert (
        send(
            BetaMemoryTool20250818InsertCommand(
                command="insert", path=path, insert_line=2, insert_text="three\n"
            )
        )
        == f"The file {path} has been edited."
    )
    assert tools.memory.get_sync("notes/plan.md") == "one\n2\nthree\n"
    assert (
        send(
            BetaMemoryTool20250818RenameCommand(
                command="rename", old_path=path, new_path="/memories/done.md"
            )
        )
        == f"Successfully renamed {path} to /memories/done.md"
    )
    assert (
        send(BetaMemoryTool20250818DeleteCommand(command="delete", path="/memories/done.md"))
        == "Successfully deleted /memories/done.md"
    )
    assert tools.memory.get_all_sync() == []


def test_a_directory_lists_sizes_and_paths_two_levels_deep(tools: Tools) -> None:
    for key, value in (("a.md", "x" * 2048), ("d/b.md", "yy"), ("d/e/f.md", "z"), (".hidden", "h")):
        tools.memory.set_sync(key, value)

    assert tools.native("view", path="/memories").splitlines()[1:] == [
        "2.0K\t/memories",
        "2K\t/memories/a.md",
        "3B\t/memories/d/",
        "2B\t/memories/d/b.md",
        "1B\t/memories/d/e/",
    ]


def test_the_empty_root_is_a_directory(tools: Tools) -> None:
    assert tools.native("view", path="/memories").endswith("\n0B\t/memories")


def test_a_directory_is_moved_and_deleted_whole(tools: Tools) -> None:
    for key in ("d/a", "d/e/b", "dd"):
        tools.memory.set_sync(key, key)

    tools.native("rename", old_path="/memories/d", new_path="/memories/n")
    assert [entry.key for entry in tools.memory.get_all_sync()] == ["dd", "n/a", "n/e/b"]
    tools.native("delete", path="/memories/n")
    assert [entry.key for entry in tools.memory.get_all_sync()] == ["dd"]


def test_mistakes_are_said_in_the_forms_the_models_know(tools: Tools) -> None:
    tools.memory.set_sync("a", "x\nx")
    path = "/memories/a"

    missing = "Error: The path /memories/none does not exist"
    assert tools.native("view", path="/memories/none").startswith(missing)
    assert tools.native("delete", path="/memories/none").startswith(missing)
    assert tools.native("create", path=path, file_text="y") == (
        "Error: File /memories/a already exists"
    )
    assert "occurs 2 times" in tools.native("str_replace", path=path, old_str="x", new_str="y")
    assert "0 to 2" in tools.native("insert", path=path, insert_line=9, insert_text="y")
    assert "Cannot delete the /memories directory" in tools.native("delete", path="/memories")
    assert "already exists" in tools.native("rename", old_path=path, new_path=path)


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "/memories/../x", "/memoriesX/a", "memories/a", "/memories/a\\b", "", None, 5],
)
def test_a_path_that_leads_elsewhere_is_refused(tools: Tools, path: Any) -> None:
    for command in ("view", "create", "str_replace", "insert", "delete"):
        answer = tools.native(
            command, path=path, file_text="x", old_str="x", insert_line=0, insert_text="x"
        )
        assert answer.startswith("Error: ")
    assert tools.memory.get_all_sync() == []


def test_an_empty_file_may_be_created(tools: Tools) -> None:
    assert tools.native("create", path="/memories/e", file_text="").startswith("File created")
    assert tools.memory.get_sync("e") == ""


def test_the_name_is_only_ours_where_the_tool_is_offered() -> None:
    with pytest.raises(UnknownToolError, match="'memory'"):
        Tools().native("view", path="/memories")


def test_a_chef_offers_it_on_anthropic_only_and_answers_its_calls() -> None:
    chef = ContextChef(
        tools="unified",
        store=InMemoryBackend(),
        memory={},
        context_tool={"native_memory": True},
    ).set_history([{"role": "user", "content": "hi"}])

    def names(target: str) -> list[str]:
        tools = chef.compile_sync(target)["tools"]
        return [tool.get("name") or tool["function"]["name"] for tool in tools]

    assert names("anthropic") == ["context", "memory"]
    assert names("openai") == ["context"]
    assert chef.owns_tool("memory")
    call = {"name": "memory", "arguments": {"command": "view", "path": "/memories"}}
    assert chef.handle_tool_sync(call).endswith("0B\t/memories")
