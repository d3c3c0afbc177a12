"""Gemini's field names: the REST spelling of whatever spelling came in."""

from __future__ import annotations

from typing import Any, Final

DATA_FIELDS: Final = (
    "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode",
    "codeExecutionResult", "toolCall", "toolResponse",
)  # fmt: skip
"""A part says exactly one of these."""

TOP_LEVEL: Final = {
    "toolConfig": "tool_config",
    "safetySettings": "safety_settings",
    "cachedContent": "cached_content",
    "labels": "labels",
    "serviceTier": "service_tier",
    "store": "store",
}
"""Keys of the body that the SDK takes inside `config`, and their name there."""

SDK_ONLY: Final = frozenset(
    {"httpOptions", "automaticFunctionCalling", "shouldReturnHttpResponse", "abortSignal"}
)
"""Settings of the SDK's `config` that never reach the wire."""


def camel(name: str) -> str:
    """`thought_signature` as `thoughtSignature`; a name in that form already stays."""
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest) if head else name


def snake(name: str) -> str:
    """`thoughtSignature` as `thought_signature`."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)


def camel_keys(fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields under their REST names, without those that are null; values untouched."""
    return {camel(key): value for key, value in fields.items() if value is not None}
