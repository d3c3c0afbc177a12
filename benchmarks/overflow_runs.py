"""Long recorded sessions in a quarter of their room: every strategy, every target, turn by turn.

    python -m benchmarks.overflow_runs [--data DIR] [--turns N] [--trace NAME] [--all-turns]

For each run: requests, how many the wire rules refuse, how many are above the window, folds, calls
of the summariser, tokens that it was shown, tokens sent, and what sending everything would have
cost. Counts are exact (`o200k_base`, extra `tokens`). A table in Markdown is printed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from context_chef import (
    ContextChef,
    Conversation,
    InMemoryBackend,
    Message,
    anchored,
    background,
    chain,
    clear,
    read_recording,
    reset,
    resolve_tokenizer,
    summarize,
)

TARGETS = {
    "openai": "gpt-4o",
    "openai-responses": "gpt-5.6",
    "anthropic": "claude-opus-5-5",
    "gemini": "gemini-3.8-flash",
}
LEAST_TOKENS = 20_000
COUNTER = resolve_tokenizer("o200k_base")


@dataclass
class Model:
    """Stands for a summarising model: answers a note of fixed size about what it was shown."""

    calls: int = 0
    tokens: float = 0

    async def __call__(self, messages: Sequence[Message]) -> str:
        self.calls += 1
        self.tokens += COUNTER.count_messages(messages)
        await asyncio.sleep(0)
        said = [" ".join(message.text.split())[:100] for message in messages[-9:-1]]
        return f"<summary>{len(messages)} messages so far. Last: {' | '.join(said)}</summary>"


STRATEGIES: dict[str, Callable[[Model], Any]] = {
    "summarize": lambda ask: summarize(compression_model=ask),
    "anchored": lambda ask: anchored(compression_model=ask),
    "reset": lambda ask: reset(),
    "clear": lambda ask: clear(),
    "chain": lambda ask: chain(clear(), summarize(compression_model=ask), reset()),
    "background": lambda ask: background(summarize(compression_model=ask)),
}


@dataclass
class Run:
    """What one session did."""

    trace: str
    strategy: str
    target: str
    window: int
    requests: int = 0
    refused: int = 0
    above: int = 0
    largest: float = 0
    sent: float = 0
    whole: float = 0
    seconds: float = 0
    folds: int = 0
    model: Model = field(default_factory=Model)
    reasons: list[str] = field(default_factory=list[str])


def data_folder(given: str | None) -> Path:
    """Where the recorded sessions are."""
    root = Path(__file__).resolve().parent.parent
    chosen = given or os.environ.get("CONTEXT_CHEF_DATA") or str(root.parent / "shared" / "data")
    return Path(chosen)


def long_traces(data: Path, least: int = LEAST_TOKENS) -> Iterator[tuple[str, Conversation, int]]:
    """Name, conversation and tokens of every recorded session of at least so many tokens."""
    for path in sorted((data / "traces").glob("*/*.json")):
        if path.stat().st_size < least:
            continue
        conversation, _ = read_recording(json.loads(path.read_text("utf-8")))
        tokens = int(COUNTER.count_messages(conversation.history))
        if tokens >= least:
            yield path.stem, conversation, tokens


def turn_ends(history: Sequence[Message], most: int | None) -> list[int]:
    """Where a request is made: in front of every answer, thinned out to `most`."""
    ends = [at for at, message in enumerate(history) if message.role == "assistant" and at]
    ends.append(len(history))
    if most is None or len(ends) <= most:
        return ends
    step = len(ends) / most
    return sorted({ends[int(number * step)] for number in range(most)} | {len(history)})


async def play(
    name: str,
    conversation: Conversation,
    *,
    window: int,
    strategy: str,
    target: str,
    most: int | None,
) -> Run:
    """One session, turn by turn."""
    run = Run(trace=name, strategy=strategy, target=target, window=window)
    fixed = int(
        COUNTER.count_messages(conversation.system) + COUNTER.count_tools(conversation.tools)
    )
    chef = ContextChef(
        janitor={"context_window": window + fixed, "tokenizer": "o200k_base"},
        overflow={"strategy": STRATEGIES[strategy](run.model), "archive": "vfs"},
        store=InMemoryBackend(),
        cache="auto",
        logger=_Silent(),
    )
    chef.set_system_prompt(conversation.system).register_tools(conversation.tools)
    started = time.perf_counter()
    done = 0
    for end in turn_ends(conversation.history, most):
        chef.extend(conversation.history[done:end])
        done = end
        before = chef.window_id
        payload = await chef.compile(target, model=TARGETS[target])
        report = payload.report
        assert report.budget is not None
        size = report.budget.current
        faults = [d.code for d in report.diagnostics if d.code.startswith("refused")]
        run.requests += 1
        run.refused += bool(faults)
        run.reasons += faults
        run.above += size > window + fixed
        run.largest = max(run.largest, size)
        run.sent += size
        run.whole += fixed + COUNTER.count_messages(conversation.history[:end])
        run.folds += chef.window_id != before
        await asyncio.sleep(0)
    run.seconds = time.perf_counter() - started
    return run


def runs(
    traces: Iterable[tuple[str, Conversation, int]],
    *,
    most: int | None,
    strategies: Sequence[str] = tuple(STRATEGIES),
    targets: Sequence[str] = tuple(TARGETS),
    share: float = 0.25,
) -> Iterator[Run]:
    """Every trace with every strategy on every target."""
    for name, conversation, tokens in traces:
        for strategy in strategies:
            for target in targets:
                yield asyncio.run(
                    play(
                        name,
                        conversation,
                        window=int(tokens * share),
                        strategy=strategy,
                        target=target,
                        most=most,
                    )
                )


def table(done: Sequence[Run]) -> str:
    """The runs as a table, targets of one trace and strategy in one row."""
    lines = [
        "| trace | window | strategy | requests | refused | above | folds | model calls | "
        "tokens to the model | tokens sent | of everything |",
        "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in done:
        groups.setdefault((run.trace, run.strategy), []).append(run)
    for (trace, strategy), group in groups.items():
        count = len(group)
        sent, whole = sum(r.sent for r in group), sum(r.whole for r in group)
        lines.append(
            f"| {trace[:40]} | {group[0].window:,} | {strategy} | {sum(r.requests for r in group)} "
            f"| {sum(r.refused for r in group)} | {sum(r.above for r in group)} "
            f"| {sum(r.folds for r in group) / count:.1f} "
            f"| {sum(r.model.calls for r in group) / count:.1f} "
            f"| {sum(r.model.tokens for r in group) / count:,.0f} "
            f"| {sent / count:,.0f} | {sent / whole:.0%} |"
        )
    lines.append("")
    lines.append(
        "Requests, refused and above are sums over the targets, the rest are means of one."
    )
    return "\n".join(lines)


class _Silent:
    def warning(self, msg: object, *args: object) -> None:
        pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 when a request was refused or above its window."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", help="folder of the recorded sessions")
    parser.add_argument("--turns", type=int, default=60, help="most requests of a run")
    parser.add_argument("--all-turns", action="store_true", help="a request for every answer")
    parser.add_argument("--trace", help="only traces whose name contains this")
    options = parser.parse_args(arguments)
    most = None if options.all_turns else options.turns
    traces = [
        trace
        for trace in long_traces(data_folder(options.data))
        if not options.trace or options.trace in trace[0]
    ]
    done: list[Run] = []
    for run in runs(traces, most=most):
        done.append(run)
        print(
            f"{run.trace[:40]} {run.strategy} {run.target}: {run.requests} requests, "
            f"{run.seconds:.1f} s {' '.join(sorted(set(run.reasons)))}",
            file=sys.stderr,
        )
    print(table(done))
    return int(any(run.refused or run.above for run in done))


if __name__ == "__main__":
    raise SystemExit(main())
