"""Evicted spans, stored whole and cited: what a summary replaced stays readable, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from context_chef.bridge import run_sync
from context_chef.errors import InputError, shown
from context_chef.ir.canonical import compact_json
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.persistence.offloader import Offloader

SPAN_VERSION: Final = 1


def serialize_span(messages: Sequence[Message]) -> str:
    """The span as compact JSON, `{"version":1,"messages":[…]}`, nothing of a message left out."""
    items = cast("Sequence[object]", messages)
    if not isinstance(messages, Sequence) or not all(isinstance(item, Message) for item in items):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise InputError(f"a span is a list of messages, not {shown(messages)}.", path="$.messages")
    return compact_json(
        {"version": SPAN_VERSION, "messages": [flat_row(message) for message in messages]}
    )


class Archive:
    """Puts spans beside offloaded output, whatever their size.

    The same span has the same address. An instance is itself a function from a span to an address.
    """

    def __init__(self, offloader: Offloader) -> None:
        self._offloader = offloader

    async def store(self, messages: Sequence[Message]) -> str:
        """Store the span; answers its address."""
        return await self._offloader.keep(serialize_span(messages))

    async def __call__(self, messages: Sequence[Message]) -> str:
        return await self.store(messages)

    def store_sync(self, messages: Sequence[Message]) -> str:
        """`store` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.store(messages))
