"""Rows of words and calls, as nearly all are, read in one go; whatever else is left to the rest."""

from __future__ import annotations

from typing import Any, Final, cast

from context_chef.ir.blocks import Block, Text, ToolCall
from context_chef.ir.message import ROLES, Message

_FIELDS: Final = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_CALL_FIELDS: Final = frozenset({"id", "type", "function"})


def plain_message(row: dict[str, Any]) -> Message | None:
    """The message that a row of nothing but words and calls is; None for any other row."""
    if not row.keys() <= _FIELDS:
        return None
    get = row.get
    role, content, call_id, name = get("role"), get("content"), get("tool_call_id"), get("name")
    if role not in ROLES or type(role) is not str:
        return None
    if not (
        (content is None or type(content) is str)
        and (call_id is None or type(call_id) is str)
        and (name is None or type(name) is str)
    ):
        return None
    blocks: list[Block] = [Text(text=content)] if content else []
    calls = get("tool_calls")
    if calls is not None:
        if type(calls) is not list:
            return None
        if role == "assistant":
            for item in cast("list[Any]", calls):
                if (call := _call(item)) is None:
                    return None
                blocks.append(call)
        elif calls:
            return None
    if role == "tool" and call_id is None:
        call_id = ""
    return Message(role=cast(Any, role), content=tuple(blocks), tool_call_id=call_id, name=name)


def _call(item: Any) -> ToolCall | None:
    if type(item) is not dict:
        return None
    fields = cast("dict[str, Any]", item)
    function = fields.get("function")
    if type(function) is not dict or not fields.keys() <= _CALL_FIELDS:
        return None
    said = cast("dict[str, Any]", function)
    identifier, name, arguments = fields.get("id"), said.get("name"), said.get("arguments")
    if type(identifier) is str and type(name) is str and type(arguments) is str:
        return ToolCall(id=identifier, name=name, arguments=arguments)
    return None
