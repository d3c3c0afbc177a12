"""How much of a text one answer shows, and the line below it that says how to go on."""

from __future__ import annotations

from context_chef.prompts import replies
from context_chef.retrieval.arguments import Mistake
from context_chef.retrieval.location import Part


def numbered_page(content: str, *, address: str, part: Part | None, limit: int | None) -> str:
    """Lines with their numbers. Whole when it fits and no part was asked for."""
    return _page(content, address=address, part=part, limit=limit, numbers=True)


def verbatim_page(content: str, *, address: str, part: Part | None, limit: int | None) -> str:
    """The text as it is. Whole when it fits and no part was asked for."""
    return _page(content, address=address, part=part, limit=limit, numbers=False)


def _page(
    content: str, *, address: str, part: Part | None, limit: int | None, numbers: bool
) -> str:
    if part is not None and part.unit == "character":
        return _characters(content, address=address, part=part, limit=limit)
    if part is None and not numbers and (limit is None or len(content) <= limit):
        return content
    lines = content.split("\n")
    first = 1 if part is None else max(part.first, 1)
    if first > len(lines):
        raise Mistake(replies.range_outside(address, first, len(lines), "line"))
    wanted = len(lines) if part is None or part.last is None else min(part.last, len(lines))
    wanted = max(wanted, first)
    width = replies.NUMBER_WIDTH + 2 if numbers else 1
    last, size = first - 1, 0
    for line in lines[first - 1 : wanted]:
        size += len(line) + width
        if limit is not None and size > limit:
            break
        last += 1
    if last < first:  # one line alone is too long: show it by characters
        start = sum(len(line) + 1 for line in lines[: first - 1]) + 1
        return _characters(content, address=address, part=Part(first=start), limit=limit)
    shown = lines[first - 1 : last]
    text = replies.numbered(shown, first) if numbers else "\n".join(shown)
    if last == len(lines) and first == 1:
        return text
    return f"{text}\n\n{replies.lines_shown(address, first, last, len(lines))}"


def _characters(content: str, *, address: str, part: Part, limit: int | None) -> str:
    total = len(content)
    first = max(part.first, 1)
    if first > total:
        raise Mistake(replies.range_outside(address, first, total, "character"))
    last = total if part.last is None else min(max(part.last, first), total)
    if limit is not None:
        last = min(last, first + limit - 1)
    text = content[first - 1 : last]
    return f"{text}\n\n{replies.characters_shown(address, first, last, total)}"
