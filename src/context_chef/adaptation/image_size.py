"""How large an image is, as its first bytes say, and how many a request may hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

MOST_BASE64: Final = 10 * 1024 * 1024
"""Anthropic: an image has so many characters of base64."""
MOST_PIXELS: Final = 8_000
"""Anthropic: an image is so wide and so high."""
MANY_IMAGES: Final = 20
"""Anthropic: above so many images in a request each has to be smaller."""
MOST_PIXELS_OF_MANY: Final = 2_000
MOST_MEDIA: Final = 600
"""Anthropic: images and documents that a request may hold."""
MOST_MEDIA_OF_SMALL: Final = 100
"""The same for models with a window of 200,000 tokens."""

_NO_FRAME: Final = frozenset({0xC4, 0xC8, 0xCC})
"""JPEG markers between those of frames that begin none."""


def most_media(context_window: int | None) -> int:
    """Images and documents that Anthropic takes in one request; what every model takes, where the
    window is not known."""
    small = context_window is None or context_window <= 200_000
    return MOST_MEDIA_OF_SMALL if small else MOST_MEDIA


def too_old(met: int, most: int) -> int:
    """How many of the oldest media are left out where only `most` may be sent: a fifth of them at
    a time, so that the beginning of the request, and the cache with it, does not change in every
    turn."""
    step = max(most // 5, 1)
    return max(-(-(met - most) // step) * step, 0)


class ImageSize(NamedTuple):
    """Width and height in pixels."""

    width: int
    height: int

    @property
    def longest(self) -> int:
        return max(self)


def image_size(data: bytes) -> ImageSize | None:
    """The size of a PNG, JPEG, GIF or WebP image; None when the bytes do not tell."""
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return _filled(_big(data[16:20]), _big(data[20:24]))
        if data.startswith((b"GIF87a", b"GIF89a")):
            return _filled(_little(data[6:8]), _little(data[8:10]))
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return _webp(data)
        if data.startswith(b"\xff\xd8\xff"):
            return _jpeg(data)
    except IndexError:
        return None
    return None


def _big(data: bytes) -> int:
    return int.from_bytes(data, "big")


def _little(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _filled(width: int, height: int) -> ImageSize | None:
    return ImageSize(width, height) if width and height else None


def _webp(data: bytes) -> ImageSize | None:
    kind = data[12:16]
    if kind == b"VP8X":
        return _filled(_little(data[24:27]) + 1, _little(data[27:30]) + 1)
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = _little(data[21:25])
        return _filled((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        return _filled(_little(data[26:28]) & 0x3FFF, _little(data[28:30]) & 0x3FFF)
    return None


def _jpeg(data: bytes) -> ImageSize | None:
    for marker, at in _segments(data):
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            return _filled(_big(data[at + 5 : at + 7]), _big(data[at + 3 : at + 5]))
    return None


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Marker and place of each segment up to the picture itself."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # a filling byte
            at += 1
            continue
        if marker == 0xDA:
            return
        yield marker, at + 2
        at += 2 + _big(data[at + 2 : at + 4])
