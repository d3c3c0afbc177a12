"""Anthropic's memory tool, answered from the same memory."""

from __future__ import annotations

import re
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


def test_a_long_line_is_read_on_in_the_words_of_the_answer(tools: Tools) -> None:
    text = "x" * 50_000 + "\nEND"
    tools.native("create", path="/memories/big", file_text=text)
    path, seen = "/memories/big", ""

    for _ in range(5):
        answer = tools.native("view", path=path)
        seen += answer.split("\n", 1)[1].split("\n\n[")[0]
        following = re.search(r"To go on, view (\S+)\]", answer)
        if following is None:
            break
        path = following[1]

    assert path.startswith("/memories/big#C")
    assert seen == text


def test_a_range_view_names_the_file_as_the_tool_does(tools: Tools) -> None:
    tools.native("create", path="/memories/a", file_text="1\n2\n3")

    answer = tools.native("view", path="/memories/a", view_range=[1, 2])

    assert answer.endswith("To go on, view /memories/a#L3]")
    assert tools.native("view", path="context://memory/a#L3").split("\n")[1] == "     3\t3"


def test_a_wrong_path_is_answered_in_the_words_of_the_tool(tools: Tools) -> None:
    answer = tools.native("view", path="/memories/../x")

    assert "Use /memories/<name>" in answer
    assert "context://" not in answer
    assert len(tools.native("view", path="/etc/" + "x" * 100_000)) < 1_000


def test_a_file_and_a_directory_never_share_a_path(tools: Tools) -> None:
    tools.native("create", path="/memories/d/a", file_text="A")
    tools.native("create", path="/memories/f", file_text="F")

    for command, arguments in (
        ("create", {"path": "/memories/d", "file_text": "x"}),
        ("create", {"path": "/memories/f/below", "file_text": "x"}),
        ("create", {"path": "/memories/new/", "file_text": "x"}),
        ("rename", {"old_path": "/memories/f", "new_path": "/memories/d"}),
        ("rename", {"old_path": "/memories/d", "new_path": "/memories/f/d"}),
        ("rename", {"old_path": "/memories/d", "new_path": "/memories/d/sub"}),
        ("rename", {"old_path": "/memories/f", "new_path": "/memories/f/sub"}),
    ):
        assert tools.native(command, **arguments).startswith("Error: "), arguments
    assert {entry.key for entry in tools.memory.get_all_sync()} == {"d/a", "f"}


def test_a_deletion_says_what_it_left(tools: Tools) -> None:
    for key in ("d", "d/a", "d/b"):
        tools.memory.set_sync(key, key)

    answer = tools.native("delete", path="/memories/d")

    assert answer.startswith("Successfully deleted the file /memories/d.")
    assert "2 files" in answer
    assert [entry.key for entry in tools.memory.get_all_sync()] == ["d/a", "d/b"]
    assert tools.native("delete", path="/memories/d/") == "Successfully deleted /memories/d/"
    assert tools.memory.get_all_sync() == []


def test_what_stops_in_the_middle_of_a_directory_says_how_far_it_came() -> None:
    tools = Tools(native_memory=True, memory={"on_memory_update": lambda key, *_: key != "d/b"})
    for key in ("d/a", "d/b", "d/c"):
        tools.memory.set_sync(key, key)

    answer = tools.native("delete", path="/memories/d")

    assert answer.endswith("1 of 3 files had been deleted by then.")
    assert [entry.key for entry in tools.memory.get_all_sync()] == ["d/b", "d/c"]


def test_an_empty_line_may_be_inserted(tools: Tools) -> None:
    tools.memory.set_sync("a", "1\n2")

    answer = tools.native("insert", path="/memories/a", insert_line=1, insert_text="")

    assert answer == "The file /memories/a has been edited."
    assert tools.memory.get_sync("a") == "1\n\n2"
    assert tools.native("insert", path="/memories/a", insert_line=1).startswith("Error: ")


def test_a_long_directory_comes_in_parts() -> None:
    tools = Tools(native_memory=True, listed_entries=2)
    for key in ("a", "b", "c"):
        tools.memory.set_sync(key, key)

    assert "To go on, view /memories#L3]" in tools.native("view", path="/memories")
    assert tools.native("view", path="/memories#L3").endswith(
        "1B\t/memories/c\n[Entries 3 to 3 of 3.]"
    )
