"""How many tokens a block of a request is: its words, and its media by the provider's rule."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, cast

from context_chef.ir.blocks import FileId, Inline, Media, MediaKind, PlainText, Provider, Url
from context_chef.ir.canonical import compact_json
from context_chef.selection.media_cost import media_tokens

_SILENT: Final = frozenset(
    {
        "type", "id", "call_id", "tool_use_id", "tool_call_id", "signature", "thoughtSignature",
        "thought_signature", "cache_control", "prompt_cache_breakpoint", "media_type", "mimeType",
        "mime_type", "detail", "status", "is_error", "strict", "phase", "created_by", "index",
        "defer_loading", "item_id", "filename",
    }
)  # fmt: skip
"""Keys that a model does not read."""
_AS_JSON: Final = frozenset(
    {
        "input_schema", "parameters", "parametersJsonSchema", "input", "args", "arguments",
        "schema", "response", "responseJsonSchema",
    }
)  # fmt: skip
"""Keys whose objects a model reads as JSON."""
_SEALED: Final = frozenset({"encrypted_content"})
_THOUGHT_SIGNATURES: Final = frozenset({"thoughtSignature", "thought_signature"})
_SEALED_CHARACTERS_A_TOKEN: Final = 5
_KINDS: Final[Mapping[str, MediaKind]] = {"image": "image", "audio": "audio", "video": "video"}


MESSAGE_TOKENS: Final = 3
"""What wire formats put around a message."""
_GEMINI_FUNCTION: Final = 40
_ANTHROPIC_TOOL: Final = 50
_ANTHROPIC_CALL: Final = 40
_ANTHROPIC_RESULT: Final = 15
_ANTHROPIC_TOOL_PROMPT: Final = (
    ("claude-3-haiku", 265),
    ("claude-3-5-haiku", 265),
    ("claude-3-opus", 440),
    ("claude-3-", 235),
    ("claude-opus-4-0", 235),
    ("claude-opus-4-1", 235),
    ("claude-sonnet-4-0", 235),
    ("claude-opus-4-7", 730),
    ("claude-opus-4-5", 490),
    ("claude-opus-4-6", 490),
    ("claude-sonnet-4-5", 490),
    ("claude-sonnet-4-6", 490),
    ("claude-haiku-4-5", 490),
    ("", 320),
)
"""Tokens of Anthropic's own prompt about tools, by the beginning of the model's id: fitted to the
usage of 57 recorded requests, as of 2026-11. What a tool, a call and a result cost around their
words was fitted with it, and what a function costs on Gemini with 40 requests there."""


class Content(NamedTuple):
    """What a model reads of a block."""

    text: str
    beside: int
    """Tokens of media, and of what only the provider can read."""


def content_of(
    value: Any, count: Callable[[str], int], provider: Provider, *, signatures: bool = False
) -> Content:
    """The words of a block in their order, and the tokens of everything that is no words.

    `signatures`: the model is shown its thought signatures (Gemini 3 and later).
    """
    words: list[str] = []
    sealed = _SEALED | _THOUGHT_SIGNATURES if signatures else _SEALED
    beside = _Reader(words, count, provider, sealed).read(value, "")
    return Content("\n".join(words), beside)


def tool_prompt_tokens(provider: Provider, model: str | None) -> int:
    """Tokens of the provider's own words about tools, which stand in front of them."""
    if provider != "anthropic":
        return 0
    name = model or ""
    return next(tokens for start, tokens in _ANTHROPIC_TOOL_PROMPT if name.startswith(start))


def wrapping_tokens(value: Any, provider: Provider, *, tool: bool) -> int:
    """Tokens around the words of a tool, a call or a result, where they are known to be many."""
    if not isinstance(value, Mapping):
        return 0
    fields = cast(Mapping[str, Any], value)
    if provider == "gemini" and tool:
        return _GEMINI_FUNCTION if "name" in fields else 0
    if provider != "anthropic":
        return 0
    kind = fields.get("type")
    if tool:
        return _ANTHROPIC_TOOL if kind in (None, "custom") else 0
    return {"tool_use": _ANTHROPIC_CALL, "tool_result": _ANTHROPIC_RESULT}.get(str(kind), 0)


class _Reader:
    def __init__(
        self,
        words: list[str],
        count: Callable[[str], int],
        provider: Provider,
        sealed: frozenset[str],
    ) -> None:
        self._words = words
        self._count = count
        self._provider: Provider = provider
        self._sealed = sealed

    def read(self, value: Any, key: str) -> int:
        """Take in the words of a value; the answer is the tokens of the rest."""
        if value.__class__ is str or isinstance(value, str):
            if value:
                self._words.append(value)
            return 0
        if value.__class__ is dict or isinstance(value, Mapping):
            return self._fields(cast(Mapping[str, Any], value), key)
        if isinstance(value, list):
            return sum(self.read(item, key) for item in cast(list[Any], value))
        if value is not None and not isinstance(value, bool):
            self._words.append(str(value))
        return 0

    def _fields(self, fields: Mapping[str, Any], key: str) -> int:
        if key in _AS_JSON:
            self._words.append(compact_json(fields))
            return 0
        media = wire_media(fields)
        if media is not None:
            return media_tokens(media, self._count, self._provider)
        redacted = fields.get("type") == "redacted_thinking"
        total = 0
        for name, item in fields.items():
            if name in self._sealed or (redacted and name == "data"):
                total += len(item) // _SEALED_CHARACTERS_A_TOKEN + 1 if isinstance(item, str) else 0
            elif name not in _SILENT:
                total += self.read(item, name)
        return total


def wire_media(block: Mapping[str, Any]) -> Media | None:
    """The image, document or recording that a block of any provider's form holds; else None."""
    kind = str(block.get("type") or "")
    if kind in ("image", "document") and isinstance(block.get("source"), Mapping):
        return _anthropic(kind, block["source"])
    if kind == "image_url" or kind == "input_image":
        held = block.get("image_url")
        given = cast(Mapping[str, Any], held) if isinstance(held, Mapping) else block
        url: object = given.get("url") if isinstance(held, Mapping) else held
        return _named("image", url, block.get("file_id"), detail=given.get("detail"))
    if kind == "input_audio" and isinstance(block.get("input_audio"), Mapping):
        return _inline("audio", block["input_audio"].get("data"))
    if kind in ("file", "input_file"):
        held = block.get("file")
        given = cast(Mapping[str, Any], held) if isinstance(held, Mapping) else block
        url = given.get("file_data") or given.get("file_url")
        return _named("document", url, given.get("file_id"))
    inline = block.get("inlineData") or block.get("inline_data")
    if isinstance(inline, Mapping):
        data = cast(Mapping[str, Any], inline)
        return _inline(_kind_of(data), data.get("data"))
    file = block.get("fileData") or block.get("file_data")
    if isinstance(file, Mapping):
        data = cast(Mapping[str, Any], file)
        return _named(_kind_of(data), data.get("fileUri") or data.get("file_uri"), None)
    return None


def _anthropic(kind: str, source: Mapping[str, Any]) -> Media | None:
    shape: MediaKind = "image" if kind == "image" else "document"
    if source.get("type") == "content":
        return None  # its blocks are read like any other
    if source.get("type") == "text":
        return Media(kind=shape, source=PlainText(text=str(source.get("data") or "")))
    if source.get("type") == "base64":
        return _inline(shape, source.get("data"))
    return _named(shape, source.get("url"), source.get("file_id"))


def _named(kind: MediaKind, url: object, file_id: object, detail: object = None) -> Media | None:
    native = {"openai": {"detail": "low"}} if detail == "low" else {}
    if isinstance(url, str) and url:
        if url.startswith("data:"):
            return _inline(kind, url.partition(",")[2], native)
        return Media(kind=kind, source=Url(url=url), native=native)
    if isinstance(file_id, str) and file_id:
        return Media(kind=kind, source=FileId(file_id=file_id), native=native)
    return None


def _inline(kind: MediaKind, data: object, native: Mapping[str, Any] | None = None) -> Media | None:
    if not isinstance(data, str):
        return None
    return Media(kind=kind, source=Inline(data=data), native=native or {})


def _kind_of(data: Mapping[str, Any]) -> MediaKind:
    mime = str(data.get("mimeType") or data.get("mime_type") or "")
    return _KINDS.get(mime.partition("/")[0], "document")
