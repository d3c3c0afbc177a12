"""Reads what `Recorder` wrote: sessions of chefs, and bodies of agents that have none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from context_chef.adaptation.tools import tool_from_dict
from context_chef.errors import ContextChefError, InputError, shown
from context_chef.ir.message import Message
from context_chef.ir.rows import read_messages
from context_chef.ir.tools import ToolDefinition
from context_chef.recording.recorder import RECORDING_VERSION
from context_chef.replay.lines import Loaded, RecordingError, row_of
from context_chef.replay.moments import seconds
from context_chef.replay.read_bodies import answer_of, read_bodies, usage_in
from context_chef.replay.session import RecordedSession, SessionRequest, from_zero, uncached

Row = Mapping[str, Any]
_TARGETS = ("openai", "openai-responses", "anthropic", "gemini")


def is_recorded(rows: Sequence[Any]) -> bool:
    """Whether the first line says that this is a recording of ours."""
    return isinstance(rows[0], Mapping) and cast(Row, rows[0]).get("context_chef") == "recording"


def read_recorded(loaded: Loaded, name: str) -> list[RecordedSession]:
    """Every session of a recording, in the order in which they began.

    A recording that was gone on with later holds further sessions: numbers begin anew behind each
    head line. Raises RecordingError naming the line of what cannot be read.
    """
    parts: dict[tuple[int, Any], list[tuple[Row, int]]] = {}
    title, part = name, 0
    for value, line in zip(loaded.values, loaded.numbers, strict=True):
        row = cast(Row, value)
        if row.get("context_chef") == "recording":
            version = row.get("version")
            if not isinstance(version, int) or version > RECORDING_VERSION:
                raise RecordingError(
                    name,
                    f"this recording has version {shown(version)}, and {RECORDING_VERSION} is the "
                    "newest that this release reads; update context-chef.",
                    line=line,
                )
            part += 1
            title = str(row.get("name") or title)
        elif row.get("kind") in ("request", "answer"):
            parts.setdefault((part, row.get("session")), []).append((row, line))
    sessions: list[RecordedSession] = []
    for rows in parts.values():
        label = title if not sessions else f"{title}#{len(sessions) + 1}"
        if any(isinstance(row.get("request"), Mapping) for row, _ in rows):
            sessions += _bodies(rows, label, loaded.notes)
        else:
            session = _session(rows, label, loaded.notes)
            if session.requests:
                sessions.append(session)
    return sessions


def _bodies(
    rows: Sequence[tuple[Row, int]], name: str, notes: tuple[str, ...]
) -> list[RecordedSession]:
    """Bodies one after another, each joined with what was answered to it."""
    joined: dict[Any, dict[str, Any]] = {}
    numbers: list[int] = []
    for row, line in rows:
        if row["kind"] == "request":
            joined[row.get("number")] = dict(row)
            numbers.append(line)
        elif row.get("number") in joined:
            answer = {key: row[key] for key in ("response", "usage") if key in row}
            joined[row.get("number")].update(answer)
    loaded = Loaded(tuple(joined.values()), tuple(numbers), lines=True, notes=notes)
    sessions = read_bodies(loaded, name, "auto")
    return [msgspec.structs.replace(session, format="recording") for session in sessions]


def _session(rows: Sequence[tuple[Row, int]], name: str, notes: tuple[str, ...]) -> RecordedSession:
    requests: list[SessionRequest] = []
    numbers: dict[Any, int] = {}
    rest: tuple[Message, ...] = ()
    said = 0
    for row, line in rows:
        try:
            if row["kind"] == "answer":
                at = numbers.get(row.get("number"))
                if at is not None:
                    requests[at] = msgspec.structs.replace(
                        requests[at], usage=usage_in(row) or requests[at].usage
                    )
                    rest = answer_of(row.get("response"))
                continue
            request = _request(row, said)
        except ContextChefError as error:
            reason = error.reason if isinstance(error, InputError) else str(error)
            raise RecordingError(name, reason, line=line) from error
        said = (said if request.keep is None else request.keep) + len(request.add)
        numbers[row.get("number")] = len(requests)
        requests.append(request)
        rest = ()
    model = next((request.model for request in requests if request.model), None)
    target = next((row["target"] for row, _ in rows if row.get("target") in _TARGETS), "openai")
    return RecordedSession(
        name=name,
        format="recording",
        target=target,
        requests=from_zero(requests),
        rest=rest,
        model=model,
        notes=notes,
    )


def _request(row: Row, said: int) -> SessionRequest:
    keep = row.get("keep")
    start = keep if isinstance(keep, int) else said
    system, tools, state = row.get("system"), row.get("tools"), row.get("state")
    return SessionRequest(
        keep=keep if isinstance(keep, int) else None,
        add=tuple(uncached(m) for m in read_messages(row.get("messages") or [], start=start)),
        system=None if system is None else tuple(uncached(m) for m in read_messages(system)),
        tools=None if tools is None else tuple(_tool(tool) for tool in tools),
        state=None if state is None else row_of(state),
        at=seconds(row.get("at")),
        model=row.get("model") if isinstance(row.get("model"), str) else None,
    )


def _tool(value: Any) -> ToolDefinition:
    try:
        return msgspec.convert(value, ToolDefinition)
    except msgspec.ValidationError:
        return tool_from_dict(value, path="$.tools")
