"""What must hold between stages when `pipeline_checks` is on: reported, never enforced."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.events import InvariantBroken
from context_chef.ir.canonical import canonical_json
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.pipeline.turn import CompileTurn


async def check_assemble(
    turn: CompileTurn, before: Sequence[Message], after: Sequence[Message]
) -> None:
    """Pinned messages are still there, and every pair that was whole still is, in order."""
    lost = _lost_pins(before, after)
    if lost:
        first = lost[0]
        await _report(
            turn,
            "assemble",
            f"an after-assemble handler lost {len(lost)} pinned message(s), the first of role "
            f"{first.role}: {first.text[:60]!r}",
        )
    broken = sorted(_whole_pairs(before) - _whole_pairs(after))
    if broken:
        await _report(
            turn,
            "assemble",
            "an after-assemble handler parted tool calls from their results, or changed their "
            f"order: {', '.join(broken)}",
        )


async def check_tail(
    turn: CompileTurn, before: Sequence[Message], after: Sequence[Message]
) -> None:
    """Everything in front of the tail is what it was."""
    for index in range(min(turn.stable_until - 1, len(before), len(after))):
        if before[index] is not after[index] and before[index] != after[index]:
            await _report(
                turn, "tail", f"the tail changed message {index}, which stands in front of it"
            )
            return


def _lost_pins(before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
    kept = {id(message) for message in after}
    missing = [message for message in before if message.pinned and id(message) not in kept]
    if not missing:
        return []
    texts = {canonical_json(flat_row(message)) for message in after}
    return [message for message in missing if canonical_json(flat_row(message)) not in texts]


def _whole_pairs(messages: Sequence[Message]) -> set[str]:
    """Ids of the calls whose results all follow their assistant message, with nothing between."""
    whole: set[str] = set()
    for index, message in enumerate(messages):
        calls = {call.id for call in message.tool_calls}
        if not calls:
            continue
        position = index + 1
        answered: set[str] = set()
        while position < len(messages) and messages[position].role in ("tool", "system"):
            if messages[position].role == "tool":
                answered.add(messages[position].tool_call_id or "")
            position += 1
        whole |= calls & answered
    return whole


async def _report(turn: CompileTurn, phase: str, message: str) -> None:
    turn.parts.logger.warning("Pipeline check in %s: %s.", phase, message)
    await turn.emit(InvariantBroken(phase=phase, message=message))
