"""Reasoning that its own provider would refuse: unsigned, out of place, bound to another past."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from context_chef.adaptation.mending import Mending, own_opaque, without_blocks
from context_chef.ir.blocks import Block, Opaque, RedactedThinking, Text, Thinking, ToolCall
from context_chef.ir.diagnostics import Repair
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed, is_reasoning
from context_chef.patterns import regex

SKIP_SIGNATURE: Final = "skip_thought_signature_validator"
"""Gemini's documented value for calls that it did not make itself."""


_BASE64: Final = regex(r"[A-Za-z0-9+/_-]+={0,2}", re.ASCII)


class Unbound(NamedTuple):
    """Messages without reasoning that a changed past would make invalid."""

    messages: tuple[Message, ...]
    repairs: tuple[Repair, ...]


def drop_bound_thinking(messages: Sequence[Message], first_changed_index: int) -> Unbound:
    """Anthropic's reasoning from `first_changed_index` on goes, since it is bound to what changed.

    For models whose profile says `prefix_bound_thinking`, after a fold, an edit or a new prefix. A
    message may be left empty; `make_sendable` sees to it. Everything else is the same object.
    """
    repairs: list[Repair] = []
    out: list[Message] = []
    for index, message in enumerate(messages):
        dropped = {
            number
            for number, block in enumerate(message.content)
            if index >= first_changed_index and _is_own(block)
        }
        if dropped:
            message = without_blocks(message, dropped)
            repairs.append(
                Repair(
                    rule="anthropic/preserved-thinking",
                    where=f"messages[{index}]",
                    message="reasoning was left out: something before it has changed",
                )
            )
        out.append(message)
    return Unbound(tuple(out), tuple(repairs))


def _is_own(block: Block) -> bool:
    return is_reasoning(block, "anthropic") and not isinstance(block, Opaque)


def mend_thinking(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Reasoning that the target made itself and would not take back is left out.

    Reasoning of other providers stays: the writer decides whether it becomes text.
    """
    if mending.target == "anthropic":
        return _mend_anthropic(placed, mending)
    if mending.target == "gemini":
        return sign_calls(_drop_unreadable_signatures(placed, mending), mending)
    return placed


def _mend_anthropic(placed: list[Placed], mending: Mending) -> list[Placed]:
    out: list[Placed] = []
    for position, entry in enumerate(placed):
        message = entry.message
        if message.role != "assistant" or not any(map(_is_own, message.content)):
            out.append(entry)
            continue
        dropped = {
            index
            for index, block in enumerate(message.content)
            if _is_own(block) and not _is_signed(block)
        }
        if dropped:
            mending.repair("thinking-signature", entry.at, "unsigned reasoning was left out")
        if repeated := _repeated(message, dropped, mending):
            dropped |= repeated
            mending.repair(
                "preserved-thinking", entry.at, "reasoning that stood further in front was left out"
            )
        if mending.thinking == "enabled" and not _thinks_first(message, dropped):
            dropped.update(i for i, block in enumerate(message.content) if _is_own(block))
            mending.repair(
                "thinking-first", entry.at, "reasoning that was not the first block was left out"
            )
        if not _goes_on(placed, position, mending):
            trailing = _trailing(message, dropped)
            if trailing:
                dropped |= trailing
                mending.repair(
                    "thinking-last", entry.at, "reasoning with nothing after it was left out"
                )
        out.append(Placed(entry.at, without_blocks(message, dropped)) if dropped else entry)
    return out


def _repeated(message: Message, dropped: set[int], mending: Mending) -> set[int]:
    """Thinking that is bound to the place where it was met first."""
    if mending.profile is not None and not mending.profile.prefix_bound_thinking:
        return set()
    found: set[int] = set()
    for index, block in enumerate(message.content):
        if index in dropped or not _is_own(block):
            continue
        key = (block.signature or "") if isinstance(block, Thinking) else _data(block)
        if key in mending.ledger.thoughts:
            found.add(index)
        mending.ledger.thoughts.add(key)
    return found


def _is_signed(block: Block) -> bool:
    return bool(block.signature) if isinstance(block, Thinking) else bool(_data(block))


def _data(block: Block) -> str:
    return block.data if isinstance(block, RedactedThinking) else ""


def _thinks_first(message: Message, dropped: set[int]) -> bool:
    for index, block in enumerate(message.content):
        if index in dropped:
            continue
        opaque = own_opaque(block, "anthropic")
        if opaque is not None and opaque.kind == "compaction":
            continue
        return _is_own(block)
    return True


def _goes_on(placed: list[Placed], position: int, mending: Mending) -> bool:
    """Whether the next message is the assistant's too: then the turn does not end here."""
    following = position + 1
    if following < len(placed) and placed[following].message.role == "assistant":
        message = placed[following].message
        if message.prefill and not mending.takes_open_end:
            return False  # it goes as an instruction of the user's
        return any(not is_reasoning(block) for block in message.content)
    return False


def _trailing(message: Message, dropped: set[int]) -> set[int]:
    found: set[int] = set()
    for index in range(len(message.content) - 1, -1, -1):
        if index in dropped:
            continue
        block = message.content[index]
        if _is_own(block):
            found.add(index)
        elif not is_reasoning(block):
            break  # reasoning of others is not on the wire, or stands there as text
    return found


def check_thinking_start(messages: Sequence[Message], mending: Mending) -> None:
    """With manual thinking, the tool loop in progress has to have begun with thinking."""
    turns = _turns_from_the_end(messages)
    start: Message | None = None
    answered = False
    for role, turn in turns:
        if role == "user":
            if not any(message.role == "tool" for message in turn):
                break
            answered = True
        elif answered:
            start = turn[0]
        else:
            return  # it does not end with results
    if start is not None and not _opens_with_thinking(start):
        mending.faults.append(
            "`thinking` is 'enabled', so the tool loop in progress has to begin with a thinking "
            "block and this one does not; send this turn with thinking disabled or adaptive"
        )


def _turns_from_the_end(messages: Sequence[Message]) -> Iterator[tuple[str, list[Message]]]:
    """Neighbours of one role, last turn first; system messages are no turn."""
    turn: list[Message] = []
    for message in reversed(messages):
        if message.role == "system":
            continue
        if turn and (message.role == "assistant") != (turn[0].role == "assistant"):
            yield ("assistant" if turn[0].role == "assistant" else "user"), turn
            turn = []
        turn.insert(0, message)
    if turn:
        yield ("assistant" if turn[0].role == "assistant" else "user"), turn


def _opens_with_thinking(message: Message) -> bool:
    for block in message.content:
        opaque = own_opaque(block, "anthropic")
        return _is_own(block) or (opaque is not None and opaque.kind == "compaction")
    return False


# Gemini ----------------------------------------------------------------------------------------


def _drop_unreadable_signatures(placed: list[Placed], mending: Mending) -> list[Placed]:
    """A signature is base64; anything else is not even read."""
    out: list[Placed] = []
    for entry in placed:
        blocks = [_with_readable_signature(block) for block in entry.message.content]
        if all(a is b for a, b in zip(blocks, entry.message.content, strict=True)):
            out.append(entry)
            continue
        mending.repair("thought-signature", entry.at, "a signature that is no base64 was left out")
        out.append(Placed(entry.at, entry.message.replace(content=tuple(blocks))))
    return out


def _with_readable_signature(block: Block) -> Block:
    if not isinstance(block, (Text, ToolCall, Thinking)) or not block.signature:
        return block
    if isinstance(block, Thinking) and block.origin != "gemini":
        return block
    signature = block.signature
    digits = len(signature.rstrip("="))
    readable = (
        _BASE64.fullmatch(signature) is not None and len(signature) % 4 == 0 and digits % 4 != 1
    )
    return block if readable else msgspec.structs.replace(block, signature=None)


def sign_calls(placed: list[Placed], mending: Mending) -> list[Placed]:
    """On Gemini, the first call of each step carries a signature.

    Only the steps of the turn in progress are checked. Earlier ones are signed too: were the value
    taken away when the next user message comes, the cached prefix would change.
    """
    # An unknown model may be one that wants signatures; the others ignore the stand-in.
    if mending.target != "gemini" or (
        mending.profile is not None and not mending.profile.thought_signatures
    ):
        return placed
    out: list[Placed] = []
    signed = False
    for entry in placed:
        message = entry.message
        if message.role in ("user", "tool"):
            signed = False
        if message.role != "assistant" or signed or not message.tool_calls:
            out.append(entry)
            continue
        signed = True
        out.append(_sign_first(entry, mending))
    return out


def _sign_first(entry: Placed, mending: Mending) -> Placed:
    blocks = list(entry.message.content)
    index = next(i for i, block in enumerate(blocks) if isinstance(block, ToolCall))
    call = blocks[index]
    assert isinstance(call, ToolCall)
    if call.signature:
        return entry
    mending.repair(
        "thought-signature",
        entry.at,
        f"the call of {call.name!r} has no thought signature: the documented stand-in was set",
    )
    blocks[index] = msgspec.structs.replace(call, signature=SKIP_SIGNATURE)
    return Placed(entry.at, entry.message.replace(content=tuple(blocks)))
