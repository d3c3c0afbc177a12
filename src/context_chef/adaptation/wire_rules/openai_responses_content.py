"""Responses: the content of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_responses_view import (
    HELLO,
    asking,
    item_kind,
    items_of,
)
from context_chef.adaptation.wire_rules.openai_shared import file_problem, is_image_url
from context_chef.adaptation.wire_rules.rule import Finding, Request, RuleBook

BOOK = RuleBook("openai-responses")


def _contents(request: Request) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Path, role and part of every message; of outputs too, with an empty role."""
    for path, item in items_of(request):
        for key in ("content", "output"):
            for index, part in enumerate(as_list(item.get(key))):
                if item_kind(item) == "message" or key == "output":
                    yield f"{path}.{key}[{index}]", as_text(item.get("role")), as_map(part)


def _said(role: str, *parts: Any) -> dict[str, Any]:
    return {"role": role, "content": list(parts)}


@BOOK.rule(
    "content-type",
    "Assistant parts are `output_text` or `refusal`, those of other roles `input_text`, "
    "`input_image` or `input_file`.",
    gist="Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'",
    source="tinyhumansai/openhuman#3624",
    sureness="A",
    repair="The part gets the type of its role.",
    passing=asking(HELLO, _said("assistant", {"type": "output_text", "text": "Hi"}), HELLO),
    failing=asking(HELLO, _said("assistant", {"type": "input_text", "text": "Hi"}), HELLO),
)
def content_type(request: Request) -> Iterator[Finding]:
    for path, role, part in _contents(request):
        kind = as_text(part.get("type"))
        if role == "assistant" and kind.startswith("input_"):
            yield Finding(f"{path}.type", f"{kind!r} in an assistant message")
        elif role not in ("", "assistant") and kind in ("output_text", "refusal"):
            yield Finding(f"{path}.type", f"{kind!r} in a message of role {role!r}")


@BOOK.rule(
    "content-source",
    "An image has a `file_id` or a usable `image_url`; a file a `file_id`, a `file_url`, or "
    "`file_data` as a data URL with a `filename`; no audio or video.",
    gist="The file type you uploaded is not supported",
    source="recording",
    sureness="A",
    repair="What cannot be sent becomes a visible note.",
    passing=asking(
        _said("user", {"type": "input_image", "image_url": "https://pictures.example/1.png"})
    ),
    failing=asking(_said("user", {"type": "input_image", "image_url": "1.png"})),
)
def content_source(request: Request) -> Iterator[Finding]:
    for path, _, part in _contents(request):
        kind = part.get("type")
        if kind == "input_image":
            url = as_text(part.get("image_url"))
            if not part.get("file_id") and not is_image_url(url):
                yield Finding(path, "neither a `file_id` nor a usable `image_url`")
        elif kind == "input_file":
            problem = file_problem(part, path, by_url=True)
            if problem is not None:
                yield problem
