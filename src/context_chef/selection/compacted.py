"""Blocks by which a provider tells what it has compacted, and what they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.ir.blocks import Block, Opaque
from context_chef.ir.message import Message
from context_chef.ir.turns import group_into_turns, pinned_indexes
from context_chef.ir.window import OverflowResult
from context_chef.selection.cut import open_turn
from context_chef.selection.summary_message import without_synthetic


def is_signed_summary(block: Block) -> bool:
    """Whether this is Anthropic's signed summary: it stands first, for all that came before it."""
    if not isinstance(block, Opaque) or block.provider != "anthropic":
        return False
    value = block.value
    return block.kind == "compaction" and bool(value.get("signature") and value.get("content"))


def carries_summary(message: Message) -> bool:
    """Whether there is a signed summary in that message."""
    return any(map(is_signed_summary, message.content))


def failed_summary(message: Message) -> bool:
    """Whether a compaction was asked for and came to nothing."""
    return message.role == "assistant" and any(
        isinstance(block, Opaque)
        and block.provider == "anthropic"
        and block.kind == "compaction"
        and not block.value.get("content")
        for block in message.content
    )


def closed_part(history: Sequence[Message]) -> tuple[Message, ...]:
    """What may be summarised: everything in front of the turn that has to be answered."""
    if not open_turn(history):
        return tuple(history)
    return tuple(history[: group_into_turns(history)[-1].start])


def has_words(history: Sequence[Message]) -> bool:
    """Whether there is anything to summarise that is no summary itself."""
    return any(
        message.role in ("user", "assistant") and not any(map(is_signed_summary, message.content))
        for message in history
    )


def adopted(history: tuple[Message, ...], window_id: str) -> OverflowResult | None:
    """The history with the newest signed summary in the place of what it stands for.

    Behind it stand system messages and pinned turns of old, the turn that waits for an answer, and
    what came after it. None when there is no such summary, or nothing in front of it.
    """
    places = [at for at, m in enumerate(history) if any(map(is_signed_summary, m.content))]
    if not places:
        return None
    place = places[-1]
    before = history[:place]
    if all(message.role == "system" for message in before):
        return None
    stays = open_turn(before) | {
        at for at in pinned_indexes(before) if not any(map(is_signed_summary, before[at].content))
    }
    stays |= {at for at, message in enumerate(before) if message.role == "system"}
    kept = tuple(before[at] for at in sorted(stays))
    system = tuple(message for message in kept if message.role == "system")
    others = tuple(message for message in kept if message.role != "system")
    left = tuple(message for at, message in enumerate(before) if at not in stays)
    return OverflowResult(
        history=(*system, history[place], *others, *history[place + 1 :]),
        evicted=left,
        span=without_synthetic(left),
        strategy="server",
        window_id=window_id,
        changed=True,
    )


def since_compaction(history: tuple[Message, ...]) -> tuple[Message, ...]:
    """What OpenAI Responses still needs: its newest compaction item and what follows it.

    System messages and pinned turns in front of it stay.
    """
    places = [
        at
        for at, message in enumerate(history)
        if any(
            isinstance(block, Opaque)
            and block.provider == "openai-responses"
            and block.kind == "compaction"
            for block in message.content
        )
    ]
    if not places:
        return history
    place = places[-1]
    pinned = pinned_indexes(history[:place])
    kept = (m for at, m in enumerate(history[:place]) if m.role == "system" or at in pinned)
    return (*kept, *history[place:])
