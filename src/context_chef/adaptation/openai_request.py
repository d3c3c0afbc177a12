"""What both OpenAI formats do with a whole request: take it apart, put it together for the SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from context_chef.adaptation.conversation import Conversation
from context_chef.ir.blocks import Provider
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.rows import read_messages, read_system
from context_chef.ir.tools import ToolDefinition


class Request(NamedTuple):
    """What is to be written."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    others: dict[str, Any]
    """The other keys of the body, the receiver's own."""
    was_read: bool
    """Whether it comes from a request that was read from the same wire."""


def request_of(
    conversation: Conversation | Sequence[MessageLike],
    *,
    system: str | MessageLike | Sequence[MessageLike] | None,
    tools: Sequence[ToolDefinition],
    model: str | None,
    wire: Provider,
) -> Request:
    """The messages, tools and other keys; what is given takes the place of what was read.

    The other keys are those of a request that came over the same wire.
    """
    others: dict[str, Any] = {}
    if isinstance(conversation, Conversation):
        others = conversation.request_for(wire)
        messages = conversation.messages if system is None else conversation.history
        tools = tools or conversation.tools
    else:
        messages = read_messages(conversation)
    if system is not None:
        messages = (*read_system(system), *messages)
    if model is not None:
        others["model"] = model
    same = isinstance(conversation, Conversation) and conversation.source in (None, wire)
    return Request(messages, tuple(tools), others, same)


def model_first(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same body with `model` in front, where people look for it."""
    return {"model": body["model"], **body} if "model" in body else dict(body)


def sdk_split(body: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The keys that the SDK's call has a name for as they are, all others in `extra_body`."""
    arguments = {key: value for key, value in body.items() if key in known}
    rest = {key: value for key, value in body.items() if key not in known}
    if rest:
        arguments["extra_body"] = {**arguments.get("extra_body", {}), **rest}
    return arguments
