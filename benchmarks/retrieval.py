"""How often `search` finds the evidence, given the question: on QMSum and on BFCL memory.

    python -m benchmarks.retrieval

The words of real meetings and conversations are stored as archived spans, one a meeting or
conversation; a hit is the message that holds the answer. Compared with plain BM25 over the same
messages (lower-cased words, no splitting, no stemming), and with looking for the query as a
substring, whole or word by word. Reads the shared data; `CONTEXT_CHEF_DATA` says where it is.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from context_chef.persistence import InMemoryBackend, SQLiteBackend, Store

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")

Place: TypeAlias = tuple[str, int]
"""A span and the position of a message in it."""
Search: TypeAlias = Callable[[str, str, int], Sequence[Place]]
"""Query, span to keep to or "", how many: the best places."""


class Question(NamedTuple):
    text: str
    within: str
    evidence: frozenset[Place]


class Corpus(NamedTuple):
    name: str
    spans: dict[str, list[dict[str, str]]]
    questions: list[Question]


def qmsum() -> Corpus:
    """Meetings, and questions about a part of one of them."""
    spans: dict[str, list[dict[str, str]]] = {}
    questions: list[Question] = []
    for number, line in enumerate((DATA / "qmsum/val-9.jsonl").read_text("utf-8").splitlines()):
        meeting, name = json.loads(line), f"meeting{number}"
        spans[name] = [
            {"role": "user", "content": f"{turn['speaker']}: {turn['content']}"}
            for turn in meeting["meeting_transcripts"]
        ]
        for query in meeting["specific_query_list"]:
            evidence = {
                (name, turn)
                for first, last in query["relevant_text_span"]
                for turn in range(int(first), int(last) + 1)
            }
            questions.append(Question(query["query"], name, frozenset(evidence)))
    return Corpus("qmsum", spans, questions)


def bfcl(scenario: str) -> Corpus:
    """What one user said in many conversations, and questions about single facts of it."""
    source = json.loads((DATA / f"bfcl_memory/{scenario}.json").read_text("utf-8"))
    spans = {
        conversation["id"]: [turn for turns in conversation["question"] for turn in turns]
        for conversation in source["conversations"]
    }
    messages = {
        (name, at): set(re.findall(r"\w+", turn["content"].lower()))
        for name, turns in spans.items()
        for at, turn in enumerate(turns)
    }
    questions: list[Question] = []
    for row in source["questions"]:
        said = set(re.findall(r"\w+", row["said"].lower()))
        # The quotation is shortened and patched, so the messages that hold most of it are meant.
        share = {place: len(said & words) / len(said) for place, words in messages.items()}
        best = max(share.values())
        if best >= 0.8:
            evidence = frozenset(place for place in share if share[place] >= best - 1e-9)
            questions.append(Question(row["question"][0][0]["content"], "", evidence))
    return Corpus(f"bfcl {scenario}", spans, questions)


def stored(corpus: Corpus, backend: Any) -> Search:
    view = Store(backend).namespace("vfs")
    for name, messages in corpus.spans.items():
        view.put_sync(name, json.dumps({"version": 1, "messages": messages}))

    def search(query: str, within: str, count: int) -> Sequence[Place]:
        hits = view.search_sync(query, prefix=within, limit=count)
        return [(hit.path, hit.message or 0) for hit in hits]

    return search


def plain_bm25(corpus: Corpus) -> Search:
    words = {
        (name, at): Counter(re.findall(r"\w+", message["content"].lower()))
        for name, messages in corpus.spans.items()
        for at, message in enumerate(messages)
    }

    def search(query: str, within: str, count: int) -> Sequence[Place]:
        scope = {place: seen for place, seen in words.items() if place[0].startswith(within)}
        average = sum(sum(seen.values()) for seen in scope.values()) / len(scope)
        terms = set(re.findall(r"\w+", query.lower()))
        holding = {term: sum(term in seen for seen in scope.values()) for term in terms}

        def score(place: Place) -> float:
            seen, total = scope[place], 0.0
            norm = 1.5 * (0.25 + 0.75 * sum(seen.values()) / average)
            for term in terms:
                if times := seen[term]:
                    rare = math.log(1 + (len(scope) - holding[term] + 0.5) / (holding[term] + 0.5))
                    total += rare * times * 2.5 / (times + norm)
            return total

        return sorted(scope, key=lambda place: -score(place))[:count]

    return search


def substring(corpus: Corpus, *, every_word: bool) -> Search:
    def search(query: str, within: str, count: int) -> Sequence[Place]:
        needles = re.findall(r"\w{3,}", query.lower()) if every_word else [query.lower()]
        return [
            (name, at)
            for name, messages in corpus.spans.items()
            if name.startswith(within)
            for at, message in enumerate(messages)
            if any(needle in message["content"].lower() for needle in needles)
        ][:count]

    return search


def hits_at(search: Search, questions: Sequence[Question], count: int) -> float:
    found = sum(
        bool(question.evidence & set(search(question.text, question.within, count)))
        for question in questions
    )
    return 100 * found / len(questions)


def main() -> int:
    if not DATA.is_dir():
        print("The shared data is absent; set CONTEXT_CHEF_DATA to its folder.", file=sys.stderr)
        return 2
    corpora = [qmsum(), *(bfcl(name) for name in ("customer", "healthcare", "notetaker"))]
    print(f"{'corpus':18}{'questions':>10}  {'system':28}{'hit@5':>7}{'hit@10':>8}")
    totals: dict[str, list[tuple[int, float, float]]] = {}
    for corpus in corpora:
        with tempfile.TemporaryDirectory() as place:
            systems = {
                "search, in memory": stored(corpus, InMemoryBackend()),
                "search, SQLite": stored(corpus, SQLiteBackend(Path(place) / "store.db")),
                "plain BM25": plain_bm25(corpus),
                "substring, any word": substring(corpus, every_word=True),
                "substring, whole query": substring(corpus, every_word=False),
            }
            for name, search in systems.items():
                five = hits_at(search, corpus.questions, 5)
                ten = hits_at(search, corpus.questions, 10)
                size = len(corpus.questions)
                totals.setdefault(name, []).append((size, five, ten))
                print(f"{corpus.name:18}{size:>10}  {name:28}{five:>7.1f}{ten:>8.1f}")
    for name, rows in totals.items():
        size = sum(row[0] for row in rows)
        five, ten = (sum(row[0] * row[at] for row in rows) / size for at in (1, 2))
        print(f"{'all':18}{size:>10}  {name:28}{five:>7.1f}{ten:>8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
