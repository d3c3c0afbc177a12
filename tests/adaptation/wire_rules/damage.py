"""Ways to break an accepted request, each yielding broken copies of it."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Payload = dict[str, Any]
Damage = Callable[[Payload, random.Random], Iterator[Payload]]

DAMAGES: dict[str, Damage] = {}

# What users own inside (arguments, schemas, output): breaking it says nothing about the request.
_OWNED = ("input", "args", "arguments", "response", "input_examples", "metadata", "labels")


def damage(function: Damage) -> Damage:
    DAMAGES[function.__name__] = function
    return function


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in the payload, but for what users own inside."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            owned = key in _OWNED and path and path[0] != "input"
            if owned or (key == "input" and len(path) > 0):
                yield (*path, key)
            else:
                yield from _places(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _places(inner, (*path, index))


def _get(payload: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        payload = payload[step]
    return payload


def _with(payload: Payload, path: tuple[Any, ...], value: Any) -> Payload:
    broken = copy.deepcopy(payload)
    _get(broken, path[:-1])[path[-1]] = value
    return broken


def _some(
    payload: Payload, rng: random.Random, wanted: Callable[[Any], bool], count: int = 3
) -> Any:
    found = [path for path in _places(payload) if wanted(_get(payload, path))]
    return rng.sample(found, min(count, len(found)))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@damage
def key_dropped(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_object(value) and bool(value)):
        broken = copy.deepcopy(payload)
        node = _get(broken, path)
        del node[rng.choice(list(node))]
        yield broken
    for key in payload:
        yield {name: value for name, value in payload.items() if name != key}


@damage
def key_added(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_object):
        if "schema" not in str(path).lower() and "parameters" not in path:
            yield _with(payload, path, {**_get(payload, path), "unheard_of": 1})
    yield {**payload, "unheard_of": 1}


@damage
def text_became_number(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text):
        yield _with(payload, path, 17)


@damage
def text_became_object(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text):
        yield _with(payload, path, {"value": "x"})


@damage
def text_became_list(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text):
        yield _with(payload, path, [17])


@damage
def text_emptied(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text, 5):
        yield _with(payload, path, "")


@damage
def text_blanked(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text, 5):
        yield _with(payload, path, " \n")


@damage
def text_with_space(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text, 5):
        yield _with(payload, path, "two words")


@damage
def text_very_long(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_text, 5):
        yield _with(payload, path, "x" * 300)


@damage
def text_in_capitals(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_text(value) and len(value) < 30, 5):
        yield _with(payload, path, _get(payload, path).upper())


@damage
def value_became_null(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: value is not None, 5):
        yield _with(payload, path, None)


@damage
def list_emptied(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_list):
        yield _with(payload, path, [])


@damage
def list_became_object(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_list):
        yield _with(payload, path, {"0": 1})


@damage
def list_reversed(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_list(value) and len(value) > 1):
        yield _with(payload, path, _get(payload, path)[::-1])


@damage
def item_dropped(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_list(value) and bool(value), 5):
        items = list(_get(payload, path))
        del items[rng.randrange(len(items))]
        yield _with(payload, path, items)


@damage
def item_doubled(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_list(value) and bool(value), 5):
        items = list(_get(payload, path))
        at = rng.randrange(len(items))
        yield _with(payload, path, [*items[: at + 1], *items[at:]])


@damage
def items_swapped(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, lambda value: _is_list(value) and len(value) > 1, 5):
        items = list(_get(payload, path))
        at = rng.randrange(len(items) - 1)
        items[at], items[at + 1] = items[at + 1], items[at]
        yield _with(payload, path, items)


@damage
def number_negative(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_number):
        yield _with(payload, path, -7)


@damage
def number_huge(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_number):
        yield _with(payload, path, 10**7)


@damage
def number_became_text(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _some(payload, rng, _is_number):
        yield _with(payload, path, "seven")


def _turns(payload: Payload) -> tuple[str, list[Any]]:
    for key in ("messages", "contents", "input"):
        if isinstance(payload.get(key), list):
            return key, payload[key]
    return "", []


def _saying(key: str, role: str, words: str = "Something else.") -> dict[str, Any]:
    if key == "contents":
        return {"role": "model" if role == "assistant" else role, "parts": [{"text": words}]}
    return {"role": role, "content": words}


@damage
def user_turn_between(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns) + 1):
        yield {**payload, key: [*turns[:at], _saying(key, "user"), *turns[at:]]} if key else payload


@damage
def assistant_turn_between(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns) + 1) if key else ():
        yield {**payload, key: [*turns[:at], _saying(key, "assistant"), *turns[at:]]}


@damage
def system_turn_between(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns) + 1) if key else ():
        yield {**payload, key: [*turns[:at], _saying(key, "system"), *turns[at:]]}


@damage
def turn_dropped(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns)):
        yield {**payload, key: [*turns[:at], *turns[at + 1 :]]}


@damage
def turn_doubled(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns)):
        yield {**payload, key: [*turns[: at + 1], *turns[at:]]}


@damage
def turns_swapped(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(len(turns) - 1):
        yield {**payload, key: [*turns[:at], turns[at + 1], turns[at], *turns[at + 2 :]]}


@damage
def conversation_cut(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at in range(1, len(turns)):
        yield {**payload, key: turns[:at]}
        yield {**payload, key: turns[at:]}


@damage
def role_changed(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    for at, turn in enumerate(turns):
        if isinstance(turn, dict) and "role" in turn:
            for role in ("user", "assistant", "model", "tool", "system", "developer", "narrator"):
                yield {**payload, key: [*turns[:at], {**turn, "role": role}, *turns[at + 1 :]]}


@damage
def parts_moved(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    """The first part of one turn becomes the last of the next."""
    key, turns = _turns(payload)
    inner = "parts" if key == "contents" else "content"
    for at in range(len(turns) - 1):
        if all(isinstance(turn.get(inner), list) for turn in turns[at : at + 2]):
            broken = copy.deepcopy(payload)
            here, there = broken[key][at][inner], broken[key][at + 1][inner]
            if here:
                there.append(here.pop(0))
                yield broken


_IDS = ("id", "tool_use_id", "tool_call_id", "call_id", "name", "tool_name")


@damage
def id_changed(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _places(payload):
        if path[-1] in _IDS and isinstance(_get(payload, path), str):
            for value in ("other", "two words", "x" * 70, ""):
                yield _with(payload, path, value)


@damage
def signature_lost(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _places(payload):
        if path[-1] in ("signature", "thoughtSignature", "encrypted_content"):
            yield _with(payload, path, "")


@damage
def thinking_moved(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    key, turns = _turns(payload)
    thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    for at, turn in enumerate(turns):
        if key == "messages" and isinstance(turn.get("content"), list) and "max_tokens" in payload:
            for content in ([thought, *turn["content"]], [*turn["content"], thought]):
                yield {
                    **payload,
                    key: [*turns[:at], {**turn, "content": content}, *turns[at + 1 :]],
                }


_SETTINGS: dict[str, tuple[Any, ...]] = {
    "model": ("claude-opus-5-5", "claude-opus-4-6", "gpt-5", "gpt-5.6", "gpt-6.2-sol", "o1-mini"),
    "temperature": (0, 0.5, 1, 1.5, 3, -1, None),
    "top_p": (0.5, 1, 2),
    "top_k": (5,),
    "max_tokens": (0, 5, 200_000),
    "max_completion_tokens": (0, 5),
    "max_output_tokens": (5, 50),
    "stop": ("x", ["a", "b", "c", "d", "e"]),
    "stream_options": ({"include_usage": True},),
    "metadata": ({"a": "b"},),
    "store": (True, False),
    "tool_choice": ("auto", "required", "none", {"type": "any"}, {"type": "tool", "name": "zzz"}),
    "parallel_tool_calls": (True,),
    "thinking": (
        {"type": "enabled", "budget_tokens": 1024},
        {"type": "enabled", "budget_tokens": 100},
        {"type": "adaptive"},
        {"type": "disabled"},
    ),
    "output_config": ({"effort": "xhigh"}, {"effort": "low"}, {"effort": "tiny"}),
    "reasoning_effort": ("none", "minimal", "high"),
    "reasoning": ({"effort": "none"}, {"effort": "high"}),
    "include": (["reasoning.encrypted_content"],),
    "previous_response_id": ("resp_1",),
    "conversation": ("conv_1",),
    "prompt_cache_options": ({"mode": "explicit"},),
    "response_format": ({"type": "json_object"},),
    "text": ({"format": {"type": "json_object"}},),
    "web_search_options": ({},),
    "context_management": ({"edits": [{"type": "clear_tool_uses_20250919"}]},),
    "cachedContent": ("cachedContents/1",),
    "toolConfig": (
        {"functionCallingConfig": {"mode": "AUTO", "allowedFunctionNames": ["zzz"]}},
        {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["zzz"]}},
    ),
    "generationConfig": (
        {"temperature": 3},
        {"topP": 2},
        {"maxOutputTokens": 0},
        {"thinkingConfig": {"thinkingLevel": "LOW"}},
        {"thinkingConfig": {"thinkingBudget": 5, "thinkingLevel": "LOW"}},
        {"responseSchema": {"type": "OBJECT"}},
    ),
}


@damage
def setting_changed(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for key, values in _SETTINGS.items():
        for value in values:
            yield {**payload, key: value}


def _tools(payload: Payload) -> list[Any]:
    tools = payload.get("tools")
    return tools if isinstance(tools, list) else []


@damage
def tools_doubled(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    if tools := _tools(payload):
        yield {**payload, "tools": [*tools, *tools]}
        yield {**payload, "tools": tools * 130}


@damage
def tools_deferred(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    if tools := _tools(payload):
        deferred = [{**tool, "defer_loading": True} for tool in tools if isinstance(tool, dict)]
        yield {**payload, "tools": deferred}
        yield {**payload, "tools": [tools[0], *deferred[1:]]}


_SCHEMAS: tuple[Any, ...] = (
    {},
    {"type": "string"},
    {"properties": {"a": {"type": "string"}}},
    {"type": "object", "anyOf": [{"type": "object"}]},
    {"type": "object", "properties": {"a b": {"type": "string"}}},
    {"type": "object", "properties": {"a": {"type": "array"}}},
    {"type": "object", "properties": {"a": {"type": "text"}}},
    {"type": "object", "properties": {"a": {"type": ["string", "null"]}}},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}},
    {"type": "object", "properties": {"a": {"type": "integer", "minimum": 1}}},
    {"type": "object", "properties": {}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["b"]},
)


@damage
def schema_changed(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _places(payload):
        if path[-1] in ("input_schema", "parameters", "schema", "responseSchema"):
            for schema in _SCHEMAS:
                yield _with(payload, path, schema)


@damage
def tool_made_strict(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _places(payload):
        if path[-1] in ("input_schema", "parameters") and "contents" not in payload:
            broken = copy.deepcopy(payload)
            _get(broken, path[:-1])["strict"] = True
            yield broken


@damage
def cache_marks_added(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    if "max_tokens" not in payload or "messages" not in payload:
        return
    for ttls in (["5m"] * 6, ["1h", "5m"], ["5m", "1h"]):
        broken = copy.deepcopy(payload)
        blocks = [
            block
            for message in broken["messages"]
            for block in (
                message.get("content") if isinstance(message.get("content"), list) else []
            )
            if isinstance(block, dict) and block.get("type") in ("text", "tool_use", "tool_result")
        ]
        for block, ttl in zip(blocks, ttls, strict=False):
            block["cache_control"] = {"type": "ephemeral", "ttl": ttl}
        yield broken


@damage
def media_broken(payload: Payload, rng: random.Random) -> Iterator[Payload]:
    for path in _places(payload):
        if path[-1] in (
            "data",
            "url",
            "image_url",
            "file_data",
            "fileUri",
            "mimeType",
            "media_type",
        ):
            for value in ("", "data:image/png;base64,aGVsbG8=", "aGVsbG8=", "nonsense", "!!"):
                if isinstance(_get(payload, path), str):
                    yield _with(payload, path, value)
