"""Media as Gemini spells them, and why some are not taken."""

from __future__ import annotations

from typing import Any, Final

from context_chef.adaptation.media import base64_text, belongs_elsewhere
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.ir.blocks import FileId, Inline, Media, PlainText, Url
from context_chef.ir.frozen import thaw

_REFUSED_TYPES: Final = frozenset(
    {"image/svg+xml", "image/gif", "image/bmp", "image/tiff", "application/octet-stream",
     "application/zip", "application/msword", "application/vnd.ms-excel"}
)  # fmt: skip
_REFUSED_FAMILY: Final = "application/vnd.openxmlformats-officedocument"
_MISSPELT: Final = frozenset({"image/jpg", "image/x-png", "image/pjpeg"})


def media_part(media: Media, block: Media) -> dict[str, Any]:
    """The part of `media`, the normal form of what the caller gave as `block`."""
    native: dict[str, Any] = thaw(block.native.get("gemini") or {})
    # What the caller called it is right where Gemini knows it: its names are not all the usual.
    said = block.media_type if _is_a_type(block.media_type) else media.media_type
    match media.source:
        case Inline(data=data):
            if isinstance(block.source, Inline) and block.source.data[:5].lower() != "data:":
                data = block.source.data  # both alphabets are fine here
            part = {"inlineData": {"mimeType": said, "data": data}}
        case PlainText(text=text):
            kind = said or "text/plain"
            part = {"inlineData": {"mimeType": kind, "data": base64_text(text)}}
        case Url(url=uri) | FileId(file_id=uri):
            file = {"fileUri": uri} if said is None else {"mimeType": said, "fileUri": uri}
            part = {"fileData": file}
    [name] = part
    part[name].update(native.pop(name, {}))
    return {**part, **native}


def why_not(media: Media, block: Media, profile: ModelProfile | None) -> str | None:
    """Why Gemini does not take that media, as the end of a sentence; None when it does."""
    if belongs_elsewhere(media.source, "gemini"):
        return "it was uploaded to another provider"
    if media.source in (Inline(data=""), PlainText(text=""), Url(url="")):
        return "it is empty"
    if isinstance(media.source, PlainText):
        return None
    if media.media_type is None:
        return "its type is not known" if isinstance(media.source, Inline) else None
    if "gemini" in block.native or isinstance(media.source, FileId):
        return None
    refused = media.media_type in _REFUSED_TYPES or media.media_type.startswith(_REFUSED_FAMILY)
    if profile is not None:
        refused = refused or profile.accepts_media(media.media_type) is False
    return f"{media.media_type} is not a type that can be read here" if refused else None


def _is_a_type(media_type: str | None) -> bool:
    return (
        media_type is not None
        and "/" in media_type
        and not media_type.endswith("/*")
        and media_type not in _MISSPELT
    )
