"""Every recorded conversation, cut at every message boundary, compiled for every target.

    python -m benchmarks.cuts [--checker PATH] [--thin N] [--only NAME] [--largest BYTES]

A session dies wherever it is interrupted: in front of a result, between parallel results, behind
half an answer. So each trace and each accepted request is cut behind each of its messages, what is
left is compiled for all four targets, on an older and a newer model each, and our rules and an
independent checker (`CONTEXT_CHEF_CHECKER`, or --checker) judge every request. --thin N takes one
boundary in N. Refused bodies are compiled whole: what comes out has to be a good request. Reads the
shared data; `CONTEXT_CHEF_DATA` says where it is. Exit code 1 when a request is not a good one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from context_chef import (
    ContextChef,
    Conversation,
    UnsendableError,
    from_anthropic,
    from_gemini,
    from_openai,
    from_openai_responses,
    read_recording,
)
from context_chef.errors import InputError
from context_chef.testing.fuzz import Judge, Problem, Sent

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
MODELS: dict[str, tuple[str, ...]] = {
    "openai": ("gpt-4o", "gpt-5.6"),
    "openai-responses": ("gpt-5.6",),
    "anthropic": ("claude-sonnet-4-5", "claude-opus-5-5"),
    "gemini": ("gemini-2.5-flash", "gemini-3.8-flash"),
}
_READERS: dict[str, Any] = {
    "anthropic": from_anthropic,
    "gemini": from_gemini,
    "openai": from_openai,
    "openai_responses": from_openai_responses,
}


class Recorded(NamedTuple):
    name: str
    kind: str
    """`trace`, `accepted` or `rejected`."""
    conversation: Conversation


@dataclass
class Count:
    """What came of the cuts."""

    conversations: Counter[str] = field(default_factory=Counter[str])
    cuts: Counter[str] = field(default_factory=Counter[str])
    requests: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    problems: list[tuple[str, int, Problem]] = field(default_factory=list[tuple[str, int, Problem]])

    def lines(self) -> list[str]:
        """The count in words."""
        what = ", ".join(
            f"{self.conversations[kind]:,} of kind {kind} at {self.cuts[kind]:,} boundaries"
            for kind in self.conversations
        )
        refused = [f"refused {times:,} times: {why}" for why, times in self.refused.items()]
        return [
            f"{what}: {self.requests:,} requests, {len(self.problems):,} problems",
            *refused,
            *[f"{name} cut at {cut}: {problem}" for name, cut, problem in self.problems[:20]],
        ]


def recordings(only: str = "", largest: int | None = None) -> Iterator[Recorded]:
    """Traces, then accepted, then rejected requests; what cannot be read is no conversation."""
    for path in sorted((DATA / "traces").glob("*/*.json")):
        if only in path.name and (largest is None or path.stat().st_size <= largest):
            yield Recorded(path.stem, "trace", read_recording(json.loads(path.read_bytes()))[0])
    for kind in ("accepted", "rejected"):
        for path in sorted((DATA / "cassettes").glob(f"*/{kind}/*.json")):
            if only not in path.name:
                continue
            record = json.loads(path.read_bytes())
            try:
                conversation = _READERS[record["format"]](record["request"])
            except InputError:
                continue
            if conversation.history:
                yield Recorded(path.stem, kind, conversation)


def judge_cuts(recorded: Recorded, count: Count, judge: Judge, *, thin: int = 1) -> None:
    """Cut it, compile it, and count what is wrong with the requests."""
    history = recorded.conversation.history
    ends = range(len(history), 0, -thin) if recorded.kind != "rejected" else [len(history)]
    count.conversations[recorded.kind] += 1
    count.cuts[recorded.kind] += len(ends)
    for target, models in MODELS.items():
        for model in models:
            chef = ContextChef(cache="auto", model=model)
            chef.set_system_prompt(recorded.conversation.system)
            chef.register_tools(_with_one_name_each(recorded.conversation))
            for end in reversed(ends):
                chef.set_history(history[:end])
                try:
                    payload = chef.compile_sync(target)
                except UnsendableError as error:
                    count.refused[f"{target}: {error.faults[0][:100]}"] += 1
                    continue
                count.requests += 1
                found = judge.payload(Sent.of(payload, end, target, model))
                count.problems += [(recorded.name, end, problem) for problem in found]


def _with_one_name_each(conversation: Conversation) -> list[Any]:
    tools = {tool.name: tool for tool in conversation.tools if tool.name}
    return list(tools.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--checker", default=os.environ.get("CONTEXT_CHEF_CHECKER") or None)
    parser.add_argument("--thin", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--largest", type=int)
    options = parser.parse_args()
    judge, count = Judge(options.checker), Count()
    began = said = time.monotonic()
    for recorded in recordings(options.only, options.largest):
        judge_cuts(recorded, count, judge, thin=options.thin)
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{said - began:,.0f} s, {recorded.name}: {count.lines()[0]}", file=sys.stderr)
    print("\n".join(count.lines()))
    return 1 if count.problems else 0


if __name__ == "__main__":
    sys.exit(main())
