"""Content parts of Chat Completions, read into blocks; what we do not know is carried as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from context_chef.adaptation.openai_media import read_media
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import Block, CacheBreakpoint, FileId, Inline, Media, Opaque, Text
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.frozen import EMPTY


def read_part(part: Any, path: str) -> Block:
    """One content part. What has another shape than OpenAI's is carried as it is."""
    if isinstance(part, str):
        return Text(text=part)
    if not isinstance(part, Mapping):
        raise InputError(f"a part is a mapping with a `type`, not {shown(part)}.", path=path)
    part = cast(Mapping[str, Any], part)
    if (words := words_without_type(part)) is not None:
        return Text(text=words)
    kind = part.get("type")
    rest = {key: part[key] for key in part if key not in ("type", kind)}
    value: Any = part.get(kind) if isinstance(kind, str) else None
    if kind == "text" and isinstance(value, str):
        return Text(text=value, cache=cache_mark(rest), native={"openai": rest} if rest else {})
    if kind == "refusal" and isinstance(value, str):
        return Text(text=value, native={"openai": {"type": "refusal", **rest}})
    media: Media | None = None
    if kind == "image_url":
        media = _image(value, rest)
    elif kind == "file" and isinstance(value, Mapping):
        media = _file(cast(Mapping[str, Any], value), rest)
    elif kind == "input_audio" and isinstance(value, Mapping):
        media = _audio(cast(Mapping[str, Any], value), rest)
    return media if media is not None else Opaque(provider="openai", value=part)


def words_without_type(part: Any) -> str | None:
    """The words of a part that does not say what it is. OpenAI refuses such a part; the words of
    it, or of a whole message that stands in a part's place, are meant to be read all the same."""
    if not isinstance(part, Mapping) or isinstance(cast(Mapping[str, Any], part).get("type"), str):
        return None
    given = cast(Mapping[str, Any], part)
    words = given.get("text", given.get("content"))
    return words if isinstance(words, str) else None


def untyped_part(path: str) -> Diagnostic:
    """What a reader says of such a part."""
    said = "A part has to say its `type`, and this one does not: its words were read as text."
    return Diagnostic(code="part-untyped", where=path, message=said)


def _image(value: Any, rest: dict[str, Any]) -> Media | None:
    inner = cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {"url": value}
    url = inner.get("url")
    if not isinstance(url, str) or not url:
        return None
    native = {key: inner[key] for key in inner if key != "url"}
    return _with_cache(
        read_media(url, wire="openai", kind="image", native=_beside(native, rest)), rest
    )


def _file(file: Mapping[str, Any], rest: dict[str, Any]) -> Media | None:
    native = {key: file[key] for key in file if key not in ("file_data", "file_id", "filename")}
    filename = file.get("filename")
    filename = filename if isinstance(filename, str) and filename else None
    if isinstance(file.get("file_id"), str) and file["file_id"]:
        if filename is not None:
            native["_named"] = True
        media = Media(
            kind="document",
            source=FileId(file_id=file["file_id"], provider="openai"),
            filename=filename,
            native={"openai": _beside(native, rest)} if native or rest else {},
        )
        return _with_cache(media, rest)
    data = file.get("file_data")
    if not isinstance(data, str) or not data:
        return None
    media = read_media(
        data, wire="openai", kind="document", filename=filename, native=_beside(native, rest)
    )
    return _with_cache(media, rest)


def _audio(audio: Mapping[str, Any], rest: dict[str, Any]) -> Media | None:
    data, spelled = audio.get("data"), audio.get("format")
    if not isinstance(data, str) or not data or not isinstance(spelled, str):
        return None
    native = {key: audio[key] for key in audio if key != "data"}
    media = Media(
        kind="audio",
        source=Inline(data=data),
        media_type={"mp3": "audio/mpeg"}.get(spelled, f"audio/{spelled}"),
        native={"openai": _beside(native, rest)},
    )
    return _with_cache(media, rest)


def _beside(native: dict[str, Any], rest: dict[str, Any]) -> dict[str, Any]:
    return {**native, "_part": rest} if rest else native


def _with_cache(media: Media, rest: dict[str, Any]) -> Media:
    mark = cache_mark(rest)
    return media if mark is None else msgspec.structs.replace(media, cache=mark)


def kept_inline(block: Block) -> Block:
    """Media in a tool's answer: OpenAI takes none there, but the server that was spoken to did."""
    if not isinstance(block, Media):
        return block
    native = {"openai": {**block.native.get("openai", EMPTY), "_inline": True}}
    return msgspec.structs.replace(block, native=native)


def cache_mark(rest: Mapping[str, Any]) -> CacheBreakpoint | None:
    """A mark in OpenAI's words, or in Anthropic's as routers take them."""
    if rest.get("prompt_cache_breakpoint"):
        return CacheBreakpoint()
    control = rest.get("cache_control")
    if not isinstance(control, Mapping):
        return None
    ttl = cast(Mapping[str, Any], control).get("ttl")
    return CacheBreakpoint(ttl=ttl if ttl in ("5m", "1h") else None)
