"""Recorded requests as the checkers take them, and the independent checker beside ours."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from context_chef.adaptation.wire_rules import check_payload
from tests.shared_data import DATA, HAVE_DATA, TOOLS

_TARGETS = {
    "anthropic": "anthropic",
    "openai": "openai",
    "openai_responses": "openai-responses",
    "gemini": "gemini",
}
_PROVIDERS = ("anthropic", "bedrock", "openai", "azure", "google", "vertex")
"""Who serves the provider's own API. Others only imitate it, with keys and gaps of their own."""

_NOT_GENERATING = re.compile(r"count_?tokens|cachedContents", re.IGNORECASE)
"""Endpoints that take less than a request for an answer, or something else."""

HAVE_CHECKER = (TOOLS / "provider_check").is_dir()
needs_checker = pytest.mark.skipif(
    not (HAVE_DATA and HAVE_CHECKER), reason="the shared data or provider_check is absent"
)


class Recorded(NamedTuple):
    name: str
    target: str
    payload: dict[str, Any]
    model: str | None
    accepted: bool
    genuine: bool
    """A request for an answer, served by the provider itself."""
    error: str

    @property
    def settings(self) -> dict[str, Any]:
        """What both checkers have to be told. Recordings used the older Anthropic version."""
        settings: dict[str, Any] = {"model": self.model} if self.model else {}
        if self.target == "anthropic":
            settings["api_version"] = "2023-06-01"
        return settings

    def ours(self, payload: dict[str, Any] | None = None) -> set[str]:
        """The ids of the rules that our checker finds broken."""
        judged = self.payload if payload is None else payload
        return {fault.rule for fault in check_payload(self.target, judged, **self.settings)}

    def theirs(self, payload: dict[str, Any] | None = None) -> set[str]:
        """The ids of the rules that the independent checker finds broken."""
        judged = self.payload if payload is None else payload
        problems = independent_checker().check(self.target, judged, **self.settings)
        return {problem.rule for problem in problems}


@cache
def independent_checker() -> Any:
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("provider_check")
    finally:
        sys.path.remove(str(TOOLS))


def _read(name: str) -> Recorded:
    record = json.loads((DATA / "cassettes" / name).read_text(encoding="utf-8"))
    payload, endpoint = record["request"], record["endpoint"] or ""
    beta = record.get("beta")
    if beta and record["format"] == "anthropic":
        payload = {**payload, "betas": [part.strip() for part in beta.split(",")]}
    model = None
    if "model" not in payload or record["format"] == "gemini":
        # Gemini, Azure and Bedrock name the model in the address.
        found = re.search(r"(?:models?|deployments)/([^/]+?)(?::[a-z]+[A-Z]\w+)?(?:/|$)", endpoint)
        model = payload.get("model") or (found[1] if found else None)
    return Recorded(
        name=name,
        target=_TARGETS[record["format"]],
        payload=payload,
        model=model,
        accepted="/accepted/" in name,
        genuine=record["served_by"] in _PROVIDERS and _NOT_GENERATING.search(endpoint) is None,
        error=json.dumps(record.get("error")),
    )


@cache
def recordings() -> tuple[Recorded, ...]:
    """Every recorded request whose body is a JSON object."""
    index = json.loads((DATA / "cassettes" / "index.json").read_text(encoding="utf-8"))
    read = (_read(entry["file"]) for entry in sorted(index, key=lambda entry: entry["file"]))
    return tuple(recorded for recorded in read if isinstance(recorded.payload, dict))


def accepted() -> Iterator[Recorded]:
    """What the providers themselves accepted."""
    return (each for each in recordings() if each.accepted and each.genuine)


SAME_FAULT = (
    frozenset({"gemini/shape", "gemini/schema"}),
    frozenset({"gemini/shape", "gemini/inline-data"}),
    frozenset({"gemini/shape", "gemini/tool-config"}),
    frozenset({"openai-responses/shape", "openai-responses/content-type"}),
    frozenset({"anthropic/shape", "anthropic/sampling"}),
)
"""Rules under which the two checkers file one and the same fault: the independent one takes
schemas, bytes and part types for shapes."""


def agree(ours: set[str], theirs: set[str]) -> bool:
    """Whether the verdicts are the same, and at least one reason is."""
    if bool(ours) != bool(theirs):
        return False
    pairs = (frozenset({a, b}) for a in ours for b in theirs)
    return not ours or bool(ours & theirs) or any(pair in SAME_FAULT for pair in pairs)
