"""Messages of our own making that stand for what left: how they look and how they are known."""

from __future__ import annotations

from collections.abc import Sequence

from context_chef.given import check_instance, check_text
from context_chef.ir.blocks import Text
from context_chef.ir.message import Message
from context_chef.prompts.compaction import is_wrapped
from context_chef.prompts.overflow import dropped_notice
from context_chef.prompts.vocabulary import (
    LEGACY_VOCABULARY,
    LINEAGE_LINE,
    LINEAGE_LINE_WITH_PREVIOUS,
    Lineage,
    Vocabulary,
)

SUMMARY_SOURCE = "summary"
MARKER_SOURCE = "dropped"


def render_summary_message(
    summary: str,
    citation: str = "",
    vocabulary: Vocabulary = LEGACY_VOCABULARY,
    lineage: Lineage | None = None,
) -> Message:
    """A summary as the user message that opens the window.

    With the unified wording a line names the window; a citation says where the messages are
    stored.
    """
    check_text(summary, "summary")
    check_text(citation, "citation")
    check_instance(vocabulary, "vocabulary", Vocabulary)
    parts = [summary, citation] if citation else [summary]
    if lineage is not None:
        check_text(getattr(lineage, "current", None), "lineage.current")
        check_text(getattr(lineage, "previous", None), "lineage.previous", optional=True)
    if lineage is not None and vocabulary.unified:
        line = LINEAGE_LINE if lineage.previous is None else LINEAGE_LINE_WITH_PREVIOUS
        line = line.replace("{current}", lineage.current)
        parts.insert(0, line.replace("{previous}", lineage.previous or ""))
    text = vocabulary.summary_wrapper("\n\n".join(parts))
    return Message.user(Text(text=text, source=SUMMARY_SOURCE))


def dropped_marker(count: int, uri: str | None = None) -> Message:
    """The user message that stands for messages dropped without a summary."""
    return Message.user(Text(text=dropped_notice(count=count, uri=uri), source=MARKER_SOURCE))


def is_summary_message(message: Message) -> bool:
    """Whether this is a summary of ours: by its mark, or by its framing when a caller stored it."""
    return message.role == "user" and any(
        isinstance(block, Text) and (block.source == SUMMARY_SOURCE or is_wrapped(block.text))
        for block in message.content
    )


def is_synthetic(message: Message) -> bool:
    """Whether this is a summary or a marker of ours."""
    return is_summary_message(message) or any(
        isinstance(block, Text) and block.source == MARKER_SOURCE for block in message.content
    )


def without_synthetic(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages that somebody else said."""
    return tuple(message for message in messages if not is_synthetic(message))
