"""What a reader makes of a request: a `Conversation`, and `plain()` data out of SDK objects."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, time
from enum import Enum
from typing import Any, Final, Self, cast

import msgspec

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.errors import InputError, shown
from context_chef.given import check_instance, read_list
from context_chef.ir.blocks import Provider
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.frozen import EMPTY, FrozenDict, deeper, frozen, in_order, json_scalar, thaw
from context_chef.ir.handed_out import HandedOut, Sealed
from context_chef.ir.message import Message
from context_chef.ir.text import clean_text
from context_chef.ir.tools import ToolDefinition


class Conversation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request that was read: who said what, the tools, and everything else the body held."""

    system: tuple[Message, ...] = ()
    """The instructions that stand in front of the conversation."""
    history: tuple[Message, ...] = ()
    """The conversation. System messages in here are positional: they stay where they stand."""
    tools: tuple[ToolDefinition, ...] = ()
    request: Mapping[str, Any] = EMPTY
    """The other keys of a whole body (`model`, `max_tokens`, `thinking`, …), as they were."""
    source: Provider | None = None
    """Whose form it was read from. The keys in `request` mean nothing to anybody else."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What could not be carried, or only in another form."""
    repairs: tuple[Repair, ...] = ()
    """What was mended, when mending was asked for."""

    def __post_init__(self) -> None:
        if type(self.request) is not FrozenDict:
            msgspec.structs.force_setattr(self, "request", frozen(self.request))

    @property
    def messages(self) -> tuple[Message, ...]:
        """System messages and history, in order."""
        return self.system + self.history

    def request_for(self, provider: Provider) -> dict[str, Any]:
        """The other keys of the body, free to be changed; none when it was another provider's."""
        return thaw(self.request) if self.source in (None, provider) else {}

    def replace(self, **changes: Any) -> Self:
        """The same conversation with some fields changed."""
        return msgspec.structs.replace(self, **changes)


_AROUND: Final = 10
"""Levels that a request has around the values that callers gave."""


def plain(value: Any, *, path: str = "$") -> Any:
    """JSON-like data of anything an SDK hands out or takes; always an independent copy.

    Pydantic models give what was set on them under their wire names, google-genai types everything
    that is not None; bytes become base64 text, enums their value, dates ISO text, iterables lists
    (sets in an order of their own). Texts are what every encoder takes. Raises InputError naming
    the place of a value that JSON has no form for, or that is nested too deeply.
    """
    return _plain(value, path, -_AROUND)


def _plain(value: Any, path: str, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is str:
        return clean_text(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, Enum):
        return _plain(value.value, path, depth)
    if isinstance(value, (str, int, float)):
        return json_scalar(value, path=path)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(cast(bytes, value)).decode("ascii")
    inner = deeper(depth, path)
    if kind is HandedOut:
        rows = enumerate(cast(HandedOut, value).raw())
        return HandedOut(
            getattr(row, "http", row)
            if type(row) is Sealed
            else _plain(row, f"{path}[{index}]", inner)
            for index, row in rows
        )
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return {
            clean_text(key if isinstance(key, str) else str(key)): _plain(
                item, f"{path}.{key}", inner
            )
            for key, item in items.items()
        }
    if callable(getattr(value, "model_dump", None)) and not isinstance(value, type):
        return _plain(_dumped(value), path, inner)
    if isinstance(value, msgspec.Struct):
        return _plain(msgspec.to_builtins(value), path, inner)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name), f"{path}.{name}", inner) for name in names}
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, Iterable):
        members = enumerate(cast(Iterable[Any], value))
        found = [_plain(item, f"{path}[{index}]", inner) for index, item in members]
        return in_order(found) if isinstance(value, AbstractSet) else found
    raise InputError(f"{shown(cast(Any, value))} has no form in JSON.", path=path)


def _dumped(model: Any) -> Any:
    """What a pydantic model says on the wire, bytes and enums still to be made plain."""
    if type(model).__module__.startswith("google.genai"):
        # These fill every field that is not used with None, and the API reads None as absent.
        return model.model_dump(by_alias=True, exclude_none=True, warnings=False)
    # The OpenAI and Anthropic clients mark what they added to an answer and the API does not take.
    ours = getattr(model, "__api_exclude__", None)
    return model.model_dump(by_alias=True, exclude_unset=True, exclude=ours, warnings=False)


def check_written(tools: object, profile: object, as_text: object) -> None:
    """Refuse, with InputError, what a `to_*` function cannot write for."""
    read_list(cast("Iterable[Any]", tools), "tools", ToolDefinition)
    check_instance(profile, "profile", ModelProfile, optional=True)
    check_instance(as_text, "preserve_thinking_as_text", bool)
