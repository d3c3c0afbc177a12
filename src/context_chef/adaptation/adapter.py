"""What turns a window into a provider's request, and the registry that finds it by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import msgspec

from context_chef.adaptation.profiles import ModelProfile
from context_chef.adaptation.tools import ConvertedTools
from context_chef.bridge import MaybeAwaitable
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.running import Starts
from context_chef.ir.tools import ToolDefinition


class AdaptRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A finished window: what a wire adapter writes down."""

    messages: tuple[Message, ...]
    """System prompt, history and tail, in order, already sendable."""
    tools: tuple[ToolDefinition, ...] = ()
    converted: ConvertedTools | None = None
    """`tools` as `convert_tools` made them for this target, by who has done that already."""
    profile: ModelProfile | None = None
    """None when the model is not known: the safe choice is made everywhere."""
    preserve_thinking_as_text: bool = False
    """Reasoning that the target cannot read becomes text in front of the answer."""
    moving_breakpoints: bool = False
    """Breakpoints will stand elsewhere in the next request: content is written so that a mark that
    comes or goes changes no other byte."""
    starts: Starts | None = None
    """Who knows where these messages part from those of the last request."""


class Adapted(msgspec.Struct, frozen=True, kw_only=True):
    """A request in the provider's own HTTP form, and what happened on the way there."""

    body: dict[str, Any]
    """The HTTP body's own keys, built freshly: the receiver may change it."""
    betas: tuple[str, ...] = ()
    """Beta features that the request needs (Anthropic), in first-seen order."""
    repairs: tuple[Repair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    for_sdk: Mapping[str, Any] = EMPTY
    """Values of `body` in the form that the SDK takes, for the adapter that made both."""


@runtime_checkable
class TargetAdapter(Protocol):
    """Anything that can compile messages for a target. A custom one needs no more than this."""

    def compile(self, messages: Sequence[Message]) -> MaybeAwaitable[Mapping[str, Any]]:
        """The keyword arguments of the SDK call for these messages; may be awaitable."""
        ...


@runtime_checkable
class WireAdapter(Protocol):
    """An adapter that also takes tools and a profile, and reports what it did. Ours are these."""

    def adapt(self, request: AdaptRequest) -> MaybeAwaitable[Adapted]:
        """The finished body with what was mended and not carried. Raises UnsendableError."""
        ...

    def sdk_arguments(self, adapted: Adapted) -> dict[str, Any]:
        """The keyword arguments of the official SDK call that sends `adapted`."""
        ...


def is_wire_adapter(adapter: object) -> TypeGuard[WireAdapter]:
    """`isinstance(adapter, WireAdapter)`, many times quicker."""
    return hasattr(adapter, "adapt") and hasattr(adapter, "sdk_arguments")
