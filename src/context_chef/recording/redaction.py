"""Takes out of a row what must not reach a disk: secrets, names, whatever the caller says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from context_chef.errors import SettingsError, shown

Redact: TypeAlias = Callable[[str], str] | Iterable[str | re.Pattern[str]]
"""A function from text to text, or regular expressions of what becomes `[redacted]`."""

REDACTED: Final = "[redacted]"
UNREADABLE: Final = "[left out: it could not be redacted]"
"""Stands for a text that `redact` failed on: the rest of its line is worth having."""

_STRUCTURE: Final = frozenset(
    {"context_chef", "role", "type", "kind", "target", "placement", "channel", "mediaType"}
)
"""Keys whose values are mostly words of the format."""
_FORMAT_WORDS: Final = frozenset(
    {
        "recording", "request", "answer", "openai", "openai-responses", "anthropic", "gemini",
        "system", "developer", "user", "assistant", "tool", "model", "function", "message",
        "text", "thinking", "redacted_thinking", "tool_call", "tool_use", "tool_result", "opaque",
        "media", "image", "image_url", "audio", "input_audio", "video", "document", "file",
        "input_text", "input_image", "input_file", "output_text", "summary_text", "refusal",
        "reasoning", "function_call", "function_call_output", "custom", "custom_tool_call",
        "custom_tool_call_output", "item_reference", "base64", "url", "inline", "content",
        "ephemeral", "enabled", "disabled", "adaptive", "auto", "any", "none",
        "object", "array", "string", "number", "integer", "boolean", "null", "json_schema",
        "json_object", "last_user", "before_last_user", "tail", "file_id", "plain_text",
        "compaction", "after_system", "before_history_tail", "user_tail",
    }
)  # fmt: skip
"""Words of the format. Anything else under those keys is somebody's own, and redacted."""
_JSON_TEXT: Final = frozenset({"arguments", "partial_json"})
"""Keys whose values are JSON in text: what is inside counts decoded as well."""


def redaction(
    redact: Redact | None, *, failed: Callable[[Exception], None]
) -> Callable[[str], str] | None:
    """One function of what was given, that never raises: a text on which `redact` does, or answers
    no text, becomes `UNREADABLE`, and `failed` hears why. Raises SettingsError for what is no
    redaction."""
    if redact is None:
        return None
    if callable(redact):
        return _surely(redact, failed)
    if isinstance(redact, (str, bytes)):
        raise SettingsError(
            f"`redact` is a function or a list of patterns, not the single text {shown(redact)}; "
            "put it "
            "in a list."
        )
    if not isinstance(redact, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise SettingsError(f"`redact` is a function or a list of patterns, not {shown(redact)}.")
    patterns: list[re.Pattern[str]] = []
    for pattern in redact:
        try:
            patterns.append(re.compile(pattern))
        except (re.error, TypeError) as error:
            raise SettingsError(
                f"`redact` holds {shown(pattern)}, which is no regular expression: {error}."
            ) from error

    def replace(text: str) -> str:
        for pattern in patterns:
            text = pattern.sub(REDACTED, text)
        return text

    return _surely(replace, failed)


def _surely(
    redact: Callable[[str], str], failed: Callable[[Exception], None]
) -> Callable[[str], str]:
    def answer(text: str) -> str:
        try:
            answered: Any = redact(text)
            if not isinstance(answered, str):
                raise TypeError(f"`redact` answered {shown(answered)} where a text was expected")
        except Exception as error:  # noqa: BLE001  # recording never fails the agent
            failed(error)
            return UNREADABLE
        return answered

    return answer


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """The same data with every text of it redacted, keys of mappings included.

    Only words of the format itself (roles, kinds of blocks) stay as they are, where the format has
    them.
    """
    return _walk(value, redact, structural=False, json_text=False)


def _walk(value: Any, redact: Callable[[str], str], *, structural: bool, json_text: bool) -> Any:
    if isinstance(value, str):
        if structural and value in _FORMAT_WORDS:
            return value
        return _json_text(value, redact) if json_text else redact(value)
    if isinstance(value, Mapping):
        return {
            key if key in _KNOWN_KEYS else redact(key): _walk(
                item, redact, structural=key in _STRUCTURE, json_text=key in _JSON_TEXT
            )
            for key, item in cast(Mapping[str, Any], value).items()
        }
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [
            _walk(item, redact, structural=False, json_text=json_text)
            for item in cast(Sequence[Any], value)
        ]
    return value


def _json_text(text: str, redact: Callable[[str], str]) -> str:
    """JSON in a text: decoded values are redacted too, since escapes hide what a pattern looks for.

    Where nothing has to go the text stays as it is, to the character.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return redact(text)
    inside = _walk(value, redact, structural=False, json_text=False)
    if inside != value:
        text = json.dumps(inside, ensure_ascii=False)
    return redact(text)


_KNOWN_KEYS: Final = frozenset(
    {
        "context_chef", "kind", "version", "at", "name", "session", "number", "keep", "messages",
        "system", "tools", "state", "target", "model", "request", "response", "usage", "role",
        "content", "tool_calls", "tool_call_id", "attachments", "thinking", "blocks", "extra",
        "native", "id", "type", "function", "arguments", "description", "parameters", "signature",
        "input_schema", "properties", "required", "items", "enum", "text", "data", "mediaType",
        "is_error", "pinned", "announcements", "dynamic_state", "guardrails", "skill", "injected",
        "value", "placement", "channel", "tokens", "window", "limit", "folds", "size", "digest",
        "choices", "message", "output", "candidates", "parts",
    }
)  # fmt: skip
"""Keys of the format, which nobody's secret can be."""
