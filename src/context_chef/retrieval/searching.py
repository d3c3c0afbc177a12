"""Finding entries for the model: hits with their addresses, a snippet each, in pages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from context_chef.errors import CorruptStoreError
from context_chef.patterns import regex
from context_chef.persistence.backend import SearchHit, StoredEntry
from context_chef.persistence.namespace import NamespaceView
from context_chef.persistence.ranking import rank
from context_chef.prompts import replies
from context_chef.retrieval.arguments import Mistake
from context_chef.retrieval.location import Location, Part
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.retrieval.recall import line_of_message

_MARGIN: Final = 40
_NO_CAP: Final = 1_000_000
_Lines: TypeAlias = dict[tuple[str, int | None], int | None]
"""Where a message of an archived span begins in a view of it."""
_BLANKS: Final = regex(r"\s+")


async def search_namespace(
    view: NamespaceView,
    location: Location,
    query: str,
    part: Part | None,
    config: ContextToolConfig,
) -> str:
    """The answer to a search under `location`."""
    if config.search == "scan":
        return _scanned(await view.entries(location.path), location, query, part, config)
    offset, limit = _page(part, config)
    # One more than shown, so that the answer can say whether there are others.
    if view.supports("search"):
        hits = await view.search(query, prefix=location.path, limit=limit + 1, offset=offset)
    else:
        hits = rank(await view.entries(location.path), query, limit=limit + 1, offset=offset)
    lines: _Lines = {
        (hit.path, hit.message): await _line_of(view, hit.path, hit.message)
        for hit in hits[:limit]
        if hit.message is not None
    }
    return _answer(hits, location, query, offset, limit, lines)


def search_entries(
    entries: Mapping[str, StoredEntry],
    location: Location,
    query: str,
    part: Part | None,
    config: ContextToolConfig,
) -> str:
    """The same over entries that are in hand already."""
    if config.search == "scan":
        return _scanned(entries, location, query, part, config)
    offset, limit = _page(part, config)
    return _answer(
        rank(entries, query, limit=limit + 1, offset=offset), location, query, offset, limit
    )


def snippet_around(content: str, start: int, end: int) -> str:
    """One line around `content[start:end]`, with `…` where it was cut."""
    left, right = max(start - _MARGIN, 0), min(end + _MARGIN, len(content))
    text = _BLANKS.sub(" ", content[left:right]).strip()
    return ("…" if left > 0 else "") + text + ("…" if right < len(content) else "")


def _page(part: Part | None, config: ContextToolConfig) -> tuple[int, int]:
    offset = 0 if part is None else max(part.first, 1) - 1
    limit = _NO_CAP if config.search_hits is None else config.search_hits
    if part is not None and part.last is not None:
        limit = max(min(limit, part.last - offset), 1)
    return offset, limit


async def _line_of(view: NamespaceView, path: str, message: int) -> int | None:
    """Where a view of the archived span shows that message; None when the span is unreadable."""
    try:
        entry = await view.get(path, touch=False)
    except CorruptStoreError:
        return None
    return None if entry is None else line_of_message(entry.content, message)


def _answer(
    hits: Sequence[SearchHit],
    location: Location,
    query: str,
    offset: int,
    limit: int,
    lines: _Lines | None = None,
) -> str:
    if not hits:
        return replies.no_matches(query, location.address)
    known = lines or {}
    rows = [_row(hit, location, known.get((hit.path, hit.message))) for hit in hits[:limit]]
    more = None if len(hits) > limit else 0
    return replies.matches(query, location.address, rows, first=offset + 1, more=more)


def _row(hit: SearchHit, location: Location, line: int | None) -> str:
    """Address and snippet. An archived message is given by the line that a view begins it at."""
    address = Location(ns=location.ns, path=hit.path).address
    if hit.message is not None:
        role = f", {hit.role}" if hit.role else ""
        start = "" if line is None else f"#L{line}"
        address = f"{address}{start} (message {hit.message + 1}{role})"
    elif hit.line is not None and hit.line > 1:
        address = f"{address}#L{hit.line}"
    return f"{address}: {hit.snippet}" if hit.snippet else address


def _scanned(
    entries: Mapping[str, StoredEntry],
    location: Location,
    query: str,
    part: Part | None,
    config: ContextToolConfig,
) -> str:
    wanted = re.compile(re.escape(query), re.IGNORECASE)
    found = [
        (path, snippet_around(entry.content, match.start(), match.end()))
        for path, entry in entries.items()
        if (match := wanted.search(entry.content))
    ]
    if not found:
        return replies.no_matches(query, location.address)
    offset, limit = _page(part, config)
    shown = found[offset : offset + limit]
    if not shown:
        raise Mistake(replies.range_outside(location.address, offset + 1, len(found), "match"))
    rows = [f"{Location(ns=location.ns, path=path).address}: {snippet}" for path, snippet in shown]
    more = len(found) - offset - len(shown)
    return replies.matches(query, location.address, rows, first=offset + 1, more=more)
