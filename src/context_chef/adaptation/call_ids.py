"""Ids of calls that every target takes, the same on both sides, the same in every process."""

from __future__ import annotations

import re
from collections import deque
from typing import Final

import msgspec

from context_chef.adaptation.mending import Ledger, Mending
from context_chef.ir.blocks import Block, Provider, ToolCall
from context_chef.ir.digest import sha256_hex
from context_chef.ir.message import Message
from context_chef.ir.repair import Placed
from context_chef.patterns import regex

_LIMIT: Final[dict[Provider, int]] = {"anthropic": 64, "openai": 40, "openai-responses": 64}
_ANTHROPIC: Final = regex(r"[a-zA-Z0-9_-]{1,64}", re.ASCII)
_ILLEGAL: Final = regex(r"[^a-zA-Z0-9_-]+", re.ASCII)
_DIGITS: Final = 10
_WHOLE_REQUEST: Final = frozenset({"anthropic", "openai-responses"})


def rename_ids(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Ids that are empty, taken, too long or spelt wrongly get new ones; all others stay.

    Expects every result right behind its call, in call order. A new id is made of the call itself,
    so that it does not depend on what else the conversation holds.
    """
    ids = _Ids(mending.target, mending.ledger)
    waiting: deque[tuple[str, str]] = deque()
    out: list[Placed] = []
    for entry in placed:
        message = entry.message
        if message.role == "assistant":
            message = _rename_calls(entry, ids, waiting, mending)
        elif message.role == "tool" and waiting:
            _, new = waiting.popleft()
            if message.tool_call_id != new:
                message = message.replace(tool_call_id=new)
        elif message.role == "user":
            waiting.clear()
            ids.next_turn()
        out.append(entry if message is entry.message else Placed(entry.at, message))
    return out


def _rename_calls(
    entry: Placed, ids: _Ids, waiting: deque[tuple[str, str]], mending: Mending
) -> Message:
    message = entry.message
    blocks: list[Block] = []
    renamed = False
    if not mending.merges_neighbours or not waiting:
        ids.next_turn()
    for block in message.content:
        if isinstance(block, ToolCall):
            new = ids.take(block)
            waiting.append((block.id, new))
            if new != block.id:
                renamed = True
                mending.repair(
                    _RULES[mending.target],
                    entry.at,
                    f"the call id {block.id!r} of {block.name!r} goes as {new!r}",
                )
                block = msgspec.structs.replace(block, id=new)
        blocks.append(block)
    return message.replace(content=tuple(blocks)) if renamed else message


_RULES: Final[dict[Provider, str]] = {
    "anthropic": "tool-use-id",
    "openai": "tool-call-id",
    "openai-responses": "call-id",
    "gemini": "response-match",
}


def is_whole_request(target: Provider) -> bool:
    """Whether an id means one call of the whole request there, and not one of its turn."""
    return target in _WHOLE_REQUEST


def is_legal_id(identifier: str, target: Provider) -> bool:
    """Whether the target takes a call's id as it is."""
    if target == "anthropic":
        return _ANTHROPIC.fullmatch(identifier) is not None
    limit = _LIMIT.get(target, 0)
    return bool(identifier) and (not limit or len(identifier) <= limit)


class _Ids:
    """The ids of one request so far."""

    def __init__(self, target: Provider, ledger: Ledger) -> None:
        self._target: Provider = target
        self._limit = _LIMIT.get(target, 0)
        self._ledger = ledger
        self._whole = is_whole_request(target)
        self._turn: set[str] = set()

    def next_turn(self) -> None:
        self._turn.clear()

    def take(self, call: ToolCall) -> str:
        identifier = call.id
        if self._target == "gemini" and not identifier:
            return identifier  # there a call may go without
        if not is_legal_id(identifier, self._target) or self._is_taken(identifier):
            identifier = self._make(call)
        self._enter(identifier)
        return identifier

    def _is_taken(self, identifier: str) -> bool:
        return identifier in (self._ledger.taken if self._whole else self._turn)

    def _enter(self, identifier: str) -> None:
        if self._whole:
            self._ledger.taken.add(identifier)
        else:
            self._turn.add(identifier)

    def _make(self, call: ToolCall) -> str:
        seed = f"{call.id}\n{call.name}\n{call.arguments}"
        stem = _ILLEGAL.sub("_", call.id)[: (self._limit or 64) - _DIGITS - 1].strip("_") or "call"
        while True:
            number = self._ledger.count(seed)
            digest = sha256_hex(f"{seed}\n{number}".encode("utf-8", "replace"))
            made = f"{stem}_{digest[:_DIGITS]}"
            if not self._is_taken(made):
                return made
