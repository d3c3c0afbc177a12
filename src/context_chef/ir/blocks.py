"""What a message holds, in the order in which the provider gave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from context_chef.ir.frozen import EMPTY, FrozenDict, frozen
from context_chef.ir.text import clean_text

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic", "gemini"]
"""A wire format. Also the name of its built-in target."""

MediaKind: TypeAlias = Literal["image", "document", "audio", "video", "file"]


class CacheBreakpoint(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A caller's mark: the prompt cache may be written up to here."""

    ttl: Literal["5m", "1h"] | None = None
    """None takes the provider's default lifetime."""


class _Block(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="type"):
    """Every block. Unchangeable all the way down, so that it can be shared and hashed."""

    cache: CacheBreakpoint | None = None
    native: Mapping[str, Any] = EMPTY
    """Fields that only one provider knows, under its name: re-emitted there verbatim."""

    _worded: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if type(self.native) is not FrozenDict:
            msgspec.structs.force_setattr(self, "native", frozen(self.native))
        for field in self._worded:
            words = getattr(self, field)
            if words and (clean := clean_text(words)) is not words:
                msgspec.structs.force_setattr(self, field, clean)


class Text(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Words. `signature` is Gemini's thought signature riding on a text part."""

    _worded: ClassVar[tuple[str, ...]] = ("text",)

    text: str
    signature: str | None = None
    source: str | None = None
    """Who generated it, when we did: `memory`, `dynamic_state`, … Never on a wire."""
    apart: bool = False
    """Generated, and yet a wire block of its own: what stands before it was sent already."""


class Inline(msgspec.Struct, frozen=True, kw_only=True, tag="inline"):
    """The bytes themselves, as plain base64 text (no `data:` prefix)."""

    data: str


class Url(msgspec.Struct, frozen=True, kw_only=True, tag="url"):
    """Somewhere the provider fetches from: http(s), or `gs://` for Gemini."""

    url: str


class FileId(msgspec.Struct, frozen=True, kw_only=True, tag="file_id"):
    """A file that was uploaded to one provider, under the name that provider gave it."""

    file_id: str
    provider: Provider | None = None


class PlainText(msgspec.Struct, frozen=True, kw_only=True, tag="plain_text"):
    """A document that is text: carried as text, never as base64."""

    text: str


MediaSource: TypeAlias = Inline | Url | FileId | PlainText


class Media(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="media"):
    """An image, document, recording or file."""

    kind: MediaKind
    source: MediaSource
    media_type: str | None = None
    """As in `image/png`. None when the caller did not say and the bytes do not tell."""
    filename: str | None = None


class Thinking(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="thinking"):
    """Reasoning the provider wants back, signature and all. Only its own provider can read it."""

    _worded: ClassVar[tuple[str, ...]] = ("text",)

    text: str
    signature: str | None = None
    origin: Provider | None = None


class RedactedThinking(
    _Block, frozen=True, kw_only=True, omit_defaults=True, tag="redacted_thinking"
):
    """Reasoning that only its provider can read."""

    data: str
    origin: Provider = "anthropic"


class ToolCall(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="tool_call"):
    """The model asked for a tool."""

    _worded: ClassVar[tuple[str, ...]] = ("id", "name", "arguments")

    id: str
    name: str
    arguments: str = ""
    """The exact text the model sent, even when it is not valid JSON."""
    signature: str | None = None
    """Gemini's thought signature riding on the call."""


class Opaque(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="opaque"):
    """A block that we carry without reading: server tool use, compaction, reasoning items, …

    Re-emitted verbatim on its own provider. Elsewhere it is named in a diagnostic.
    """

    provider: Provider
    value: Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if type(self.value) is not FrozenDict:
            msgspec.structs.force_setattr(self, "value", frozen(self.value))

    @property
    def kind(self) -> str:
        """The provider's own name for what this is (`compaction`, `reasoning`, …)."""
        value: Any = self.value.get("type", "")
        return value if isinstance(value, str) and value else next(iter(self.value), "")


Block: TypeAlias = Text | Media | Thinking | RedactedThinking | ToolCall | Opaque

BLOCK_TYPES: Final = (Text, Media, Thinking, RedactedThinking, ToolCall, Opaque)
