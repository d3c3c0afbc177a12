"""Many processes change the same two entries at once; nothing may be lost.

    python -m tests.persistence.races --processes 8 --edits 1000

Each process adds one to a counter by read-modify-write (compare and swap) and a line to a log, so
often. Prints one line per backend; exit code 1 when a change was lost.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from context_chef.persistence import FileSystemBackend, SQLiteBackend, Store, StoredEntry


def opened(name: str, place: str) -> Any:
    if name == "files":
        return FileSystemBackend(Path(place) / "files", lock_timeout=300)
    return SQLiteBackend(Path(place) / "store.db", busy_timeout=300)


def edit(name: str, place: str, edits: int, number: int) -> None:
    view = Store(opened(name, place)).namespace("notes")
    for turn in range(edits):
        view.update_sync("counter", one_more)
        view.append_sync("log", f"{number}.{turn}\n")


def one_more(entry: StoredEntry | None) -> StoredEntry:
    return StoredEntry(content=str(1 + int(entry.content if entry else "0")))


def race(name: str, place: str, processes: int, edits: int) -> list[str]:
    """What was lost, one sentence each."""
    context = multiprocessing.get_context("spawn")
    workers = [
        context.Process(target=edit, args=(name, place, edits, number))
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lost = [f"a process ended with {worker.exitcode}" for worker in workers if worker.exitcode]
    backend = opened(name, place)
    counter, log = backend.read("notes", "counter"), backend.read("notes", "log")
    if counter is None or int(counter.content) != processes * edits:
        lost.append(f"the counter is at {counter and counter.content}, not {processes * edits}")
    lines = log.content.splitlines() if log else []
    wanted = {f"{number}.{turn}" for number in range(processes) for turn in range(edits)}
    if len(lines) != len(wanted) or set(lines) != wanted:
        lost.append(f"the log has {len(lines)} lines, not {len(wanted)}")
    return lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--edits", type=int, default=1000)
    parser.add_argument("--backend", choices=("files", "sqlite"), action="append")
    options = parser.parse_args()
    failed = False
    for name in options.backend or ("files", "sqlite"):
        with tempfile.TemporaryDirectory() as place:
            started = time.perf_counter()
            lost = race(name, place, options.processes, options.edits)
            seconds = time.perf_counter() - started
            failed = failed or bool(lost)
            print(
                f"{name}: {options.processes} processes x {options.edits} swaps and appends, "
                f"{len(lost)} faults, {seconds:.0f} s, "
                f"{2 * options.processes * options.edits / seconds:.0f} changes a second"
            )
            print("\n".join(lost), end="\n" if lost else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
