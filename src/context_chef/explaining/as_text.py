"""Explanations and differences as plain text, for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from context_chef.ir.report import Span

if TYPE_CHECKING:
    from context_chef.explaining.diff import Difference, PayloadDiff
    from context_chef.explaining.explanation import Explanation

_LARGEST = 8
_UNSEEN: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **dict.fromkeys([*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"),
}
"""What a terminal obeys instead of showing it: control characters, changes of direction."""


def harmless(text: str) -> str:
    """The text with a mark for everything that a terminal would obey; line ends and tabs stay."""
    return text.translate(_UNSEEN)


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """The rows with their columns under each other; those in `right` flush to the right."""
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines: list[str] = []
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def money_text(cost: float | None) -> str:
    """US$ with as many digits as say something."""
    if cost is None:
        return "price unknown"
    return f"${cost:.2f}" if cost >= 1 else f"${cost:.6f}".rstrip("0").ljust(4, "0")


def explanation_text(explanation: Explanation, *, every_span: bool) -> str:
    """The explanation as lines of text."""
    total = max(explanation.tokens, 1)
    model = f" · {explanation.model}" if explanation.model else ""
    lines = [f"{explanation.target}{model} · {explanation.tokens:,} tokens"]
    if explanation.price is not None:
        lines.append(f"sent when nothing of it is cached: {money_text(explanation.price.cost)}")
    if explanation.cache is not None:
        cache = explanation.cache
        kept = f"{cache.kept_tokens:,} tokens are kept for the next request"
        until = f", up to {cache.kept_until}" if cache.kept_until else ""
        lines.append(f"cache: {kept}{until}" + (f" ({cache.note})" if cache.note else ""))
        lines += [f"  breakpoint at {path} for {ttl}" for path, ttl in cache.marks]
    lines += ["", "Where the tokens go"]
    rows = [
        (f"  {place}", f"{count:,}", f"{count / total:.0%}")
        for place, count in explanation.by_place.items()
    ]
    lines += columns(rows, right=(1, 2))
    lines += ["", "Who brought them"]
    largest = list(explanation.by_source.items())[:_LARGEST]
    lines += columns(
        [(f"  {source}", f"{count:,}", f"{count / total:.0%}") for source, count in largest],
        right=(1, 2),
    )
    rest = len(explanation.by_source) - len(largest)
    if rest > 0:
        lines.append(f"  and {rest} more")
    if every_span:
        lines += ["", "Every span, in the order in which the provider reads it"]
        lines += columns(
            [
                ("  place", "source", "tokens", "cache", "where", "text"),
                *(_row(span) for span in explanation.spans),
            ],
            right=(2,),
        )
    if explanation.out:
        lines += ["", "Left out"]
        for span in explanation.out:
            where = f" → {span.uri}" if span.uri else ""
            lines.append(f"  {span.source} ({span.tokens:,} tokens): {span.reason}{where}")
    if explanation.repairs:
        lines += ["", "Mended"]
        lines += [f"  {one.where}: {one.message} [{one.rule}]" for one in explanation.repairs]
    if explanation.diagnostics:
        lines += ["", "Not carried as it was"]
        lines += [f"  {one.where}: {one.message}" for one in explanation.diagnostics]
    return harmless("\n".join(lines))


def _row(span: Span) -> tuple[str, str, str, str, str, str]:
    cached = {True: "kept", False: "", None: "?"}[span.cached]
    if span.place == "settings":
        cached = ""
    source = span.source + (" (mended)" if span.repairs else "")
    return f"  {span.place}", source, f"{span.tokens:,}", cached, span.path, span.preview


def diff_text(found: PayloadDiff) -> str:
    """The difference as lines of text."""
    if found.first is None:
        return "The two requests are the same."
    first = found.first
    lines = [f"The requests part at {first.path} ({first.place}).", f"Cause: {first.cause.message}"]
    lines += _before_and_after(first)
    if found.requests is not None:
        second = found.requests[1]
        cost = ""
        if found.rebilled_tokens:
            more = " more" if found.rebilled_cost is not None else ""
            cost = f" ({money_text(found.rebilled_cost)}{more})"
        lines += ["", f"Billed again: {found.rebilled_tokens:,} tokens{cost}"]
        if found.note:
            lines.append(f"  {found.note}")
        lines.append(
            f"The second request reads {second.read:,} of {second.input:,} tokens from the cache, "
            f"writes {sum(second.written.values()):,} and costs {money_text(second.cost)}."
        )
    rest = found.differences[1:]
    if rest:
        lines += ["", "Also different"]
        for one in rest:
            lines.append(f"  {one.path}: {one.cause.message}")
    return harmless("\n".join(lines))


def _before_and_after(one: Difference) -> list[str]:
    lines: list[str] = []
    if one.before:
        lines.append(f"  - {_line(one.before)}")
    if one.after:
        lines.append(f"  + {_line(one.after)}")
    return lines


def _line(text: str) -> str:
    return text.replace("\n", "⏎")
