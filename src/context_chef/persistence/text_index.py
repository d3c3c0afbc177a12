"""TextIndex: ranked full-text search over the entries of a SQLite database."""

from __future__ import annotations

import heapq
import math
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from context_chef.patterns import regex
from context_chef.persistence.backend import SearchHit, sendable
from context_chef.persistence.given import LONGEST_QUERY
from context_chef.persistence.layouts import load_meta
from context_chef.persistence.passages import passages_of, snippet_of
from context_chef.persistence.words import WordSplitter, needles_of, query_words

INDEX_VERSION: Final = 1
"""Counts up whenever words or passages are made differently; the index is then built anew."""

ENTRIES: Final = (
    "CREATE TABLE entries (id INTEGER PRIMARY KEY, ns TEXT NOT NULL, path TEXT NOT NULL, "
    "content TEXT NOT NULL, meta TEXT NOT NULL, UNIQUE (ns, path))",
)
INDEX: Final = (
    "CREATE TABLE pending (entry INTEGER PRIMARY KEY)",
    "INSERT INTO pending SELECT id FROM entries",
    "CREATE TABLE passages (id INTEGER PRIMARY KEY, entry INTEGER NOT NULL, "
    "line INTEGER NOT NULL, message INTEGER, role TEXT, length INTEGER NOT NULL, text TEXT, "
    "words TEXT NOT NULL)",
    "CREATE INDEX passages_of_entry ON passages (entry)",
    "CREATE VIRTUAL TABLE ranked USING fts5 "
    "(words, tokenize = 'ascii', content = 'passages', content_rowid = 'id')",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab ('ranked', 'row')",
    "CREATE VIRTUAL TABLE grams USING fts5 "
    "(text, tokenize = 'trigram', detail = 'none', content = '')",
    "CREATE TABLE totals (passages INTEGER NOT NULL, words INTEGER NOT NULL)",
    "INSERT INTO totals VALUES (0, 0)",
)
"""What the index keeps beside the entries. All of it can be made anew from them."""
INDEX_TABLES: Final = ("vocabulary", "ranked", "grams", "passages", "totals", "pending")

_K1: Final = 1.2
_B: Final = 0.4
"""Less than usual, because passages are of a bounded length anyway."""
_COVERAGE: Final = 0.4
"""How much of a score depends on how many of the query's words are there."""
_SMALL: Final = 1_000
"""So many passages are all scored; of more, those with the rarer words of the query are."""
_ENOUGH: Final = 2_000
"""Postings read for one query, about: this bounds the time a search takes."""
_MAX_LIMIT: Final = 1_000


class _Candidate(NamedTuple):
    id: int
    entry: int
    path: str
    message: int | None
    length: int
    words: str


class TextIndex:
    """Ranks passages by BM25 over split words, and finds what words cannot by its trigrams.

    Lives in the database of the entries and sees them through the caller's transaction. An entry
    that is new or changed is indexed by `catch_up`, so that many writes cost one round of indexing.
    """

    def __init__(self) -> None:
        self._splitter = WordSplitter()
        self._frequencies: dict[str, int] = {}
        self._counted_at = 0

    def changed(self, db: sqlite3.Connection, entry: int) -> None:
        """Note that an entry is new, or has another content since it was forgotten."""
        db.execute("INSERT OR IGNORE INTO pending VALUES (?)", (entry,))

    def forget(self, db: sqlite3.Connection, entry: int, content: object) -> None:
        """Take an entry out, before its row changes. `content` is what the row still holds."""
        if db.execute("DELETE FROM pending WHERE entry = ?", (entry,)).rowcount:
            return
        rows = db.execute("SELECT id, length, text, words FROM passages WHERE entry = ?", (entry,))
        gone = rows.fetchall()
        for row, _, text, words in gone:
            db.execute(
                "INSERT INTO ranked (ranked, rowid, words) VALUES ('delete', ?, ?)", (row, words)
            )
            whole = content if text is None else text
            # Of a damaged row nobody knows what it held; its trigrams then lead to no passage.
            if isinstance(whole, str):
                db.execute(
                    "INSERT INTO grams (grams, rowid, text) VALUES ('delete', ?, ?)", (row, whole)
                )
        db.execute("DELETE FROM passages WHERE entry = ?", (entry,))
        _count(db, -len(gone), -sum(length for _, length, _, _ in gone))

    def behind(self, db: sqlite3.Connection) -> bool:
        """Whether some entry is not indexed yet."""
        return db.execute("SELECT 1 FROM pending LIMIT 1").fetchone() is not None

    def catch_up(self, db: sqlite3.Connection, limit: int) -> int:
        """Index up to `limit` entries that are not yet; answers how many there were."""
        rows = db.execute(
            "SELECT e.id, e.content FROM pending JOIN entries e ON e.id = pending.entry "
            "ORDER BY e.id LIMIT ?",
            (limit,),
        ).fetchall()
        passages, length = 0, 0
        for entry, content in rows:
            # A damaged row has nothing that could be found.
            for passage in passages_of(content) if isinstance(content, str) else ():
                words = self._splitter.words_of(passage.text)
                whole = passage.text == content
                row = db.execute(
                    "INSERT INTO passages (entry, line, message, role, length, text, words) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (
                        entry,
                        passage.line,
                        passage.message,
                        passage.role,
                        len(words),
                        None if whole else passage.text,
                        joined := _joined(words),
                    ),
                ).lastrowid
                db.execute("INSERT INTO ranked (rowid, words) VALUES (?, ?)", (row, joined))
                db.execute("INSERT INTO grams (rowid, text) VALUES (?, ?)", (row, passage.text))
                passages += 1
                length += len(words)
            db.execute("DELETE FROM pending WHERE entry = ?", (entry,))
        _count(db, passages, length)
        return len(rows)

    def search(
        self, db: sqlite3.Connection, ns: str, query: str, *, prefix: str, limit: int, offset: int
    ) -> Sequence[SearchHit]:
        """The best hits: one an entry, or one a message where the entry is an archived span."""
        query = sendable(query[:LONGEST_QUERY])
        limit, offset = min(max(limit, 0), _MAX_LIMIT), max(offset, 0)
        needed = limit + offset
        if not limit or not query.strip():
            return []
        scope = _Scope(ns, prefix)
        ranked = self._ranked(db, scope, query_words(query), needed)
        if len(ranked) < needed:
            known = {(hit.entry, hit.message) for hit, _ in ranked}
            ranked += [
                (hit, 0.0)
                for hit in _containing(db, scope, query.strip(), needed)
                if (hit.entry, hit.message) not in known
            ]
            ranked = _one_each(ranked)
        needles = needles_of(query)
        hits = [_hit(db, candidate, score, needles) for candidate, score in ranked[offset:needed]]
        return [hit for hit in hits if hit is not None]

    def _ranked(
        self, db: sqlite3.Connection, scope: _Scope, terms: Sequence[str], needed: int
    ) -> list[tuple[_Candidate, float]]:
        if not terms:
            return []
        small = _small_scope(db, scope)
        if small is not None:
            return _scored_alone(small, terms, max(200, needed * 4))
        count, words = db.execute("SELECT passages, words FROM totals").fetchone()
        frequencies = self._document_frequencies(db, terms, count)
        known = sorted((term for term in terms if frequencies[term]), key=frequencies.__getitem__)
        if not known:
            return []
        candidates = self._candidates(db, scope, known, frequencies, needed)
        return _scored(candidates, known, frequencies, count, words / max(count, 1))

    def _candidates(
        self,
        db: sqlite3.Connection,
        scope: _Scope,
        terms: Sequence[str],
        frequencies: Mapping[str, int],
        needed: int,
    ) -> Sequence[_Candidate]:
        """Passages worth scoring. `terms` come rarest first."""
        chosen, postings = [terms[0]], frequencies[terms[0]]
        for term in terms[1:]:
            if postings + frequencies[term] > _ENOUGH:
                break
            chosen.append(term)
            postings += frequencies[term]
        wanted = max(60, needed * 3)
        if postings <= _ENOUGH:
            rows = self._best(db, scope, _any_of(chosen), wanted, postings)
        else:
            # Every word of the query is common: passages with all of them first.
            rows = self._newest(db, scope, " AND ".join(f'"{term}"' for term in terms), wanted)
        if len(rows) < needed and (len(chosen) < len(terms) or postings > _ENOUGH):
            rows += self._newest(db, scope, _any_of(terms), wanted)
        return list({row[0]: _Candidate(*row) for row in rows}.values())

    def _best(
        self, db: sqlite3.Connection, scope: _Scope, match: str, wanted: int, postings: int
    ) -> list[Any]:
        """The passages that rank best. A scope is applied afterwards, unless it takes too many."""
        for ranked in (wanted * 2, postings):
            rows = db.execute(
                f"SELECT {_COLUMNS} {_RANKED} LIMIT ?", (match, ranked, *scope.bounds, wanted)
            ).fetchall()
            if len(rows) >= wanted or ranked >= postings:
                return rows
        return []

    def _newest(self, db: sqlite3.Connection, scope: _Scope, match: str, wanted: int) -> list[Any]:
        return db.execute(
            f"SELECT {_COLUMNS} {_NEWEST} LIMIT ?",
            (match, _ENOUGH * 5, *scope.bounds, wanted),
        ).fetchall()

    def _document_frequencies(
        self, db: sqlite3.Connection, terms: Sequence[str], count: int
    ) -> dict[str, int]:
        """How many passages hold each term. Counting a common one is slow, so it is remembered."""
        if abs(count - self._counted_at) > self._counted_at // 20:
            self._frequencies.clear()
            self._counted_at = count
        found: dict[str, int] = {}
        for term in terms:
            known = self._frequencies.get(term)
            if known is None:
                row = db.execute("SELECT doc FROM vocabulary WHERE term = ?", (term,)).fetchone()
                known = 0 if row is None else int(row[0])
                if known > _SMALL and len(self._frequencies) < 10_000:
                    self._frequencies[term] = known
            found[term] = known
        return found


def _small_scope(db: sqlite3.Connection, scope: _Scope) -> list[Any] | None:
    """Every passage of the scope, or None when they are too many to look at each."""
    (entries,) = db.execute(
        f"SELECT count(*) FROM (SELECT 1 FROM entries e WHERE {_WITHIN} LIMIT {_SMALL + 1})",
        scope.bounds,
    ).fetchone()
    if entries > _SMALL:
        return None
    rows = db.execute(f"SELECT {_COLUMNS} {_SCOPED} LIMIT {_SMALL + 1}", scope.bounds).fetchall()
    return rows if len(rows) <= _SMALL else None


def _scored_alone(
    rows: Sequence[Any], terms: Sequence[str], wanted: int
) -> list[tuple[_Candidate, float]]:
    """Score the passages of a small scope by what is rare in that scope."""
    apart = [(term, f" {term} ") for term in terms]
    frequencies = dict.fromkeys(terms, 0)
    holding: list[tuple[Any, list[str]]] = []
    for row in rows:
        words = row[5]
        held = [term for term, sought in apart if sought in words]
        if held:
            holding.append((row, held))
            for term in held:
                frequencies[term] += 1
    if len(holding) > wanted:
        # Which words are there bounds the score; how often they are decides among the best.
        weights = {term: _weight(len(rows), seen) for term, seen in frequencies.items()}
        holding = heapq.nlargest(
            wanted, holding, key=lambda found: sum([weights[term] for term in found[1]])
        )
    candidates = [_Candidate(*row) for row, _ in holding]
    length = sum([row[4] for row in rows])
    return _scored(candidates, terms, frequencies, len(rows), length / max(len(rows), 1))


def _weight(count: int, frequency: int) -> float:
    """How much a word tells that so many of `count` passages hold."""
    return math.log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def _scored(
    candidates: Sequence[_Candidate],
    terms: Sequence[str],
    frequencies: Mapping[str, int],
    count: int,
    average: float,
) -> list[tuple[_Candidate, float]]:
    """BM25, and a little more for passages that answer more of the query."""
    weights = [
        (f" {term} ", _weight(count, frequencies[term])) for term in terms if frequencies[term]
    ]
    possible = sum(weight for _, weight in weights)
    scored: list[tuple[_Candidate, float]] = []
    for candidate in candidates:
        words = candidate.words
        norm = _K1 * (1 - _B + _B * candidate.length / max(average, 1.0))
        score, covered = 0.0, 0.0
        for sought, weight in weights:
            if times := words.count(sought):
                score += weight * times * (_K1 + 1) / (times + norm)
                covered += weight
        if score:
            share = 1 - _COVERAGE + _COVERAGE * covered / possible
            scored.append((candidate, score * share))
    scored.sort(key=_best_first)
    return _one_each(scored)


def _joined(words: Sequence[str]) -> str:
    """The words, each with blanks of its own, so that ` word ` can be counted in the text."""
    return f" {'  '.join(words)} "


def _any_of(terms: Sequence[str]) -> str:
    return " OR ".join(f'"{term}"' for term in terms)


class _Scope:
    """Where to search: a namespace, and in it the paths that begin with a prefix."""

    def __init__(self, ns: str, prefix: str) -> None:
        self.bounds = (ns, prefix, after_prefix(prefix))


def after_prefix(prefix: str) -> str:
    """A bound above every text that begins with `prefix`, in code-point order."""
    return prefix + "\U0010ffff" * 4


_UNINDEXED: Final = "FROM entries e WHERE NOT EXISTS (SELECT 1 FROM indexed i WHERE i.entry = e.id)"
_COLUMNS: Final = "p.id, p.entry, e.path, p.message, p.length, p.words"
_WITHIN: Final = "e.ns = ? AND e.path >= ? AND e.path <= ?"
_SCOPED: Final = f"FROM entries e JOIN passages p ON p.entry = e.id WHERE {_WITHIN}"
_RANKED: Final = (
    "FROM (SELECT rowid AS found, rank AS worse FROM ranked WHERE ranked MATCH ? "
    "ORDER BY rank LIMIT ?) JOIN passages p ON p.id = found JOIN entries e ON e.id = p.entry "
    f"WHERE {_WITHIN} ORDER BY worse"
)
_NEWEST: Final = (
    "FROM (SELECT rowid AS found FROM ranked WHERE ranked MATCH ? ORDER BY rowid DESC LIMIT ?) "
    f"JOIN passages p ON p.id = found JOIN entries e ON e.id = p.entry WHERE {_WITHIN}"
)


def _containing(db: sqlite3.Connection, scope: _Scope, text: str, needed: int) -> list[_Candidate]:
    """Passages that hold the very text, whatever its case: the words' safety net."""
    columns = "p.id, p.entry, e.path, p.message, p.length, coalesce(p.text, e.content)"
    grams = [text[at : at + 3] for at in range(len(text) - 2)]
    quoted = [
        '"{}"'.format(gram.replace('"', '""')) for gram in dict.fromkeys(grams) if "\0" not in gram
    ]
    if quoted:
        rows = db.execute(
            f"SELECT {columns} FROM (SELECT rowid AS found FROM grams WHERE grams MATCH ? LIMIT ?) "
            f"JOIN passages p ON p.id = found JOIN entries e ON e.id = p.entry WHERE {_WITHIN}",
            (" AND ".join(quoted), _ENOUGH, *scope.bounds),
        )
    else:
        # Too short for trigrams; a bounded look at what is there has to do.
        rows = db.execute(f"SELECT {columns} {_SCOPED} LIMIT ?", (*scope.bounds, _ENOUGH * 2))
    sought = text.lower()
    # Damaged content is no text.
    found = [
        _Candidate(*row) for row in rows if isinstance(row[5], str) and sought in row[5].lower()
    ]
    found.sort(key=lambda candidate: (candidate.path, candidate.id))
    return found[: needed * 2]


def _one_each(ranked: list[tuple[_Candidate, float]]) -> list[tuple[_Candidate, float]]:
    """The best passage of every entry, or of every message of a span."""
    seen: set[tuple[int, int | None]] = set()
    kept: list[tuple[_Candidate, float]] = []
    for candidate, score in ranked:
        key = (candidate.entry, candidate.message)
        if key not in seen:
            seen.add(key)
            kept.append((candidate, score))
    return kept


def _best_first(item: tuple[_Candidate, float]) -> tuple[float, str, int]:
    """Equal scores in code-point order of the path, so that an answer is always the same."""
    return (-round(item[1], 9), item[0].path, item[0].id)


def _hit(
    db: sqlite3.Connection, candidate: _Candidate, score: float, needles: list[str]
) -> SearchHit | None:
    """None where the row was damaged since it was indexed."""
    row = db.execute(
        "SELECT coalesce(p.text, e.content), e.meta, p.line, p.message, p.role "
        "FROM passages p JOIN entries e ON e.id = p.entry WHERE p.id = ?",
        (candidate.id,),
    ).fetchone()
    text, meta, line, message, role = row
    known = load_meta(meta)
    if known is None or not isinstance(text, str):
        return None
    snippet, within = snippet_of(text, needles)
    return SearchHit(
        path=candidate.path,
        meta=known,
        snippet=snippet,
        score=score,
        line=line + within - 1,
        message=message,
        role=role,
    )


def _count(db: sqlite3.Connection, passages: int, words: int) -> None:
    db.execute("UPDATE totals SET passages = passages + ?, words = words + ?", (passages, words))


_SURROGATES: Final = regex("[\ud800-\udfff]|\ufffd(?=\0)")
_ESCAPED: Final = regex("\ufffd\0([0-9a-f]{4})")


def column_text(path: str) -> str:
    """A path as SQLite can hold it: halves of surrogate pairs are spelled out."""
    return _SURROGATES.sub(lambda found: f"\ufffd\0{ord(found[0]):04x}", path)


def path_in_column(text: str) -> str:
    """The path that `column_text` was given."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
