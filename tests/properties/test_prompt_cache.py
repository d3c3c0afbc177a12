"""Whole sessions against the prompt cache: what was sent once is sent again as it was.

A breakpoint is no part of the prompt, so requests are compared without their marks; that a mark
changes nothing else about how content is written is what these tests are about.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_chef import ContextChef
from tests.shared_data import TOOLS, needs_data

MARKS = ("cache_control", "prompt_cache_breakpoint")
MODELS = [
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("openai", "gpt-5.1"),
    ("openai", "gpt-5.6"),
    ("openai-responses", "gpt-5.1"),
    ("openai-responses", "gpt-5.6"),
    ("gemini", "gemini-2.5-pro"),
    ("gemini", "gemini-3-pro-preview"),
]
RULES = "Keep to this rule, whatever happens. " * 400
TOOLS_LIST = [
    {
        "name": f"tool_{number}",
        "description": "Does what its name says. " * 10,
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    }
    for number in range(4)
]


def bare(value: Any) -> Any:
    """The value without breakpoints."""
    if isinstance(value, dict):
        return {key: bare(inner) for key, inner in value.items() if key not in MARKS}
    return [bare(inner) for inner in value] if isinstance(value, list) else value


def blocks(body: dict[str, Any]) -> list[str]:
    """Every block of a request in the order of the prompt: tools, system, conversation."""
    rows: list[Any] = [body.get("tools")]
    rows += _listed(body.get("system"))
    rows += [body.get("instructions"), body.get("systemInstruction")]
    for message in body.get("messages") or body.get("input") or body.get("contents") or []:
        role = message.get("role")
        parts = message.get("content", message.get("parts"))
        rows += [[role, part] for part in _listed(parts)]
        rows.append({k: v for k, v in message.items() if k not in ("content", "parts")})
    return [json.dumps(bare(row)) for row in rows if row is not None]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


Turn = tuple[str, int, bool]
turns = st.lists(
    st.tuples(
        st.sampled_from(["calls", "talk", "instruct"]),
        st.integers(1, 4),
        st.booleans(),
    ),
    min_size=2,
    max_size=7,
)


def requests_of(
    target: str, model: str, session: Sequence[Turn], *, tail: Any, decorated: bool, system: str
) -> list[dict[str, Any]]:
    """The bodies of a session, each compiled twice."""
    chef = ContextChef(cache="auto", tail=tail, model=model)
    if system:
        chef.set_system_prompt(system)
    chef.register_tools(TOOLS_LIST)
    chef.append({"role": "user", "content": "Find out why it fails."})
    bodies: list[dict[str, Any]] = []
    for number, (kind, calls, changes) in enumerate(session):
        if decorated and (changes or number == 0):
            chef.set_dynamic_state(None, {"step": number, "todo": ["look"] * calls})
        payload = chef.compile_sync(target)
        again = chef.compile_sync(target)
        assert again.to_json() == payload.to_json(), "a retry sends the same request"
        bodies.append(json.loads(payload.to_json()))
        if kind == "calls":
            chef.append(
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": f"call_{number}_{call}",
                            "type": "function",
                            "function": {"name": f"tool_{call % 4}", "arguments": '{"at":"x"}'},
                        }
                        for call in range(calls)
                    ],
                }
            )
            for call in range(calls):
                chef.append(
                    {
                        "role": "tool",
                        "tool_call_id": f"call_{number}_{call}",
                        "content": f"result {number} {call} " + "word " * 50 * calls,
                    }
                )
        else:
            chef.append({"role": "assistant", "content": f"answer {number}"})
            if kind == "instruct" and model != "claude-sonnet-4-5" and target != "gemini":
                chef.append({"role": "user", "content": f"question {number}"})
                chef.append({"role": "system", "content": "Be brief.", "positional": True})
            else:
                chef.append({"role": "user", "content": f"question {number}"})
    return bodies


@settings(max_examples=12, deadline=None)
@given(session=turns, system=st.sampled_from([RULES, "Short."]))
@pytest.mark.parametrize(("target", "model"), MODELS)
def test_every_request_begins_with_the_whole_one_before_where_tails_stay(
    target: str, model: str, session: list[Turn], system: str
) -> None:
    bodies = requests_of(target, model, session, tail="append", decorated=True, system=system)
    for before, after in pairwise(bodies):
        old, new = blocks(before), blocks(after)
        assert new[: len(old) - 1] == old[:-1]


@settings(max_examples=12, deadline=None)
@given(session=turns, system=st.sampled_from([RULES, "Short."]))
@pytest.mark.parametrize(("target", "model"), MODELS)
def test_without_a_tail_every_request_begins_with_the_whole_one_before(
    target: str, model: str, session: list[Turn], system: str
) -> None:
    bodies = requests_of(target, model, session, tail="replace", decorated=False, system=system)
    for before, after in pairwise(bodies):
        old, new = blocks(before), blocks(after)
        assert new[: len(old) - 1] == old[:-1]


@needs_data
@pytest.mark.parametrize("tail", ["replace", "append"])
@pytest.mark.parametrize("calls", [1, 3, 25])
def test_nearly_all_of_a_long_session_is_read_from_the_cache(calls: int, tail: str) -> None:
    """By the independent simulator: every turn reads what the turn before it wrote."""
    sys.path.insert(0, str(TOOLS))
    from provider_check.cache_sim import simulate

    model = "claude-sonnet-4-5"
    session = [("calls", calls, True)] * 8
    bodies = requests_of("anthropic", model, session, tail=tail, decorated=True, system=RULES)
    turns = simulate("anthropic", bodies, model=model)
    for before, after in pairwise(turns):
        assert after.cache_read == before.cache_read + before.cache_write
