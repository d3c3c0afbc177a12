"""Where a conversation can be cut so that what comes later changes nothing before the cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple, cast

from context_chef.adaptation.mending import SERVER_USES, is_server_result
from context_chef.ir.blocks import Media, Opaque, Provider, Text, ToolCall
from context_chef.ir.message import Message

_ANSWER: Final = "_output"


class OpenCall(NamedTuple):
    """A call that has no result: one may come late."""

    at: int
    """The message that calls."""
    id: str


class Cut(NamedTuple):
    """How the rest of a conversation can be cut."""

    ends: Sequence[int]
    """The ends of its settled stretches."""
    open: Sequence[OpenCall]
    """The calls in it that have no result, in order."""


class OpenBefore:
    """Calls of the settled stretches that have no result."""

    def __init__(self) -> None:
        self._calls: list[OpenCall] = []
        self._by_id: dict[str, list[OpenCall]] = {}

    def add(self, calls: Sequence[OpenCall]) -> None:
        """Those of one more stretch."""
        for call in calls:
            self._calls.append(call)
            self._by_id.setdefault(call.id, []).append(call)

    def forget(self, start: int) -> None:
        """The messages from there on are not settled any more."""
        while self._calls and self._calls[-1].at >= start:
            self._by_id[self._calls.pop().id].pop()

    def named(self, identifier: str) -> OpenCall | None:
        """The call that a result with that id is for."""
        found = self._by_id.get(identifier)
        return found[-1] if found else None

    @property
    def latest(self) -> OpenCall | None:
        """The call that a result without an id may be for."""
        return self._calls[-1] if self._calls else None


def settled_ends(
    messages: Sequence[Message], start: int, target: Provider, before: OpenBefore
) -> Cut | OpenCall:
    """How the messages from `start` on can be cut; `start` is the end of a settled stretch itself.

    Behind a settled stretch stands a message of the user's that says something, or an answer to
    results, and no call before it gets its result behind it. Whether a place is an end depends on
    the messages up to it and on the one behind it, and on later ones only where a result comes
    late: when that is the result of a call in the stretches `before`, the answer is that call.
    """
    waiting = _Waiting(target)
    for index in range(start, len(messages)):
        message = messages[index]
        role = message.role
        if index > start and not waiting.items:
            if role == "user":
                if _is_visible(message):
                    waiting.ends.append(index)
            elif role == "assistant" and waiting.answered:
                waiting.ends.append(index)
        if role == "tool":
            late = waiting.answer(message.tool_call_id or "", before)
            if late is not None:
                return late
        waiting.follow(index, message)
    return Cut(waiting.ends, waiting.calls)


def _is_visible(message: Message) -> bool:
    return any(
        isinstance(block, Media)
        or (isinstance(block, Text) and bool(block.text) and not block.text.isspace())
        for block in message.content
    )


class _Waiting:
    """What has no result yet, and the ends so far that no result has moved over."""

    def __init__(self, target: Provider) -> None:
        self._target = target
        self.ends: list[int] = []
        self.calls: list[OpenCall] = []
        self.items: set[object] = set()
        """What the provider runs itself."""
        self.answered = False
        """The last message was a result of the answer before it."""
        self._answer = 0
        """Where that answer began."""
        self._goes_on = False
        """Another message of the assistant's belongs to the same answer."""

    def answer(self, identifier: str, before: OpenBefore) -> OpenCall | None:
        """Take a result into account; the answer is the call, when it stands before all these."""
        for at in range(len(self.calls) - 1, -1, -1):
            if self.calls[at].id == identifier:
                return self._answered(self.calls.pop(at))
        late = before.named(identifier)
        if late is None and not identifier:
            if self.calls:
                # Should another result name this call, it is for this one, and the one at hand is
                # for none: the call goes on waiting.
                return self._answered(self.calls[-1])
            late = before.latest
        self.answered = False
        return late

    def _answered(self, call: OpenCall) -> None:
        # A result that comes late moves away from here.
        self.answered = call.at >= self._answer
        del self.ends[bisect_right(self.ends, call.at) :]

    def follow(self, index: int, message: Message) -> None:
        """Take a message into account."""
        role = message.role
        if role != "tool":
            self.answered = False
        if role == "assistant" and not self._goes_on:
            self._answer = index
        if role != "system":
            self._goes_on = role == "assistant" and self._target != "openai"
        for block in message.content:
            kind = type(block)
            if kind is ToolCall and role == "assistant":
                self.calls.append(OpenCall(index, cast(ToolCall, block).id))
            elif kind is Opaque and cast(Opaque, block).provider == self._target:
                self._follow_item(cast(Opaque, block))

    def _follow_item(self, block: Opaque) -> None:
        kind = block.kind
        if self._target == "anthropic":
            if kind in SERVER_USES:
                self.items.add(block.value.get("id"))
            elif is_server_result(kind):
                self.items.discard(block.value.get("tool_use_id"))
        elif self._target == "openai-responses":
            if kind.endswith("_call"):
                self.items.add((kind, block.value.get("call_id")))
            elif kind.endswith(_ANSWER):
                self.items.discard((kind.removesuffix(_ANSWER), block.value.get("call_id")))
