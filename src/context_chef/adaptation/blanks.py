"""Text that is not there: empty and blank blocks, and what they leave of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from context_chef.adaptation.mending import Mending, own_opaque, without_blocks
from context_chef.ir.blocks import (
    Block,
    Media,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed, is_reasoning
from context_chef.prompts.repair import EMPTY_USER_MESSAGE


def _is_the_assistants(block: Block) -> bool:
    return isinstance(block, ToolCall) or is_reasoning(block)


def _is_an_item(block: Block, mending: Mending) -> bool:
    """Whether that is an item of Responses, which no message holds: its parts are `input_…`."""
    if mending.target != "openai-responses":
        return False
    own = own_opaque(block, "openai-responses")
    return own is not None and not own.kind.startswith(("input_", "computer_", "additional_"))


_MISPLACED: Final = {
    "anthropic": "block-role",
    "gemini": "part-role",
    "openai-responses": "content-type",
    "openai": "shape",
}


def drop_misplaced_blocks(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Calls and reasoning outside assistant messages: nobody but the assistant has them."""
    out: list[Placed] = []
    for entry in placed:
        message = entry.message
        if message.role == "assistant":
            out.append(entry)
            continue
        dropped = {
            index
            for index, block in enumerate(message.content)
            if _is_the_assistants(block) or _is_an_item(block, mending)
        }
        if not dropped:
            out.append(entry)
            continue
        mending.repair(
            _MISPLACED[mending.target],
            entry.at,
            f"a {message.role} message holds no calls, no reasoning and no items of their own: "
            f"{len(dropped)} left out",
        )
        out.append(Placed(entry.at, without_blocks(message, dropped)))
    return out


def drop_blanks(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Blank blocks go where the target refuses them, and messages that say nothing with them.

    An empty message of the user's is left out next to another one, and says that it is empty where
    its place in the order of turns counts. What is left out depends on what came before it only.
    """
    out: list[Placed] = []
    asked = mending.follows_results
    """The last message so far is one that the wire sends as the user's."""
    for entry in placed:
        message = _without_blanks(entry, mending)
        if mending.target != "openai" and says_nothing(message, mending):
            if message.role == "user" and not asked:
                _report(mending, _EMPTY_MESSAGE, entry.at, "an empty user message now says so")
                message = Message.user(EMPTY_USER_MESSAGE, pinned=message.pinned, id=message.id)
            elif message.role != "tool":
                said = f"an empty {message.role} message was left out"
                _report(mending, _EMPTY_MESSAGE, entry.at, said)
                continue
        if message.role != "system":
            asked = message.role != "assistant"
        out.append(entry if message is entry.message else Placed(entry.at, message))
    return out


def _without_blanks(entry: Placed, mending: Mending) -> Message:
    message = entry.message
    dropped: set[int] | None = None
    for index, block in enumerate(message.content):
        if isinstance(block, Text) and _refused(block, message, mending):
            dropped = dropped or set()
            dropped.add(index)
    if dropped is None:
        return message
    said = "a blank text was left out" if len(dropped) == 1 else "blank texts were left out"
    whole = all(cast(Text, message.content[index]).text for index in dropped)
    _report(mending, _WHITE_TEXT if whole else _EMPTY_TEXT, entry.at, said)
    return without_blocks(message, dropped)


_EMPTY_MESSAGE: Final = {"anthropic": "empty-content", "gemini": "parts-empty"}
_EMPTY_TEXT: Final = {"anthropic": "empty-text", "gemini": "part-data"}
_WHITE_TEXT: Final = {"anthropic": "whitespace-text"}


def _report(mending: Mending, rules: Mapping[str, str], at: int, message: str) -> None:
    rule = rules.get(mending.target)
    if rule is not None:
        mending.repair(rule, at, message)
    else:
        mending.tidy("blank-text", at, message)


def _refused(block: Text, message: Message, mending: Mending) -> bool:
    text = block.text
    if text and not text.isspace():
        return False
    match mending.target:
        case "anthropic":
            return not text or message.role != "tool"
        case "gemini":
            # Gemini itself took it, and its models did up to the ones whose responses stand alone.
            taken = "text" in (block.native.get("gemini") or ())
            accepted = mending.profile is not None and not mending.profile.response_alone
            return not text and block.signature is None and not (taken and accepted)
        case "openai":  # a message of one empty text is an empty string there
            return not text and len(message.content) > 1
        case "openai-responses":  # an answer's own items stay: reasoning goes with what follows it
            return not text and len(message.content) > 1 and message.role != "assistant"


def says_nothing(message: Message, mending: Mending) -> bool:
    """Whether the target would find nothing in it that it reads."""
    if message.native.get(mending.target):
        return False
    return not any(says_something(block, mending) for block in message.content)


def says_something(block: Block, mending: Mending) -> bool:
    """Whether the target finds something in that block that it reads."""
    match block:
        case Text() | Media() | ToolCall():
            return True
        case Thinking():
            return block.origin == mending.target or (
                mending.reasoning_as_text and bool(block.text)
            )
        case RedactedThinking():
            return block.origin == mending.target
        case _:
            # Only its own provider reads it; a summary made by one goes to all as text.
            if own_opaque(block, mending.target) is not None:
                return True
            return block.kind == "compaction" and bool(block.value.get("content"))
