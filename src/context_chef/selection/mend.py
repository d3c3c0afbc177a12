"""What a strategy answers is checked: pins stand word for word, calls and results stay together."""

from __future__ import annotations

import msgspec

from context_chef.ir.message import Message
from context_chef.ir.repair import Placed, pair_results
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.strategy import Logger


def mended(result: OverflowResult, input: OverflowInput, logger: Logger) -> OverflowResult:
    """A changed result in which every pin stands verbatim and no call is parted from its result.

    The built-in strategies need no mending; a custom one that does is named in the log.
    """
    history = _with_pins(result, input)
    if history is not result.history:
        logger.warning(
            "The strategy %r took out or changed pinned messages; they are back.", result.strategy
        )
    paired = _paired(history, input)
    if paired is not history:
        logger.warning(
            "The strategy %r parted tool calls from their results; they are mended.",
            result.strategy,
        )
    if paired is result.history:
        return result
    present = set(map(id, paired))
    evicted = tuple(message for message in result.evicted if id(message) not in present)
    head_stands = bool(paired and result.history) and paired[0] is result.history[0]
    return msgspec.structs.replace(
        result,
        history=paired,
        evicted=evicted,
        summary=result.summary if head_stands else None,
    )


def _with_pins(result: OverflowResult, input: OverflowInput) -> tuple[Message, ...]:
    """The history with missing pins back, each before what followed it and is still there."""
    present = {id(message) for message in result.history}
    pins = [input.history[at] for at in sorted(input.pinned)]
    missing = [pin for pin in pins if id(pin) not in present and pin not in result.history]
    if not missing:
        return result.history
    history = list(result.history)
    lost = set(map(id, missing))
    at = len(history)
    for message in reversed(input.history):
        if id(message) in lost:
            history.insert(at, message)
        elif id(message) in present:
            at = next(i for i, kept in enumerate(history) if kept is message)
    if result.summary is not None and history[0] is not result.history[0]:
        head = result.history[0]
        history = [head, *(message for message in history if message is not head)]
    return tuple(history)


def _paired(history: tuple[Message, ...], input: OverflowInput) -> tuple[Message, ...]:
    """The history with pairs whole, when this pass has broken any."""
    before: list[object] = []
    after: list[object] = []
    pair_results(_placed(input.history), before, keep_unnamed=True)  # type: ignore[arg-type]  # only counted
    mended = pair_results(_placed(history), after, keep_unnamed=True)  # type: ignore[arg-type]  # only counted
    if len(after) <= len(before):
        return history
    return tuple(entry.message for entry in mended)


def _placed(history: tuple[Message, ...]) -> list[Placed]:
    return [Placed(at, message) for at, message in enumerate(history)]
