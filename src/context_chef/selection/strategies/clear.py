"""`clear()`: mechanical clearing as a strategy, in batches that are worth a broken cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from context_chef.given import read_list
from context_chef.ir.message import Message
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.clearing import (
    ToolResultClearing,
    clearable_results,
    cleared,
    without_thinking,
)
from context_chef.selection.cut import open_turn
from context_chef.selection.janitor_config import share, whole


@dataclass(frozen=True, kw_only=True)
class Clear:
    """Empty old tool results. See `clear()`."""

    keep_recent: int = 3
    tool_filter: tuple[str, ...] | None = None
    exempt_tools: tuple[str, ...] = ()
    thinking: bool = False
    min_gain: float = 0.1
    name: str = field(default="clear", init=False)

    def __post_init__(self) -> None:
        whole("clear.keep_recent", self.keep_recent, least=1)
        share("clear.min_gain", self.min_gain)

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Clear everything that may be cleared, when it is worth it."""
        changes = self._changes(input)
        if not changes:
            return input.unchanged(self.name, "nothing_to_clear")
        before = [input.history[at] for at in sorted(changes)]
        after = [changes[at] for at in sorted(changes)]
        gain = input.tokenizer(before) - input.tokenizer(after)
        if gain <= 0 or (not input.forced and gain < self.min_gain * input.budget.trigger):
            return input.unchanged(self.name, "too_little_to_gain")
        history = tuple(changes.get(at, message) for at, message in enumerate(input.history))
        return OverflowResult(
            history=history,
            evicted=tuple(before),
            span=tuple(before),
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
        )

    def _changes(self, input: OverflowInput) -> dict[int, Message]:
        clearing = ToolResultClearing(
            keep_recent=self.keep_recent,
            tool_filter=self.tool_filter,
            exempt_tools=self.exempt_tools,
        )
        history = input.history
        stays = input.pinned | open_turn(history)
        changes: dict[int, Message] = {}
        for at in clearable_results(history, clearing, pinned=input.pinned):
            stub = cleared(history[at], marked=True)
            if stub is not history[at] and input.tokenizer([stub]) < input.tokenizer([history[at]]):
                changes[at] = stub
        if self.thinking:
            for at, message in enumerate(history):
                if message.role == "assistant" and at not in stays:
                    bare = without_thinking(message)
                    if bare is not message and bare.content:
                        changes[at] = bare
        return changes


def clear(
    *,
    keep_recent: int = 3,
    tool_filter: Sequence[str] | None = None,
    exempt_tools: Sequence[str] = (),
    thinking: bool = False,
    min_gain: float = 0.1,
) -> Clear:
    """Replace old tool results with a stub; with an archive the stub says where they are stored.

    The newest `keep_recent` results stay. `tool_filter` names the only tools whose results go,
    `exempt_tools` those whose results never do. With `thinking` old reasoning goes too. Everything
    goes in one batch, and only when it frees `min_gain` of the trigger: clearing breaks the prompt
    cache, which is not worth crumbs. Put it first in a `chain()`.
    """
    return Clear(
        keep_recent=keep_recent,
        tool_filter=None if tool_filter is None else read_list(tool_filter, "tool_filter", str),
        exempt_tools=read_list(exempt_tools, "exempt_tools", str),
        thinking=thinking,
        min_gain=min_gain,
    )
