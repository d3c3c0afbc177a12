"""The first rule of every target: the request has the keys and types that its API knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_shapes import ANTHROPIC_SHAPES
from context_chef.adaptation.wire_rules.gemini_shapes import GEMINI_SHAPES
from context_chef.adaptation.wire_rules.openai_chat_shapes import OPENAI_CHAT_SHAPES
from context_chef.adaptation.wire_rules.openai_responses_shapes import OPENAI_RESPONSES_SHAPES
from context_chef.adaptation.wire_rules.rule import (
    Check,
    Finding,
    Request,
    RuleBook,
    Target,
    WireRule,
)
from context_chef.adaptation.wire_rules.shapes import ShapeTable

SHAPES: Mapping[Target, ShapeTable] = {
    "openai": OPENAI_CHAT_SHAPES,
    "openai-responses": OPENAI_RESPONSES_SHAPES,
    "anthropic": ANTHROPIC_SHAPES,
    "gemini": GEMINI_SHAPES,
}


def _checker(table: ShapeTable) -> Check:
    def shape(request: Request) -> Iterator[Finding]:
        for fault in table.check(request.body):
            yield Finding(fault.path, fault.message)

    return shape


def _shape_rule(
    target: Target,
    *,
    gist: str,
    source: str,
    passing: Mapping[str, Any],
    failing: Mapping[str, Any],
) -> WireRule:
    book = RuleBook(target)
    book.rule(
        "shape",
        "Keys and types are those that the API knows.",
        gist=gist,
        source=source,
        sureness="A",
        beyond_repair="The writers build nothing else: a fault here is one of a slot handler or of "
        "native fields, and is named.",
        passing=passing,
        failing=failing,
    )(_checker(SHAPES[target]))
    return book.rules[0]


_MESSAGES = [{"role": "user", "content": "Hello"}]
_CONTENTS = [{"role": "user", "parts": [{"text": "Hello"}]}]

SHAPE_RULES: Mapping[Target, WireRule] = {
    "openai": _shape_rule(
        "openai",
        gist="Missing required parameter: 'messages[1].content[0].type'; Unrecognized request "
        "argument supplied",
        source="recording; SDK",
        passing={"model": "gpt-4o", "messages": _MESSAGES},
        failing={"model": "gpt-4o", "messages": _MESSAGES, "thinking": {}},
    ),
    "openai-responses": _shape_rule(
        "openai-responses",
        gist="Unknown parameter",
        source="recording; SDK",
        passing={"model": "gpt-4o", "input": _MESSAGES},
        failing={"model": "gpt-4o", "input": _MESSAGES, "messages": _MESSAGES},
    ),
    "anthropic": _shape_rule(
        "anthropic",
        gist="Extra inputs are not permitted; Input does not match the expected shape",
        source="SDK; recording",
        passing={"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": _MESSAGES},
        failing={"model": "claude-sonnet-4-5", "messages": _MESSAGES},
    ),
    "gemini": _shape_rule(
        "gemini",
        gist='Invalid JSON payload received. Unknown name "…": Cannot find field',
        source="SDK; reports",
        passing={"contents": _CONTENTS},
        failing={"contents": _CONTENTS, "messages": _MESSAGES},
    ),
}
