"""Which message is the guardrail's own opening of the answer."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.ir.message import Message


def prefill_index(messages: Sequence[Message]) -> int | None:
    """Where the opening of the answer stands; None when the conversation does not end in one.

    Only what is marked as an opening counts: a finished answer that happens to be last is history.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role != "system":
            return index if message.role == "assistant" and message.prefill else None
    return None
