"""Where a conversation can be cut so that what comes later changes nothing before the cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from context_chef.adaptation.mending import SERVER_USES, is_server_result
from context_chef.ir.blocks import Media, Opaque, Provider, Text
from context_chef.ir.message import Message

_ANSWER: Final = "_output"


def settled_ends(messages: Sequence[Message], start: int, target: Provider) -> Iterator[int]:
    """The ends of stretches that are settled, from `start` on, which is such an end itself.

    Behind a settled stretch stands a message of the user's that says something, or an answer to
    results, and no call before it waits for a result. Whether a place is an end depends on the
    messages up to it and on the one behind it, never on later ones.
    """
    waiting = _Waiting(target)
    for index in range(start, len(messages)):
        message = messages[index]
        role = message.role
        if index > start and not waiting:
            if role == "user":
                if _is_visible(message):
                    yield index
            elif role == "assistant" and waiting.answered:
                yield index
        waiting.follow(message)


def _is_visible(message: Message) -> bool:
    return any(
        isinstance(block, Media)
        or (isinstance(block, Text) and bool(block.text) and not block.text.isspace())
        for block in message.content
    )


class _Waiting:
    """Calls that have no result yet. True while there are any."""

    def __init__(self, target: Provider) -> None:
        self._target = target
        self._calls: list[str] = []
        self._items: set[object] = set()
        self.answered = False
        """The last message was the result of a call that had none."""

    def __bool__(self) -> bool:
        return bool(self._calls or self._items)

    def follow(self, message: Message) -> None:
        """Take a message into account."""
        self.answered = False
        if message.role == "tool":
            self._answer(message.tool_call_id or "")
        for block in message.content:
            if isinstance(block, Opaque) and block.provider == self._target:
                self._follow_item(block)
        if message.role == "assistant":
            self._calls.extend(call.id for call in message.tool_calls)

    def _answer(self, identifier: str) -> None:
        if identifier in self._calls:
            self._calls.remove(identifier)
        elif self._calls and not identifier:
            self._calls.pop(0)
        else:
            return
        self.answered = True

    def _follow_item(self, block: Opaque) -> None:
        kind = block.kind
        if self._target == "anthropic":
            if kind in SERVER_USES:
                self._items.add(block.value.get("id"))
            elif is_server_result(kind):
                self._items.discard(block.value.get("tool_use_id"))
        elif self._target == "openai-responses":
            if kind.endswith("_call"):
                self._items.add((kind, block.value.get("call_id")))
            elif kind.endswith(_ANSWER):
                self._items.discard((kind.removesuffix(_ANSWER), block.value.get("call_id")))
