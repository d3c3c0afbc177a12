"""What rides at the end of the window, in which order, and where exactly it goes.

A tail is made of text blocks of its own; a block that somebody said is never edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from context_chef.ir.blocks import Text
from context_chef.ir.message import Message
from context_chef.placement.announcements import (
    HANDOFF_ID,
    Announcement,
    render_announcements,
)
from context_chef.prompts.placement import ANCHOR_LINE, SUPERSEDED_STATE, WITHDRAWN_PART
from context_chef.prompts.xml import fence

ANCHORED: Final = frozenset({"dynamic_state", "implicit_context", "announcements"})
"""The parts that call for the line which says that they are current."""
_LIVES_ON: Final = frozenset({"skill", "memory", "dynamic_state", "guardrail"})
"""The parts whose absence means something to a model that was told them before."""
_NOTICE: Final = f"announcement:{HANDOFF_ID}"
"""Said once about one window: it needs no taking back."""


class TailParts(msgspec.Struct, frozen=True, kw_only=True):
    """The parts of one tail, rendered; empty text is no part."""

    skill: str = ""
    memory: str = ""
    dynamic_state: str = ""
    implicit_context: str = ""
    announcements: tuple[Announcement, ...] = ()
    guardrail: str = ""

    def blocks(self) -> tuple[Text, ...]:
        """The parts as text blocks in their fixed order, the anchor line among them."""
        texts = {
            "skill": self.skill,
            "memory": self.memory,
            "dynamic_state": self.dynamic_state,
            "implicit_context": self.implicit_context,
            "announcements": render_announcements(self.announcements),
        }
        return _blocks(texts, self.guardrail)


def implicit_context(texts: Sequence[str]) -> str:
    """What handlers injected, as one block; nothing for none."""
    said = [fence(text) for text in texts if text]
    if not said:
        return ""
    return "<implicit_context>\n" + "\n\n".join(said) + "\n</implicit_context>"


def _blocks(texts: dict[str, str], guardrail: str) -> tuple[Text, ...]:
    blocks = [Text(text=text, source=source) for source, text in texts.items() if text]
    if any(block.source in ANCHORED for block in blocks):
        blocks.append(Text(text=ANCHOR_LINE, source="anchor"))
    if guardrail:
        blocks.append(Text(text=guardrail, source="guardrail"))
    return tuple(blocks)


class TailPlace(msgspec.Struct, frozen=True):
    """Where a tail goes in a message list."""

    index: int
    joins: bool
    """True: its blocks follow those of the user message at `index`. False: it becomes a user
    message of its own, which will stand at `index`."""


def find_tail_place(messages: Sequence[Message], *, first: int, answers_may_end: bool) -> TailPlace:
    """Where the tail goes: into the last user message, or behind the last tool result.

    Messages before `first` (the system prompt, few-shot examples in it) are not looked at. With
    `answers_may_end` False a finished answer at the end is followed by the tail, since the model
    needs the last word to be the user's; so is a call that still waits for its result.
    """
    end = len(messages)
    while end > first and messages[end - 1].prefill:
        end -= 1
    for index in range(end - 1, first - 1, -1):
        message = messages[index]
        if message.role == "user":
            return TailPlace(index, joins=True)
        if message.role == "tool":
            return TailPlace(index + 1, joins=False)
        if message.role == "assistant" and (message.tool_calls or not answers_may_end):
            return TailPlace(index + 1, joins=False)
    while end > first and messages[end - 1].role == "assistant":
        end -= 1
    return TailPlace(end, joins=False)


def place_tail(
    messages: Sequence[Message], blocks: Sequence[Text], place: TailPlace
) -> list[Message]:
    """The messages with the tail in its place. A breakpoint stays in front of the tail."""
    placed = list(messages)
    if not blocks:
        return placed
    if not place.joins:
        placed.insert(place.index, Message(role="user", content=tuple(blocks)))
        return placed
    placed[place.index] = with_blocks(placed[place.index], blocks)
    return placed


def with_blocks(message: Message, blocks: Sequence[Text]) -> Message:
    """The message followed by generated blocks; its breakpoint moves to its own last block."""
    own = message.content
    if message.cache is not None and own:
        own = (*own[:-1], msgspec.structs.replace(own[-1], cache=message.cache))
    return message.replace(content=(*own, *blocks), cache=None)


class SentTail(msgspec.Struct, frozen=True, kw_only=True):
    """A tail that was sent: it stands behind the first `after` transcript items for good."""

    after: int
    blocks: tuple[Text, ...]
    channel: str = "user_tail"


def believed(sent: Sequence[SentTail]) -> dict[str, str]:
    """What a model that saw these tails was told last, by part (announcements by their id)."""
    told: dict[str, str] = {}
    for tail in sent:
        for block in tail.blocks:
            key, text = _told(block)
            if text is None:
                told.pop(key, None)
            elif key:
                told[key] = text
    return told


def changed_blocks(parts: TailParts, told: dict[str, str]) -> tuple[Text, ...]:
    """Only what differs from `told`: new and changed parts, and a line for each that is gone."""
    texts: dict[str, str] = {}
    current = {
        "skill": parts.skill,
        "memory": parts.memory,
        "dynamic_state": parts.dynamic_state,
        "implicit_context": parts.implicit_context,
    }
    for source, text in current.items():
        before = told.get(source, "")
        if text and text != before:
            replaces = before and source in _LIVES_ON
            texts[source] = f"{text}\n{SUPERSEDED_STATE}" if replaces else text
        elif before and not text and source in _LIVES_ON:
            texts[source] = WITHDRAWN_PART.replace("{part}", source)
    announcements = _changed_announcements(parts.announcements, told)
    guardrail = parts.guardrail if parts.guardrail != told.get("guardrail", "") else ""
    if told.get("guardrail") and not parts.guardrail:
        guardrail = WITHDRAWN_PART.replace("{part}", "guardrail")
    blocks = list(_blocks(texts, ""))
    anchor = blocks.pop() if blocks and blocks[-1].source == "anchor" else None
    blocks.extend(announcements)
    if anchor is not None or announcements:
        blocks.append(Text(text=ANCHOR_LINE, source="anchor"))
    if guardrail:
        blocks.append(Text(text=guardrail, source="guardrail"))
    return tuple(blocks)


def _changed_announcements(items: Sequence[Announcement], told: dict[str, str]) -> list[Text]:
    new = [item for item in items if told.get(f"announcement:{item.id}") != item.content]
    standing = {f"announcement:{item.id}" for item in items}
    gone = [
        key.removeprefix("announcement:")
        for key in told
        if key.startswith("announcement:") and key not in standing and key != _NOTICE
    ]
    blocks = [
        Text(
            text=render_announcements([item]),
            source="announcements",
            native={"chef": {"told": f"announcement:{item.id}", "as": item.content}},
        )
        for item in new
    ]
    blocks += [
        Text(
            text=WITHDRAWN_PART.replace("{part}", f"announcement {id}"),
            source="announcements",
            native={"chef": {"told": f"announcement:{id}"}},
        )
        for id in gone
    ]
    return blocks


def _told(block: Text) -> tuple[str, str | None]:
    chef = block.native.get("chef")
    if chef is not None:
        return chef["told"], chef.get("as")
    source = block.source or ""
    if block.text == WITHDRAWN_PART.replace("{part}", source):
        return source, None
    return source, block.text.removesuffix(f"\n{SUPERSEDED_STATE}")
