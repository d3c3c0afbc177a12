"""Search: what it finds, what it shows, and in which order."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef.persistence import InMemoryBackend, SearchHit, Store, StoredEntry, rank
from context_chef.persistence.given import LONGEST_QUERY
from context_chef.persistence.passages import passages_of, snippet_of
from context_chef.persistence.words import WordSplitter, query_words


def words_of(text: str) -> list[str]:
    return WordSplitter().words_of(text)


def found(texts: dict[str, str], query: str, **options: int) -> list[str]:
    entries = {path: StoredEntry(content=text) for path, text in texts.items()}
    return [hit.path for hit in rank(entries, query, **options)]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("def getUserById():", "user by id"),
        ("def get_user_by_id():", "getUserById"),
        ("HTTPServerError: boom", "server error"),
        ("raise TS2345 here", "ts2345"),
        ("see src/app/user_service.py:42", "user_service"),
        ("ECONNREFUSED 127.0.0.1:8080", "econnrefused"),
        ("the parties agreed", "party agreement"),
        ("Files were copied", "copying a file"),
        ("café crème", "cafe"),
        ("東京都に住んでいます", "東京"),
        ("部署流程文档", "流程"),
        ("한국어 검색", "검색"),
        ("สวัสดีครับ", "สวัสดี"),
        ("हिन्दी में खोज", "हिन्दी"),
        ("Привет, мир", "привет"),
        ("0xDEADBEEF at boot", "deadbeef"),
        ("prefixInfixSuffix", "fixInf"),
        ("a ﬁle with a ligature", "file"),
    ],
)
def test_a_text_is_found_by_what_people_ask(text: str, query: str) -> None:
    assert found({"noise": "nothing to see", "here": text}, query) == ["here"]


def test_words_of_identifiers_are_parts_and_whole() -> None:
    assert set(words_of("getHTTPResponse2")) >= {"get", "http", "2", "gethttpresponse2"}
    assert words_of("plain") == ["plain"]
    assert words_of("") == words_of("…—!") == []


def test_a_question_is_what_it_asks_about() -> None:
    assert query_words("What is the name of my cat?") == ["name", "cat"]
    assert query_words("what is it") != []


def test_the_rarer_word_weighs_more() -> None:
    texts = {f"n{number}": "deploy the service" for number in range(9)}

    assert found({**texts, "rare": "kerberos"}, "deploy kerberos")[0] == "rare"


def test_equal_answers_come_in_the_order_of_their_paths() -> None:
    texts = dict.fromkeys(("z", "a", "m"), "same words")

    assert found(texts, "same") == ["a", "m", "z"]
    assert found(texts, "same", limit=1, offset=1) == ["m"]
    assert found(texts, "same", limit=0) == found(texts, "same", offset=5) == []


def test_a_hit_in_a_long_text_says_the_line() -> None:
    text = "filler line\n" * 500 + "the needle\n" + "filler line\n" * 500
    (hit,) = rank({"log": StoredEntry(content=text)}, "needle")

    assert hit.line == 501
    assert hit.snippet is not None
    assert "needle" in hit.snippet


def test_an_archived_span_answers_message_by_message() -> None:
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "where is the apricot"}]},
        {"role": "assistant", "content": "in the fridge", "tool_calls": [
            {"id": "c1", "function": {"name": "open_fridge", "arguments": '{"door":"left"}'}}]},
        {"role": "tool", "content": "apricot, milk", "tool_call_id": "c1"},
    ]  # fmt: skip
    span = json.dumps({"version": 1, "messages": messages})
    entries = {"span": StoredEntry(content=span, meta={"createdAt": 1})}

    hits = rank(entries, "apricot")

    assert sorted((hit.path, hit.message, hit.role) for hit in hits) == [
        ("span", 0, "user"),
        ("span", 2, "tool"),
    ]
    assert [(hit.message, hit.role) for hit in rank(entries, "fridge door")] == [(1, "assistant")]
    assert rank(entries, "tool_call_id") == []


@pytest.mark.parametrize(
    "text",
    ['{"version":1,"messages":[5]}', '{"version":"1","messages":[]}', '{"messages":[', "[]"],
)
def test_what_only_looks_like_a_span_is_a_text(text: str) -> None:
    assert [(passage.text, passage.message) for passage in passages_of(text)] == [(text, None)]


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=5), max_size=3))
def test_a_snippet_is_one_short_line_of_whole_characters(text: str, words: list[str]) -> None:
    snippet, line = snippet_of(text, [word.lower() for word in words], width=60)

    assert len(snippet) <= 60
    assert "\n" not in snippet
    assert 1 <= line <= text.count("\n") + 1


@given(st.text(max_size=6000))
def test_passages_are_the_text_and_nothing_else(text: str) -> None:
    passages = list(passages_of(text))

    assert "".join(passage.text for passage in passages) == text
    for passage in passages:
        assert passage.line >= 1


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=5), st.text(max_size=30))
def test_no_query_raises_and_what_is_there_word_for_word_is_found(
    texts: list[str], query: str
) -> None:
    backend = InMemoryBackend()
    for number, text in enumerate(texts):
        backend.write("notes", str(number), StoredEntry(content=text))

    hits = {hit.path for hit in backend.search("notes", query, limit=50)}

    if query.strip() and query.isascii() and query.isprintable():
        literally = {
            str(number)
            for number, text in enumerate(texts)
            if text.isascii() and query.strip().lower() in text.lower()
        }
        assert literally <= hits


def test_of_a_very_long_query_only_the_first_part_is_searched_for() -> None:
    """A whole log as the query must not cost minutes; words behind the limit find nothing."""
    view = Store(InMemoryBackend()).namespace("notes")
    view.put_sync("early", "apricot")
    view.put_sync("late", "quince")
    query = "apricot " + "filler " * 85_000 + "quince"

    assert [hit.path for hit in view.search_sync(query)] == ["early"]
    assert [hit.path for hit in rank(view.entries_sync(), query)] == ["early"]


def test_a_backend_is_never_handed_a_query_without_end() -> None:
    class Asked(InMemoryBackend):
        def search(self, ns: str, query: str, **options: object) -> list[SearchHit]:  # type: ignore[override]
            assert len(query) == LONGEST_QUERY
            return []

    Store(Asked()).namespace("notes").search_sync("x" * 600_000)
