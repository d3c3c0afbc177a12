"""Content parts of Responses items, read into blocks; what we do not know is carried as it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.openai_media import read_media
from context_chef.adaptation.openai_parts import cache_mark, words_without_type
from context_chef.errors import InputError, shown
from context_chef.ir.blocks import Block, FileId, Media, Opaque, Text, Url

WIRE: Final = "openai-responses"


def read_item_part(part: Any, path: str) -> Block:
    """One content part of an item. What has another shape than OpenAI's is carried as it is."""
    if isinstance(part, str):
        return Text(text=part)
    if not isinstance(part, Mapping):
        raise InputError(f"a part is a mapping with a `type`, not {shown(part)}.", path=path)
    part = cast(Mapping[str, Any], part)
    if (words := words_without_type(part)) is not None:
        return Text(text=words)
    kind = part.get("type")
    mark = cache_mark(part)
    if kind in ("input_text", "output_text", "text") and isinstance(part.get("text"), str):
        rest = {key: part[key] for key in part if key not in ("type", "text")}
        if kind == "text":
            rest["type"] = "text"
        return Text(text=part["text"], cache=mark, native={WIRE: rest} if rest else {})
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        rest = {key: part[key] for key in part if key != "refusal"}
        return Text(text=part["refusal"], native={WIRE: rest})
    media: Media | None = None
    if kind == "input_image":
        media = _image(part)
    elif kind == "input_file":
        media = _file(part)
    if media is None:
        return Opaque(provider=WIRE, value=part, native={WIRE: {"_part": True}})
    return media if mark is None else msgspec.structs.replace(media, cache=mark)


def _image(part: Mapping[str, Any]) -> Media | None:
    url = part.get("image_url")
    if isinstance(url, str) and url:
        native = {key: part[key] for key in part if key not in ("type", "image_url")}
        return read_media(url, wire=WIRE, kind="image", native=native)
    if isinstance(part.get("file_id"), str) and part["file_id"]:
        native = {key: part[key] for key in part if key not in ("type", "file_id")}
        return Media(
            kind="image",
            source=FileId(file_id=part["file_id"], provider=WIRE),
            native={WIRE: native} if native else {},
        )
    return None


def _file(part: Mapping[str, Any]) -> Media | None:
    known = ("type", "file_data", "file_id", "file_url", "filename")
    sources = [key for key in known[1:4] if isinstance(part.get(key), str) and part[key]]
    if len(sources) != 1:
        return None
    native = {key: part[key] for key in part if key not in known or part[key] is None}
    filename = part.get("filename")
    filename = filename if isinstance(filename, str) and filename else None
    if sources == ["file_data"]:
        return read_media(
            part["file_data"], wire=WIRE, kind="document", filename=filename, native=native
        )
    if filename is not None:
        native["_named"] = True
    value: str = part[sources[0]]
    source = Url(url=value) if sources == ["file_url"] else FileId(file_id=value, provider=WIRE)
    return Media(
        kind="document",
        source=source,
        filename=filename,
        native={WIRE: native} if native else {},
    )
