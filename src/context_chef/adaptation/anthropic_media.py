"""Media as Anthropic spells them, and why some are not taken."""

from __future__ import annotations

from typing import Any, Final

from context_chef.adaptation.media import belongs_elsewhere, is_text_type, is_web_url, text_of
from context_chef.ir.blocks import FileId, Inline, Media, PlainText, Url

IMAGE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def media_source(media: Media, *, said: str | None) -> dict[str, Any] | None:
    """The block, or None when Anthropic does not take that media.

    `said` is the type that the caller gave, where the normal one may be a guess by name.
    """
    source = media.source
    if media.kind in ("audio", "video") or belongs_elsewhere(source, "anthropic"):
        return None
    if isinstance(source, Inline) and not source.data:
        return None
    image = media.kind == "image"
    match source:
        case FileId(file_id=file_id):
            wire: dict[str, Any] = {"type": "file", "file_id": file_id}
        case Url(url=url) if is_web_url(url):
            # A document by URL is fetched as a PDF, whatever its name looks like.
            known = media.media_type if image or said else None
            if known and known not in (IMAGE_TYPES if image else ("application/pdf",)):
                return None
            wire = {"type": "url", "url": url}
        case Inline(data=data) if image and media.media_type in IMAGE_TYPES:
            wire = {"type": "base64", "media_type": media.media_type, "data": data}
        case Inline(data=data) if media.media_type == "application/pdf":
            image = False
            wire = {"type": "base64", "media_type": "application/pdf", "data": data}
        case _:
            words = text_of(media)
            if words is None or not words:
                return None
            wire = {"type": "text", "media_type": "text/plain", "data": words}
    return {"type": "image" if image else "document", "source": wire}


def why_not(media: Media) -> str:
    """Why Anthropic does not take that media, as the end of a sentence."""
    if belongs_elsewhere(media.source, "anthropic"):
        return "it was uploaded to another provider"
    if media.source == Inline(data="") or media.source == PlainText(text=""):
        return "it is empty"
    if isinstance(media.source, Url) and not is_web_url(media.source.url):
        return "its address cannot be reached from here"
    if media.media_type is None:
        return "its type is not known"
    if is_text_type(media.media_type):
        return "it cannot be read as text"
    return f"{media.media_type} is not a type that can be read here"
