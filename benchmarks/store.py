"""How fast the stores are: puts against raw `sqlite3`, search over many entries, eviction.

    python -m benchmarks.store --entries 100000

Every put is its own durable transaction, in SQLite with `synchronous = FULL` on both sides. The
texts are drawn by Zipf's law from made-up words and identifiers, the queries from what was stored:
words, identifiers, parts of words, words that are nowhere. Figures are of one run on this machine.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import json
import random
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from context_chef.persistence import (
    FileSystemBackend,
    InMemoryBackend,
    SQLiteBackend,
    Store,
    StoredEntry,
)

SYLLABLES = re.findall("..", "bacedifoguhajekilomunaperisotuvawexiyozu")
COMMON = re.findall(
    r"\w+",
    "the of to and a in is it that for on was with as be by this are or from at not have an which "
    "but they you were all one can has more when will if no out file",
)


class Texts:
    """Texts of a fixed seed, and questions about them."""

    def __init__(self, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        words = ["".join(self._chance.choices(SYLLABLES, k=1 + at % 4)) for at in range(30_000)]
        for at in range(0, 30_000, 7):
            words[at] = f"{words[at]}_{words[at - 1]}" if at % 2 else f"{words[at]}Error{at}"
        words[: len(COMMON)] = COMMON
        self._words = words
        weights = itertools.accumulate(1 / (rank + 2) for rank in range(len(words)))
        self._steps = list(weights)

    def text(self, length: int) -> str:
        return " ".join(self._word() for _ in range(length))

    def question(self, text: str, number: int) -> str:
        words = text.split()
        if number % 10 == 0:
            return f"zzq{number}"
        if number % 10 == 1:
            return max(words, key=len)[1:-1]
        picked = self._chance.sample(words, self._chance.randint(2, 6))
        return " ".join(picked) if number % 2 else f"what is the {' '.join(picked)} for"

    def _word(self) -> str:
        at = self._chance.random() * self._steps[-1]
        return self._words[bisect.bisect(self._steps, at)]


def entries(count: int) -> Iterator[tuple[str, StoredEntry]]:
    texts = Texts()
    for number in range(count):
        meta = {"createdAt": 1_700_000_000_000 + number, "updatedAt": 1_700_000_000_000 + number}
        content = texts.text(20 + number % 80)
        yield f"dir{number % 100}/entry{number}", StoredEntry(content=content, meta=meta)


def raw_puts(file: Path, count: int) -> float:
    """Rows a second that `sqlite3` itself inserts, each in a transaction of its own."""
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, ns TEXT, path TEXT, content TEXT, "
        "meta TEXT, UNIQUE (ns, path))"
    )
    rows = [(path, entry.content, json.dumps(entry.meta)) for path, entry in entries(count)]
    started = time.perf_counter()
    for row in rows:
        db.execute("INSERT INTO entries (ns, path, content, meta) VALUES ('notes', ?, ?, ?)", row)
    rate = count / (time.perf_counter() - started)
    db.close()
    return rate


def puts(write: Callable[[str, str, StoredEntry], None], count: int) -> float:
    rows = list(entries(count))
    started = time.perf_counter()
    for path, entry in rows:
        write("notes", path, entry)
    return count / (time.perf_counter() - started)


def search_times(
    backend: SQLiteBackend | InMemoryBackend | FileSystemBackend, count: int
) -> list[float]:
    """Milliseconds of each of many searches, the first ones left out."""
    texts = Texts(seed=11)
    stored = [entry.content for _, entry in itertools.islice(entries(count), 0, count, 97)]
    times: list[float] = []
    for number in range(550):
        query = texts.question(stored[number % len(stored)], number)
        prefix = f"dir{number % 100}/" if number % 5 == 4 else ""
        started = time.perf_counter()
        backend.search("notes", query, prefix=prefix, limit=10)
        times.append((time.perf_counter() - started) * 1000)
    return times[50:]


def show(name: str, times: Sequence[float]) -> None:
    ordered = sorted(times)
    print(
        f"  {name:34} median {statistics.median(ordered):7.2f} ms   "
        f"p95 {ordered[len(ordered) * 95 // 100]:7.2f} ms   worst {ordered[-1]:7.2f} ms"
    )


def evictions(count: int) -> float:
    """Microseconds a victim when a namespace of so many entries is emptied by its cap."""
    view = Store(InMemoryBackend()).namespace("vfs")
    for number in range(count):
        view.put_sync(f"e{number}", "x")
    started = time.perf_counter()
    view.cleanup_sync(max_files=count // 2)
    return (time.perf_counter() - started) * 1e6 / (count - count // 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    count = parser.parse_args().entries
    small = max(count // 20, 1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        print(f"Puts, each durable ({count} entries, files {small}):")
        raw = raw_puts(place / "raw.db", count)
        sqlite = SQLiteBackend(place / "store.db")
        ours = puts(sqlite.write, count)
        print(f"  {'raw sqlite3 INSERT':34} {raw:9.0f} a second")
        share = f"({ours / raw:.2f} of raw)"
        print(f"  {'SQLiteBackend, indexing included':34} {ours:9.0f} a second {share}")
        files = FileSystemBackend(place / "files")
        print(f"  {'FileSystemBackend':34} {puts(files.write, small):9.0f} a second")
        memory = InMemoryBackend()
        print(f"  {'InMemoryBackend':34} {puts(memory.write, count):9.0f} a second")

        print("Search, 10 hits:")
        started = time.perf_counter()
        sqlite.search("notes", "warm", limit=1)
        print(f"  first search on SQLite {(time.perf_counter() - started) * 1000:.0f} ms")
        show(f"SQLite, {count} entries", search_times(sqlite, count))
        started = time.perf_counter()
        memory.search("notes", "warm", limit=1)
        print(f"  first search in memory, which indexes: {time.perf_counter() - started:.1f} s")
        show(f"in memory, {count} entries", search_times(memory, count))
        files.search("notes", "warm", limit=1)
        show(f"files, {small} entries", search_times(files, small))
        sizes = [(place / name).stat().st_size / 1e6 for name in ("raw.db", "store.db")]
        print(f"Size: raw table {sizes[0]:.0f} MB, with the search index {sizes[1]:.0f} MB")
        sqlite.close()
    print("Eviction, microseconds a victim:")
    for size in (1_000, 10_000, 100_000):
        print(f"  {size:>7} entries {evictions(size):7.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
