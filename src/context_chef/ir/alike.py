"""Whether values that Python calls equal are the same JSON: `True` is not `1` there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import is_not
from typing import Any, cast

import msgspec

from context_chef.ir.blocks import Text, ToolCall
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.running import equal_start


def same_json(one: Any, other: Any) -> bool:
    """Whether two values, messages among them, are the same JSON.

    The order of keys says nothing, and `1` and `1.0` are one number: stores hand both back
    otherwise than they took them.
    """
    return one is other or (one == other and _no_flag_for_a_number(one, other))


def alike_start(before: Sequence[Message], now: Sequence[Message]) -> int:
    """How many messages at the beginning are the same JSON."""
    same = equal_start(before, now)
    for at in compress(count(), map(is_not, before[:same], now[:same])):
        if not _no_flag_for_a_number(before[at], now[at]):
            return at
    return same


def is_of_words(message: Message) -> bool:
    """Whether nothing of anybody's own is in the message, as in nearly all of them."""
    return (
        message.native is EMPTY
        and message.extra is EMPTY
        and all(
            type(block) in (Text, ToolCall) and block.native is EMPTY for block in message.content
        )
    )


def _no_flag_for_a_number(one: Any, other: Any) -> bool:
    """Of two equal values: whether flags stand where flags stand."""
    if one is other:
        return True
    kind = cast("type[Any]", type(one))
    if kind is str:
        return True
    if kind is bool or type(other) is bool:
        return kind is type(other)
    if kind is Message and is_of_words(one) and is_of_words(other):
        return True
    if isinstance(one, msgspec.Struct):
        return all(
            _no_flag_for_a_number(getattr(one, name), getattr(other, name))
            for name in one.__struct_fields__
        )
    if isinstance(one, Mapping):
        rest = cast(Mapping[Any, Any], other)
        return all(
            _no_flag_for_a_number(item, rest[key])
            for key, item in cast(Mapping[Any, Any], one).items()
        )
    if isinstance(one, (list, tuple)):
        return all(map(_no_flag_for_a_number, cast(Sequence[Any], one), other))
    return True
