"""Recorded sessions for tests: small agent conversations in every form that is read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "session.json"


def chat(turns: int, *, words: int = 120) -> dict[str, Any]:
    """A chat-completions body of an agent that reads one file after the other."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful. Never edit files under vendor/."},
        {"role": "user", "content": "Fix INV-2291. You must keep exit code 3 for the scheduler."},
    ]
    for number in range(turns):
        call = {"name": "read_file", "arguments": json.dumps({"path": f"src/part{number}.py"})}
        messages.append(
            {
                "role": "assistant",
                "content": f"Reading part {number}.",
                "tool_calls": [{"id": f"call_{number}", "type": "function", "function": call}],
            }
        )
        text = " ".join(f"word{number}x{place}" for place in range(words))
        messages.append(
            {
                "role": "tool",
                "tool_call_id": f"call_{number}",
                "content": f"src/part{number}.py: ticket SKU-{4000 + number}\n{text}",
            }
        )
    messages.append({"role": "assistant", "content": "Done: exit code 3 is kept."})
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}}
    tool = {"name": "read_file", "description": "Read a file.", "parameters": parameters}
    return {
        "model": "gpt-4.1",
        "messages": messages,
        "tools": [{"type": "function", "function": tool}],
    }


def write(path: Path, value: Any) -> Path:
    """A JSON file."""
    path.write_text(json.dumps(value), "utf-8")
    return path


def write_lines(path: Path, rows: Iterable[Any]) -> Path:
    """A file of JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def claude_code(*entries: dict[str, Any]) -> list[dict[str, Any]]:
    """Entries of a Claude Code log, each below the one before unless it says otherwise."""
    rows: list[dict[str, Any]] = []
    for number, entry in enumerate(entries):
        parent = rows[-1]["uuid"] if rows else None
        row = {
            "parentUuid": parent,
            "isSidechain": False,
            "sessionId": "s",
            "uuid": f"u{number}",
            "timestamp": f"2026-01-01T10:{number:02d}:00.000Z",
        }
        rows.append({**row, **entry})
    return rows


def said(kind: str, *content: Any, **more: Any) -> dict[str, Any]:
    """One entry with a message; a text stands for itself."""
    blocks = [{"type": "text", "text": c} if isinstance(c, str) else c for c in content]
    return {"type": kind, "message": {"role": kind, "content": blocks, **more}}


def use(id: str, name: str = "Read", **arguments: Any) -> dict[str, Any]:
    """A call, as Anthropic writes it."""
    return {"type": "tool_use", "id": id, "name": name, "input": arguments}


def result(id: str, text: str) -> dict[str, Any]:
    """A result, as Anthropic writes it."""
    return {"type": "tool_result", "tool_use_id": id, "content": text}
