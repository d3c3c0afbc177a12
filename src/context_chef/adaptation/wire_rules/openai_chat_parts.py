"""Chat Completions: who speaks, and images, files and sound in content."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_chat_view import HELLO, asking, messages_of
from context_chef.adaptation.wire_rules.openai_shared import PNG, file_problem, is_image_url
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook, one
from context_chef.patterns import regex

BOOK = RuleBook("openai")


_WHO = regex(r"[^\s<|\\/>]{1,64}\Z")


def _parts(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def _user_parts(request: Request, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path, message in messages_of(request):
        for index, part in enumerate(as_list(message.get("content"))):
            if as_map(part).get("type") == kind:
                yield f"{path}.content[{index}]", as_map(part)


@BOOK.rule(
    "role-model",
    "o1-mini and o1-preview take no `system` and no `developer` messages.",
    gist="'messages[0].role' does not support 'system' with this model",
    source="recording",
    sureness="A",
    repair="The instructions go as a user message that is marked as not being the user's.",
    passing=one(asking({"role": "system", "content": "Be short."}, HELLO), model="gpt-4o"),
    failing=asking({"role": "system", "content": "Be short."}, HELLO, model="o1-mini"),
)
def role_model(request: Request) -> Iterator[Finding]:
    profile = request.profile
    if profile is None or profile.leading_system:
        return
    for path, message in messages_of(request):
        if message.get("role") in ("system", "developer"):
            yield Finding(f"{path}.role", f"{profile.name} takes no {message['role']} messages")


@BOOK.rule(
    "name-field",
    "A message's `name` has 1 to 64 characters, without spaces, angle brackets, slashes or pipes.",
    gist="Invalid 'messages[1].name': string does not match pattern",
    source="jekalmin/extended_openai_conversation#251",
    sureness="B",
    repair="Illegal characters become `_`.",
    passing=asking({**HELLO, "name": "Ann"}),
    failing=asking({**HELLO, "name": "Ann Bee"}),
)
def name_field(request: Request) -> Iterator[Finding]:
    for path, message in messages_of(request):
        name = message.get("name")
        if name is None or message.get("role") == "function":
            continue
        if _WHO.match(as_text(name)) is None:
            yield Finding(f"{path}.name", f"{name!r} has characters that are not allowed")


@BOOK.rule(
    "image-url",
    "An image is an http(s) URL, or a base64 data URL that holds a PNG, JPEG, GIF or WebP image.",
    gist="You uploaded an unsupported image",
    source="recording",
    sureness="A",
    repair="What is no such image becomes a visible note.",
    passing=asking(
        _parts({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}})
    ),
    failing=asking(
        _parts({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}})
    ),
)
def image_url(request: Request) -> Iterator[Finding]:
    for path, part in _user_parts(request, "image_url"):
        if not is_image_url(as_text(as_map(part.get("image_url")).get("url"))):
            yield Finding(f"{path}.image_url.url", "no http(s) URL and no image of a known kind")


_PDF = "data:application/pdf;base64,JVBERi0="


@BOOK.rule(
    "file-part",
    "A file has a `file_id`, or `file_data` as a data URL with a `filename`; no audio or video.",
    gist="Expected a base64-encoded data URL with a valid file MIME type",
    source="recording",
    sureness="A",
    repair="What cannot be sent becomes a visible note.",
    passing=asking(_parts({"type": "file", "file": {"file_data": _PDF, "filename": "plan.pdf"}})),
    failing=asking(_parts({"type": "file", "file": {"file_data": _PDF}})),
)
def file_part(request: Request) -> Iterator[Finding]:
    for path, part in _user_parts(request, "file"):
        problem = file_problem(as_map(part.get("file")), f"{path}.file")
        if problem is not None:
            yield problem


_SOUND: dict[str, Any] = {
    "type": "input_audio",
    "input_audio": {"data": "UklGRg==", "format": "wav"},
}


@BOOK.rule(
    "audio-model",
    "`input_audio` goes only to audio models.",
    gist="Content blocks are expected to be either text or image_url type",
    source="recording",
    sureness="A",
    repair="The audio becomes a visible note.",
    passing=asking(_parts(_SOUND), model="gpt-4o-audio-preview"),
    failing=asking(_parts(_SOUND)),
)
def audio_model(request: Request) -> Iterator[Finding]:
    if request.profile is not None:
        hears = request.profile.accepts_media("audio/wav")
    else:
        hears = "audio" in (request.model or "")
    if hears is False:
        for path, _ in _user_parts(request, "input_audio"):
            yield Finding(path, "the model is no audio model")
