"""Long conversations of real content, for every benchmark the same: recorded agent runs, joined.

The runs are chat-completions recordings (`traces/openai`). Call ids are numbered anew, so that
runs can stand behind each other, and where the recordings are used up they begin again with the
number of the round in front of each text: no text of a history is there twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(os.environ.get("CONTEXT_CHEF_DATA") or Path(__file__).parents[2] / "shared" / "data")
SYSTEM = "You are a careful engineer who works in a terminal. Read before you write. " * 8

Row = dict[str, Any]


def rows(count: int) -> list[Row]:
    """That many messages as plain dicts, the caller's own. The last one is a user's or a result."""
    found: list[Row] = []
    for row in _endless():
        found.append(row)
        if len(found) >= count and row["role"] in ("user", "tool") and not _waits(found):
            break
    while len(found) > count:
        # Cut at the front, where a turn may begin.
        del found[0]
    while found[0]["role"] != "user":
        del found[0]
    missing = count - len(found)
    opening = [{"role": "user", "content": f"Before we begin, note {at}."} for at in range(missing)]
    return [*opening, *found]


def next_rows(count: int) -> list[Row]:
    """What is said after `rows(...)`, message by message: rounds of a call and its result."""
    said: list[Row] = []
    for row in _endless():
        if row["role"] == "tool":
            number = len(said)
            call = {"name": "run", "arguments": json.dumps({"step": number})}
            said.append(
                {
                    "role": "assistant",
                    "content": f"Step {number}.",
                    "tool_calls": [{"id": f"next_{number}", "type": "function", "function": call}],
                }
            )
            said.append({**row, "tool_call_id": f"next_{number}", "name": "run"})
        if len(said) >= count:
            return said[:count]
    raise AssertionError


def _waits(found: list[Row]) -> bool:
    """Whether a call of the last answer still has no result."""
    answered: set[str] = set()
    for row in reversed(found):
        if row["role"] == "tool":
            answered.add(row["tool_call_id"])
        else:
            return any(call["id"] not in answered for call in row.get("tool_calls", ()))
    return False


def _endless() -> Iterator[Row]:
    recorded = _recordings()
    number = 0
    round_ = 0
    while True:
        for run in recorded:
            ids: dict[str, str] = {}
            for row in run:
                number += 1
                yield _renumbered(row, ids, number, f"[{round_}] " if round_ else "")
        round_ += 1


def _renumbered(row: Row, ids: dict[str, str], number: int, prefix: str) -> Row:
    new: Row = {"role": row["role"], "content": prefix + row["content"]}
    calls = row.get("tool_calls")
    if calls:
        new["tool_calls"] = []
        for at, call in enumerate(calls):
            ids[call["id"]] = f"call_{number}_{at}"
            new["tool_calls"].append(
                {
                    "id": ids[call["id"]],
                    "type": "function",
                    "function": dict(call["function"]),
                }
            )
    if row["role"] == "tool":
        new["tool_call_id"] = ids[row["tool_call_id"]]
        if row.get("name"):
            new["name"] = row["name"]
    return new


@cache
def _recordings() -> tuple[tuple[Row, ...], ...]:
    paths = sorted((DATA / "traces" / "openai").glob("*.json"))
    # Kinds of runs stand side by side in the folder: mixed, so that short histories have of each.
    mixed = sorted(paths, key=lambda path: paths.index(path) * 37 % 101)
    return tuple(run for run in map(_run, mixed) if run)


def _run(path: Path) -> tuple[Row, ...]:
    """The whole turns of a recording: every call answered, nothing that is no chat message."""
    kept: list[Row] = []
    waiting: dict[str, None] = {}
    for row in json.loads(path.read_text("utf-8"))["messages"]:
        text = _text(row.get("content"))
        if row["role"] == "user" and text and not waiting:
            kept.append({"role": "user", "content": text})
        elif row["role"] == "assistant" and not waiting and kept:
            calls = [_call(call) for call in row.get("tool_calls") or ()]
            if text or calls:
                kept.append({"role": "assistant", "content": text, "tool_calls": calls})
                waiting = {call["id"]: None for call in calls}
        elif row["role"] == "tool" and row.get("tool_call_id") in waiting:
            del waiting[row["tool_call_id"]]
            kept.append(
                {
                    "role": "tool",
                    "content": text or "(nothing)",
                    "tool_call_id": row["tool_call_id"],
                    "name": row.get("name"),
                }
            )
    while waiting and kept:
        waiting = {} if kept.pop()["role"] == "assistant" else waiting
    return tuple(kept)


def _call(call: Row) -> Row:
    function = call["function"]
    return {
        "id": call["id"],
        "function": {"name": function["name"], "arguments": function["arguments"]},
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts: list[Any] = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
