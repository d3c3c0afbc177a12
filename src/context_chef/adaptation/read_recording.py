"""Any recorded request or transcript as a `Conversation`: the format is told from its shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from context_chef.adaptation.conversation import Conversation, plain
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.errors import InputError, SettingsError, nearest, shown

FORMATS: Final = ("auto", "openai", "openai-responses", "anthropic", "gemini")
_ALIASES: Final = {
    "responses": "openai-responses",
    "openai_responses": "openai-responses",
    "chat": "openai",
    "google": "gemini",
    "claude": "anthropic",
}
_CONTAINER_KEYS: Final = ("source", "format", "about", "usage")
_ANTHROPIC_PARTS: Final = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "image", "compaction"}
)


def read_recording(data: Any, format: str = "auto") -> tuple[Conversation, str]:
    """A conversation, and the format it was found in.

    `data` is a request body of any of the four providers, a bare list of messages, items or
    contents, or a container that names its `format` and holds `messages`, `system`, `tools`, or a
    whole `request`. Raises InputError for what is none of these, SettingsError for an unknown
    format.
    """
    wanted = _ALIASES.get(format, format) if isinstance(format, str) else format  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
    if wanted not in FORMATS:
        raise SettingsError(
            f"`format` cannot be {shown(format)}. {nearest(format, (*FORMATS, *_ALIASES))}"
        )
    value = plain(data)
    if isinstance(value, Mapping):
        value, named = _unpacked(cast(Mapping[str, Any], value))
        wanted = named if wanted == "auto" and named in FORMATS else wanted
    found = _told(value) if wanted == "auto" else wanted
    return _read(value, found), found


def _unpacked(container: Mapping[str, Any]) -> tuple[Any, str]:
    """The body inside a container, and the format that the container names."""
    name = container.get("format")
    named = _ALIASES.get(name, name) if isinstance(name, str) else "auto"
    if isinstance(container.get("request"), Mapping):
        return container["request"], named
    if any(key in container for key in _CONTAINER_KEYS) and "messages" in container:
        kept = ("messages", "system", "tools", "functions", "model")
        return {key: container[key] for key in kept if container.get(key) is not None}, named
    return container, named


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        body = cast(Mapping[str, Any], value)
        if "contents" in body:
            return "gemini"
        if "input" in body:
            return "openai-responses"
        if "messages" not in body:
            raise InputError(
                "no conversation found: a body has `messages` (OpenAI Chat, Anthropic), `input` "
                "(OpenAI Responses) or `contents` (Gemini)."
            )
        if "system" in body or _anthropic(body["messages"]) or _anthropic_tools(body.get("tools")):
            return "anthropic"
        return "gemini" if _gemini(body["messages"]) else "openai"
    if isinstance(value, Sequence) and not isinstance(value, str):
        if _gemini(value):
            return "gemini"
        if _anthropic(value):
            return "anthropic"
        items = cast(Sequence[Any], value)
        responses = any(isinstance(item, Mapping) and "type" in item for item in items)
        return "openai-responses" if responses else "openai"
    raise InputError(f"a request body or a list of messages was expected, not {shown(value)}.")


def _anthropic(messages: Any) -> bool:
    for message in _mappings(messages):
        for part in _mappings(message.get("content")):
            if part.get("type") in _ANTHROPIC_PARTS:
                return True
    return False


def _anthropic_tools(tools: Any) -> bool:
    return any("input_schema" in tool for tool in _mappings(tools))


def _gemini(messages: Any) -> bool:
    return any("parts" in message for message in _mappings(messages))


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    items = cast(Sequence[Any], value)
    return [cast(Mapping[str, Any], item) for item in items if isinstance(item, Mapping)]


def _read(value: Any, format: str) -> Conversation:
    if format == "anthropic":
        return from_anthropic(value)
    if format == "gemini":
        return from_gemini(_renamed(value, messages="contents", system="systemInstruction"))
    if format == "openai-responses":
        return from_openai_responses(_renamed(value, messages="input", system="instructions"))
    return from_openai(_with_system(value))


def _renamed(value: Any, **names: str) -> Any:
    if not isinstance(value, Mapping):
        return value
    body = cast(Mapping[str, Any], value)
    return {names.get(key, key): item for key, item in body.items()}


def _with_system(value: Any) -> Any:
    """A container may hold a chat's system prompt beside its messages."""
    if not isinstance(value, Mapping):
        return value
    body = dict(cast(Mapping[str, Any], value))
    if not isinstance(body.get("system"), str) or not isinstance(body.get("messages"), list):
        return body
    system = {"role": "system", "content": body.pop("system")}
    return {**body, "messages": [system, *body["messages"]]}
