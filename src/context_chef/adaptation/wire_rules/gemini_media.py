"""Gemini: bytes and files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.base64_media import is_base64
from context_chef.adaptation.wire_rules.gemini_examples import asking, said
from context_chef.adaptation.wire_rules.gemini_view import USER, contents_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("gemini")


def _media(request: Request, kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for _, _, parts in contents_of(request):
        for part in parts:
            if kind in part.data:
                yield f"{part.path}.{kind}", as_map(part.data[kind])
            for index, inner in enumerate(as_list(as_map(part.response).get("parts"))):
                if kind in as_map(inner):
                    path = f"{part.path}.functionResponse.parts[{index}].{kind}"
                    yield path, as_map(as_map(inner)[kind])


@BOOK.rule(
    "inline-data",
    "`inlineData` has a MIME type and plain base64.",
    source="docs; SDK",
    sureness="B",
    repair="Data URIs are taken apart; what has no type becomes a visible note.",
    passing=asking(said(USER, {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}})),
    failing=asking(said(USER, {"inlineData": {"data": "aGVsbG8="}})),
)
def inline_data(request: Request) -> Iterator[Finding]:
    for path, blob in _media(request, "inlineData"):
        if not blob.get("mimeType"):
            yield Finding(path, "the MIME type is missing")
        if not is_base64(as_text(blob.get("data"))):
            yield Finding(f"{path}.data", "this is no plain base64")


@BOOK.rule(
    "file-data",
    "`fileData` has a `fileUri`.",
    source="docs; SDK",
    sureness="B",
    repair="A file without address becomes a visible note.",
    passing=asking(
        said(USER, {"fileData": {"fileUri": "gs://files/plan.pdf", "mimeType": "application/pdf"}})
    ),
    failing=asking(said(USER, {"fileData": {"mimeType": "application/pdf"}})),
)
def file_data(request: Request) -> Iterator[Finding]:
    for path, file in _media(request, "fileData"):
        if not file.get("fileUri"):
            yield Finding(path, "the `fileUri` is missing")
