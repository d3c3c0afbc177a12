"""Rules of Anthropic about media: what their data is, how large an image is, how many there are."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Any

from context_chef.adaptation.image_size import (
    MANY_IMAGES,
    MOST_BASE64,
    MOST_MEDIA_OF_SMALL,
    MOST_PIXELS,
    MOST_PIXELS_OF_MANY,
    image_size,
    most_media,
)
from context_chef.adaptation.wire_rules.anthropic_messages import asking, said
from context_chef.adaptation.wire_rules.anthropic_view import At, all_blocks
from context_chef.adaptation.wire_rules.base64_media import first_bytes, image_type, is_base64
from context_chef.adaptation.wire_rules.json_access import as_map, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("anthropic")

_HEAD = 1 << 18
"""So many bytes of an image are looked at for its size: behind the largest block of EXIF data."""
_PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)


def _image(data: str, media_type: str = "image/png") -> dict[str, Any]:
    source = {"type": "base64", "media_type": media_type, "data": data}
    return {"type": "image", "source": source}


def _wide(width: int) -> dict[str, Any]:
    """An image that says it is so wide."""
    head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", width, 1)
    return _image(base64.b64encode(head).decode())


@BOOK.rule(
    "base64-data",
    "Base64 sources hold plain base64, without `data:`; an image is PNG, JPEG, GIF or WebP.",
    gist="Could not process image",
    source="docs",
    sureness="A",
    repair="Data URIs are taken apart; what is no such image becomes a visible note.",
    passing=asking(said("user", _image(_PNG))),
    failing=asking(said("user", _image("data:image/png;base64," + _PNG))),
)
def base64_data(request: Request) -> Iterator[Finding]:
    for _, at in all_blocks(request):
        source = as_map(at.block.get("source"))
        if source.get("type") != "base64":
            continue
        data = as_text(source.get("data"))
        path = f"{at.path}.source.data"
        if not is_base64(data):
            yield Finding(path, "this is no plain base64")
        elif at.kind == "image" and image_type(data) is None:
            yield Finding(path, "the data is no PNG, JPEG, GIF or WebP image")


@BOOK.rule(
    "image-type",
    "An inline image has the media type that its data has (Claude 3 does not mind).",
    gist="The image was specified using the image/png media type, but the image appears to be a "
    "image/jpeg image",
    source="BerriAI/litellm#24900, 1jehuang/jcode#465, home-assistant/core#167208; accepted by "
    "claude-3-5-sonnet (recording)",
    sureness="A",
    repair="The image goes under the type of its data.",
    passing=asking(said("user", _image(_PNG))),
    failing=asking(said("user", _image(_PNG, "image/jpeg"))),
)
def image_type_is_true(request: Request) -> Iterator[Finding]:
    if (request.model or "").startswith("claude-3"):
        return
    for at, source in _inline_images(request):
        found = image_type(as_text(source.get("data")))
        if found is not None and found != source.get("media_type"):
            yield Finding(f"{at.path}.source.media_type", f"the data is {found}")


@BOOK.rule(
    "image-size",
    "An inline image has at most 8,000 pixels a side, 2,000 where a request holds more than 20 "
    "images, and at most 10 MB of base64 (until 2026, and on other clouds, 5 MB).",
    gist="At least one of the image dimensions exceed max allowed size: 8000 pixels; … for "
    "many-image requests: 2000 pixels; image exceeds 5 MB maximum",
    source="docs: vision; anthropics/claude-code#4778, #14412, #19631; can1357/oh-my-pi#10633",
    sureness="A",
    repair="An image that is too large becomes a visible note.",
    passing=asking(said("user", *[_wide(8_000)] * MANY_IMAGES)),
    failing=asking(said("user", _wide(8_001))),
)
def image_size_is_taken(request: Request) -> Iterator[Finding]:
    count = sum(at.kind == "image" for _, at in all_blocks(request))
    limit = MOST_PIXELS_OF_MANY if count > MANY_IMAGES else MOST_PIXELS
    for at, source in _inline_images(request):
        data = as_text(source.get("data"))
        path = f"{at.path}.source.data"
        if len(data) > MOST_BASE64:
            yield Finding(path, f"{len(data):,} characters of base64; {MOST_BASE64:,} are the most")
        size = image_size(first_bytes(data, _HEAD))
        if size is not None and size.longest > limit:
            said_of = f", with {count} images" if limit == MOST_PIXELS_OF_MANY else ""
            found = f"{size.width} x {size.height} pixels; {limit:,} a side are the most{said_of}"
            yield Finding(path, found)


@BOOK.rule(
    "media-count",
    "A request holds at most 100 images and documents, 600 for models with a window above 200,000 "
    "tokens.",
    gist="too many images and documents: 104 + 1 > 100; Too much media: 0 document pages + 102 "
    "images > 100",
    source="docs: vision; anthropics/claude-code#3397, #19822, #23392; openclaw/openclaw#13202",
    sureness="A",
    repair="The oldest become visible notes, a fifth of the limit at a time.",
    passing=asking(said("user", *[_image(_PNG)] * MOST_MEDIA_OF_SMALL)),
    failing=asking(said("user", *[_image(_PNG)] * (MOST_MEDIA_OF_SMALL + 1))),
)
def media_are_not_too_many(request: Request) -> Iterator[Finding]:
    window = request.profile.context_window if request.profile is not None else None
    count = sum(at.kind in ("image", "document") for _, at in all_blocks(request))
    if count > (most := most_media(window)):
        yield Finding("messages", f"{count} images and documents; {most} are the most")


def _inline_images(request: Request) -> Iterator[tuple[At, Any]]:
    for _, at in all_blocks(request):
        source = as_map(at.block.get("source"))
        if at.kind == "image" and source.get("type") == "base64":
            yield at, source
