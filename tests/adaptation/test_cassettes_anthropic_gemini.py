"""Every recorded request of Anthropic and Gemini, read and written back: the same conversation."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from context_chef.adaptation.anthropic import to_anthropic
from context_chef.adaptation.gemini import to_gemini
from context_chef.adaptation.profiles import profile_for
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.errors import InputError
from tests.adaptation.same_conversation import anthropic_conversation, gemini_conversation
from tests.shared_data import DATA, needs_data

pytestmark = needs_data


_UNREADABLE = {
    "boolean-root-schema": r"^\$\.tools\[0\]\.input_schema: ",
    "invalid-role": r"^\$\.contents\[0\]\.role: ",
}
"""Requests that say what no message of ours can, and the place that the error names."""


def _recorded(provider: str, verdict: str = "accepted") -> list[Any]:
    folder = DATA / "cassettes" / provider / verdict
    return [pytest.param(path, id=path.stem) for path in sorted(folder.glob("*.json"))]


def _load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def _model_in(endpoint: str) -> str | None:
    return endpoint.rpartition("models/")[2].partition(":")[0] if "models/" in endpoint else None


def _traces(wire: str) -> list[Any]:
    folder = DATA / "traces" / wire
    return [pytest.param(path, id=path.stem[:60]) for path in sorted(folder.glob("*.json"))]


@pytest.mark.parametrize("path", _recorded("anthropic"))
def test_an_accepted_anthropic_request_comes_back_as_the_same_conversation(path: Path) -> None:
    request = _load(path)["request"]
    before = copy.deepcopy(request)

    written = to_anthropic(from_anthropic(request))

    assert anthropic_conversation(written) == anthropic_conversation(before)
    assert request == before


@pytest.mark.parametrize("path", _recorded("gemini"))
def test_an_accepted_gemini_request_comes_back_as_the_same_conversation(path: Path) -> None:
    """Also when the model is named: what it accepted needs no help."""
    recorded = _load(path)
    request = recorded["request"]
    before = copy.deepcopy(request)

    for model in (None, _model_in(recorded["endpoint"])):
        written = to_gemini(from_gemini(request), model=model)
        assert gemini_conversation(written) == gemini_conversation(before)
    assert request == before


@pytest.mark.parametrize("path", _recorded("anthropic") + _recorded("gemini"))
def test_an_accepted_request_is_read_without_anything_to_report(path: Path) -> None:
    read = from_anthropic if path.parent.parent.name == "anthropic" else from_gemini

    assert read(_load(path)["request"]).diagnostics == ()


@pytest.mark.parametrize(
    "path", _recorded("anthropic", "rejected") + _recorded("gemini", "rejected")
)
def test_a_rejected_request_is_read_too(path: Path) -> None:
    """Reading is not judging: the fault is still there for the rules to find."""
    wire = path.parent.parent.name
    read = from_anthropic if wire == "anthropic" else from_gemini
    request = _load(path)["request"]

    for stem, place in _UNREADABLE.items():
        if stem in path.stem:
            with pytest.raises(InputError, match=place):
                read(request)
            return
    assert read(request).source == wire


@pytest.mark.parametrize("path", _traces("anthropic"))
def test_an_anthropic_trace_comes_back_whole(path: Path) -> None:
    trace = _load(path)
    body = {key: trace.get(key) for key in ("system", "messages", "tools")}
    # Aborted answers end in reasoning, and blank text says nothing: the API takes neither.
    body["messages"] = [message for message in trace["messages"] if not _is_refused(message)]

    written = to_anthropic(from_anthropic(body), profile=profile_for(trace["model"], "anthropic"))

    assert anthropic_conversation(written) == anthropic_conversation(body)


def _is_refused(message: dict[str, Any]) -> bool:
    last = message["content"][-1] if isinstance(message["content"], list) else {}
    return last.get("type") == "thinking" or last.get("text", "x").isspace()


@pytest.mark.parametrize("path", _traces("gemini"))
def test_a_gemini_trace_comes_back_whole(path: Path) -> None:
    trace = _load(path)
    body = {"contents": trace["messages"], "tools": trace.get("tools")}
    if trace.get("system"):
        body["systemInstruction"] = trace["system"]

    assert gemini_conversation(to_gemini(from_gemini(body))) == gemini_conversation(body)
