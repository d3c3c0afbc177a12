"""What the bytes of a request cost after one message was added, against `json.dumps` of the same.

python -m benchmarks.to_json [--sizes 100,737,2000,10000] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from benchmarks.compile import MODELS, SIZES, TARGETS, chef_of
from benchmarks.histories import Row, next_rows, rows
from benchmarks.measuring import Measured, as_json, machine, measured, note, show
from context_chef import ContextChef, Payload


def figures(sizes: Sequence[int], targets: Sequence[str]) -> list[Measured]:
    """The first bytes of a history, those after a change, and the encoders for comparison."""
    found: list[Measured] = []
    for size in sizes:
        note(f"{size} messages")
        history = rows(size)
        for target in targets:
            chef = chef_of().set_history(history)
            model = MODELS[target]
            first = chef.compile_sync(target, model=model)
            found.append(
                measured(
                    f"first to_json(), {target}", size, _bytes, runs=1, before=lambda f=first: f
                )
            )
            new = iter(next_rows(64))

            def one_more(
                chef: ContextChef = chef,
                new: Iterator[Row] = new,
                target: str = target,
                model: str = model,
            ) -> Payload:
                return chef.append(next(new)).compile_sync(target, model=model)

            found.append(
                measured(f"to_json() after a message, {target}", size, _bytes, before=one_more)
            )
            body = json.loads(one_more().to_json())
            whole = measured(
                f"json.dumps of the same, {target}", size, lambda _, b=body: json.dumps(b)
            )
            found.append(whole)
    return found


def _bytes(payload: Payload) -> bytes:
    return payload.to_json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    found = figures(sizes, options.targets.split(","))
    if options.json:
        print(as_json(found, machine=machine()))
        return
    print(machine())
    show(found)


if __name__ == "__main__":
    main()
