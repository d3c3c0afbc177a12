"""One tool call of any provider's answer, as mapping or SDK object, becomes a `ToolRequest`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.conversation import plain
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import ToolCall
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolRequest

_WRAPPERS: Final = ("function", "custom", "functionCall", "function_call", "tool_call")
_ARGUMENTS: Final = ("arguments", "input", "args")
_WHOLE_ANSWERS: Final = {
    "role": "a whole message",
    "choices": "a whole answer",
    "candidates": "a whole answer",
    "output": "a whole answer",
    "tool_calls": "a whole message",
}
_FORMS: Final = (
    "a `ToolCall` of `chef.history`, a chat completion's entry of `tool_calls`, an item of type "
    "`function_call` (OpenAI Responses), a `tool_use` block (Anthropic), a `functionCall` (Gemini) "
    "or {'name': …, 'arguments': …}"
)


def read_tool_call(call: object) -> ToolRequest:
    """Name and arguments of one call, in whatever form a provider's answer has it.

    Accepted as SDK object and as mapping: an entry of `tool_calls` (OpenAI Chat, function and
    custom), an item of type `function_call` or `custom_tool_call` (OpenAI Responses), a `tool_use`
    block (Anthropic), a `functionCall` or the part that holds one (Gemini), and our own `ToolCall`
    and `ToolRequest`. Arguments stay as they were sent, text or object: reading them is for whoever
    runs the tool. A name that is no text, or that is missing, is the empty name, which no tool has.
    Raises InputError for anything that is not a single call.
    """
    if isinstance(call, ToolRequest):
        return call
    if isinstance(call, ToolCall):
        return ToolRequest(name=call.name, arguments=call.arguments)
    fields = _unwrapped(_fields(call))
    name = fields.get("name")
    arguments = next((fields[key] for key in _ARGUMENTS if fields.get(key) is not None), None)
    return ToolRequest(name=name if isinstance(name, str) else "", arguments=arguments)


def _fields(call: object) -> Mapping[str, Any]:
    if isinstance(call, Message):
        raise _not_one_call("a whole message", call)
    if isinstance(call, Mapping):
        return cast("Mapping[str, Any]", call)
    if callable(getattr(call, "model_dump", None)) or isinstance(call, msgspec.Struct):
        value = plain(call, path="call")
        if isinstance(value, Mapping):
            return cast("Mapping[str, Any]", value)
    raise InputError(f"a tool call is {_FORMS}, not {shown(call)}.", path="call")


def _unwrapped(call: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping that holds `name`: the call itself, or what it wraps."""
    for wrapper in _WRAPPERS:
        inner = call.get(wrapper)
        if call.get("name") is None and isinstance(inner, Mapping):
            return _unwrapped(cast("Mapping[str, Any]", inner))
    if "name" not in call:
        for key, what in _WHOLE_ANSWERS.items():
            if key in call:
                raise _not_one_call(what, call)
        raise InputError(f"this has no `name`; a tool call is {_FORMS}.", path="call")
    return call


def _not_one_call(what: str, call: object) -> InputError:
    return InputError(
        f"this is {what}, not one tool call: hand its calls over one at a time, for example those "
        f"of `chef.history[-1].tool_calls` once it was appended; got {type(call).__name__}.",
        path="call",
    )
