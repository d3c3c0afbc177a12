"""What a message holds, in the order in which the provider gave it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Literal, TypeAlias

import msgspec

from context_chef.errors import InputError, shown
from context_chef.ir.frozen import EMPTY, freeze_json, native_fields
from context_chef.ir.text import clean_fields, is_clean

Provider: TypeAlias = Literal["openai", "openai-responses", "anthropic", "gemini"]
"""A wire format. Also the name of its built-in target."""
_PROVIDERS: Final = ("openai", "openai-responses", "anthropic", "gemini")

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
    _maybe_worded: ClassVar[tuple[str, ...]] = ()
    _provider_named: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if self.native is not EMPTY:
            msgspec.structs.force_setattr(self, "native", native_fields(self.native))
        if self.cache is not None and not isinstance(self.cache, CacheBreakpoint):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise InputError(
                f"`cache` is a `CacheBreakpoint` or None, not {shown(self.cache)}.", path="$.cache"
            )
        clean_fields(self, self._worded, self._maybe_worded)
        for field in self._provider_named:
            name = getattr(self, field)
            # A custom target's own name is one, too.
            if name is not None and not (isinstance(name, str) and name):
                raise InputError(
                    f"`{field}` cannot be {shown(name)}; it is the provider's name, such as "
                    f"{', '.join(_PROVIDERS)}.",
                    path=f"$.{field}",
                )


class Text(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Words. `signature` is Gemini's thought signature riding on a text part."""

    _worded: ClassVar[tuple[str, ...]] = ("text",)
    _maybe_worded: ClassVar[tuple[str, ...]] = ("signature", "source")

    text: str
    signature: str | None = None
    source: str | None = None
    """Who generated it, when we did: `memory`, `dynamic_state`, … Never on a wire."""
    apart: bool = False
    """Generated, and yet a wire block of its own: what stands before it was sent already."""

    def __post_init__(self) -> None:
        if not (
            self.native is EMPTY
            and self.cache is None
            and self.signature is None
            and self.source is None
            and is_clean(self.text)
        ):
            super().__post_init__()


class Inline(msgspec.Struct, frozen=True, kw_only=True, tag="inline"):
    """The bytes themselves, as plain base64 text (no `data:` prefix)."""

    data: str

    def __post_init__(self) -> None:
        clean_fields(self, ("data",))


class Url(msgspec.Struct, frozen=True, kw_only=True, tag="url"):
    """Somewhere the provider fetches from: http(s), or `gs://` for Gemini."""

    url: str

    def __post_init__(self) -> None:
        clean_fields(self, ("url",))


class FileId(msgspec.Struct, frozen=True, kw_only=True, tag="file_id"):
    """A file that was uploaded to one provider, under the name that provider gave it."""

    file_id: str
    provider: Provider | None = None

    def __post_init__(self) -> None:
        clean_fields(self, ("file_id",))


class PlainText(msgspec.Struct, frozen=True, kw_only=True, tag="plain_text"):
    """A document that is text: carried as text, never as base64."""

    text: str

    def __post_init__(self) -> None:
        clean_fields(self, ("text",))


MediaSource: TypeAlias = Inline | Url | FileId | PlainText
_SOURCES: Final = (Inline, Url, FileId, PlainText)
_KINDS: Final = ("image", "document", "audio", "video", "file")


class Media(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="media"):
    """An image, document, recording or file."""

    _worded: ClassVar[tuple[str, ...]] = ("kind",)
    _maybe_worded: ClassVar[tuple[str, ...]] = ("media_type", "filename")

    kind: MediaKind
    source: MediaSource
    media_type: str | None = None
    """As in `image/png`. None when the caller did not say and the bytes do not tell."""
    filename: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind not in _KINDS:
            raise InputError(
                f"`kind` cannot be {shown(self.kind)}; use one of {', '.join(_KINDS)}.",
                path="$.kind",
            )
        if not isinstance(self.source, _SOURCES):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise InputError(
                "`source` is an `Inline`, `Url`, `FileId` or `PlainText`, not "
                f"{shown(self.source)}.",
                path="$.source",
            )


class Thinking(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="thinking"):
    """Reasoning the provider wants back, signature and all. Only its own provider can read it."""

    _worded: ClassVar[tuple[str, ...]] = ("text",)
    _maybe_worded: ClassVar[tuple[str, ...]] = ("signature", "origin")
    _provider_named: ClassVar[tuple[str, ...]] = ("origin",)

    text: str
    signature: str | None = None
    origin: Provider | None = None


class RedactedThinking(
    _Block, frozen=True, kw_only=True, omit_defaults=True, tag="redacted_thinking"
):
    """Reasoning that only its provider can read."""

    _worded: ClassVar[tuple[str, ...]] = ("data", "origin")
    _provider_named: ClassVar[tuple[str, ...]] = ("origin",)

    data: str
    origin: Provider = "anthropic"


class ToolCall(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="tool_call"):
    """The model asked for a tool."""

    _worded: ClassVar[tuple[str, ...]] = ("id", "name", "arguments")
    _maybe_worded: ClassVar[tuple[str, ...]] = ("signature",)

    id: str
    name: str
    arguments: str = ""
    """The exact text the model sent, even when it is not valid JSON."""
    signature: str | None = None
    """Gemini's thought signature riding on the call."""

    def __post_init__(self) -> None:
        if not (
            self.native is EMPTY
            and self.cache is None
            and self.signature is None
            and is_clean(self.id)
            and is_clean(self.name)
            and is_clean(self.arguments)
        ):
            super().__post_init__()


class Opaque(_Block, frozen=True, kw_only=True, omit_defaults=True, tag="opaque"):
    """A block that we carry without reading: server tool use, compaction, reasoning items, …

    Re-emitted verbatim on its own provider. Elsewhere it is named in a diagnostic.
    """

    _worded: ClassVar[tuple[str, ...]] = ("provider",)
    _provider_named: ClassVar[tuple[str, ...]] = ("provider",)

    provider: Provider
    value: Mapping[str, Any]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.value, Mapping) or not self.value:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise InputError(
                f"`value` is the provider's own block as a mapping, not {shown(self.value)}.",
                path="$.value",
            )
        if self.provider == "anthropic" and not isinstance(self.value.get("type"), str):
            raise InputError(
                f"every block of Anthropic's has a `type`, and {shown(self.value)} has none.",
                path="$.value.type",
            )
        msgspec.structs.force_setattr(self, "value", freeze_json(self.value, path="$.value"))

    @property
    def kind(self) -> str:
        """The provider's own name for what this is (`compaction`, `reasoning`, …)."""
        value: Any = self.value.get("type", "")
        return value if isinstance(value, str) and value else next(iter(self.value), "")


Block: TypeAlias = Text | Media | Thinking | RedactedThinking | ToolCall | Opaque

BLOCK_TYPES: Final = (Text, Media, Thinking, RedactedThinking, ToolCall, Opaque)
