"""Slot handlers and strategies for fuzzed sessions: well-behaved ones, and ones that break things.

Each is a function of what it is given and of its own seed, so that a session can be played again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.ir.blocks import CacheBreakpoint, Text, Thinking, ToolCall
from context_chef.ir.message import Message
from context_chef.ir.window import OverflowInput, OverflowResult
from context_chef.selection.strategies.anchored import anchored
from context_chef.selection.strategies.background import background
from context_chef.selection.strategies.chain import chain
from context_chef.selection.strategies.clear import clear
from context_chef.selection.strategies.reset import reset
from context_chef.selection.strategies.server import server
from context_chef.selection.strategies.summarize import summarize
from context_chef.selection.strategy import OverflowStrategy

Messages = tuple[Message, ...]
Rewrite = Callable[[Messages, random.Random], Messages]


# After assembly: a list of messages becomes another ---------------------------------------------


def _add_note(messages: Messages, chance: random.Random) -> Messages:
    return (*messages, Message.user("A note of the host."))


def _mark_some(messages: Messages, chance: random.Random) -> Messages:
    ttl: Any = chance.choice((None, "5m", "1h"))
    marked = {chance.randrange(len(messages)) for _ in range(6)} if messages else set[int]()
    return tuple(
        message.replace(cache=CacheBreakpoint(ttl=ttl)) if place in marked else message
        for place, message in enumerate(messages)
    )


def _keep(messages: Messages, chance: random.Random) -> Messages:
    return messages


def _drop_some(messages: Messages, chance: random.Random) -> Messages:
    return tuple(message for message in messages if chance.random() > 0.25)


def _shuffle(messages: Messages, chance: random.Random) -> Messages:
    return tuple(chance.sample(messages, len(messages)))


def _double(messages: Messages, chance: random.Random) -> Messages:
    return (*messages, *messages[-3:])


def _last_few(messages: Messages, chance: random.Random) -> Messages:
    return messages[-chance.randint(1, 4) :]


def _blank_all(messages: Messages, chance: random.Random) -> Messages:
    return tuple(message.with_text(chance.choice(("", " ", "\n"))) for message in messages)


def _other_roles(messages: Messages, chance: random.Random) -> Messages:
    roles = ("user", "assistant", "system", "tool")
    return tuple(
        message.replace(role=chance.choice(roles)) if chance.random() < 0.3 else message
        for message in messages
    )


def _rename_ids(messages: Messages, chance: random.Random) -> Messages:
    out: list[Message] = []
    for message in messages:
        content = tuple(
            msgspec.structs.replace(block, id="one", name="ß", arguments="[1]")
            if isinstance(block, ToolCall)
            else block
            for block in message.content
        )
        if message.tool_call_id is not None:
            message = message.replace(tool_call_id=chance.choice(("one", "", "two")))
        out.append(message.replace(content=content))
    return tuple(out)


def _split_blocks(messages: Messages, chance: random.Random) -> Messages:
    out: list[Message] = []
    for message in messages:
        if len(message.content) < 2:
            out.append(message)
        else:
            out += [message.replace(content=(block,)) for block in message.content]
    return tuple(out)


def _stray_thinking(messages: Messages, chance: random.Random) -> Messages:
    thought = Thinking(text="stray", signature="stray", origin="anthropic")
    return tuple(
        message.replace(content=(*message.content, thought)) if chance.random() < 0.3 else message
        for message in messages
    )


def _surrogates(messages: Messages, chance: random.Random) -> Messages:
    return tuple(
        message.replace(content=(*message.content, Text(text="half \ud83d")))
        if chance.random() < 0.3
        else message
        for message in messages
    )


def _reverse_blocks(messages: Messages, chance: random.Random) -> Messages:
    return tuple(message.replace(content=message.content[::-1]) for message in messages)


_REWRITES: Final[dict[str, Rewrite]] = {
    "add-note": _add_note,
    "mark-some": _mark_some,
    "keep": _keep,
    "drop-some": _drop_some,
    "shuffle": _shuffle,
    "double": _double,
    "last-few": _last_few,
    "blank-all": _blank_all,
    "other-roles": _other_roles,
    "rename-ids": _rename_ids,
    "split-blocks": _split_blocks,
    "stray-thinking": _stray_thinking,
    "surrogates": _surrogates,
    "reverse-blocks": _reverse_blocks,
}
AFTER_ASSEMBLE: Final = tuple(_REWRITES)
"""Names of rewrites of the message list; the first three are harmless."""


# After adaptation: the finished request is edited ------------------------------------------------


def _conversation(payload: dict[str, Any]) -> list[Any]:
    for key in ("messages", "input", "contents"):
        if isinstance(payload.get(key), list):
            return payload[key]
    return []


def _drop_one(payload: dict[str, Any], chance: random.Random) -> None:
    rows = _conversation(payload)
    if len(rows) > 1:
        del rows[chance.randrange(len(rows))]


def _swap_two(payload: dict[str, Any], chance: random.Random) -> None:
    rows = _conversation(payload)
    if len(rows) > 1:
        at = chance.randrange(len(rows) - 1)
        rows[at], rows[at + 1] = rows[at + 1], rows[at]


def _repeat_one(payload: dict[str, Any], chance: random.Random) -> None:
    rows = _conversation(payload)
    if rows:
        rows.append(rows[chance.randrange(len(rows))])


def _empty_texts(payload: dict[str, Any], chance: random.Random) -> None:
    for row in _conversation(payload):
        parts = row.get("content", row.get("parts"))
        if isinstance(parts, str) and "content" in row and chance.random() < 0.5:
            row["content"] = ""
        for part in cast("list[Any]", parts) if isinstance(parts, list) else ():
            if isinstance(part, dict) and "text" in part and chance.random() < 0.5:
                part["text"] = ""


def _no_tools(payload: dict[str, Any], chance: random.Random) -> None:
    if "tools" in payload:
        payload["tools"] = []


def _say_more(payload: dict[str, Any], chance: random.Random) -> None:
    rows = _conversation(payload)
    if "contents" in payload:
        rows.append({"role": "user", "parts": [{"text": "One more thing."}]})
    elif rows:
        rows.append({"role": "user", "content": "One more thing."})


_EDITS: Final[dict[str, Callable[[dict[str, Any], random.Random], None]]] = {
    "drop-one": _drop_one,
    "swap-two": _swap_two,
    "repeat-one": _repeat_one,
    "empty-texts": _empty_texts,
    "no-tools": _no_tools,
    "say-more": _say_more,
}
AFTER_ADAPT: Final = tuple(_EDITS)
"""Names of edits of the finished request."""


def slot_handler(given: dict[str, Any]) -> Callable[[Any], Any]:
    """The handler that a recipe names. Every run of it draws the same numbers."""
    name, seed = given["name"], given.get("seed", 0)
    if given["slot"] == "before-assemble":
        return lambda context: context.inject("Injected words.")
    if given["slot"] == "after-assemble":
        rewrite = _REWRITES[name]
        return lambda messages: rewrite(tuple(messages), random.Random(seed))
    edit = _EDITS[name]
    return lambda context: edit(context.payload, random.Random(seed))


# Strategies --------------------------------------------------------------------------------------


class Reckless:
    """A strategy of somebody who has not read how histories have to look."""

    name = "reckless"

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite

    async def apply(self, input: OverflowInput) -> OverflowResult:
        """Keep something of the history, whatever it splits."""
        if not input.history:
            return input.unchanged(self.name)
        kept = self._rewrite(input.history, random.Random(len(input.history)))
        gone = tuple(message for message in input.history if message not in kept)
        return OverflowResult(
            history=kept,
            evicted=gone,
            span=gone,
            strategy=self.name,
            window_id=input.window.current,
            changed=True,
        )


def _last_half(messages: Messages, chance: random.Random) -> Messages:
    return messages[len(messages) // 2 :]


Ask = Callable[[Sequence[Message]], Any]

_STRATEGIES: Final[dict[str, Callable[[Ask], OverflowStrategy]]] = {
    "summarize": lambda ask: summarize(compression_model=ask, preserve_ratio=0.4),
    "anchored": lambda ask: anchored(compression_model=ask, preserve_ratio=0.4),
    "dropping": lambda ask: summarize(preserve_ratio=0.4),
    "reset": lambda ask: reset(),
    "clear": lambda ask: clear(keep_recent=1, min_gain=0.0),
    "chain": lambda ask: chain(
        clear(keep_recent=2), summarize(compression_model=ask, preserve_ratio=0.5), reset()
    ),
    "background": lambda ask: background(summarize(compression_model=ask, preserve_ratio=0.4)),
    "server": lambda ask: server(fallback=reset()),
    "server-edits": lambda ask: server(
        {"edits": [{"type": "clear_tool_uses_20250919"}]}, responses=True, fallback=reset()
    ),
    "server-compaction": lambda ask: server(compaction=True, responses=20_000, fallback=reset()),
    "reckless-half": lambda ask: Reckless(_last_half),
    "reckless-drop": lambda ask: Reckless(_drop_some),
    "reckless-roles": lambda ask: Reckless(_other_roles),
}
STRATEGIES: Final = tuple(_STRATEGIES)


def strategy(name: str, ask: Ask) -> OverflowStrategy:
    """The strategy that a recipe names, with `ask` as its model."""
    return _STRATEGIES[name](ask)
