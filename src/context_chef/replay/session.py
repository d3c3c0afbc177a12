"""A recorded session: who said what, and every point at which the agent asked the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from context_chef.costs import Usage
from context_chef.ir.blocks import Block
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition


class SessionRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One point at which the recorded agent asked the model, and what was new by then."""

    keep: int | None = None
    """How much of the conversation so far still stood; None is all of it. Less where the recorded
    agent rewrote it."""
    add: tuple[Message, ...] = ()
    """What was said since, the answer to the request before this one included."""
    system: tuple[Message, ...] | None = None
    """The instructions, when they are not those of the request before."""
    tools: tuple[ToolDefinition, ...] | None = None
    """The tools, when they are not those of the request before."""
    state: Mapping[str, Any] | None = None
    """Volatile inputs of a recording of ours, when they are not those of the request before."""
    at: float | None = None
    """Seconds since the session began, when the recording says so."""
    model: str | None = None
    usage: Usage | None = None
    """What the provider counted for this request."""


class RecordedSession(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session as the readers give it, whatever it was recorded with."""

    name: str
    format: str
    """`claude-code`, `pi`, `recording`, or the provider whose bodies it was."""
    requests: tuple[SessionRequest, ...] = ()
    rest: tuple[Message, ...] = ()
    """What was said after the last request: its answer."""
    target: str = "openai"
    """The provider that the recorded agent asked."""
    model: str | None = None
    notes: tuple[str, ...] = ()
    """What was odd: a torn last line, lines that were skipped."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation as it stood at the end."""
        said: list[Message] = []
        for request in self.requests:
            if request.keep is not None:
                del said[request.keep :]
            said.extend(request.add)
        return (*said, *self.rest)

    @property
    def timed(self) -> bool:
        """Whether the recording says when every request was made."""
        return bool(self.requests) and all(request.at is not None for request in self.requests)


class AskedAt(msgspec.Struct, frozen=True, kw_only=True):
    """What a recording says about one answer: when it was asked for, and what it cost."""

    at: float | None = None
    usage: Usage | None = None
    model: str | None = None


def requests_of(
    history: Sequence[Message],
    *,
    system: Sequence[Message] = (),
    tools: Sequence[ToolDefinition] = (),
    asked: Mapping[int, AskedAt] | None = None,
) -> tuple[tuple[SessionRequest, ...], tuple[Message, ...]]:
    """A conversation cut at its requests, and what was said after the last one.

    The model was asked in front of every answer, and at the end when the last word is not the
    model's. Assistant messages in a row are one answer. `asked` says more, by the number of the
    answer among the assistant messages, from 0.
    """
    asked = asked or {}
    cuts: list[tuple[int, AskedAt]] = []
    number = -1
    for at, message in enumerate(history):
        if message.role != "assistant":
            continue
        number += 1
        if at and history[at - 1].role != "assistant":
            cuts.append((at, asked.get(number, AskedAt())))
        elif number in asked and cuts:
            cuts[-1] = (cuts[-1][0], _joined(cuts[-1][1], asked[number]))
    if history and history[-1].role != "assistant":
        cuts.append((len(history), asked.get(number + 1, AskedAt())))
    requests: list[SessionRequest] = []
    done = 0
    for cut, known in cuts:
        requests.append(
            SessionRequest(
                add=tuple(history[done:cut]),
                system=tuple(system) if not requests else None,
                tools=tuple(tools) if not requests else None,
                at=known.at,
                usage=known.usage,
                model=known.model,
            )
        )
        done = cut
    return tuple(requests), tuple(history[done:])


def _joined(one: AskedAt, other: AskedAt) -> AskedAt:
    return AskedAt(
        at=one.at if one.at is not None else other.at,
        usage=one.usage or other.usage,
        model=one.model or other.model,
    )


def from_zero(requests: Iterable[SessionRequest]) -> tuple[SessionRequest, ...]:
    """The same requests, their times counted from the first one and never running backwards."""
    found = tuple(requests)
    first = next((request.at for request in found if request.at is not None), None)
    if first is None:
        return found
    shifted: list[SessionRequest] = []
    latest = 0.0
    for request in found:
        if request.at is not None:
            latest = max(latest, round(request.at - first, 3))
            request = msgspec.structs.replace(request, at=latest)
        shifted.append(request)
    return tuple(shifted)


def uncached(message: Message) -> Message:
    """The message without cache breakpoints: a replay places its own."""
    blocks = tuple(_uncached_block(block) for block in message.content)
    same = all(one is other for one, other in zip(blocks, message.content, strict=True))
    if same and message.cache is None:
        return message
    return message.replace(content=blocks, cache=None)


def _uncached_block(block: Block) -> Block:
    if block.cache is None:
        return block
    return msgspec.structs.replace(block, cache=None)
