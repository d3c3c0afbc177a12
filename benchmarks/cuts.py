"""Every recorded conversation, cut at every message boundary, compiled for every target.

    python -m benchmarks.cuts [--checker PATH] [--thin N] [--only NAME] [--out FILE]

A session dies wherever it is interrupted: in front of a result, between parallel results, behind
half an answer. So each trace and each accepted request is cut behind each of its messages, and what
is left is compiled for all four targets, on an older and a newer model each, twice: by a chef that
never saw anything else, and by one that compiled every shorter cut before. Our rules and an
independent checker (`CONTEXT_CHEF_CHECKER`, or --checker) judge every request, and the requests of
the growing chef as one session. In the few conversations above 250 messages the models of a target
take turns, so that every boundary is still compiled for every target. --thin N takes one boundary
in N. Refused bodies are compiled whole. Reads the shared data; `CONTEXT_CHEF_DATA` says where it
is. --out writes the figures down. Exit code 1 when a request is not a good one.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring import machine
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
from context_chef.ir.message import Message
from context_chef.selection.counting import MessageCounter
from context_chef.testing.fuzz import Judge, Problem, Sent

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
LONG = 250
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
    requests: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    """By target, model and way: `cut`, `grown` or, where both gave the same bytes, `same`."""
    sessions: int = 0
    refused: Counter[str] = field(default_factory=Counter[str])
    faults: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    """How many problems, by target and model."""
    problems: list[tuple[str, int, Problem]] = field(default_factory=list[tuple[str, int, Problem]])

    def add(self, name: str, end: int, sent: Sent, found: list[Problem]) -> None:
        """Note what is wrong with a request of that conversation's cut."""
        self.faults[sent.target, sent.model or ""] += len(found)
        self.problems += [(name, end, problem) for problem in found]
        for problem in found:
            print(f"{name} cut at {end}, {sent.target} {sent.model}: {problem}", file=sys.stderr)

    def lines(self) -> list[str]:
        """The count in words."""
        what = ", ".join(
            f"{self.conversations[kind]:,} of kind {kind} at {self.cuts[kind]:,} boundaries"
            for kind in self.conversations
        )
        total = self.requests.total()
        refused = [f"refused {times:,} times: {why}" for why, times in self.refused.items()]
        return [
            f"{what}: {total:,} requests, {len(self.problems):,} problems",
            *refused,
            *[f"{name} cut at {cut}: {problem}" for name, cut, problem in self.problems[:20]],
        ]


def recordings(only: str = "", *, rejected: bool = True) -> Iterator[Recorded]:
    """Traces, then accepted, then rejected requests; what cannot be read is no conversation."""
    traces = sorted((DATA / "traces").glob("*/*.json"))
    for path in sorted(traces, key=lambda path: path.stat().st_size):
        if only in path.name:
            yield Recorded(path.stem, "trace", read_recording(json.loads(path.read_bytes()))[0])
    for kind in ("accepted", "rejected") if rejected else ("accepted",):
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
    ends = list(range(len(history), 0, -thin)) if recorded.kind != "rejected" else [len(history)]
    ends.reverse()
    count.conversations[recorded.kind] += 1
    count.cuts[recorded.kind] += len(ends)
    in_turns = len(history) > LONG
    kitchen = Kitchen(recorded.conversation)
    for target, models in MODELS.items():
        for number, model in enumerate(models):
            grown = kitchen.chef(model)
            session: list[Sent] = []
            for at, end in enumerate(ends):
                if in_turns and at % len(models) != number:
                    continue
                cut = compiled(kitchen.chef(model), history[:end], target, model)
                then = compiled(grown, history[:end], target, model)
                if isinstance(cut, str) or isinstance(then, str):
                    count.refused[f"{target}: {cut if isinstance(cut, str) else then}"] += 1
                    continue
                same = cut == then
                for way, sent in (("same", cut),) if same else (("cut", cut), ("grown", then)):
                    count.requests[target, model, way] += 1
                    found = judge.payload(sent)
                    count.add(recorded.name, end, sent, found)
                session.append(then)
            if len(session) > 1 and not in_turns:
                count.sessions += 1
                found = judge.session(session)
                count.add(recorded.name, len(history), session[-1], found)


def compiled(
    chef: ContextChef, history: tuple[Message, ...], target: str, model: str
) -> Sent | str:
    """The request, or why there is none."""
    try:
        payload = chef.set_history(history).compile_sync(target)
    except UnsendableError as error:
        return error.faults[0][:100]
    return Sent.of(payload, len(history), target, model)


class Kitchen:
    """Makes chefs for one conversation, who share nothing but what its messages weigh."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._tools = list({tool.name: tool for tool in conversation.tools if tool.name}.values())
        self._counter = MessageCounter()

    def chef(self, model: str) -> ContextChef:
        chef = ContextChef(cache="auto", model=model, janitor={"tokenizer": self._counter})
        chef.set_system_prompt(self._conversation.system)
        return chef.register_tools(self._tools)


HEAD = """\
# Recorded conversations, cut at every message boundary

`python -m benchmarks.cuts`: each conversation cut behind each of its messages, each cut compiled
for all four targets, by a chef that saw nothing else (*cut*) and by one that compiled every shorter
cut before (*grown*). Where both made the same bytes, they are judged once (*both*). {in_turns}
Judged by {judges}.

"""


def page(count: Count, *, checker: bool, thin: int, seconds: float) -> str:
    """The figures for people."""
    judges = "our rules and an independent checker" if checker else "our rules"
    in_turns = f"Above {LONG} messages the models of a target take turns."
    lines = [
        HEAD.format(in_turns=in_turns, judges=judges) + "| conversations | how many | boundaries |",
        "|---|---:|---:|",
        *(f"| {kind} | {n:,} | {count.cuts[kind]:,} |" for kind, n in count.conversations.items()),
        "",
        "| target | model | both | cut | grown | problems |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for target, models in MODELS.items():
        for model in models:
            figures = [count.requests[target, model, way] for way in ("same", "cut", "grown")]
            row = " | ".join(f"{figure:,}" for figure in figures)
            lines.append(f"| {target} | {model} | {row} | {count.faults[target, model]:,} |")
    what = f"{count.requests.total():,} different requests, {count.sessions:,} sessions"
    thinned = "" if thin == 1 else f" One boundary in {thin} only."
    lines += ["", f"{what}: **{len(count.problems):,} problems**.{thinned}"]
    for why, times in count.refused.items():
        lines.append(f"Refused with a reason, {times:,} times: {why}")
    versions = machine("anthropic", "openai", "google-genai")
    where = ", ".join(f"{name} {value}" for name, value in versions.items())
    lines += ["", f"{seconds / 60:,.0f} minutes of one processor; {where}.", ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--checker", default=os.environ.get("CONTEXT_CHEF_CHECKER") or None)
    parser.add_argument("--thin", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    judge, count = Judge(options.checker), Count()
    gc.set_threshold(200_000)  # a request is many small objects, and none of them is garbage yet
    began = said = time.monotonic()
    for recorded in recordings(options.only):
        judge_cuts(recorded, count, judge, thin=options.thin)
        if time.monotonic() - said > 30:
            said = time.monotonic()
            print(f"{said - began:,.0f} s, {recorded.name}: {count.lines()[0]}", file=sys.stderr)
    print("\n".join(count.lines()))
    if options.out:
        seconds = time.process_time()
        made = page(count, checker=bool(options.checker), thin=options.thin, seconds=seconds)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(made, encoding="utf-8")
    return 1 if count.problems else 0


if __name__ == "__main__":
    sys.exit(main())
