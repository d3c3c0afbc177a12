"""Reads the logs that Claude Code and pi write: JSON Lines, one entry each, a tree of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.costs import read_usage
from context_chef.errors import InputError
from context_chef.ir.message import Message
from context_chef.replay.lines import Loaded, RecordingError, row_of
from context_chef.replay.moments import seconds
from context_chef.replay.session import (
    AskedAt,
    RecordedSession,
    from_zero,
    requests_of,
    uncached,
)

Row = Mapping[str, Any]

_CLAUDE_CODE_TYPES: Final = frozenset({"user", "assistant", "system", "summary", "progress"})
_COMPACTED: Final = "the agent compacted its conversation {count} times; the messages go on whole"


class _Said(NamedTuple):
    """One message in Anthropic's form, and what the log says about it."""

    message: dict[str, Any]
    at: float | None
    line: int
    usage: Any = None
    model: str | None = None


def is_claude_code(rows: Sequence[Any]) -> bool:
    """Whether these are entries of a Claude Code log."""
    known = [
        row
        for row in cast(Sequence[Row], rows[:50])
        if row.get("type") in _CLAUDE_CODE_TYPES
        and any(key in row for key in ("uuid", "sessionId", "leafUuid"))
    ]
    return bool(known)


def is_pi(rows: Sequence[Any]) -> bool:
    """Whether these are entries of a pi log."""
    first = cast(Row, rows[0])
    if first.get("type") == "session" and "id" in first:
        return True
    return first.get("type") == "message" and isinstance(first.get("message"), Mapping)


def read_claude_code(loaded: Loaded, name: str) -> list[RecordedSession]:
    """The main conversation of a Claude Code log, and one session for each side conversation.

    Of branches the last one counts. Where the agent compacted, the conversation goes on whole. The
    system prompt and the tools are not in such logs.
    """
    rows = [cast(Row, row) for row in loaded.values]
    main = [at for at, row in enumerate(rows) if not row.get("isSidechain")]
    sessions: list[RecordedSession] = []
    chains = [_last_branch(rows, main)] if any(_speaks(rows[at]) for at in main) else []
    chains += _side_chains(rows)
    for number, chain in enumerate(chains):
        said, compactions = _claude_code_messages(rows, chain, loaded.numbers)
        notes = list(loaded.notes)
        if compactions:
            notes.append(_COMPACTED.replace("{count}", str(compactions)))
        title = name if number == 0 else f"{name}#side{number}"
        session = _session(said, title, "claude-code", notes)
        if session.requests:
            sessions.append(session)
    return sessions


def _speaks(row: Row) -> bool:
    return row.get("type") in ("user", "assistant") and isinstance(row.get("message"), Mapping)


def _last_branch(rows: Sequence[Row], among: Iterable[int]) -> list[int]:
    """The entries from the root to the newest message, and what belongs to them, in file order."""
    places = list(among)
    by_id = {str(rows[at]["uuid"]): at for at in places if rows[at].get("uuid")}
    leaf = next((at for at in reversed(places) if _speaks(rows[at])), None)
    path: set[int] = set()
    while leaf is not None and leaf not in path:
        path.add(leaf)
        row = rows[leaf]
        above = row.get("parentUuid") or row.get("logicalParentUuid")
        leaf = by_id.get(str(above)) if above else None
    if not by_id:
        return places
    # Parallel calls are siblings in the tree: parts of one answer, and the results of its calls.
    answers = {_message(rows[at]).get("id") for at in path if rows[at].get("type") == "assistant"}
    answers.discard(None)
    for at in places:
        if rows[at].get("type") == "assistant" and _message(rows[at]).get("id") in answers:
            path.add(at)
    calls = {
        part.get("id")
        for at in path
        if rows[at].get("type") == "assistant"
        for part in _parts(_message(rows[at]))
        if part.get("type") == "tool_use"
    }
    for at in places:
        if rows[at].get("type") == "user" and at not in path:
            results = [p for p in _parts(_message(rows[at])) if p.get("type") == "tool_result"]
            if results and all(part.get("tool_use_id") in calls for part in results):
                path.add(at)
    return sorted(path)


def _side_chains(rows: Sequence[Row]) -> list[list[int]]:
    """Side conversations: entries that lead up to the same root, each on its last branch."""
    by_id = {str(row["uuid"]): at for at, row in enumerate(rows) if row.get("uuid")}
    groups: dict[int, list[int]] = {}
    for at, row in enumerate(rows):
        if not row.get("isSidechain"):
            continue
        root, seen = at, set[int]()
        while root not in seen:
            seen.add(root)
            above = by_id.get(str(rows[root].get("parentUuid")))
            if above is None or not rows[above].get("isSidechain"):
                break
            root = above
        groups.setdefault(root, []).append(at)
    return [_last_branch(rows, group) for group in groups.values() if len(group) > 1]


def _claude_code_messages(
    rows: Sequence[Row], chain: Sequence[int], lines: Sequence[int]
) -> tuple[list[_Said], int]:
    said: list[_Said] = []
    compactions = 0
    answers: dict[str, int] = {}
    for at in chain:
        row = rows[at]
        if row.get("isCompactSummary"):
            compactions += 1
            continue
        if not _speaks(row) or row.get("isApiErrorMessage"):
            continue
        message = _message(row)
        if message.get("model") == "<synthetic>":
            continue
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}] if content.strip() else []
        if not content:
            continue
        id = message.get("id")
        if row["type"] == "assistant" and isinstance(id, str):
            if id in answers:
                # One answer, written in parts; results of its first calls may stand in between.
                begun = said[answers[id]]
                begun.message["content"].extend(content)
                said[answers[id]] = begun._replace(usage=message.get("usage") or begun.usage)
                continue
            answers[id] = len(said)
        said.append(
            _Said(
                {"role": row["type"], "content": list(content)},
                seconds(row.get("timestamp")),
                lines[at],
                message.get("usage") if row["type"] == "assistant" else None,
                message.get("model") if row["type"] == "assistant" else None,
            )
        )
    return said, compactions


def _message(row: Row) -> Row:
    return row_of(row.get("message"))


def _parts(message: Row) -> list[Row]:
    content = message.get("content")
    items = cast(list[Any], content) if isinstance(content, list) else []
    return [cast(Row, item) for item in items if isinstance(item, Mapping)]


def read_pi(loaded: Loaded, name: str) -> list[RecordedSession]:
    """The conversation of a pi log, on its last branch, whole where the agent compacted it.

    The system prompt and the tools are not in such logs.
    """
    rows = [cast(Row, row) for row in loaded.values]
    chain = _pi_branch(rows)
    said: list[_Said] = []
    compactions = 0
    for at in chain:
        row = rows[at]
        compactions += row.get("type") == "compaction"
        message = _pi_message(row)
        if message is None:
            continue
        form = _pi_form(message)
        if form is None:
            continue
        stamp = message.get("timestamp")
        when = seconds(row.get("timestamp") if stamp is None else stamp)
        asked = form["role"] == "assistant"
        said.append(
            _Said(
                form,
                when,
                loaded.numbers[at],
                message.get("usage") if asked else None,
                _text(message.get("model")) if asked else None,
            )
        )
    notes = list(loaded.notes)
    if compactions:
        notes.append(_COMPACTED.replace("{count}", str(compactions)))
    session = _session(said, name, "pi", notes)
    return [session] if session.requests else []


def _pi_branch(rows: Sequence[Row]) -> list[int]:
    if not any("parentId" in row for row in rows):
        return list(range(len(rows)))
    by_id = {str(row["id"]): at for at, row in enumerate(rows) if row.get("id")}
    at: int | None = len(rows) - 1
    path: set[int] = set()
    while at is not None and at not in path:
        path.add(at)
        above = rows[at].get("parentId")
        at = by_id.get(str(above)) if above else None
    return sorted(path)


def _pi_message(row: Row) -> Row | None:
    """The message of an entry, whatever kind of entry brings it to the model."""
    match row.get("type"):
        case "message":
            return _message(row)
        case "custom_message":
            return {"role": "user", "content": row.get("content")}
        case "branch_summary":
            return {"role": "user", "content": row.get("summary")}
        case _:
            return None


def _pi_form(message: Row) -> dict[str, Any] | None:
    """The message in Anthropic's form; None for what never reached the model."""
    role = message.get("role")
    if role == "bashExecution":
        if message.get("excludeFromContext"):
            return None
        text = f"Ran `{message.get('command')}`\n{message.get('output') or ''}".rstrip()
        return {"role": "user", "content": [{"type": "text", "text": text}]}
    content = message.get("content", message.get("summary"))
    if isinstance(content, str):
        content = [{"type": "text", "text": content}] if content.strip() else []
    parts = [_pi_part(part, message) for part in _parts({"content": content})]
    blocks = [part for part in parts if part is not None]
    if role == "toolResult":
        result: dict[str, Any] = {
            "type": "tool_result",
            "tool_use_id": message.get("toolCallId"),
            "content": blocks,
        }
        if message.get("isError"):
            result["is_error"] = True
        return {"role": "user", "content": [result]}
    if not blocks:
        return None
    return {"role": "assistant" if role == "assistant" else "user", "content": blocks}


def _pi_part(part: Row, message: Row) -> dict[str, Any] | None:
    match part.get("type"):
        case "text":
            text = _text(part.get("text")) or ""
            return {"type": "text", "text": text} if text.strip() else None
        case "thinking":
            if message.get("provider") != "anthropic" or not part.get("thinkingSignature"):
                return None  # another provider's reasoning, or none that could be sent back
            return {
                "type": "thinking",
                "thinking": part.get("thinking") or "",
                "signature": part["thinkingSignature"],
            }
        case "toolCall":
            arguments = part.get("arguments")
            return {
                "type": "tool_use",
                "id": part.get("id"),
                "name": part.get("name"),
                "input": arguments if isinstance(arguments, Mapping) else {},
            }
        case "image":
            source = {
                "type": "base64",
                "media_type": part.get("mimeType"),
                "data": part.get("data"),
            }
            return {"type": "image", "source": source}
        case _:
            return {"type": "text", "text": json.dumps(part, ensure_ascii=False)}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _session(
    said: Sequence[_Said], name: str, format: str, notes: Sequence[str]
) -> RecordedSession:
    """A session of Anthropic messages, each answer with the time at which it was asked for."""
    history: list[Message] = []
    asked: dict[int, AskedAt] = {}
    answers = 0
    model: str | None = None
    before: float | None = None
    for row in said:
        try:
            read = from_anthropic([row.message]).messages
        except InputError as error:
            raise RecordingError(name, error.reason, line=row.line) from error
        history.extend(uncached(message) for message in read)
        if row.message["role"] == "assistant":
            # It was asked for when the last thing before it had been said.
            at = row.at if before is None else before
            asked[answers] = AskedAt(
                at=at, usage=read_usage(_usage_row(row.usage)), model=row.model
            )
            answers += sum(message.role == "assistant" for message in read)
            model = row.model or model
        elif row.at is not None:
            before = row.at
    requests, rest = requests_of(history, asked=asked)
    return RecordedSession(
        name=name,
        format=format,
        target="anthropic",
        requests=from_zero(requests),
        rest=rest,
        model=model,
        notes=tuple(notes),
    )


def _usage_row(usage: Any) -> Any:
    """Claude Code's usage is Anthropic's; a row without cache figures is read as one with none."""
    row = row_of(usage)
    return {"cache_read_input_tokens": 0, **row} if "input_tokens" in row else usage
