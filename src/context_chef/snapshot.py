"""`ChefSnapshot`: everything that the next compile depends on, out and back in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from context_chef.errors import InputError
from context_chef.ir.frozen import EMPTY
from context_chef.ir.message import Message
from context_chef.ir.transcript import Transcript
from context_chef.persistence.memory import MemorySnapshot
from context_chef.pipeline.binding import SentPrefixes
from context_chef.placement.announcements import Announcement
from context_chef.placement.dynamic_state import DynamicState
from context_chef.placement.guardrails import Guardrails
from context_chef.placement.tail import SentTail

VERSION = 1


class ChefSnapshot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A chef at one moment, as data of its own: nothing that happens later reaches it."""

    created_at: int
    """Milliseconds since the epoch."""
    label: str | None = None
    system_prompt: tuple[Message, ...] = ()
    transcript: Transcript = Transcript()
    dynamic_state: DynamicState = DynamicState()
    guardrails: Guardrails | None = None
    announcements: tuple[Announcement, ...] = ()
    skill: Mapping[str, Any] = EMPTY
    tools: Mapping[str, Any] = EMPTY
    janitor: Mapping[str, Any] = EMPTY
    memory: MemorySnapshot | None = None
    new_context_requested: bool = False
    handoff_noticed: str | None = None
    sent_tails: tuple[SentTail, ...] = ()
    sent_prefixes: SentPrefixes = SentPrefixes()
    last_volatile_tokens: float = 0
    cache_anchor: int | None = None
    version: int = VERSION

    def to_json(self) -> bytes:
        """The snapshot as UTF-8 JSON."""
        return msgspec.json.encode(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> ChefSnapshot:
        """A snapshot from its JSON. Raises InputError naming the place of what cannot be read."""
        try:
            snapshot = msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as error:
            said, _, where = str(error).partition(" - at `")
            raise InputError(
                f"this is no snapshot: {said}.", path=where.rstrip("`") or "$"
            ) from error
        if snapshot.version > VERSION:
            raise InputError(
                f"the snapshot has version {snapshot.version}, this library reads up to {VERSION}; "
                "update context-chef.",
                path="$.version",
            )
        return snapshot
