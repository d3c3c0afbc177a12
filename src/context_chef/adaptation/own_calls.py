"""Calls by the names that a provider was told become calls by the caller's own names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.tool_memo import mended_schema
from context_chef.adaptation.tool_names import wire_name
from context_chef.adaptation.tool_schema import has_odd_property
from context_chef.ir.blocks import Block, Provider, ToolCall
from context_chef.ir.canonical import compact_json
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition

_TARGETS: Final[tuple[Provider, ...]] = ("openai", "openai-responses", "anthropic", "gemini")


def wire_names(name: str) -> frozenset[str]:
    """What the providers may be told instead of a tool's own name."""
    return frozenset(wire_name(name, target) for target in _TARGETS) - {name}


def original_arguments(arguments: str, renamed: Mapping[str, str]) -> str:
    """The argument text under the properties' own names; the same text where none was renamed."""
    if not renamed:
        return arguments
    try:
        given = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return arguments  # the tool has to say what is wrong with it
    if not isinstance(given, dict):
        return arguments
    fields = cast(dict[str, Any], given)
    if renamed.keys().isdisjoint(fields):
        return arguments
    return compact_json({renamed.get(key, key): value for key, value in fields.items()})


class OwnCalls:
    """How calls and results read under the names that the caller gave tools and properties.

    `told` has the caller's name by the one that a provider was told. A call of another name, or of
    a tool that was never registered, stays what it is.
    """

    def __init__(self, told: Mapping[str, str], tools: Iterable[ToolDefinition]) -> None:
        self._told = told
        self._properties = {
            tool.name: mended_schema(tool, "anthropic").renamed
            for tool in tools
            if has_odd_property(tool.parameters)
        }

    def messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages in the caller's names; the same objects where nothing has another."""
        if not self._told and not self._properties:
            return messages
        own = tuple(map(self._message, messages))
        changed = any(new is not old for new, old in zip(own, messages, strict=True))
        return own if changed else messages

    def _message(self, message: Message) -> Message:
        if message.role == "tool":
            own = self._told.get(message.name or "")
            return message if own is None else message.replace(name=own)
        if message.role != "assistant":
            return message
        blocks: list[Block] = [
            self._call(block) if isinstance(block, ToolCall) else block for block in message.content
        ]
        if all(new is old for new, old in zip(blocks, message.content, strict=True)):
            return message
        return message.replace(content=tuple(blocks))

    def _call(self, call: ToolCall) -> ToolCall:
        name = self._told.get(call.name, call.name)
        renamed = self._properties.get(name)
        arguments = original_arguments(call.arguments, renamed) if renamed else call.arguments
        if name == call.name and arguments is call.arguments:
            return call
        return msgspec.structs.replace(call, name=name, arguments=arguments)
