"""The tools that fit a task come first, without any model; an embedder may have a say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_chef.errors import AsyncRequiredError, SettingsError, ToolError
from context_chef.selection.pruner import Pruner
from context_chef.selection.tool_selector import select_tools, select_tools_sync
from context_chef.selection.words import stem, terms, words

TOOLS: list[dict[str, Any]] = [
    {"name": "createIssue", "description": "Open a new issue in a repository."},
    {"name": "delete_file", "description": "Remove a file from a branch."},
    {
        "name": "get-weather",
        "description": "Forecast for a city.",
        "parameters": {"city": {"type": "string", "description": "Name of the town"}},
    },
    {"name": "send_message", "description": "Send a chat message to a person."},
    {"name": "天気予報", "description": "都市の天気を調べる"},
]


def ranked(task: str, k: int = 5, **more: Any) -> list[str]:
    return [tool.name for tool in select_tools_sync(task, k, TOOLS, **more).tools]


@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("please create two issues about the crash", "createIssue"),
        ("deleting files", "delete_file"),
        ("what will the weather be tomorrow", "get-weather"),
        ("something about my town", "get-weather"),
        ("write a message to Bob", "send_message"),
        ("明日の天気は", "天気予報"),
    ],
)
def test_what_shares_words_with_the_task_comes_first(task: str, first: str) -> None:
    assert ranked(task)[0] == first


def test_tools_without_a_word_in_common_fill_up_in_their_own_order() -> None:
    result = select_tools_sync("weather", 3, TOOLS)

    assert [tool.name for tool in result.tools] == ["get-weather", "createIssue", "delete_file"]
    assert result.removed == ("send_message", "天気予報")
    assert (result.kept, result.total) == (3, 5)
    assert result.scores["get-weather"] > result.scores["createIssue"] == 0.0


@given(st.text(), st.integers(0, 7))
def test_any_task_gets_as_many_tools_as_asked_for_and_there_are(task: str, k: int) -> None:
    assert len(ranked(task, k)) == min(k, len(TOOLS))
    assert ranked(task, k) == ranked(task, k)


@pytest.mark.parametrize("k", [-1, True, 2.5, "3"])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(SettingsError, match="`k`"):
        ranked("x", k)


def by_length(texts: Sequence[str]) -> list[list[float]]:
    """Means to be no embedding: says that everything about a message is what was asked for."""
    return [[1.0, 0.0] if "message" in text or text == "ping Bob" else [0.0, 1.0] for text in texts]


async def test_an_embedder_finds_what_words_do_not() -> None:
    async def later(texts: Sequence[str]) -> list[list[float]]:
        return by_length(texts)

    assert ranked("ping Bob")[0] == "createIssue"
    assert ranked("ping Bob", embedder=by_length)[0] == "send_message"
    result = await select_tools("ping Bob", 1, TOOLS, embedder=later)
    assert [tool.name for tool in result.tools] == ["send_message"]
    assert all(0 <= score <= 1 for score in result.scores.values())


def test_a_tool_that_both_put_first_scores_one() -> None:
    result = select_tools_sync("send a message", 1, TOOLS, embedder=by_length)

    assert result.scores["send_message"] == 1.0


def test_a_sync_call_refuses_an_async_embedder() -> None:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return by_length(texts)

    with pytest.raises(AsyncRequiredError, match="embed"):
        ranked("x", embedder=embed)


@pytest.mark.parametrize(
    "answer", [[], [[1.0]] * 5, [[1.0]] * 5 + [[1.0, 2.0]], [[float("nan")]] * 6]
)
def test_an_embedder_that_answers_something_else_is_named(answer: Any) -> None:
    with pytest.raises(ToolError, match="`embedder` was given 6 texts"):
        ranked("x", embedder=lambda texts: answer)


async def test_a_pruner_ranks_its_flat_tools_and_the_result_can_be_applied() -> None:
    made = Pruner()
    made.register_tools(TOOLS)

    result = await made.select_tools("delete the file, then message me", 2)
    made.apply(result)

    assert {tool.name for tool in result.tools} == {"delete_file", "send_message"}
    assert [tool.name for tool in made.visible_tools()] == ["delete_file", "send_message"]
    assert result == made.select_tools_sync("delete the file, then message me", 2)


def test_newly_registered_tools_are_ranked_at_once() -> None:
    made = Pruner()
    made.register_tools(TOOLS)
    made.select_tools_sync("x", 1)

    made.register_tools([{"name": "other"}, {"name": "x"}])

    assert [tool.name for tool in made.select_tools_sync("x", 1).tools] == ["x"]


# Words


@pytest.mark.parametrize(
    "name", ["readFile", "read_file", "read-files", "Read File", "READ_FILE", "readFILE"]
)
def test_the_spelling_of_a_name_does_not_matter(name: str) -> None:
    assert words(name) == ["read", "fil"]


@pytest.mark.parametrize(
    "family",
    [
        ("file", "files", "filing"),
        ("translate", "translation", "translator", "translating"),
        ("query", "queries"),
        ("search", "searches", "searching", "searched"),
        ("create", "creates", "creation", "created"),
        ("stop", "stopping", "stops"),
    ],
)
def test_word_forms_meet(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


def test_scripts_without_blanks_are_indexed_by_characters_and_pairs() -> None:
    assert terms("天気予報") == ["天", "気", "予", "報", "天気", "気予", "予報"]
