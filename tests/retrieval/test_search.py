"""Searching: ranked by the backend or letter by letter, in pages, with addresses to go to."""

from __future__ import annotations

from context_chef.ir.message import Message
from context_chef.persistence import serialize_span
from tests.retrieval.hosts import Tools


def test_words_find_entries_in_any_order() -> None:
    tools = Tools()
    tools.put("notes/deploy", "The deploy key is rotated every month.")
    tools.put("notes/other", "Nothing to see.")

    answer = tools("search", "notes/", query="when is the key for deploy rotated")

    assert answer.startswith(
        '1 match for "when is the key for deploy rotated" under context://notes/:'
    )
    assert "- context://notes/deploy: " in answer


def test_hits_come_in_pages_that_say_how_to_go_on() -> None:
    tools = Tools(search_hits=2)
    for n in range(5):
        tools.put(f"notes/n{n}", f"hit {n}")
    seen: list[str] = []
    address = "notes/"

    while True:
        answer = tools("search", address, query="hit")
        seen += [line for line in answer.splitlines() if line.startswith("- ")]
        if "There are" not in answer:
            break
        address = answer.split("search ")[-1].split(" for the next")[0]

    assert len({line.split(": ")[0] for line in seen}) == 5


def test_a_path_is_a_prefix() -> None:
    tools = Tools()
    tools.put("notes/plan", "word")
    tools.put("notes/planets/mars", "word")
    tools.put("notes/other", "word")

    assert tools("search", "notes/pl", query="word").startswith("2 matches")


def test_a_hit_in_an_archived_span_names_the_message() -> None:
    tools = Tools()
    span = [Message.user("hello"), Message.assistant("the launch code is tangerine")]
    uri = tools.offloader.keep_sync(serialize_span(span))

    answer = tools("search", "vfs/", query="tangerine")

    assert f"- {uri}#L6 (message 2, assistant): " in answer
    assert tools("view", f"{uri}#L6-L7").startswith("assistant:\nthe launch code is tangerine")


def test_scanning_matches_letter_by_letter_in_the_order_of_the_listing() -> None:
    tools = Tools(search="scan")
    tools.put("notes/z", "a" * 60 + " NEEDLE " + "b" * 60)
    tools.put("notes/needle-in-name", "nothing here")
    tools.put("notes/m", "x\n\n\tneedle\n  y")

    assert tools("search", "notes/", query="needle") == (
        '2 matches for "needle" under context://notes/:\n'
        f"- context://notes/z: …{'a' * 39} NEEDLE {'b' * 39}…\n"
        "- context://notes/m: x needle y"
    )
    assert tools("search", "notes/", query=".*").startswith("No matches")


def test_a_snippet_is_where_the_match_is_whatever_lower_case_does_to_lengths() -> None:
    tools = Tools(search="scan")
    tools.put("notes/t", "İ" * 50 + " target and more text behind it, long enough to be cut")

    assert " target and more" in tools("search", "notes/", query="TARGET")


def test_scanning_says_how_many_are_left() -> None:
    tools = Tools(search="scan", search_hits=2)
    for n in range(5):
        tools.put(f"notes/n{n}", f"hit {n}")

    assert "[There are 3 more." in tools("search", "notes/", query="hit")
    assert "[There are 1 more." in tools("search", "notes/#L3", query="hit")


def test_a_search_does_not_count_as_use() -> None:
    tools = Tools()
    tools.offloader.offload_sync("hello world")
    before = tools.offloader.get_entries()
    tools.clock.now += 100

    tools("search", "vfs/", query="hello")

    assert tools.offloader.get_entries() == before


def test_memory_is_searched_by_value_and_description() -> None:
    tools = Tools()
    tools.memory.set_sync("lang", "python", description="the main language")
    tools.memory.set_sync("db", "postgres")

    assert "context://memory/lang" in tools("search", "memory/", query="main language")
    assert "context://memory/db" in tools("search", "memory/d", query="postgres")
    assert tools("search", "memory/x", query="postgres").startswith("No matches")


def test_a_blank_query_is_refused() -> None:
    for query in ("", "  ", None):
        assert "`query` is missing" in Tools()("search", "notes/", query=query)


def test_a_query_as_long_as_a_text_is_cut_and_said_so() -> None:
    tools = Tools()
    tools.put("notes/a", "tangerine")

    for query in ("tangerine " * 60_000, "x" * 300_000):
        answer = tools("search", "notes/", query=query)
        assert len(answer) < 1_000
        assert "Only the first 2000 of" in answer
    assert "context://notes/a" in tools("search", "notes/", query="tangerine " * 60_000)
