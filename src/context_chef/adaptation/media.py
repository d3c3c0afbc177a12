"""Media in one form, whatever form they came in: data URIs parsed, types corrected, bytes known."""

from __future__ import annotations

import base64
import binascii
from typing import Final

import msgspec

from context_chef.ir.blocks import FileId, Inline, Media, MediaKind, PlainText, Provider, Url
from context_chef.ir.rows import kind_of

_ALIASES: Final = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
    "audio/mp3": "audio/mpeg",
    "audio/mpeg3": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/x-m4a": "audio/mp4",
    "audio/x-flac": "audio/flac",
}
_BY_EXTENSION: Final = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "heic": "image/heic",
    "svg": "image/svg+xml",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "mov": "video/mov",
    "webm": "video/webm",
    "mpeg": "video/mpeg",
}
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"ID3", "audio/mpeg"),
)
_TEXT_TYPES: Final = frozenset(
    {"application/json", "application/xml", "application/yaml", "application/x-yaml",
     "application/javascript", "application/toml", "application/x-ndjson", "application/sql"}
)  # fmt: skip


def normal_media(media: Media) -> Media:
    """The same media in the form that every writer can rely on.

    Inline data is standard base64, no `data:` prefix, no blanks; the media type is lower case,
    without parameters, under its usual name, never a wildcard, and that of the bytes where it was
    missing or plainly wrong; None only when nothing tells. Text in a data URI is `PlainText`.
    """
    media_type = _usual_type(media.media_type)
    source = media.source
    if isinstance(source, Url | Inline):
        text = source.url if isinstance(source, Url) else source.data
        if text[:5].lower() == "data:":
            source, said = _of_data_uri(text)
            media_type = said or media_type
        elif isinstance(source, Inline):
            source = Inline(data=_standard_base64(text))
    match source:
        case Inline(data=data):
            media_type = _sniffed(data, media_type)
        case Url(url=url):
            media_type = media_type or _type_of_name(urlsplit_path(url))
        case PlainText():
            media_type = media_type or "text/plain"
        case FileId():
            pass
    if media_type is None and media.filename:
        media_type = _type_of_name(media.filename)
    kind = media.kind if media_type is None else _kind(media.kind, media_type)
    if (kind, source, media_type) == (media.kind, media.source, media.media_type):
        return media
    return msgspec.structs.replace(media, kind=kind, source=source, media_type=media_type)


def belongs_elsewhere(source: object, provider: Provider) -> bool:
    """Whether this is a file that was uploaded to another provider."""
    return isinstance(source, FileId) and source.provider not in (None, provider)


def is_text_type(media_type: str | None) -> bool:
    """Whether a document of that type can be read as text."""
    if media_type is None:
        return False
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


def text_of(media: Media) -> str | None:
    """The words of a text document, None when it has none (or they are not UTF-8)."""
    if isinstance(media.source, PlainText):
        return media.source.text
    if isinstance(media.source, Inline) and is_text_type(media.media_type):
        try:
            return base64.b64decode(media.source.data, validate=True).decode("utf-8")
        except (binascii.Error, UnicodeDecodeError):
            return None
    return None


def base64_text(text: str) -> str:
    """Words as the base64 that inline data wants."""
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def is_web_url(url: str) -> bool:
    """Whether that is an address on the web (not a bucket, not base64 that looks alike)."""
    return url[:8].lower().startswith(("http://", "https://"))


def urlsplit_path(url: str) -> str:
    """The path of an address; empty when it cannot be read."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url).path
    except ValueError:
        return ""


def _usual_type(media_type: str | None) -> str | None:
    if not media_type:
        return None
    plain = media_type.partition(";")[0].strip().lower()
    plain = _ALIASES.get(plain, plain)
    return None if not plain or plain.endswith("/*") or "/" not in plain else plain


def _of_data_uri(uri: str) -> tuple[Inline | PlainText, str | None]:
    head, _, body = uri[5:].partition(",")
    said, *parameters = head.split(";")
    if any(parameter.strip().lower() == "base64" for parameter in parameters):
        return Inline(data=_standard_base64(body)), _usual_type(said)
    from urllib.parse import unquote_to_bytes

    raw = unquote_to_bytes(body)
    # RFC 2397: a data URI that names no type is text.
    media_type = _usual_type(said) or "text/plain"
    if is_text_type(media_type):
        try:
            return PlainText(text=raw.decode("utf-8")), media_type
        except UnicodeDecodeError:
            pass
    return Inline(data=base64.b64encode(raw).decode("ascii")), media_type


def _standard_base64(data: str) -> str:
    if any(mark in data for mark in "-_ \n\r\t"):
        data = "".join(data.split()).replace("-", "+").replace("_", "/")
    digits = len(data.rstrip("="))
    # One digit left over is no base64 at all: leave it for the provider to refuse.
    return data if len(data) % 4 == 0 or digits % 4 == 1 else data[:digits] + "=" * (-digits % 4)


def _sniffed(data: str, said: str | None) -> str | None:
    try:
        head = base64.b64decode(data[:64], validate=True)
    except (binascii.Error, ValueError):
        return said
    found = next((name for magic, name in _MAGIC if head.startswith(magic)), None)
    if found is None and head[:4] == b"RIFF":
        found = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12])
    if found is None and head[4:8] == b"ftyp":
        found = (
            said if said and said.partition("/")[0] in ("audio", "video", "image") else "video/mp4"
        )
    # Within one family the providers read the bytes, not the label: what was said stays.
    if found is None or (said and said.partition("/")[0] == found.partition("/")[0]):
        return said
    return found


def _type_of_name(name: str) -> str | None:
    return _BY_EXTENSION.get(name.rpartition(".")[2].lower()) if "." in name else None


def _kind(said: MediaKind, media_type: str) -> MediaKind:
    kind = kind_of(media_type)
    return said if kind == "document" and said in ("document", "file") else kind
