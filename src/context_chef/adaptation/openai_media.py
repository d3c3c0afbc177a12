"""Media as both OpenAI formats spell them: data URIs in and out, and what is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from context_chef.adaptation.media import belongs_elsewhere, is_web_url, normal_media
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.ir.blocks import FileId, Inline, Media, MediaKind, Provider, Url
from context_chef.ir.frozen import EMPTY
from context_chef.ir.rows import media_from
from context_chef.prompts.adaptation import media_omitted

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The only image formats that OpenAI reads."""

_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/mpeg": "mp3"}
_ENDINGS: Final = {
    "application/pdf": "pdf",
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "text/plain": "txt",
    "text/markdown": "md",
    "text/csv": "csv",
    "text/html": "html",
    "application/json": "json",
}
_LIKELY: Final = {"image": "image/png", "audio": "audio/wav", "video": "video/mp4"}


def read_media(
    uri: str,
    *,
    wire: Provider,
    kind: MediaKind,
    filename: str | None = None,
    native: Mapping[str, Any] = EMPTY,
) -> Media:
    """Media of a data URI, a URL or plain base64, as an OpenAI request spells it."""
    media = normal_media(media_from(uri, media_type=None, kind=kind, filename=filename))
    fields = dict(native)
    if uri[:5].lower() == "data:" and data_uri(media) != uri:
        fields["_uri"] = uri  # said in another way than we would say it
    return msgspec.structs.replace(media, native={wire: fields}) if fields else media


def data_uri(media: Media) -> str | None:
    """The data URI of inline media, as it was read or else in its plainest form.

    None for other media, and when nothing tells the type.
    """
    for wire in ("openai", "openai-responses"):
        original = media.native.get(wire, EMPTY).get("_uri")
        if isinstance(original, str):
            return original
    if not isinstance(media.source, Inline) or media.media_type is None:
        return None
    return f"data:{media.media_type};base64,{media.source.data}"


def web_url(media: Media) -> str | None:
    """The http(s) address that OpenAI may fetch from; None for buckets and everything else."""
    source = media.source
    return source.url if isinstance(source, Url) and is_web_url(source.url) else None


def image_url(media: Media) -> str | None:
    """What an image part takes as its URL; None for an image that OpenAI cannot read."""
    if isinstance(media.source, Inline) and media.media_type not in IMAGE_TYPES:
        return None
    return web_url(media) or data_uri(media)


def file_id(media: Media) -> str | None:
    """The id of a file that was uploaded to OpenAI, or to nobody in particular."""
    source = media.source
    if not isinstance(source, FileId):
        return None
    ours = not belongs_elsewhere(source, "openai") or source.provider == "openai-responses"
    return source.file_id if ours else None


def file_data(media: Media) -> str | None:
    """A document's data URI; None for audio and video, which no file may be, and unknown types."""
    kind = media.media_type
    return None if kind is None or kind.startswith(("audio/", "video/")) else data_uri(media)


def filename_of(media: Media) -> str:
    """The file's name, or one that fits its type: an inline file has to have one."""
    stem = "image" if media.kind == "image" else "document"
    return media.filename or f"{stem}.{_ENDINGS.get(media.media_type or '', 'bin')}"


def audio_format(media: Media) -> str | None:
    """`wav` or `mp3`, or what the request said; None for a recording OpenAI does not take."""
    if media.kind != "audio" or not isinstance(media.source, Inline):
        return None
    said = media.native.get("openai", EMPTY).get("format")
    return said if isinstance(said, str) and said else _AUDIO_FORMATS.get(media.media_type or "")


def accepted(media: Media, profile: ModelProfile | None, *, wire: Provider) -> bool:
    """Whether the model takes media of this kind, as far as that is known.

    Recordings go only to models that are known to hear, or back where they were read from; images
    and documents go everywhere but to models that are known not to see.
    """
    kind = media.media_type or _LIKELY.get(media.kind)
    known = profile.accepts_media(kind) if profile is not None and kind is not None else None
    if known is None:
        return media.kind != "audio" or wire in media.native
    return known


def omission(media: Media, why: str) -> str:
    """The visible note that stands in for media that cannot be sent; URLs stay readable."""
    if isinstance(media.source, Url):
        why = f"{why}; it is at {media.source.url}"
    return media_omitted(media.kind, why=why, media_type=media.media_type, filename=media.filename)
