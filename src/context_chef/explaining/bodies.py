"""Explains a request that nobody compiled here: a body from a disk, a log or another library."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, cast

from context_chef.adaptation.http_body import http_body
from context_chef.adaptation.profiles import Profiles, profile_for
from context_chef.costs.prompt import Prompt, PromptReader
from context_chef.costs.simulate import TARGETS
from context_chef.errors import InputError, nearest, shown
from context_chef.explaining.explanation import Counted, Explainer, Explanation
from context_chef.explaining.pieces import Piece
from context_chef.explaining.tracing import Stretch
from context_chef.given import check_mapping, check_text
from context_chef.ir.report import Place
from context_chef.patterns import regex
from context_chef.selection.counting import TokenizerLike, resolve_tokenizer

_OURS: Final = {
    "memory": "memory",
    "dynamic_state": "dynamic_state",
    "announcements": "announcements",
    "implicit_context": "implicit_context",
    "available_toolkits": "toolkits",
    "skill_instructions": "skill",
    "history_summary": "fold",
    "EPHEMERAL_MESSAGE": "guardrail",
}
"""Tags that this library writes, and the source of what stands in them."""
_TAGGED: Final = regex(
    r"(?<![^\n])<(" + "|".join(_OURS) + r")[^>\n]*>\n.*?\n</\1>(?![^\n])", re.DOTALL
)


def explain_body(
    body: Mapping[str, Any],
    target: str | None = None,
    *,
    model: str | None = None,
    tokenizer: TokenizerLike = None,
    profiles: Profiles = (),
) -> Explanation:
    """What of a request body stands where, what it costs and what of it is cached.

    Sources are places of the body (`messages[4]`, `tool:NAME`), and where a text is marked as ours
    what it is (`memory:KEY`). `target` is told from the body's shape when it is not given. Raises
    InputError for a body of no known shape.
    """
    check_mapping(body, "body")
    check_text(model, "model", optional=True)
    target = target or target_of(body)
    if target not in TARGETS:
        raise InputError(
            f"`target` cannot be {shown(target)} for a bare body: its form is not known. "
            + nearest(target, TARGETS)
        )
    plain = http_body(target, body)
    named = plain.get("model")
    model = model or (named if isinstance(named, str) else None)
    counted = Counted(resolve_tokenizer(tokenizer, provider=target).count)  # type: ignore[arg-type]  # looked at above
    profile = profile_for(model, target, profiles=profiles)
    reader = PromptReader(target, count=counted.count, profile=profile)  # type: ignore[arg-type]  # looked at above
    prompt = reader.read(plain)
    explainer = Explainer(
        target=target,
        model=model,
        body=plain,
        prompt=prompt,
        counted=counted,
        profiles=profiles,
    )
    return explainer.explanation(
        [wire_stretches(prompt, index) for index in range(len(prompt.blocks))]
    )


def wire_stretches(prompt: Prompt, index: int) -> list[Stretch]:
    """The block by its place; what stands in a tag of ours is known for what it is."""
    block = prompt.blocks[index]
    unit = prompt.path(index).removesuffix(block.suffix) if block.suffix else prompt.path(index)
    in_system = unit.startswith(("system", "instructions")) or block.label.endswith(" system")
    place: Place = "system" if in_system else "history"
    role = block.label.partition(" ")[2] or "system"

    def part(source: str, start: int, end: int) -> Stretch:
        where: Place = place if source == unit else "system" if in_system else "tail"
        words = block.text[start:end]
        return Stretch(
            start, end, Piece(source=source, place=where, role=role, kind="words", text=words)
        )

    found: list[Stretch] = []
    at = 0
    for match in _TAGGED.finditer(block.text):
        if match.start() > at:
            found.append(part(unit, at, match.start()))
        found.append(part(_OURS[match[1]], match.start(), match.end()))
        at = match.end()
    if at < len(block.text) or not found:
        found.append(part(unit, at, len(block.text)))
    return found


def target_of(body: Mapping[str, Any]) -> str:
    """Whose form a body is in, told from its shape. Raises InputError when it is none."""
    if "contents" in body:
        return "gemini"
    if "input" in body:
        return "openai-responses"
    messages = body.get("messages")
    if isinstance(messages, list):
        return "anthropic" if _like_anthropic(body) else "openai"
    raise InputError(
        "no request found: a body has `messages` (OpenAI Chat, Anthropic), `input` (OpenAI "
        "Responses) or `contents` (Gemini)."
    )


def _like_anthropic(body: Mapping[str, Any]) -> bool:
    if "system" in body or "claude" in str(body.get("model") or ""):
        return True
    return _holds_anthropic([body.get("tools"), body["messages"]])


def _holds_anthropic(value: Any) -> bool:
    """Whether something in there only Anthropic's form has."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        if "input_schema" in fields or "cache_control" in fields:
            return True
        if fields.get("type") in ("tool_use", "tool_result", "thinking"):
            return True
        return any(_holds_anthropic(item) for item in fields.values())
    if isinstance(value, list):
        return any(_holds_anthropic(item) for item in cast("list[Any]", value))
    return False
