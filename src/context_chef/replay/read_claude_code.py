"""Reads the logs that Claude Code writes: JSON Lines, one entry each, a tree of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from context_chef.replay.agent_logs import (
    Branch,
    Row,
    Said,
    branch_to,
    content_of,
    message_of,
    notes_of,
    parts_of,
    session_of,
)
from context_chef.replay.lines import Loaded
from context_chef.replay.moments import seconds
from context_chef.replay.session import RecordedSession

_TYPES: Final = frozenset({"user", "assistant", "system", "summary", "progress"})


def is_claude_code(rows: Sequence[Any]) -> bool:
    """Whether these are entries of a Claude Code log."""
    known = [
        row
        for row in cast(Sequence[Row], rows[:50])
        if row.get("type") in _TYPES
        and any(key in row for key in ("uuid", "sessionId", "leafUuid"))
    ]
    return bool(known)


def read_claude_code(loaded: Loaded, name: str) -> list[RecordedSession]:
    """The main conversation of a Claude Code log, and one session for each side conversation.

    Of branches the last one counts. Where the agent compacted, the conversation goes on whole. What
    was written down twice counts once. The system prompt and the tools are not in such logs.
    """
    rows = [cast(Row, row) for row in loaded.values]
    main = [at for at in _once(rows) if not rows[at].get("isSidechain")]
    sessions: list[RecordedSession] = []
    chains = [_last_branch(rows, main)] if any(_speaks(rows[at]) for at in main) else []
    chains += _side_chains(rows)
    for number, chain in enumerate(chains):
        title = name if number == 0 else f"{name}#side{number}"
        said, compactions = _messages(rows, sorted(chain.places), loaded.numbers, name)
        notes = notes_of(loaded, gaps=chain.gaps, compactions=compactions)
        session = session_of(said, title, "claude-code", notes)
        if session.requests:
            sessions.append(session)
    return sessions


def _once(rows: Sequence[Row]) -> list[int]:
    """Every entry where it stands first: a session that is taken up again may repeat some."""
    seen: set[str] = set()
    places: list[int] = []
    for at, row in enumerate(rows):
        id = row.get("uuid")
        if id and str(id) in seen:
            continue
        seen.add(str(id))
        places.append(at)
    return places


def _speaks(row: Row) -> bool:
    return row.get("type") in ("user", "assistant") and isinstance(row.get("message"), Mapping)


def _last_branch(rows: Sequence[Row], among: Iterable[int]) -> Branch:
    """The entries from the root to the newest message, and what belongs to them."""
    places = list(among)
    leaf = next((at for at in reversed(places) if _speaks(rows[at])), None)
    if not any(rows[at].get("uuid") for at in places):
        return Branch(set(places))
    path, gaps = branch_to(leaf, rows, places, id="uuid", above=_above)
    # Parallel calls are siblings in the tree: parts of one answer, and the results of its calls.
    # What only repeats a part that stands on the branch is a copy of it.
    answers: dict[Any, list[Row]] = {}
    for at in sorted(path):
        message = message_of(rows[at])
        if rows[at].get("type") == "assistant" and message.get("id") is not None:
            answers.setdefault(message["id"], []).extend(parts_of(message))
    for at in places:
        known = answers.get(message_of(rows[at]).get("id"))
        if rows[at].get("type") != "assistant" or at in path or known is None:
            continue
        parts = parts_of(message_of(rows[at]))
        if any(part not in known for part in parts):
            path.add(at)
            known.extend(parts)
    calls = _ids(rows, path, "assistant", "tool_use", "id")
    open_calls = calls - _ids(rows, path, "user", "tool_result", "tool_use_id")
    for at in places:
        if rows[at].get("type") == "user" and at not in path:
            answered = _ids(rows, [at], "user", "tool_result", "tool_use_id")
            if answered and answered <= open_calls:
                path.add(at)
                open_calls -= answered
    return Branch(path, gaps)


def _ids(rows: Sequence[Row], among: Iterable[int], role: str, kind: str, key: str) -> set[str]:
    """The ids of calls, or of the calls that results answer, in the entries of a role."""
    return {
        str(part.get(key))
        for at in among
        if rows[at].get("type") == role
        for part in parts_of(message_of(rows[at]))
        if part.get("type") == kind
    }


def _above(row: Row) -> Any:
    return row.get("parentUuid") or row.get("logicalParentUuid")


def _side_chains(rows: Sequence[Row]) -> list[Branch]:
    """Side conversations: entries that lead up to the same root, each on its last branch."""
    known = {str(row["uuid"]) for row in rows if row.get("uuid")}
    by_id: dict[str, int] = {}
    newest: dict[str, int] = {}
    roots: dict[int, int] = {}
    groups: dict[int, list[int]] = {}
    for at in _once(rows):
        row = rows[at]
        if not row.get("isSidechain"):
            continue
        agent, parent = str(row.get("agentId") or ""), str(row.get("parentUuid") or "")
        above = by_id.get(parent)
        if above is None and agent and parent and parent not in known:
            above = newest.get(agent)  # a line was lost: it is the same agent's all the same
        roots[at] = at if above is None else roots[above]
        groups.setdefault(roots[at], []).append(at)
        newest[agent] = at
        if row.get("uuid"):
            by_id[str(row["uuid"])] = at
    return [_last_branch(rows, group) for group in groups.values() if len(group) > 1]


def _messages(
    rows: Sequence[Row], chain: Sequence[int], lines: Sequence[int], name: str
) -> tuple[list[Said], int]:
    said: list[Said] = []
    compactions = 0
    answers: dict[str, int] = {}
    for at in chain:
        row = rows[at]
        if row.get("isCompactSummary"):
            compactions += 1
            continue
        if not _speaks(row) or row.get("isApiErrorMessage"):
            continue
        message = message_of(row)
        if message.get("model") == "<synthetic>":
            continue
        content = content_of(message, name, lines[at])
        if not content:
            continue
        id = message.get("id")
        if row["type"] == "assistant" and isinstance(id, str):
            if id in answers:
                # One answer, written in parts; results of its first calls may stand in between.
                begun = said[answers[id]]
                parts = begun.message["content"]
                parts.extend(part for part in content if part not in parts)
                said[answers[id]] = begun._replace(usage=message.get("usage") or begun.usage)
                continue
            answers[id] = len(said)
        said.append(
            Said(
                {"role": row["type"], "content": content},
                seconds(row.get("timestamp")),
                lines[at],
                message.get("usage") if row["type"] == "assistant" else None,
                message.get("model") if row["type"] == "assistant" else None,
            )
        )
    return said, compactions
