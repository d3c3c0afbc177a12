"""Kill a writer at random instants and look whether anything it was promised is missing.

    python -m tests.persistence.crashes --rounds 500 --backend sqlite

Each round forks a writer, which reports every write that returned, kills it with SIGKILL after a
random moment, opens the store again and checks it. Prints one line per backend; exit code 1 when
something was lost or torn.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import filelock  # noqa: F401 - the writers are to spend their short lives writing

from context_chef.persistence import FileSystemBackend, SQLiteBackend, Store, StoredEntry

KEYS = 12


def sealed(sequence: int, chance: random.Random) -> str:
    """A text that shows whether it is whole: its number, its filling, and a digest of both."""
    body = f"{sequence}:{'x' * chance.choice((10, 3_000, 40_000))}"
    return f"{body}:{hashlib.sha256(body.encode()).hexdigest()}"


def sequence_of(content: str) -> int:
    """The number in a sealed text. Raises ValueError when the text is not whole."""
    body, _, digest = content.rpartition(":")
    if hashlib.sha256(body.encode()).hexdigest() != digest:
        raise ValueError(f"torn: {content[:40]!r}…")
    return int(body.partition(":")[0])


def write_for_ever(backend: Any, first: int, report: int, seed: int) -> None:
    """Write, append and swap without end, reporting each change after it returned."""
    chance = random.Random(seed)
    view = Store(backend).namespace("notes")
    sequence = first
    while True:
        sequence += 1
        key = f"k{chance.randrange(KEYS)}"
        if sequence % 3 == 0:
            view.append_sync("log", f"{sequence}\n")
            key = "log"
        elif sequence % 3 == 1:
            view.put_sync(key, sealed(sequence, chance))
        else:
            text = sealed(sequence, chance)
            view.update_sync(key, lambda _, text=text: StoredEntry(content=text))
        os.write(report, f"{key} {sequence}\n".encode())


def one_round(
    opener: Callable[[], Any], acknowledged: dict[str, int], log: list[int], seed: int
) -> None:
    """Fork a writer, kill it, and note what it had reported by then."""
    # Numbers of one round never come again, not even those that were written and not reported.
    first = seed * 100_000
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_for_ever(opener(), first, writing, seed)
    os.close(writing)
    if seed % 4:
        # On a busy machine a writer would else be killed before it has promised anything.
        select.select([reading], [], [], 30)
    time.sleep(random.Random(seed).uniform(0.0, 0.12))
    os.kill(child, signal.SIGKILL)
    with open(reading, "rb") as pipe:
        reported = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    for line in reported:
        key, sequence = line.split()
        if key == "log":
            log.append(int(sequence))
        else:
            acknowledged[key] = int(sequence)


def check(backend: Any, acknowledged: dict[str, int], log: list[int]) -> list[str]:
    """What is wrong after a crash, one sentence each."""
    wrong: list[str] = []
    for key, sequence in acknowledged.items():
        entry = backend.read("notes", key)
        if entry is None:
            wrong.append(f"{key} is gone")
        elif sequence_of(entry.content) < sequence:
            wrong.append(f"{key} is older than what was acknowledged")
    entry = backend.read("notes", "log")
    lines = [int(line) for line in entry.content.splitlines()] if entry else []
    if lines != sorted(set(lines)) or not set(log) <= set(lines):
        wrong.append("the log lost or doubled a line")
    listed = {listed.path for listed in backend.list("notes")}
    if not set(acknowledged) <= listed or any("tmp" in path for path in listed):
        wrong.append("the listing is not what is stored")
    wrong += [fault for fault in backend.faults() if "left over" not in fault]
    return wrong


def run(name: str, place: Path, rounds: int, seed: int) -> tuple[int, list[str]]:
    """So many rounds on one store: how many writes were acknowledged, and what went wrong."""
    opener = {
        "files": lambda: FileSystemBackend(place / "files"),
        "sqlite": lambda: SQLiteBackend(place / "store.db"),
    }[name]
    acknowledged: dict[str, int] = {}
    log: list[int] = []
    total, wrong = 0, []
    for number in range(rounds):
        before = len(log)
        last = dict(acknowledged)
        one_round(opener, acknowledged, log, seed + number)
        total += len(log) - before + sum(last.get(key) != at for key, at in acknowledged.items())
        # Opened in a process of its own, as after a real crash, so that this one stays clean.
        wrong += [
            f"round {number}: {fault}" for fault in checked_elsewhere(opener, acknowledged, log)
        ]
        if wrong:
            break
    return total, wrong


def checked_elsewhere(
    opener: Callable[[], Any], acknowledged: dict[str, int], log: list[int]
) -> list[str]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            faults = check(opener(), acknowledged, log)
        except BaseException as error:  # noqa: BLE001 - whatever it is, the parent has to hear it
            faults = [repr(error)]
        os.write(writing, "\n".join(faults).encode()[:60_000])
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        found = pipe.read().decode().splitlines()
    os.waitpid(child, 0)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--backend", choices=("files", "sqlite"), action="append")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    failed = False
    for name in options.backend or ("files", "sqlite"):
        with tempfile.TemporaryDirectory() as place:
            started = time.perf_counter()
            total, wrong = run(name, Path(place), options.rounds, options.seed)
            failed = failed or bool(wrong) or not total
            print(
                f"{name}: {options.rounds} rounds, at least {total} acknowledged changes, "
                f"{len(wrong)} faults, {time.perf_counter() - started:.0f} s"
            )
            print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
