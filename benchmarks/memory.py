"""What a chef keeps of a transcript: bytes after a compile and its bytes, against the texts.

    python -m benchmarks.memory [--sizes 100,737,2000,10000] [--json]

The caller's own list is made before the measurement begins. The texts themselves are shared with
it, so they are counted once, as the transcript's bytes, and what the chef adds is told beside them.
"""

from __future__ import annotations

import argparse
import gc
import json
import tracemalloc

from benchmarks.compile import MODELS, SIZES, chef_of
from benchmarks.histories import next_rows, rows
from benchmarks.measuring import machine


def kept(size: int, *, targets: tuple[str, ...]) -> dict[str, float]:
    """Bytes that one chef holds, the payload being gone."""
    history = rows(size)
    text = sum(len(json.dumps(row, ensure_ascii=False).encode()) for row in history)
    warm = chef_of().set_history(history[:2])
    warm.compile_sync("openai").to_json()  # whatever is loaded once
    gc.collect()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    chef = chef_of().set_history(history)
    for target in targets:
        chef.compile_sync(target, model=MODELS[target]).to_json()
    for row in next_rows(4):
        chef.append(row)
        for target in targets:
            chef.compile_sync(target, model=MODELS[target]).to_json()
    gc.collect()
    now, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    added = now - before
    return {"messages": size, "bytes": text, "added": added, "times": (text + added) / text}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [
        {"targets": ", ".join(targets), **kept(int(size), targets=targets)}
        for targets in (("openai",), ("openai", "anthropic"))
        for size in options.sizes.split(",")
    ]
    if options.json:
        print(json.dumps({"machine": machine(), "kept": found}, indent=1))
        return
    print(machine())
    for each in found:
        print(
            f"{each['targets']:20} {each['messages']:6} messages {each['bytes']:10} bytes, "
            f"with the chef {each['times']:.2f} times as much"
        )


if __name__ == "__main__":
    main()
