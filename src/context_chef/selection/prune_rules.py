"""The rules that keep a tool, and what comes of asking every tool."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec

from context_chef.errors import ToolError, shown
from context_chef.ir.frozen import EMPTY
from context_chef.ir.tools import ToolDefinition
from context_chef.selection.words import fold_name, has_phrase, words

PruneStrategy: TypeAlias = Literal["union", "intersection"]

PruneRule: TypeAlias = Callable[[ToolDefinition], tuple[float, str]]
"""Answers how well a tool fits, and what keeps it; no reason where the rule does not keep it."""


class PrunedTools(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which tools were kept, and why. Nothing is hidden until it is applied."""

    tools: tuple[ToolDefinition, ...] = ()
    """In the order of registration; best first where `select_tools` chose them."""
    removed: tuple[str, ...] = ()
    kept: int = 0
    total: int = 0
    scores: Mapping[str, float] = EMPTY
    """How well each tool fits, by name. Comparable within one result only."""
    reasons: Mapping[str, str] = EMPTY
    """What kept each kept tool, by name, where it was a rule that did."""


def checked_task(task: Any) -> str:
    """The task itself. Raises ToolError for what is no text."""
    if not isinstance(task, str):
        raise ToolError(f"`task` says in words what is to be done; {shown(task)} is no text.")
    return task


def spoken_of(task: str) -> PruneRule:
    """Keeps what the task speaks of by name or tag, and what has no tags to go by."""
    said = words(checked_task(task))

    def judge(tool: ToolDefinition) -> tuple[float, str]:
        named = has_phrase(said, words(tool.name))
        tags = [tag for tag in tool.tags if has_phrase(said, words(tag))]
        if not tool.tags and not named:
            return 0.0, "no tags"
        reasons = [*(["named"] if named else []), *(f"tag {tag!r}" for tag in tags)]
        return 2.0 * named + len(tags), ", ".join(reasons)

    return judge


def is_list_of_texts(values: Any) -> bool:
    """Whether these are texts, one after another."""
    return isinstance(values, Collection) and all(
        isinstance(value, str) for value in cast("Collection[object]", values)
    )


def listed(names: Sequence[str]) -> PruneRule:
    """Keeps the tools of these names, whatever their case."""
    if isinstance(names, (str, bytes)) or not is_list_of_texts(names):
        raise ToolError(f"`names` is a list of tool names, not {shown(names)}.")
    wanted = {fold_name(name) for name in names}
    return lambda tool: (0.0, "listed" if fold_name(tool.name) in wanted else "")


def kept_tools(
    tools: Sequence[ToolDefinition], rules: Sequence[PruneRule], *, strategy: PruneStrategy
) -> PrunedTools:
    """Ask every rule about every tool; the strategy says how many rules have to keep it."""
    kept: list[ToolDefinition] = []
    scores: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for tool in tools:
        verdicts = [rule(tool) for rule in rules]
        scores[tool.name] = sum(score for score, _ in verdicts)
        found = [reason for _, reason in verdicts if reason]
        if found and (strategy == "union" or len(found) == len(rules)):
            kept.append(tool)
            reasons[tool.name] = ", ".join(found)
    return PrunedTools(
        tools=tuple(kept),
        removed=tuple(tool.name for tool in tools if tool.name not in reasons),
        kept=len(kept),
        total=len(tools),
        scores=scores,
        reasons=reasons,
    )
