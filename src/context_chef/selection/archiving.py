"""Storing a span through whatever the caller gave, and citing where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from context_chef.bridge import settle
from context_chef.errors import ContextChefError, shown
from context_chef.ir.blocks import Block, Text
from context_chef.ir.canonical import compact_json
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.prompts.overflow import CLEARED_TOOL_RESULT, cleared_tool_result, dropped_notice
from context_chef.selection.clearing import CLEARED_SOURCE
from context_chef.selection.summary_message import MARKER_SOURCE

SPAN_VERSION = 1


class SpanInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a store is told beside the serialised span."""

    message_count: int


def serialize_span(span: Sequence[Message]) -> str:
    """The span as compact JSON, `{"version":1,"messages":[…]}`, with every field of a message."""
    rows = [flat_row(message) for message in span]
    return compact_json({"version": SPAN_VERSION, "messages": rows})


async def store_span(archive: Any, span: Sequence[Message]) -> str:
    """Store the span; answers its address.

    A callable is given the messages. An object or a mapping with `store` is given the serialised
    span and `SpanInfo`.
    """
    uri: object
    if callable(archive):
        uri = await settle(archive(tuple(span)))
    else:
        store = cast(Any, archive)["store"] if isinstance(archive, Mapping) else archive.store
        info = SpanInfo(message_count=len(span))
        uri = await settle(store(serialize_span(span), info))
    if not isinstance(uri, str) or not uri:
        raise ContextChefError(f"the archive answered {shown(uri)} instead of an address.")
    return uri


def cite(
    history: Sequence[Message], *, uri: str, count: int, known: frozenset[int]
) -> tuple[Message, ...]:
    """The history with the address in every marker and stub that this pass has written.

    `known` holds the identities of the messages that were there before the pass.
    """
    return tuple(
        message if id(message) in known else _cited(message, uri, count) for message in history
    )


def _cited(message: Message, uri: str, count: int) -> Message:
    content: list[Block] = []
    for block in message.content:
        if isinstance(block, Text) and block.source == MARKER_SOURCE:
            block = msgspec.structs.replace(block, text=dropped_notice(count=count, uri=uri))
        elif (
            isinstance(block, Text)
            and block.source == CLEARED_SOURCE
            and block.text == CLEARED_TOOL_RESULT
        ):
            block = msgspec.structs.replace(block, text=cleared_tool_result(uri))
        content.append(block)
    return message.replace(content=tuple(content))
