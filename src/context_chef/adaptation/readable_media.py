"""Inline media whose bytes no provider could read: a visible note stands in their place."""

from __future__ import annotations

import binascii
from typing import Final

from context_chef.adaptation.media import normal_media
from context_chef.adaptation.mending import Mending
from context_chef.ir.blocks import Block, Inline, Media, Provider, Text
from context_chef.ir.repair import Placed
from context_chef.prompts.adaptation import media_omitted

_WEB_IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_MAGIC: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


def note_unreadable_media(placed: list[Placed], mending: Mending) -> list[Placed]:
    """Base64 that is none, nothing at all, or an image that is no image becomes a note."""
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
        return block
    why = _fault(media.source.data, media.media_type, mending.target)
    if why is None:
        return block
    rule = {"anthropic": "base64-data", "openai": "image-url", "gemini": "inline-data"}
    mending.repair(
        rule.get(mending.target, "content-source"), entry.at, f"media left out with a note: {why}"
    )
    note = media_omitted(media.kind, why=why, media_type=media.media_type, filename=media.filename)
    return Text(text=note, cache=block.cache)


def _fault(data: str, media_type: str | None, target: Provider) -> str | None:
    try:
        raw = binascii.a2b_base64(data, strict_mode=True)
    except (binascii.Error, ValueError):
        return "its data cannot be read"
    if not raw:
        return "it holds no data"
    if target == "gemini" or media_type not in _WEB_IMAGES:
        return None
    is_webp = raw[:4] == b"RIFF" and raw[8:12] == b"WEBP"
    return None if is_webp or raw.startswith(_MAGIC) else "its data is no image"
