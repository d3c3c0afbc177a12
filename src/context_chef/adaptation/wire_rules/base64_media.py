"""Whether media data in a request is what it says: base64 text, and an image that can be read."""

from __future__ import annotations

import base64
import binascii
import re

from context_chef.patterns import regex

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}\Z")
_DATA_URL = regex(r"data:([^;,]*)((?:;[^,]*)?),(.*)\Z", re.DOTALL)
_SIGNATURES = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
}


def is_base64(data: str) -> bool:
    """Whether the text is base64 and nothing else, without blanks and line breaks."""
    return bool(data) and len(data) % 4 != 1 and _BASE64.match(data) is not None


def first_bytes(data: str, count: int = 32) -> bytes:
    """The first bytes of base64 data; empty when it cannot be decoded."""
    compact = "".join(data[: count * 2].split()).replace("-", "+").replace("_", "/")
    compact = compact[: len(compact) // 4 * 4]
    try:
        return base64.b64decode(compact)[:count]
    except (binascii.Error, ValueError):
        return b""


def image_type(data: str) -> str | None:
    """The MIME type that the image data itself shows; None when it is none of the four kinds."""
    head = first_bytes(data)
    for media_type, signatures in _SIGNATURES.items():
        if head.startswith(signatures):
            return media_type
    return "image/webp" if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def data_url(url: str) -> tuple[str, str] | None:
    """MIME type and data of a base64 data URL; None when it is none."""
    match = _DATA_URL.match(url)
    if match is None or not match[2].endswith(";base64"):
        return None
    return match[1].lower(), match[3]
