"""What media costs in tokens, by the rules that the providers document.

Never by the length of the base64 text. Without a provider the dearest rule counts.

- Anthropic: an image is width × height / 750 after it was scaled to at most 1568 pixels on the long
  edge, at most about 1,600; a PDF page is its text (1,500 to 3,000) and an image of it.
- OpenAI: 85 at low detail; else scaled into 2048 × 2048, then to 768 on the short edge, 85 and 170
  for each tile of 512 × 512. A PDF page is its text and an image of it. Audio is 10 a second.
- Gemini: 258 up to 384 × 384, else 258 for each tile of 768 × 768; a PDF page is 258; audio is 32 a
  second, video 300.
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Callable
from typing import Final

from context_chef.ir.blocks import FileId, Inline, Media, PlainText, Provider, Url
from context_chef.patterns import regex

UNKNOWN_IMAGE: Final = 1_600
UNKNOWN_DOCUMENT: Final = 5_000
_PDF_PAGE: Final[dict[str, int]] = {"anthropic": 3_000, "openai": 2_000, "gemini": 258}
_AUDIO_SECOND: Final[dict[str, float]] = {"openai": 10, "gemini": 32}
_VIDEO_SECOND: Final = 300
_HEADER_BYTES: Final = 262_144
_PDF_BYTES_A_PAGE: Final = 60_000
_COMPRESSED_AUDIO_BYTES_A_SECOND: Final = 16_000
_VIDEO_BYTES_A_SECOND: Final = 250_000


def media_tokens(
    media: Media, count: Callable[[str], int], provider: Provider | None = None
) -> int:
    """Tokens of one piece of media. `count` counts documents that are text."""
    source = media.source
    if isinstance(source, PlainText):
        return count(source.text) + 8
    if isinstance(source, (Url, FileId)):
        return UNKNOWN_IMAGE if media.kind == "image" else UNKNOWN_DOCUMENT
    if media.kind == "image":
        low = any(_low_detail(native) for native in media.native.values())
        return image_tokens(image_size(source), provider, low_detail=low)
    if media.kind == "audio":
        rate = _AUDIO_SECOND.get(_family(provider), max(_AUDIO_SECOND.values()))
        return max(1, math.ceil(_seconds_of_audio(source) * rate))
    if media.kind == "video":
        return max(1, math.ceil(_size(source) / _VIDEO_BYTES_A_SECOND * _VIDEO_SECOND))
    return _document_tokens(source, count, provider)


def image_tokens(
    size: tuple[int, int] | None, provider: Provider | None = None, *, low_detail: bool = False
) -> int:
    """Tokens of an image of `size` pixels. None is an image that does not tell its size."""
    if size is None:
        return UNKNOWN_IMAGE
    width, height = max(1, size[0]), max(1, size[1])
    rules = {
        "anthropic": _anthropic_image(width, height),
        "openai": 85 if low_detail else _openai_image(width, height),
        "gemini": _gemini_image(width, height),
    }
    family = _family(provider)
    return rules[family] if family in rules else max(rules.values())


def _family(provider: str | None) -> str:
    return "openai" if provider == "openai-responses" else provider or ""


def _anthropic_image(width: int, height: int) -> int:
    scale = min(1.0, 1568 / max(width, height))
    return max(1, min(1_600, math.ceil(width * scale * height * scale / 750)))


def _openai_image(width: int, height: int) -> int:
    scale = min(1.0, 2048 / max(width, height))
    scale *= min(1.0, 768 / (min(width, height) * scale))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return 85 + 170 * tiles


def _gemini_image(width: int, height: int) -> int:
    if width <= 384 and height <= 384:
        return 258
    # The provider crops large images to a bounded number of tiles.
    tiles = min(16, math.ceil(width / 768) * math.ceil(height / 768))
    return 258 * tiles


def image_size(source: Inline) -> tuple[int, int] | None:
    """Width and height, from the header of a PNG, JPEG, GIF or WebP."""
    data = _head(source)
    if data[:8] == b"\x89PNG\r\n\x1a\n" and len(data) >= 24:
        return struct.unpack(">II", data[16:24])
    if data[:6] in (b"GIF87a", b"GIF89a") and len(data) >= 10:
        return struct.unpack("<HH", data[6:10])
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp_size(data)
    if data[:2] == b"\xff\xd8":
        return _jpeg_size(data)
    return None


def _webp_size(data: bytes) -> tuple[int, int] | None:
    kind = data[12:16]
    if kind == b"VP8X" and len(data) >= 30:
        wide, high = data[24:27], data[27:30]
        return 1 + int.from_bytes(wide, "little"), 1 + int.from_bytes(high, "little")
    if kind == b"VP8L" and len(data) >= 25:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 " and len(data) >= 30:
        width, height = struct.unpack("<HH", data[26:30])
        return width & 0x3FFF, height & 0x3FFF
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data):
        if data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if marker == 0xFF or 0xD0 <= marker <= 0xD8:
            at += 1 if marker == 0xFF else 2
            continue
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _document_tokens(source: Inline, count: Callable[[str], int], provider: Provider | None) -> int:
    if _head(source)[:5] == b"%PDF-":
        page = _PDF_PAGE.get(_family(provider), max(_PDF_PAGE.values()))
        return page * _pdf_pages(_bytes(source))
    data = _bytes(source)
    try:
        return count(data.decode("utf-8")) + 8
    except UnicodeDecodeError:
        return max(UNKNOWN_DOCUMENT, len(data) // 20)


def _pdf_pages(data: bytes) -> int:
    """Pages by their objects; compressed object streams hide them, so the size sets a floor."""
    pages = len(_PAGE_OBJECT.findall(data))
    counts = [int(found) for found in _PAGE_COUNT.findall(data)]
    if pages or counts:
        return max(pages, *counts, 1)
    return max(1, math.ceil(len(data) / _PDF_BYTES_A_PAGE))


def _seconds_of_audio(source: Inline) -> float:
    head = _head(source)
    if head[:4] == b"RIFF" and head[8:12] == b"WAVE" and len(head) >= 32:
        bytes_a_second = int.from_bytes(head[28:32], "little")
        if bytes_a_second:
            return _size(source) / bytes_a_second
    return _size(source) / _COMPRESSED_AUDIO_BYTES_A_SECOND


def _head(source: Inline) -> bytes:
    return _decode(source.data[: _HEADER_BYTES // 3 * 4])


def _bytes(source: Inline) -> bytes:
    return _decode(source.data)


def _decode(text: str) -> bytes:
    padded = text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"))
    except (binascii.Error, ValueError):
        return b""


def _size(source: Inline) -> int:
    return len(source.data) * 3 // 4


def _low_detail(native: object) -> bool:
    return isinstance(native, dict) and native.get("detail") == "low"  # type: ignore[reportUnknownMemberType]  # JSON-like


_PAGE_OBJECT: Final = regex(rb"/Type\s*/Page(?![a-zA-Z])")
_PAGE_COUNT: Final = regex(rb"/Count\s+(\d{1,5})")
