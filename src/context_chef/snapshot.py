"""`ChefSnapshot`: everything that the next compile depends on, out and back in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, cast
from uuid import UUID

import msgspec

from context_chef.errors import InputError, shown
from context_chef.given import LARGEST
from context_chef.ir.frozen import EMPTY, FrozenDict, frozen
from context_chef.ir.message import Message
from context_chef.ir.transcript import Transcript
from context_chef.persistence.backend import StoredEntry
from context_chef.persistence.memory_config import MemorySnapshot
from context_chef.pipeline.binding import SentPrefixes
from context_chef.pipeline.last_request import LastRequest
from context_chef.pipeline.sent_request import SentRequest
from context_chef.placement.announcements import Announcement
from context_chef.placement.guardrails import Guardrails
from context_chef.placement.state_block import DynamicState
from context_chef.placement.tail import SentTail

VERSION = 1
_FOREIGN_KEY: Final = "\x00foreign"
_NOT_JSON: Final = (bytes, bytearray, memoryview, datetime, date, time, timedelta, Decimal, UUID)


class ChefSnapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chef at one moment, as data of its own: nothing that happens later reaches it.

    Code is no part of it: settings, handlers, observers, adapters and summarisers are the chef's
    that it is restored into. Nor is a background job that runs.
    """

    created_at: int
    """Milliseconds since the epoch."""
    label: str | None = None
    system_prompt: tuple[Message, ...] = ()
    transcript: Transcript = Transcript()
    dynamic_state: DynamicState = DynamicState()
    guardrails: Guardrails | None = None
    announcements: tuple[Announcement, ...] = ()
    skill: Mapping[str, Any] = EMPTY
    """What is registered and what is active."""
    tools: Mapping[str, Any] = EMPTY
    """Flat tools, namespaces, toolkits, blocklist and applied pruning."""
    janitor: Mapping[str, Any] = EMPTY
    """Lineage, breaker, calibration, reported usage, and the strategy's own state."""
    memory: MemorySnapshot | None = None
    """Entries in their order, and the turn counter; None for a chef without memory."""
    stores: Mapping[str, dict[str, StoredEntry]] = EMPTY
    """Whole namespaces of the store, as far as `include` asked for them."""
    new_context_requested: bool = False
    handoff_noticed: str | None = None
    sent_tails: tuple[SentTail, ...] = ()
    sent_prefixes: SentPrefixes = SentPrefixes()
    sent_requests: Mapping[str, SentRequest] = EMPTY
    last_volatile_tokens: float = 0
    cache_anchor: int | None = None
    cache_anchor_before: int | None = None
    last_request: LastRequest | None = None
    version: int = VERSION

    def __post_init__(self) -> None:
        # JSON read back gives a float: the same snapshot has the same bytes before and after.
        given: Any = self.last_volatile_tokens
        if isinstance(given, bool) or not isinstance(given, (int, float)) or abs(given) > LARGEST:
            raise InputError(f"a number of tokens was expected, not {shown(given)}.")
        volatile = float(given) or 0
        msgspec.structs.force_setattr(self, "last_volatile_tokens", volatile)
        for field in ("skill", "tools", "janitor"):
            value = cast(Mapping[str, Any], getattr(self, field))
            if type(value) is not FrozenDict:
                msgspec.structs.force_setattr(self, field, frozen(value))

    def to_json(self) -> bytes:
        """The snapshot as UTF-8 JSON.

        Raises InputError naming the place of a value that JSON cannot hold, such as bytes that a
        caller put beside a message: they would come back as something else.
        """
        plain = msgspec.to_builtins(self, builtin_types=_NOT_JSON, enc_hook=_as_it_is)
        for path, value in _foreign(plain, "$"):
            raise InputError(
                f"a snapshot is plain data, and this is {_article(value)}; keep it as text.",
                path=path,
            )
        return msgspec.json.encode(plain)

    @classmethod
    def from_json(cls, data: bytes | str) -> ChefSnapshot:
        """A snapshot from its JSON. Raises InputError naming the place of what cannot be read."""
        given: Any = data  # callers are not all typed
        if not isinstance(given, (str, bytes, bytearray)):
            raise InputError(f"a stored snapshot is its JSON, not {shown(given)}.")
        data = given.encode("utf-8", "replace") if isinstance(given, str) else bytes(given)
        try:
            snapshot = msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as error:
            said, _, where = str(error).partition(" - at `")
            hint = _hint(data)
            raise InputError(
                f"this is no snapshot: {said}.{hint}", path=where.rstrip("`") or "$"
            ) from error
        if snapshot.version > VERSION:
            raise InputError(
                f"the snapshot has version {snapshot.version}, this library reads up to {VERSION}; "
                "update context-chef.",
                path="$.version",
            )
        return snapshot


def _hint(data: bytes | str) -> str:
    """Where a snapshot of the other implementation is read."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    if '"createdAt"' in text and '"modules"' in text:
        return (
            " It looks like one of the TypeScript implementation, which "
            "`context_chef.compat.snapshot_from_typescript()` reads."
        )
    return ""


def _as_it_is(value: object) -> Any:
    """A mark where something is no data at all, for `_foreign` to find."""
    return {_FOREIGN_KEY: type(value).__name__}


def _foreign(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What JSON does not know, with its place."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if _FOREIGN_KEY in fields:
            yield path, fields
            return
        for key, item in fields.items():
            yield from _foreign(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(cast(list[Any], value)):
            yield from _foreign(item, f"{path}[{index}]")
    elif value is not None and not isinstance(value, (str, int, float)):
        yield path, value


def _article(value: Any) -> str:
    name: str = type(value).__name__
    if isinstance(value, dict):
        name = cast(dict[str, str], value)[_FOREIGN_KEY]
    return f"a value of type {name!r}"
