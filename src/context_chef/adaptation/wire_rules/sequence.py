"""Rules over the turns of a session: what a request must keep of the ones before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any

from context_chef.adaptation.wire_rules.anthropic_messages import HELLO, THOUGHT, asking, said, text
from context_chef.adaptation.wire_rules.anthropic_view import ASSISTANT, THINKING, messages_of
from context_chef.adaptation.wire_rules.json_access import as_list, as_map, as_text
from context_chef.adaptation.wire_rules.openai_responses_view import item_kind
from context_chef.adaptation.wire_rules.rule import (
    Finding,
    Request,
    RuleBook,
    Target,
    WireRule,
    turns,
)

_ANTHROPIC = RuleBook("anthropic")
_RESPONSES = RuleBook("openai-responses")

Requests = Sequence[Request | None]
"""Successive requests; None stands for one that cannot be read."""


def _unmarked(value: Any) -> Any:
    """The same data without cache marks, which may move."""
    if isinstance(value, Mapping):
        items = as_map(value).items()
        return {key: _unmarked(item) for key, item in items if key != "cache_control"}
    return [_unmarked(item) for item in as_list(value)] if isinstance(value, list) else value


class _Rendered:
    """A request as the model reads it: tools, system and blocks, each as one running digest."""

    def __init__(self, request: Request) -> None:
        body = request.body
        self.items: list[str] = [
            _text(body.get("tools") or []),
            _text(_system(body.get("system"))),
        ]
        self.thoughts: dict[str, tuple[str, int]] = {}
        """By signature: the path of a thinking block, and how many items stand before it. A
        signature that comes again is another block."""
        for _, role, blocks in messages_of(request):
            for at in blocks:
                if role == ASSISTANT and at.kind in THINKING:
                    key = as_text(at.block.get("signature")) or as_text(at.block.get("data"))
                    while key in self.thoughts:
                        key += "+"
                    self.thoughts[key] = (at.path, len(self.items))
                self.items.append(role + _text(at.block))
        self.digests = list(accumulate(self.items, _chain, initial=""))

    def after(self, before: _Rendered, count: int) -> str:
        """The digest of everything in `before` and then of our items from there up to `count`."""
        return reduce(_chain, self.items[len(before.items) : count], before.digests[-1])


def _text(value: Any) -> str:
    return json.dumps(_unmarked(value), sort_keys=True, default=str)


def _chain(digest: str, item: str) -> str:
    return hashlib.sha256((digest + item).encode("utf-8", "surrogatepass")).hexdigest()


def _system(value: Any) -> Any:
    """The system prompt; plain text and a single text block are the same prompt."""
    if isinstance(value, str):
        return [{"type": "text", "text": value}] if value else []
    return _unmarked(value or [])


def _drops_blocks(request: Request) -> bool:
    binding = as_map(request.map_of("thinking").get("block_binding"))
    return binding.get("prefix_mismatch_behavior") == "drop_block"


@_ANTHROPIC.rule(
    "preserved-thinking",
    "On models with prefix-bound thinking nothing before a thinking block changes between the turn "
    "that made it and now.",
    gist="Invalid `signature` in `thinking` block. The block is bound to a different conversation",
    source="docs: preserved-thinking; on by default for accounts made since 31 Aug 2026",
    sureness="B",
    repair="Every thinking block after the first change is dropped.",
    passing=turns(
        asking(HELLO),
        asking(HELLO, said("assistant", THOUGHT, text("Hi")), HELLO),
        asking(
            HELLO,
            said("assistant", THOUGHT, text("Hi")),
            HELLO,
            said("assistant", text("Ho")),
            HELLO,
        ),
        model="claude-opus-5-5",
    ),
    failing=turns(
        asking(HELLO, system="Be short."),
        asking(HELLO, said("assistant", THOUGHT, text("Hi")), HELLO, system="Be long."),
        model="claude-opus-5-5",
    ),
    over_turns=True,
)
def preserved_thinking(requests: Requests) -> Iterator[Finding]:
    bound: dict[str, str] = {}
    seen: set[str] = set()
    before: _Rendered | None = None
    for index, request in enumerate(requests):
        if request is None:
            continue
        rendered = _Rendered(request)
        if request.profile is not None and request.profile.prefix_bound_thinking:
            for key, (path, count) in rendered.thoughts.items():
                # A block that is new was made from all of the request before. One that was sent
                # to another model before is bound to what it is first sent with here.
                if key not in bound:
                    if before is None or key in seen:
                        bound[key] = rendered.digests[count]
                    else:
                        bound[key] = rendered.after(before, count)
                if bound[key] != rendered.digests[count] and not _drops_blocks(request):
                    yield Finding(f"[{index}].{path}", "what stands before this block has changed")
        seen.update(rendered.thoughts)
        before = rendered


_USER: dict[str, Any] = {"role": "user", "content": "Hello"}
_CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
_OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
_REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}


def _input(*items: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": list(items)}


@_RESPONSES.rule(
    "reasoning-dropped",
    "An item with an id keeps the reasoning item that stood before it.",
    gist="of type 'function_call' was provided without its required 'reasoning' item",
    source="TanStack/ai#1212, laravel/ai#1052",
    sureness="A",
    repair="The item's id is left out together with the reasoning.",
    passing=turns(
        _input(_USER, _REASONING, _CALL, _OUTPUT), _input(_USER, _REASONING, _CALL, _OUTPUT, _USER)
    ),
    failing=turns(_input(_USER, _REASONING, _CALL, _OUTPUT), _input(_USER, _CALL, _OUTPUT, _USER)),
    over_turns=True,
)
def reasoning_dropped(requests: Requests) -> Iterator[Finding]:
    needed: dict[str, str] = {}
    for index, request in enumerate(requests):
        if request is None:
            continue
        items = [as_map(item) for item in request.list_of("input")]
        previous = ""
        for position, item in enumerate(items):
            id = as_text(item.get("id"))
            referred = item_kind(item) == "item_reference" and id.startswith("rs")
            if item_kind(item) == "reasoning" or referred:
                previous = id
                continue
            if id:
                wanted = needed.get(id)
                stored = request.body.get("previous_response_id") or request.body.get(
                    "conversation"
                )
                if wanted is not None and wanted != previous and not stored:
                    path = f"[{index}].input[{position}]"
                    yield Finding(path, f"{id!r} has lost its reasoning item {wanted!r}")
                if previous:
                    needed.setdefault(id, previous)
            previous = ""


SEQUENCE_RULES: Mapping[Target, tuple[WireRule, ...]] = {
    "anthropic": _ANTHROPIC.rules,
    "openai-responses": _RESPONSES.rules,
}
