"""What logs of agents have in common: a tree of entries, and messages in Anthropic's form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, cast

from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.costs import read_usage
from context_chef.errors import InputError, shown
from context_chef.ir.message import Message
from context_chef.replay.lines import Loaded, RecordingError, row_of
from context_chef.replay.session import (
    AskedAt,
    RecordedSession,
    from_zero,
    requests_of,
    uncached,
)

Row = Mapping[str, Any]

_MOST_NOTES: Final = 3


class Said(NamedTuple):
    """One message in Anthropic's form, and what the log says about it."""

    message: dict[str, Any]
    at: float | None
    line: int
    usage: Any = None
    model: str | None = None


class Branch(NamedTuple):
    """Entries from the root of a tree to one of its leaves."""

    places: set[int]
    gaps: tuple[int, ...] = ()
    """Entries whose own parent is not in the file: the branch goes on with the entry before."""


def branch_to(leaf: int | None, rows: Sequence[Row], among: Sequence[int], *, id: str,
              above: Callable[[Row], Any]) -> Branch:  # fmt: skip
    """The branch that ends in `leaf`. What stands before the loss of a line is not lost with it.

    `id` is the key of an entry's name, `above` answers the name of its parent.
    """
    by_id = {str(rows[at][id]): at for at in among if rows[at].get(id)}
    path: set[int] = set()
    gaps: list[int] = []
    while leaf is not None and leaf not in path:
        path.add(leaf)
        parent = above(rows[leaf])
        if not parent:
            break
        found = by_id.get(str(parent))
        if found is None:
            here = leaf
            found = max((at for at in among if at < here), default=None)
            if found is not None:
                gaps.append(here)
        leaf = found
    return Branch(path, tuple(sorted(gaps)))


def notes_of(loaded: Loaded, *, gaps: Iterable[int] = (), compactions: int = 0) -> list[str]:
    """What was odd about the log of a session."""
    notes = list(loaded.notes)
    notes += _few([f"line {line} is no JSON and was left out" for line, _ in loaded.broken])
    lines = [loaded.numbers[at] for at in gaps]
    notes += _few(
        [
            f"the entry that line {line} goes on from is not in the file; the one in front of it "
            "is taken instead"
            for line in lines
        ]
    )
    if compactions:
        times = "once" if compactions == 1 else f"{compactions} times"
        notes.append(f"the agent compacted its conversation {times}; the messages go on whole")
    return notes


def _few(notes: Sequence[str]) -> list[str]:
    more = len(notes) - _MOST_NOTES
    return [*notes[:_MOST_NOTES], *([f"… and {more:,} more like it"] if more > 0 else [])]


def message_of(row: Row) -> Row:
    """The message of an entry; an empty one when it holds none."""
    return row_of(row.get("message"))


def parts_of(message: Row) -> list[Row]:
    """The parts of a message's content that are objects."""
    content = message.get("content")
    items = cast(list[Any], content) if isinstance(content, list) else []
    return [cast(Row, item) for item in items if isinstance(item, Mapping)]


def content_of(message: Row, name: str, line: int) -> list[Any]:
    """The content as a list of parts. Raises RecordingError for what is neither text nor a list."""
    content = message.get("content")
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content.strip() else []
    if not isinstance(content, list):
        raise RecordingError(
            name, f"`content` has to be text or a list of parts, not {shown(content)}.", line=line
        )
    return list(cast(list[Any], content))


def session_of(
    said: Sequence[Said], name: str, format: str, notes: Sequence[str], *, target: str = "anthropic"
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
    asked[answers] = AskedAt(at=before)  # what was never answered was asked for all the same
    requests, rest = requests_of(history, asked=asked)
    return RecordedSession(
        name=name,
        format=format,
        target=target,
        requests=from_zero(requests),
        rest=rest,
        model=model,
        notes=tuple(notes),
    )


def _usage_row(usage: Any) -> Any:
    """Claude Code's usage is Anthropic's; a row without cache figures is read as one with none."""
    row = row_of(usage)
    return {"cache_read_input_tokens": 0, **row} if "input_tokens" in row else usage
