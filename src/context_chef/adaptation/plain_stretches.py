"""Stretches of words, calls and their results that are sendable as they are: told in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from context_chef.adaptation.call_ids import is_legal_id, is_whole_request
from context_chef.adaptation.mending import Mending
from context_chef.adaptation.tool_names import is_legal_name
from context_chef.adaptation.turns_order import MOST_CALLS
from context_chef.ir.blocks import Block, Provider, Text, ToolCall
from context_chef.ir.message import Message


def is_plain(messages: Iterable[Message], mending: Mending) -> bool:
    """Whether no step changes these messages, but for those that sign calls and see who opens.

    Then their ids are entered in the ledger; otherwise it is left as it was.
    """
    mark = mending.ledger.mark()
    plain = _Stretch(mending).takes(messages)
    if not plain:
        mending.ledger.undo(mark)
    return plain


class _Stretch:
    """One pass over one stretch."""

    def __init__(self, mending: Mending) -> None:
        self._target: Provider = mending.target
        self._names = mending.names
        self._known = mending.ledger.known
        self._taken = mending.ledger.taken
        self._whole = is_whole_request(mending.target)
        self._legal: set[str] = set()
        """Tool names that stay as they are."""
        self._waiting: list[str] = []
        """Ids of the calls without a result so far, the first one last."""

    def takes(self, messages: Iterable[Message]) -> bool:
        for message in messages:
            content = message.content
            if message.role == "tool":
                if not (self._answers(message) and all(map(_is_said_by_a_tool, content))):
                    return False
            elif self._waiting or not content:
                return False
            elif message.role == "assistant":
                if not (all(map(_is_said, content)) or self._calls(content)):
                    return False
            elif not all(map(_is_said, content)):
                return False
        return not self._waiting

    def _answers(self, message: Message) -> bool:
        """Whether that is the result of the call whose turn it is."""
        waiting, name = self._waiting, message.name
        if not waiting or message.tool_call_id != waiting.pop():
            return False
        return not name or name in self._legal or self._stays(name)

    def _calls(self, content: Sequence[Block]) -> bool:
        """Whether that is words and calls, with ids and names that stay."""
        ids: list[str] = []
        for block in content:
            if type(block) is not ToolCall:
                if not _is_said(block):
                    return False
                continue
            identifier, name = block.id, block.name
            if (
                block.signature is not None
                or not identifier
                or not is_legal_id(identifier, self._target)
                or identifier in (self._taken if self._whole else ids)
                or not (name in self._legal or self._stays(name))
            ):
                return False
            ids.append(identifier)
            self._known.add(identifier)
            if self._whole:
                self._taken.add(identifier)
        self._waiting = ids[::-1]
        return len(ids) <= MOST_CALLS

    def _stays(self, name: str) -> bool:
        if self._names.get(name, name) != name or not (
            name in self._names or is_legal_name(name, self._target)
        ):
            return False
        self._legal.add(name)
        return True


def _is_said(block: Block) -> bool:
    """Whether those are words that every target takes from everybody."""
    if type(block) is not Text or block.signature is not None:
        return False
    text = block.text
    return bool(text) and not text.isspace()


def _is_said_by_a_tool(block: Block) -> bool:
    return type(block) is Text and bool(block.text) and block.signature is None
