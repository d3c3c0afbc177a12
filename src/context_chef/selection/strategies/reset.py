"""`reset()`: a fresh window with a notice, and nothing else but what has to stay."""

from __future__ import annotations

from dataclasses import dataclass, field

from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.prompts.overflow import reset_notice
from context_chef.selection.cut import open_turn
from context_chef.selection.summary_message import is_synthetic, render_summary_message


@dataclass(frozen=True, kw_only=True)
class Reset:
    """Keep the pinned, and what has to be answered. See `reset()`."""

    notice: str | None = None
    keep_open_turn: bool = True
    name: str = field(default="reset", init=False)

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Take out everything that does not have to stay."""
        stays = set(input.pinned)
        if self.keep_open_turn:
            stays |= open_turn(input.history)
            stays |= {at for at, m in enumerate(input.history) if m.role == "system"}
        gone = tuple(m for at, m in enumerate(input.history) if at not in stays)
        if not gone:
            return input.unchanged(self.name, "only_pinned")
        if self.keep_open_turn and all(is_synthetic(message) for message in gone):
            return input.unchanged(self.name, "no_boundary")
        window = input.window
        notice = self.notice
        if notice is None:
            notice = reset_notice(window=window.current, previous=window.previous)
        kept = tuple(input.history[at] for at in sorted(stays))
        return OverflowResult(
            history=(render_summary_message(notice), *kept),
            evicted=gone,
            span=gone,
            summary=notice,
            strategy=self.name,
            window_id=window.current,
            changed=True,
            drops_open_turn=not self.keep_open_turn,
        )


def reset(notice: str | None = None, *, keep_open_turn: bool = True) -> Reset:
    """Close the window without a model: a notice, the pinned turns, and what has to be answered.

    What has to be answered is the newest user message and the tool exchange that works on it; with
    `keep_open_turn=False` that goes too, and only pinned turns stay. The default notice names the
    window that was closed; one of your own is used as it is.
    """
    return Reset(notice=notice, keep_open_turn=keep_open_turn)
