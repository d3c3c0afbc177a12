"""How many trimmed histories a provider would refuse: those of other libraries, and ours.

    python -m benchmarks.validity [--checker PATH] [--scratch PATH] [--only ours,litellm]

Two kinds of histories, all of them Chat Completions messages out of recorded agent runs. *Good*
ones are requests as they were, cut where the model is asked, and have to be trimmed to half of
their tokens. *Damaged* ones are broken in one way, as crashes, cancellations and earlier trims
break them, and there is room for all of it. Each library is given them in its own form, with the
settings that its documentation recommends; what comes out is judged by our rules and, where
`CONTEXT_CHEF_CHECKER` or --checker names one, by an independent checker. Peers are installed as
`benchmarks/peers.py` installs them. Writes `benchmarks/results/validity.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.measuring import note
from benchmarks.peers import RESULTS, Peer, Unavailable, install
from context_chef import (
    ContextChef,
    chain,
    clear,
    read_recording,
    reset,
    summarize,
    to_openai,
)
from context_chef.errors import ContextChefError
from context_chef.testing import check_payload
from context_chef.testing.fuzz import load_checker

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
MODEL = "gpt-4o"
MOST = 250
"""Messages of the longest conversation that is taken; some peers need minutes above it."""
CUTS = 6
SECONDS = 900

Row = dict[str, Any]


class History(NamedTuple):
    kind: str
    """`good`, or how it was damaged."""
    room: float
    rows: list[Row]


# Histories -------------------------------------------------------------------------------------


def histories() -> list[History]:
    """Good ones that break no rule, then damaged ones that break at least one."""
    runs = list(_runs())
    good = [History("good", 0.5, rows[:end]) for rows in runs for end in _asking(rows)]
    found = [each for each in good if not _faults("openai", each.rows)]
    for kind, damage in DAMAGES.items():
        for rows in runs:
            broken = damage(json.loads(json.dumps(rows)))
            if broken and _faults("openai", broken):
                found.append(History(kind, 2.0, broken))
    return found


def _runs() -> Iterator[list[Row]]:
    for path in sorted((DATA / "traces").glob("*/*.json")):
        conversation, _ = read_recording(json.loads(path.read_bytes()))
        if len(conversation.history) > MOST:
            continue
        rows: list[Row] = to_openai(conversation)["messages"]
        # No answer without the key, and none with null: not every peer reads those.
        plain = [{**row, "content": row.get("content") or ""} for row in rows]
        # Text only: not every peer carries anything else.
        if any(row.get("tool_calls") for row in plain) and all(map(_is_plain, plain)):
            while plain[-1]["role"] not in ("user", "tool"):
                del plain[-1]
            yield plain


def _is_plain(row: Row) -> bool:
    return isinstance(row.get("content", ""), str)


def _asking(rows: list[Row]) -> list[int]:
    """Where the model is asked: in front of an answer, thinned out, and at the end."""
    ends = [at for at, row in enumerate(rows) if row["role"] == "assistant" and at > 3]
    return sorted({*ends[:: max(1, len(ends) // CUTS)], len(rows)})


def _middle_call(rows: list[Row]) -> int:
    """An assistant message in the middle that calls."""
    calls = [at for at, row in enumerate(rows) if row.get("tool_calls")]
    return calls[len(calls) // 2]


def _result_lost(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows)
    return rows[: at + 1] + rows[at + 2 :]


def _call_lost(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows)
    return rows[:at] + rows[at + 1 :]


def _result_twice(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows)
    return rows[: at + 2] + rows[at + 1 :]


def _user_between(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows) + 1
    return [*rows[:at], {"role": "user", "content": "Are you still there?"}, *rows[at:]]


def _interrupted(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows) + 1
    return [*rows[:at], {"role": "user", "content": "Stop that. What have you found so far?"}]


def _long_ids(rows: list[Row]) -> list[Row]:
    for row in rows:
        for call in row.get("tool_calls", ()):
            call["id"] = f"toolu_{'0' * 40}_{call['id']}"
        if row["role"] == "tool":
            row["tool_call_id"] = f"toolu_{'0' * 40}_{row['tool_call_id']}"
    return rows


def _server_names(rows: list[Row]) -> list[Row]:
    for row in rows:
        for call in row.get("tool_calls", ()):
            call["function"]["name"] = f"server.{call['function']['name']}"
    return rows


def _nothing_said(rows: list[Row]) -> list[Row]:
    at = _middle_call(rows)
    return [*rows[:at], {"role": "assistant", "content": None}, *rows[at:]]


DAMAGES: dict[str, Callable[[list[Row]], list[Row]]] = {
    "a result is lost": _result_lost,
    "a call is lost, its results stay": _call_lost,
    "a result stands there twice": _result_twice,
    "the user spoke before the result came": _user_between,
    "interrupted, and the user goes on": _interrupted,
    "ids of another provider": _long_ids,
    "tool names with a dot": _server_names,
    "an answer without anything in it": _nothing_said,
}


# Libraries -------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A peer, the form of what it makes, and what was asked of it."""

    peer: Peer
    asked: str
    target: str = "openai"


def _langchain(key: str, asked: str) -> Contender:
    peer = Peer(
        key=f"langchain-{key}",
        driver="trim_with_langchain.py",
        less="",
        place="langchain",
        packages=("langchain",),
        arguments=(key,),
    )
    return Contender(peer=peer, asked=asked)


PEERS = (
    _langchain(
        "recommended",
        '`langchain_core` `trim_messages(strategy="last", include_system=True, start_on="human", '
        'end_on=("human", "tool"))`',
    ),
    _langchain("bare", '`langchain_core` `trim_messages(strategy="last", include_system=True)`'),
    _langchain(
        "summarised",
        "`langchain` `SummarizationMiddleware(trigger=, keep=)` in tokens, a stand-in's summary",
    ),
    Contender(
        peer=Peer(
            key="litellm",
            driver="trim_with_litellm.py",
            less="",
            place="litellm",
            packages=("litellm",),
        ),
        asked="`litellm.utils.trim_messages(model=, max_tokens=)`",
    ),
    Contender(
        peer=Peer(
            key="openai-agents",
            driver="trim_with_openai_agents.py",
            less="",
            place="openai-agents",
            packages=("openai-agents",),
        ),
        asked="`openai-agents` `Runner.run` on a session with `SessionSettings(limit=)`, in items",
        target="openai-responses",
    ),
)


@dataclass
class Answers:
    """What one library made of the histories, one answer each: messages, or why there are none."""

    name: str
    asked: str
    target: str
    versions: dict[str, str] = field(default_factory=dict[str, str])
    answers: list[list[Row] | str] = field(default_factory=list[list[Row] | str])
    reason: str = ""


def answers_of(contender: Contender, file: Path, scratch: Path) -> Answers:
    """Run its driver on the file of histories."""
    peer = contender.peer
    found = Answers(name=peer.key, asked=contender.asked, target=contender.target)
    try:
        command = [*install(peer, scratch), *peer.arguments, str(file)]
    except Unavailable as why:
        found.reason = str(why)
        return found
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    done = subprocess.run(
        command, capture_output=True, encoding="utf-8", env=environment, timeout=SECONDS, check=True
    )
    for line in done.stdout.splitlines():
        said = json.loads(line)
        if "versions" in said:
            found.versions = said["versions"]
        else:
            found.answers.append(said.get("messages", said.get("reason")))
    return found


def _summary(_: Any) -> str:
    return "What was said so far."


class _Silent:
    """Takes what a chef has to say about a window that is too small; the table says it."""

    def warning(self, *_: Any, **__: Any) -> None: ...


OURS: dict[str, tuple[str, Callable[[], Any]]] = {
    "context-chef, reset": ("`reset()`", reset),
    "context-chef, summarize": (
        "`chain(summarize(compression_model=), reset())`, a stand-in's summary",
        lambda: chain(summarize(compression_model=_summary), reset()),
    ),
    "context-chef, clear": ("`chain(clear(), reset())`", lambda: chain(clear(), reset())),
}


def ours(name: str, given: list[History]) -> Answers:
    """What a chef makes of them, in a window of half of what the whole request needs."""
    asked, strategy = OURS[name]
    found = Answers(name=name, asked=f"`OverflowConfig(strategy=)` with {asked}", target="openai")
    found.versions = {"context-chef": "this one"}
    for history in given:
        opening = [row["content"] for row in history.rows[:1] if row["role"] == "system"]
        talk = history.rows[len(opening) :]
        bare = ContextChef(model=MODEL).set_history(talk).compile_sync("openai").report.tokens
        both = ContextChef(model=MODEL).set_system_prompt("\n".join(opening)).set_history(talk)
        around = both.compile_sync("openai").report.tokens - bare
        chef = ContextChef(
            model=MODEL,
            janitor={"context_window": around + int(bare * history.room)},
            overflow={"strategy": strategy()},
            logger=_Silent(),
        ).set_system_prompt("\n".join(opening))
        try:
            payload = chef.set_history(talk).compile_sync("openai")
        except ContextChefError as error:
            found.answers.append(f"{type(error).__name__}: {error}"[:200])
        else:
            found.answers.append(json.loads(payload.to_json())["messages"])
    return found


# Judging ---------------------------------------------------------------------------------------


def _faults(target: str, rows: list[Row], checker: Any = None) -> set[str]:
    key = "messages" if target == "openai" else "input"
    body = {"model": MODEL, key: rows}
    found = {fault.rule for fault in check_payload(target, body, partial=True)}
    if checker is not None:
        found |= {problem.rule for problem in checker.check(target, body)}
    return found


def _is_talk(row: Row) -> bool:
    return row.get("role") not in ("system", "developer")


@dataclass
class Verdict:
    """What is wrong with one library's answers to one kind of history."""

    given: int = 0
    refused: int = 0
    raised: int = 0
    bare: int = 0
    """How often nothing of the conversation was left."""
    rules: Counter[str] = field(default_factory=Counter[str])
    kept: list[float] = field(default_factory=list[float])


def verdicts(found: Answers, given: list[History], checker: Any) -> dict[str, Verdict]:
    """By kind of history."""
    made: dict[str, Verdict] = {}
    for history, answer in zip(given, found.answers, strict=True):
        verdict = made.setdefault(history.kind, Verdict())
        verdict.given += 1
        if isinstance(answer, str):
            verdict.raised += 1
            continue
        if not any(map(_is_talk, answer)):
            verdict.bare += 1
            continue
        verdict.kept.append(sum(map(_is_talk, answer)) / sum(map(_is_talk, history.rows)))
        rules = _faults(found.target, answer, checker)
        verdict.refused += bool(rules)
        verdict.rules.update(rules)
    return made


HEAD = """\
# Trimmed histories that a provider would refuse

`python -m benchmarks.validity`: histories out of {runs} recorded agent runs of up to {most}
messages with tool calls, for `{model}`. *Good* ones are requests that break no rule, {good:,} of
them. Beside the system prompt there is room for half of their tokens, as each library counts them
(openai-agents: for half of their items, which is what its sessions count). *Damaged* ones are whole
runs, broken in one way, with room for everything. What comes out is judged by {judges}.
**Refused** breaks a rule, **empty** has nothing but the system prompt, **raised** is an error
instead of messages, as when the window cannot hold what may not leave it; **kept** is how many of
the conversation's messages are left on average, in the answers that are not empty.

A trimmer that is given a damaged history promises no more than to trim it, and its documentation
does not claim otherwise: that part says what is left to do beside it. What openai-agents makes is
a request of OpenAI Responses, what all others make one of Chat Completions.

"""


def page(results: list[Answers], given: list[History], checker: Any) -> str:
    """The tables."""
    good = sum(history.kind == "good" for history in given)
    lines = [
        HEAD.format(
            runs=sum(1 for _ in _runs()),
            most=MOST,
            model=MODEL,
            good=good,
            judges="our rules and an independent checker" if checker else "our rules",
        )
        + "## Good histories, trimmed to half\n",
        "| library | version | refused | empty | raised | kept | rules broken, in how many |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    judged = {found.name: verdicts(found, given, checker) for found in results if not found.reason}
    for found in results:
        version = ", ".join(found.versions.values())
        if found.reason:
            lines.append(f"| {found.name} | {version} | – | – | – | – | {found.reason} |")
            continue
        lines.append(f"| {found.name} | {version} | {_cells(judged[found.name]['good'])} |")
    names = list(judged)
    lines += [
        "\n## Damaged histories, with room for everything\n",
        "Refused, empty or raised, of how many.\n",
        f"| what is wrong with it | of | {' | '.join(names)} |",
        f"|---|---:|{'---:|' * len(names)}",
    ]
    for kind in DAMAGES:
        row = [judged[name].get(kind, Verdict()) for name in names]
        figures = [f"{each.refused + each.raised + each.bare:,}" for each in row]
        lines.append(f"| {kind} | {row[0].given} | {' | '.join(figures)} |")
    lines += ["\n## What was asked of each\n"]
    lines += [f"- {found.name}: {found.asked}" for found in results]
    return "\n".join(lines) + "\n"


def _cells(verdict: Verdict) -> str:
    rules = ", ".join(f"`{rule}` {times:,}" for rule, times in verdict.rules.most_common())
    share = f"{verdict.refused:,} of {verdict.given:,}"
    kept = sum(verdict.kept) / max(1, len(verdict.kept))
    return f"{share} | {verdict.bare:,} | {verdict.raised:,} | {kept:.0%} | {rules or '–'}"


def main() -> int:
    names = [contender.peer.key for contender in PEERS] + ["ours"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--checker", default=os.environ.get("CONTEXT_CHEF_CHECKER") or None)
    parser.add_argument(
        "--scratch",
        type=Path,
        default=Path(tempfile.gettempdir()) / "context-chef-peers",
        help="where peers are installed, and found again",
    )
    parser.add_argument("--only", default=",".join(names))
    parser.add_argument("--out", type=Path, default=RESULTS / "validity.md")
    options = parser.parse_args()
    only = options.only.split(",")
    checker = load_checker(options.checker) if options.checker else None
    given = histories()
    note(f"{len(given)} histories")
    results: list[Answers] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "histories.json"
        file.write_text(json.dumps([history._asdict() for history in given]), "utf-8")
        for contender in PEERS:
            if contender.peer.key in only:
                note(contender.peer.key)
                results.append(answers_of(contender, file, options.scratch))
    if "ours" in only:
        note("ours")
        results += [ours(name, given) for name in OURS]
    made = page(results, given, checker)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(made, encoding="utf-8")
    sys.stdout.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
