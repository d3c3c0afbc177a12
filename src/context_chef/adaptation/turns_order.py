"""Who speaks first and who last, and under which names tools were called."""

from __future__ import annotations

from typing import Final

import msgspec

from context_chef.adaptation.blanks import says_nothing, says_something
from context_chef.adaptation.mending import SERVER_USES, Mending, is_server_result, own_opaque
from context_chef.adaptation.tool_names import is_legal_name, wire_name
from context_chef.ir.blocks import Block, Text, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.repair import CONVERSATION_CONTINUES, Placed, without_reasoning
from context_chef.prompts.repair import PLEASE_CONTINUE

NOTHING_SAID: Final = "there is no message at all; give at least one of the user's"


def open_conversation(placed: list[Placed], mending: Mending) -> list[Placed]:
    """There is a conversation, and on Gemini the user opens it."""
    ledger = mending.ledger
    if ledger.opened:
        return placed
    first = next((i for i, entry in enumerate(placed) if _takes_part(entry, mending)), None)
    if first is None:
        return _opened_at_all(placed, mending) if mending.final else placed
    ledger.open()
    entry = placed[first]
    if mending.target == "gemini" and entry.message.role == "assistant":
        mending.repair("call-turn", entry.at, "a user message now opens the conversation")
        opening = Placed(entry.at, Message.user(CONVERSATION_CONTINUES))
        return [*placed[:first], opening, *placed[first:]]
    return placed


def _opened_at_all(placed: list[Placed], mending: Mending) -> list[Placed]:
    """For a list in which nobody speaks."""
    if mending.stateful or (mending.target == "openai" and mending.any_output(placed)):
        return placed
    if not mending.any_input:
        mending.faults.append(NOTHING_SAID)
        return placed
    at = placed[-1].at if placed else 0
    mending.repair(_EMPTY[mending.target], at, "there was no conversation: a user message opens it")
    return [*placed, Placed(at, Message.user(CONVERSATION_CONTINUES))]


_EMPTY = {
    "anthropic": "messages-empty",
    "gemini": "contents-empty",
    "openai-responses": "input-empty",
    "openai": "messages-empty",
}


def _takes_part(entry: Placed, mending: Mending) -> bool:
    """Whether the message stands among the turns, not in the system prompt."""
    message = entry.message
    if message.role != "system":
        return True
    return message.positional and mending.target in ("openai", "openai-responses")


def close_conversation(placed: list[Placed], mending: Mending) -> list[Placed]:
    """A finished answer that stands last stays; where the model refuses that, the user goes on."""
    last = next((i for i in range(len(placed) - 1, -1, -1) if _speaks(placed[i])), None)
    if last is None:
        return placed
    entry = placed[last]
    message = entry.message
    if message.role != "assistant" or message.tool_calls:
        return placed
    if message.prefill:
        return _behind_prefill(placed, last, mending)
    if mending.target == "anthropic" and _is_paused(placed, last):
        return placed
    if not mending.takes_open_end:
        rule = "model-tail" if mending.target == "gemini" else "prefill-unsupported"
        mending.repair(
            rule, entry.at, "the conversation ended with an answer: the user asks to go on"
        )
        return [*placed, Placed(entry.at, Message.user(PLEASE_CONTINUE))]
    if mending.target == "anthropic":
        return _as_prefill(placed, last, mending)
    return placed


def _behind_prefill(placed: list[Placed], last: int, mending: Mending) -> list[Placed]:
    """What stands in front of the guardrail's own opening, which the writer sees to."""
    if not placed[last].message.text.strip():
        # It would be left out: what stands before it is last then.
        kept = [*placed[:last], *placed[last + 1 :]]
        if not mending.any_output([]) and not any(_takes_part(entry, mending) for entry in kept):
            return _opened_at_all(kept, mending)
        return close_conversation(kept, mending)
    if mending.target == "anthropic" and mending.takes_open_end:
        return _as_prefill(placed, last, mending)
    return placed


def _as_prefill(placed: list[Placed], last: int, mending: Mending) -> list[Placed]:
    """Anthropic goes on from the last turn: it ends without blanks and holds no thinking."""
    out = list(placed)
    first = last
    for position in range(last, -1, -1):
        entry = out[position]
        if entry.message.role != "assistant":
            if entry.message.role == "system":
                continue
            break
        first = position
        bare = without_reasoning(entry.message, "anthropic")
        if bare is not entry.message:
            mending.repair(
                "prefill-thinking", entry.at, "a turn that the model goes on from holds no thinking"
            )
            out[position] = Placed(entry.at, bare)
    kept = [
        entry
        for entry in out[first:]
        if entry.message.role == "system" or not says_nothing(entry.message, mending)
    ]
    # Only now is it known which message is the last.
    end = next((i for i in range(len(kept) - 1, -1, -1) if _speaks(kept[i])), None)
    if end is not None:
        at, message = kept[end]
        if (trimmed := _trimmed(message, mending)) is not message:
            mending.repair("prefill-whitespace", at, "blanks at the very end were cut off")
            kept[end] = Placed(at, trimmed)
    return [*out[:first], *kept]


def _speaks(entry: Placed) -> bool:
    return entry.message.role != "system"


def _is_paused(placed: list[Placed], last: int) -> bool:
    """A turn that a server tool interrupted, or that is only a summary, goes back as it is."""
    kinds = _own_kinds(placed[last].message)
    if any(kind in SERVER_USES or is_server_result(kind) for kind in kinds):
        return True
    if set(kinds) != {"compaction"}:
        return False
    for entry in reversed(placed[: last + 1]):
        message = entry.message
        if message.role not in ("assistant", "system"):
            break
        if message.role == "assistant" and set(_own_kinds(message)) != {"compaction"}:
            return False
    return True


def _own_kinds(message: Message) -> list[str]:
    """The kinds of all blocks; empty for those that are not the provider's own."""
    opaques = (own_opaque(block, "anthropic") for block in message.content)
    return [opaque.kind if opaque else "" for opaque in opaques]


def _trimmed(message: Message, mending: Mending) -> Message:
    """The message without blanks behind the last thing that is on the wire."""
    content = message.content
    said = [
        i
        for i, block in enumerate(content)
        if says_something(block, mending) and not _goes_in_front(block)
    ]
    block = content[said[-1]] if said else None
    if not isinstance(block, Text) or block.text == block.text.rstrip():
        return message
    kept = list(content)
    kept[said[-1]] = msgspec.structs.replace(block, text=block.text.rstrip())
    return message.replace(content=tuple(kept))


def _goes_in_front(block: Block) -> bool:
    """Whether the writer puts it at the beginning, wherever it stands."""
    own = own_opaque(block, "anthropic")
    return own is not None and own.kind == "compaction"


# Length -------------------------------------------------------------------------------------------

MOST_CALLS: Final = 128
"""What a message of Chat Completions holds (openai/openai-dotnet#317; SDK)."""


def split_long_rounds(placed: list[Placed], mending: Mending) -> list[Placed]:
    """More calls than a message holds go in several, each followed by its own results.

    Expects every result right behind its call, in call order.
    """
    if mending.target != "openai":
        return placed
    out: list[Placed] = []
    waiting: list[Placed] = []
    """Messages with calls that did not fit, each to come once the results before it are there."""
    room = 0
    for entry in placed:
        message = entry.message
        if message.role == "tool" and waiting:
            if room == 0:
                out.append(waiting.pop(0))
                room = MOST_CALLS
            room -= 1
        elif message.role == "assistant" and len(message.tool_calls) > MOST_CALLS:
            many = len(message.tool_calls)
            mending.repair(
                "tool-calls-limit",
                entry.at,
                f"{many} calls go in several messages: one holds {MOST_CALLS}",
            )
            first, *waiting = [Placed(entry.at, part) for part in _parted(message)]
            out.append(first)
            room = MOST_CALLS
            continue
        out.append(entry)
    return out


def _parted(message: Message) -> list[Message]:
    """The same message as several that hold no more calls than they may."""
    parts: list[list[Block]] = [[]]
    calls = 0
    for block in message.content:
        if isinstance(block, ToolCall):
            if calls == MOST_CALLS:
                parts.append([])
                calls = 0
            calls += 1
        parts[-1].append(block)
    return [message.replace(content=tuple(part)) for part in parts]


# Names -----------------------------------------------------------------------------------------


def rename_tools(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Calls and results name their tool as the target's tool list does."""
    out: list[Placed] = []
    for entry in placed:
        message = entry.message
        if message.role == "assistant":
            message = _renamed_calls(entry, mending)
        elif message.role == "tool" and message.name:
            name = _name(message.name, mending)
            if name != message.name:
                message = message.replace(name=name)
        out.append(entry if message is entry.message else Placed(entry.at, message))
    return out


def _renamed_calls(entry: Placed, mending: Mending) -> Message:
    blocks: list[Block] | None = None
    for index, block in enumerate(entry.message.content):
        if not isinstance(block, ToolCall):
            continue
        name = _name(block.name, mending)
        if name == block.name:
            continue
        blocks = blocks if blocks is not None else list(entry.message.content)
        blocks[index] = msgspec.structs.replace(block, name=name)
        if block.name not in mending.names:
            rule = "function-name" if mending.target == "gemini" else "tool-name"
            mending.repair(rule, entry.at, f"the call of {block.name!r} goes as {name!r}")
    return entry.message if blocks is None else entry.message.replace(content=tuple(blocks))


def _name(name: str, mending: Mending) -> str:
    known = mending.names.get(name)
    if known is not None:
        return known
    return name if is_legal_name(name, mending.target) else wire_name(name, mending.target)
