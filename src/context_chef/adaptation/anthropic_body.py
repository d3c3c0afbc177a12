"""What holds for a whole Messages body: breakpoints in number and order, and the betas it needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from context_chef.adaptation.notes import Notes
from context_chef.ir.blocks import Block, CacheBreakpoint, Opaque, Text
from context_chef.ir.handed_out import row_at, rows_of

MAX_BREAKPOINTS: Final = 4
MOST_MESSAGES: Final = 100_000

_EDIT_BETAS: Final = {"compact_20260112": "compact-2026-01-12"}
_CONTEXT_MANAGEMENT: Final = "context-management-2025-06-27"
_KEY_BETAS: Final = {
    "compaction": "compact-2026-09-04",
    "mcp_servers": "mcp-client-2025-11-20",
    "thread": "message-threads-2026-08-12",
    "fallbacks": "server-side-fallback-2026-07-01",
    "fallback_credit_token": "fallback-credit-2026-07-01",
}
_MESSAGE_BETAS: Final = {
    "clear_at": "mid-conversation-system-clear-at-2026-08-21",
    "output_config": "mid-conversation-output-config-2026-07-01",
}


def cache_control(mark: CacheBreakpoint) -> dict[str, Any]:
    """A breakpoint as it stands on a block or a tool."""
    return {"type": "ephemeral"} if mark.ttl is None else {"type": "ephemeral", "ttl": mark.ttl}


def goes_with(block: Block, before: Block | None) -> bool:
    """Whether a generated text stands in one wire block with the one before it in its message."""
    return (
        isinstance(block, Text)
        and isinstance(before, Text)
        and bool(block.source and before.source)
        and not (block.apart or before.cache or before.native.get("anthropic"))
    )


def is_compaction(block: Block) -> bool:
    """Whether this is the summary that Anthropic makes of what came before."""
    return (
        isinstance(block, Opaque) and block.provider == "anthropic" and block.kind == "compaction"
    )


def compaction_first(blocks: Sequence[Block]) -> Sequence[Block]:
    """A compaction block is read only at the start of an answer."""
    return sorted(blocks, key=lambda block: not is_compaction(block))


def mend_breakpoints(
    body: Mapping[str, Any], notes: Notes, *, rows: Sequence[int] | None = None
) -> None:
    """At most four marks, the longer lifetimes first, as the provider wants them.

    Kept are the last mark of all, the last of the system prompt, the last tool's, and then the
    later ones before the earlier. An earlier mark is raised to the lifetime of a later one, since
    what stands behind it was asked to live that long. `rows` are the messages that carry marks,
    where that is known.
    """
    marks = list(_marks(body, rows))
    excess = len(marks) + (1 if body.get("cache_control") else 0) - MAX_BREAKPOINTS
    if excess <= 0 and _in_order([block for _, block in marks]):
        return
    for key in ("tools", "system", "messages"):
        _take_marked(body.get(key), rows if key == "messages" else None)
    marks = list(_marks(body, rows))
    if excess > 0:
        for index in sorted(_least_useful(marks)[:excess]):
            where, block = marks[index]
            del block["cache_control"]
            said = f"one mark too many: {MAX_BREAKPOINTS} are allowed"
            notes.repair("cache-breakpoints", where, said)
        marks = [mark for mark in marks if "cache_control" in mark[1]]
    long_after = False
    for where, block in reversed(marks):
        if block["cache_control"].get("ttl") == "1h":
            long_after = True
        elif long_after:
            block["cache_control"] = {**block["cache_control"], "ttl": "1h"}
            said = "a later mark lives for an hour, so this one does too"
            notes.repair("cache-ttl-order", where, said)


def _in_order(marked: list[dict[str, Any]]) -> bool:
    """Whether no mark for an hour stands behind a shorter one."""
    lifetimes = [block["cache_control"].get("ttl") == "1h" for block in marked]
    return lifetimes == sorted(lifetimes, reverse=True)


def _take_marked(blocks: Any, rows: Sequence[int] | None) -> None:
    """Make the rows with marks the body's own, so that they can be changed."""
    if isinstance(blocks, list):
        for index in range(len(cast("list[Any]", blocks))) if rows is None else rows:
            blocks[index]


def _least_useful(marks: list[tuple[str, dict[str, Any]]]) -> list[int]:
    """The indexes of the marks, the one that is missed least first."""
    places = [where.partition("[")[0] for where, _ in marks]
    last = {place: index for index, place in enumerate(places)}
    order = sorted(range(len(marks)))
    worth = [len(marks) - 1, last.get("system", -1), last.get("tools", -1)]
    return [index for index in order if index not in worth] + [
        index for index in reversed(list(dict.fromkeys(worth))) if index >= 0
    ]


def _marks(
    body: Mapping[str, Any], rows: Sequence[int] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every marked block with its place, in the order in which the prompt is rendered."""
    for key in ("tools", "system"):
        yield from _marked(body.get(key), key)
    messages = cast("list[dict[str, Any]]", body.get("messages") or [])
    for index in range(len(messages)) if rows is None else rows:
        content = row_at(messages, index).get("content")
        yield from _marked(content, f"messages[{index}].content")


def _marked(blocks: Any, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(blocks, list):
        return
    for index, block in enumerate(rows_of(cast("list[Any]", blocks))):
        if isinstance(block, dict):
            block = cast("dict[str, Any]", block)
            where = f"{path}[{index}]"
            if block.get("type") == "tool_result":
                yield from _marked(block.get("content"), f"{where}.content")
            if block.get("cache_control"):
                yield where, block


def needed_betas(
    body: Mapping[str, Any],
    *,
    verbatim: Sequence[Mapping[str, Any]] | None = None,
    rows: Sequence[int] | None = None,
) -> tuple[str, ...]:
    """The beta names without which the body is refused, each once, in the order of first need.

    `verbatim`, when given, are the only blocks of the messages that can need one, `rows` the only
    messages whose own fields can.
    """
    found: dict[str, None] = {}
    for edit in _rows(_mapping(body.get("context_management")).get("edits")):
        if edit.get("type"):
            found.setdefault(_EDIT_BETAS.get(edit["type"], _CONTEXT_MANAGEMENT))
    for key, beta in _KEY_BETAS.items():
        if body.get(key):
            found.setdefault(beta)
    if _mapping(body.get("output_config")).get("task_budget"):
        found.setdefault("task-budgets-2026-03-13")
    thinking = _mapping(body.get("thinking"))
    if thinking.get("block_binding"):
        found.setdefault("thinking-binding-controls-2026-08-01")
    if thinking.get("display") == "updates":
        found.setdefault("thinking-display-updates-2026-08-18")
    for tool in _rows(body.get("tools")):
        if str(tool.get("type")).startswith("advisor_"):
            found.setdefault("advisor-tool-2026-03-01")
    messages = body.get("messages")
    for message in _rows(messages) if rows is None else [row_at(messages, at) for at in rows]:
        for key, beta in _MESSAGE_BETAS.items():
            if message.get(key):
                found.setdefault(beta)
        if verbatim is None:
            found.update(dict.fromkeys(_block_betas(_rows(message.get("content")))))
    found.update(dict.fromkeys(_block_betas(verbatim or [])))
    return tuple(found)


def _block_betas(blocks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (beta for block in blocks if (beta := _block_beta(block)))


def _block_beta(block: Mapping[str, Any]) -> str | None:
    match block:
        case {"type": "compaction", "signature": str(signature)} if signature:
            return "compact-2026-09-04"
        case {"type": "compaction"}:
            return "compact-2026-01-12"
        case {"type": "tool_addition" | "tool_removal", "tool": {"type": "tool_definition"}}:
            return "inline-tools-2026-09-15"
        case {"type": "tool_addition" | "tool_removal"}:
            return "mid-conversation-tool-changes-2026-07-01"
        case {"type": str(kind)} if kind.startswith("advisor_"):
            return "advisor-tool-2026-03-01"
        case _:
            return None


def _rows(value: Any) -> list[dict[str, Any]]:
    rows = rows_of(cast("list[Any]", value)) if isinstance(value, list) else ()
    return [cast("dict[str, Any]", row) for row in rows if isinstance(row, dict)]


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
