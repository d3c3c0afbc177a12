"""Inline media that a provider could not read or refuses: a visible note stands in their place."""

from __future__ import annotations

import binascii
from typing import Final

import msgspec

from context_chef.adaptation.image_size import (
    MOST_BASE64,
    MOST_PIXELS,
    MOST_PIXELS_OF_MANY,
    image_size,
)
from context_chef.adaptation.media import normal_media
from context_chef.adaptation.mending import Mending
from context_chef.ir.blocks import Block, Inline, Media, Text
from context_chef.ir.repair import Placed
from context_chef.prompts.adaptation import media_omitted

_WEB_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)


def note_unreadable_media(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Base64 that is none, nothing at all, or an image that is no image becomes a note; for
    Anthropic also an image that is too large and the oldest of too many, and an image goes under
    the type that it has."""
    out: list[Placed] = []
    for entry in placed:
        message = entry.message
        if not any(type(block) is Media for block in message.content):
            out.append(entry)
            continue
        blocks = [_readable(block, entry, mending) for block in message.content]
        same = all(a is b for a, b in zip(blocks, message.content, strict=True))
        out.append(entry if same else Placed(entry.at, message.replace(content=tuple(blocks))))
    return out


def _readable(block: Block, entry: Placed, mending: Mending) -> Block:
    if not isinstance(block, Media):
        return block
    media = normal_media(block)
    if not isinstance(media.source, Inline):
        return block if mending.sends_media(media.kind) else _too_old(media, entry, mending)
    raw, why = _read(media.source.data)
    if why is None and mending.target != "gemini" and media.media_type in _WEB_IMAGES:
        why = None if _image_type(raw) else "its data is no image"
    if why is not None:
        rule = {"anthropic": "base64-data", "openai": "image-url", "gemini": "inline-data"}
        return _note(media, why, rule.get(mending.target, "content-source"), entry, mending)
    if mending.target != "anthropic" or media.media_type not in _WEB_IMAGES:
        return block if mending.sends_media(media.kind) else _too_old(media, entry, mending)
    return _as_anthropic_takes_it(block, media, raw, entry, mending)


def _as_anthropic_takes_it(
    block: Media, media: Media, raw: bytes, entry: Placed, mending: Mending
) -> Block:
    """An image of a size that is taken, under its own type; else a note."""
    size = image_size(raw)
    longest = size.longest if size is not None else 0
    encoded = (len(raw) + 2) // 3 * 4
    limit = MOST_PIXELS_OF_MANY if mending.many_images else MOST_PIXELS
    if encoded > MOST_BASE64 or longest > limit:
        why = (
            f"{size.width} x {size.height} pixels are too many"
            if size and longest > limit
            else (f"{encoded:,} characters of base64 are too many")
        )
        return _note(media, why, "image-size", entry, mending)
    if not mending.sends_media("image", large=longest > MOST_PIXELS_OF_MANY):
        return _too_old(media, entry, mending)
    found = _image_type(raw)
    if found == media.media_type or _reads_any_label(mending):
        return block
    mending.repair("image-type", entry.at, f"{media.media_type} is {found}, and goes as that")
    return msgspec.structs.replace(media, media_type=found)


def _reads_any_label(mending: Mending) -> bool:
    """Claude 3 was recorded to read images under a false type: what it was sent stays as it was."""
    return mending.profile is not None and mending.profile.name.startswith("claude-3")


def _too_old(media: Media, entry: Placed, mending: Mending) -> Text:
    return _note(media, "a request holds no more of them", "media-count", entry, mending)


def _note(media: Media, why: str, rule: str, entry: Placed, mending: Mending) -> Text:
    mending.repair(rule, entry.at, f"media left out with a note: {why}")
    note = media_omitted(media.kind, why=why, media_type=media.media_type, filename=media.filename)
    return Text(text=note, cache=media.cache)


def _read(data: str) -> tuple[bytes, str | None]:
    """The bytes, and why they cannot be sent."""
    try:
        raw = binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return b"", "its data cannot be read"
    return raw, None if raw else "it holds no data"


def _image_type(raw: bytes) -> str | None:
    for magic, media_type in _MAGIC:
        if raw.startswith(magic):
            return media_type
    return "image/webp" if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP" else None
