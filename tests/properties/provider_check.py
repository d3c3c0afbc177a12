"""Compiled payloads as whole requests, and what a provider would say of them."""

from __future__ import annotations

from typing import Any

from tests.checker import refused, refused_in_sequence

CALLERS_PART: dict[str, dict[str, Any]] = {
    "openai": {},
    "openai-responses": {},
    "anthropic": {"max_tokens": 1000},
    "gemini": {},
}


def request_of(target: str, payload: Any, model: str) -> dict[str, Any]:
    """The whole request that a caller would send."""
    body = {**CALLERS_PART[target], **payload.body}
    return body if target == "gemini" else {"model": model, **body}


def problems(target: str, payload: Any, model: str) -> list[str]:
    """What the checker finds, in words."""
    options: dict[str, Any] = {"model": model} if target == "gemini" else {}
    headers = payload.get("extra_headers") or {}
    request = request_of(target, payload, model)
    if headers:
        request["extra_headers"] = headers
    return refused(target, request, **options)


def sequence_problems(target: str, payloads: list[Any], model: str) -> list[str]:
    """What the checker finds over the payloads of successive turns."""
    requests = [request_of(target, payload, model) for payload in payloads]
    return refused_in_sequence(target, requests)
