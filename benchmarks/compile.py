"""What a compile costs: from nothing, with one message more, with the whole list given again.

    python -m benchmarks.compile [--sizes 100,737,2000,10000] [--targets openai,anthropic] [--json]

Token counts are exact (o200k_base). In the same run and on the same histories: counting alone, and
`langchain_core.trim_messages` with its approximate counter, where it is installed.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.histories import SYSTEM, Row, next_rows, rows
from benchmarks.measuring import Measured, as_json, machine, measured, note, show
from context_chef import ContextChef, reset
from context_chef.selection.exact import exact_tokenizer

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")
MODELS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.8-flash",
}
SIZES = (100, 737, 2_000, 10_000)
ROOMY = 50_000_000


def chef_of(**settings: Any) -> ContextChef:
    """A chef that counts exactly, with room for everything."""
    janitor = {"context_window": ROOMY, "tokenizer": "o200k_base"}
    return ContextChef(**{"janitor": janitor, **settings}).set_system_prompt(SYSTEM)


def texts_of(history: Sequence[Row]) -> list[str]:
    """Everything in a history that has to be counted."""
    found: list[str] = []
    for row in history:
        found.append(row["content"])
        for call in row.get("tool_calls", ()):
            found += [call["function"]["name"], call["function"]["arguments"]]
    return found


def counting(history: Sequence[Row]) -> Measured:
    """The tokenizer alone on the texts of the history."""
    tokenizer = exact_tokenizer("o200k_base")
    texts = texts_of(history)
    return measured(
        "counting alone", len(history), lambda _: sum(map(tokenizer.count, texts)), runs=5
    )


def cold(history: list[Row], target: str) -> Measured:
    """A new chef, the history as plain dicts, a compile."""

    def work(chef: ContextChef) -> object:
        return chef.set_history(history).compile_sync(target, model=MODELS[target])

    return measured(f"cold, {target}", len(history), work, runs=5, before=chef_of)


def one_more(history: list[Row], target: str) -> Measured:
    """A warm chef, one message appended, a compile."""
    chef = chef_of().set_history(history)
    chef.compile_sync(target, model=MODELS[target])
    new = iter(_new())

    def work(_: object) -> object:
        return chef.append(next(new)).compile_sync(target, model=MODELS[target])

    return measured(f"one message added, {target}", len(history), work)


def list_again(history: list[Row], target: str) -> Measured:
    """A warm chef, the caller's own list with one message more set again, a compile."""
    given = list(history)
    chef = chef_of().set_history(given)
    chef.compile_sync(target, model=MODELS[target])
    new = iter(_new())

    def work(_: object) -> object:
        given.append(next(new))
        return chef.set_history(given).compile_sync(target, model=MODELS[target])

    return measured(f"whole list again, {target}", len(history), work)


def fresh_list_again(history: list[Row], target: str) -> Measured:
    """The same with a list that was built anew, as from a database: equal, no object the same."""
    given = list(history)
    chef = chef_of().set_history(given)
    chef.compile_sync(target, model=MODELS[target])
    new = iter(_new())

    def before() -> list[Row]:
        given.append(next(new))
        return copy.deepcopy(given)

    def work(fresh: list[Row]) -> object:
        return chef.set_history(fresh).compile_sync(target, model=MODELS[target])

    return measured(f"whole list, read anew, {target}", len(history), work, before=before)


def switched(history: list[Row]) -> Iterator[Measured]:
    """Another target for a history that is warm for one: the first time, and again."""
    first, second = "openai", "anthropic"

    def warm() -> ContextChef:
        chef = chef_of().set_history(history)
        chef.compile_sync(first, model=MODELS[first])
        return chef

    def switch(chef: ContextChef) -> object:
        return chef.compile_sync(second, model=MODELS[second])

    yield measured("target switched, first time", len(history), switch, runs=5, before=warm)
    chef = warm()
    switch(chef)
    new = iter(_new())

    def there_and_back(_: object) -> None:
        chef.append(next(new)).compile_sync(first, model=MODELS[first])
        switch(chef)

    yield measured("one added, for two targets in turn", len(history), there_and_back)


def folded(history: list[Row]) -> Measured:
    """One message added to a chef whose history was folded: all of it but the last few."""
    tokenizer = exact_tokenizer("o200k_base")
    size = sum(map(tokenizer.count, texts_of(history)))
    chef = chef_of(
        janitor={"context_window": int(size * 0.9), "tokenizer": "o200k_base"},
        overflow={"strategy": reset()},
    ).set_history(history)
    chef.compile_sync("openai", model=MODELS["openai"])
    assert len(chef.window) < len(history)
    new = iter(_new())

    def work(_: object) -> object:
        return chef.append(next(new)).compile_sync("openai", model=MODELS["openai"])

    return measured("one message added, after a fold", len(history), work)


def trimmed(history: list[Row]) -> Iterator[Measured]:
    """`trim_messages` with its approximate counter: with room for all, and for a half."""
    try:
        from langchain_core.messages import convert_to_messages, trim_messages
        from langchain_core.messages.utils import count_tokens_approximately
    except ImportError:
        note("langchain_core is not installed: not compared")
        return
    messages = convert_to_messages([{"role": "system", "content": SYSTEM}, *_plain(history)])
    whole = count_tokens_approximately(messages)
    for name, most in (("with room", whole * 2), ("to a half", whole // 2)):

        def work(_: object, most: int = most) -> object:
            return trim_messages(
                messages,
                max_tokens=most,
                token_counter="approximate",
                strategy="last",
                include_system=True,
                start_on="human",
            )

        yield measured(f"langchain trim_messages, {name}", len(history), work, runs=5)


def _plain(history: Sequence[Row]) -> list[Row]:
    return [{key: value for key, value in row.items() if value is not None} for row in history]


def _new() -> list[Row]:
    """More than any measurement appends, each row of its own."""
    return json.loads(json.dumps(next_rows(64)))


def figures(sizes: Sequence[int], targets: Sequence[str]) -> list[Measured]:
    """Every scenario at every size."""
    found: list[Measured] = []
    for size in sizes:
        note(f"{size} messages")
        history = rows(size)
        found.append(counting(history))
        for target in targets:
            found.append(cold(history, target))
        for target in targets:
            found.append(one_more(history, target))
        for target in targets:
            found.append(list_again(history, target))
        found.append(fresh_list_again(history, targets[0]))
        found += switched(history)
        found.append(folded(history))
        found += trimmed(history)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    found = figures(sizes, options.targets.split(","))
    where = machine("langchain-core", "rs-bpe")
    if options.json:
        print(as_json(found, machine=where))
        return
    print(where)
    show(found)


if __name__ == "__main__":
    main()
