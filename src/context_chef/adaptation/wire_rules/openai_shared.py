"""What Chat Completions and Responses have in common: names, schemas, files, reasoning models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.wire_rules.base64_media import data_url, image_type
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_number, as_text
from context_chef.adaptation.wire_rules.json_schema import function_schema, openai_strict
from context_chef.adaptation.wire_rules.rule import Finding, Request
from context_chef.patterns import regex

NAME = regex(r"[a-zA-Z0-9_-]{1,64}\Z")
MOST_TOOLS = 128

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
    "rkJggg=="
)
OPEN_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
CLOSED_SCHEMA: Mapping[str, Any] = {
    **OPEN_SCHEMA,
    "required": ["city"],
    "additionalProperties": False,
}


def is_image_url(url: str) -> bool:
    """An http(s) URL, or a data URL that holds one of the four kinds of image."""
    if url.lower().startswith(("http://", "https://")):
        return True
    parts = data_url(url)
    return parts is not None and image_type(parts[1]) is not None


_SOUNDS = regex(r"\.(?:mp3|wav|ogg|flac|m4a|aac|mp4|mov|avi|mkv|webm|mpe?g)(?:[?#]|\Z)", re.I)


def file_problem(file: Mapping[str, Any], path: str, *, by_url: bool = False) -> Finding | None:
    """What is wrong with a file's source; None when it can be read."""
    url = as_text(file.get("file_url")) if by_url else ""
    data = as_text(file.get("file_data"))
    if file.get("file_id"):
        return None
    if url:
        sound = _SOUNDS.search(url) is not None
        return Finding(path, "audio and video files are not read") if sound else None
    if not data:
        return Finding(path, "neither `file_id` nor `file_data` is given")
    parts = data_url(data)
    if parts is None or not parts[0]:
        return Finding(path, "`file_data` is a base64 data URL with its MIME type")
    if parts[0].startswith(("audio/", "video/")):
        return Finding(path, "audio and video files are not read")
    if not file.get("filename"):
        return Finding(path, "`file_data` comes with a `filename`")
    return None


def schema_findings(function: Mapping[str, Any], path: str) -> Iterator[Finding]:
    """What is wrong with a function's `parameters`, strict or not."""
    parameters = function.get("parameters")
    if isinstance(parameters, Mapping):
        for where, reason in function_schema(as_map(parameters), f"{path}.parameters"):
            yield Finding(where, reason)


def strict_findings(holder: Mapping[str, Any], key: str, path: str) -> Iterator[Finding]:
    """What a schema with `strict: true` leaves out."""
    schema = holder.get(key)
    if holder.get("strict") is True and isinstance(schema, Mapping):
        for where, reason in openai_strict(as_map(schema), f"{path}.{key}"):
            yield Finding(where, reason)


def in_range(request: Request, key: str, least: float, most: float) -> Iterator[Finding]:
    """A finding when that number of the body is outside its range."""
    value = as_number(request.body.get(key))
    if value is not None and not least <= value <= most:
        yield Finding(key, f"{value:g} is not within {least:g} to {most:g}")


SAMPLING_DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


def sampling_findings(request: Request, effort: str) -> Iterator[Finding]:
    """Sampling values other than the default, where the model takes none."""
    profile = request.profile
    if profile is None or profile.sampling in (None, "free", "one_of"):
        return
    if profile.sampling == "effort_none" and effort in ("", "none"):
        return
    for key, default in SAMPLING_DEFAULTS.items():
        value = as_number(request.body.get(key))
        if value is not None and value != default:
            yield Finding(key, f"{profile.name} takes only the default here")


def effort_refused(profile: ModelProfile | None, effort: str) -> str | None:
    """Why the model does not take that effort; None when it does, or when it is not known."""
    if profile is None or profile.efforts is None or not effort or effort in profile.efforts:
        return None
    return f"{profile.name} does not take effort {effort!r}"


def takes_cache_marks(request: Request) -> bool:
    """Whether the model's prompts may be marked. Unknown models are given the benefit of doubt."""
    return request.profile is None or request.profile.cache.explicit_marks


def cache_findings(request: Request, marks: Iterator[str]) -> Iterator[Finding]:
    """Cache options and marks where they mean nothing, or do not go together."""
    options = request.body.get("prompt_cache_options") is not None
    if not takes_cache_marks(request):
        if options:
            yield Finding("prompt_cache_options", "only GPT-5.6 and later take cache options")
        for path in marks:
            yield Finding(path, "only GPT-5.6 and later take cache marks")
    if options and request.body.get("prompt_cache_retention") is not None:
        yield Finding("prompt_cache_retention", "it does not go with `prompt_cache_options`")


def marks_in(content: Any, path: str) -> Iterator[str]:
    """Paths of the cache marks on a message's parts."""
    for index, part in enumerate(as_list(content)):
        if as_map(part).get("prompt_cache_breakpoint") is not None:
            yield f"{path}[{index}].prompt_cache_breakpoint"


def texts_in(content: Any) -> Iterator[str]:
    """The text of a message, whichever way it is written."""
    if isinstance(content, str):
        yield content
    for part in as_list(content):
        yield as_text(as_map(part).get("text"))
