"""The independent checker of finished payloads, where the shared data is."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from tests.shared_data import TOOLS

CALLERS_PART: dict[str, dict[str, Any]] = {
    "openai": {},
    "openai-responses": {},
    "anthropic": {"max_tokens": 1000},
    "gemini": {},
}


def _checker() -> Any:
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module("provider_check")


def request_of(target: str, payload: Any, model: str) -> dict[str, Any]:
    """The whole request that a caller would send."""
    body = {**CALLERS_PART[target], **payload.body}
    return body if target == "gemini" else {"model": model, **body}


def problems(target: str, payload: Any, model: str) -> list[str]:
    """What the checker finds, in words."""
    options = {"model": model} if target == "gemini" else {}
    headers = payload.get("extra_headers") or {}
    request = request_of(target, payload, model)
    if headers:
        request["extra_headers"] = headers
    return [str(problem) for problem in _checker().check(target, request, **options)]


def sequence_problems(target: str, payloads: list[Any], model: str) -> list[str]:
    """What the checker finds over the payloads of successive turns."""
    requests = [request_of(target, payload, model) for payload in payloads]
    return [str(problem) for problem in _checker().check_sequence(target, requests)]
