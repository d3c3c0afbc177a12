"""The marker that stands where a large output was: its size, what is shown, how to get the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from context_chef.prompts.xml import fence

OPEN_TAG: Final = "<persisted-output>"
CLOSE_TAG: Final = "</persisted-output>"

_SHOWN_BOTH: Final = (
    "Shown here: the first {head} characters above, the last {tail} characters below."
)
_SHOWN_HEAD: Final = "Shown here: the first {head} characters above; the rest is left out."
_SHOWN_TAIL: Final = "Shown here: the last {tail} characters below; what came before is left out."
_SHOWN_NONE: Final = "Nothing of it is shown here."


def offload_marker(
    *,
    unified: bool,
    total_lines: int,
    total_chars: int,
    head_chars: int,
    tail_chars: int,
    uri: str,
    physical_path: str | None = None,
    preview: str | None = None,
    kept_lines: Sequence[tuple[int, str]] = (),
    noun: str = "Output",
) -> str:
    """The `<persisted-output>` block.

    `kept_lines` are numbered lines from the part that is not shown. With the unified tools the
    address comes first and says how to read all or part of it; else a path on disk comes first.
    """
    lines = [
        OPEN_TAG,
        f"{noun} of {_count(total_lines, 'line')} and {_count(total_chars, 'character')}, stored "
        "outside this window. " + _shown(head_chars, tail_chars),
    ]
    if preview:
        lines.append(fence(preview))
    if kept_lines:
        lines.append("Lines from the part left out that look like errors:")
        lines += [f"  line {number}: {fence(text)}" for number, text in kept_lines]
    if unified:
        lines.append(
            f"Read it with the `context` tool: command `view`, path `{uri}`; for a part only, end "
            f"the path in a line range: `{uri}#L1-L200`. `search` with that path finds a passage."
        )
        if physical_path:
            lines.append(f"On disk: {physical_path}")
    elif physical_path:
        lines.append(f"Full output on disk: {physical_path} (or at {uri})")
    else:
        lines.append(f"Full output at {uri}")
    lines.append(CLOSE_TAG)
    return "\n".join(lines)


def place_marker(marker: str, *, head: str, tail: str) -> str:
    """The marker between what is shown of the beginning and of the end, a blank line around it."""
    before = f"{head}\n\n" if head else ""
    after = f"\n\n{tail}" if tail else ""
    return before + marker + after


def has_marker(text: str) -> bool:
    """Whether the text already carries a marker of ours, so that it is not offloaded again."""
    return f"{OPEN_TAG}\n" in text and f"\n{CLOSE_TAG}" in text


def media_marker(*, unified: bool, what: str, size_bytes: int, uri: str) -> str:
    """What stands in place of an image or file that was stored outside the window."""
    how = f" Read it with the `context` tool: command `view`, path `{uri}`." if unified else ""
    return (
        f"{OPEN_TAG}\n{what} of {size_bytes} bytes, stored outside this window as a data URI "
        f"at {uri}.{how}\n{CLOSE_TAG}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _shown(head_chars: int, tail_chars: int) -> str:
    if head_chars and tail_chars:
        template = _SHOWN_BOTH
    elif head_chars:
        template = _SHOWN_HEAD
    else:
        template = _SHOWN_TAIL if tail_chars else _SHOWN_NONE
    return template.replace("{head}", str(head_chars)).replace("{tail}", str(tail_chars))
