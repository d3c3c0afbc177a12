"""The same request in every form in which people hold it."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.adaptation.profiles import profile_for
from context_chef.errors import SettingsError
from context_chef.testing.payloads import check_payload, check_sequence

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
CLAUDE: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 100, "messages": [HELLO]}
EDITING: dict[str, Any] = {
    **CLAUDE,
    "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]},
}
BETA = "context-management-2025-06-27"


def rules(target: str, payload: Any, **settings: Any) -> set[str]:
    return {fault.rule for fault in check_payload(target, payload, **settings)}


def test_betas_are_understood_as_argument_as_header_and_in_a_bedrock_body() -> None:
    assert rules("anthropic", EDITING) == {"anthropic/beta-missing"}
    assert rules("anthropic", {**EDITING, "betas": [BETA]}) == set()
    header = {"Anthropic-Beta": f"other, {BETA}"}
    assert rules("anthropic", {**EDITING, "extra_headers": header}) == set()
    bedrock = {key: value for key, value in EDITING.items() if key != "model"}
    bedrock |= {"anthropic_version": "bedrock-2023-05-31", "anthropic_beta": [BETA]}
    assert rules("anthropic", bedrock) == set()


def test_extra_body_counts_and_other_call_options_do_not() -> None:
    sent = {**CLAUDE, "extra_body": {"temperature": 0.5}, "timeout": 3, "extra_query": {}}
    assert rules("anthropic", sent) == {"anthropic/sampling"}
    assert rules("anthropic", sent, api_version="2023-06-01") == set()
    older = {**sent, "extra_headers": {"anthropic-version": "2023-06-01"}}
    assert rules("anthropic", older) == set()
    assert rules("openai", {"model": "gpt-4o", "messages": [HELLO], "extra_body": {"a": 1}}) == {
        "openai/shape"
    }


def test_a_partial_payload_leaves_model_and_output_limit_to_the_call() -> None:
    assert rules("anthropic", {"messages": [HELLO]}) == {"anthropic/shape"}
    assert rules("anthropic", {"messages": [HELLO]}, partial=True) == set()
    thinking = {"messages": [HELLO], "thinking": {"type": "enabled", "budget_tokens": 2000}}
    assert rules("anthropic", {**thinking, "stream": True}, partial=True) == set()
    assert rules("openai", {"messages": [HELLO]}, partial=True) == set()
    assert rules("openai", {"messages": [HELLO]}, model="gpt-4o") == set()


def test_the_given_model_and_profile_win_over_the_one_named() -> None:
    prefilled = {**CLAUDE, "messages": [HELLO, {"role": "assistant", "content": "I"}]}
    assert rules("anthropic", prefilled) == set()
    assert rules("anthropic", prefilled, model="claude-opus-5") == {"anthropic/prefill-unsupported"}
    strict = profile_for("claude-opus-5")
    assert rules("anthropic", prefilled, profile=strict) == {"anthropic/prefill-unsupported"}
    own = {"claude-sonnet-4-5": {"prefill": False}}
    assert rules("anthropic", prefilled, profiles=own) == {"anthropic/prefill-unsupported"}


def test_rules_of_a_model_are_silent_about_an_unknown_one() -> None:
    payload = {
        **CLAUDE,
        "model": "claude-sonnet-99",
        "max_tokens": 10**9,
        "output_config": {"effort": "xhigh"},
        "thinking": {"type": "between_tools"},
        "messages": [HELLO, {"role": "system", "content": "Be short."}],
    }
    assert rules("anthropic", payload) == set()


GEMINI_REST: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Be short."}]},
    "contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {"a_b": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"c_d": 1}}}]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {
                    "name": "look",
                    "parameters": {"type": "OBJECT", "properties": {"a_b": {"type": "STRING"}}},
                }
            ]
        }
    ],
    "generationConfig": {"temperature": 0.5, "maxOutputTokens": 100},
}


def test_gemini_takes_both_spellings_and_both_forms() -> None:
    assert rules("gemini", GEMINI_REST, model="gemini-2.5-flash") == set()
    sdk = {
        "model": "gemini-2.5-flash",
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {"role": "model", "parts": [{"function_call": {"name": "look", "args": {"a_b": 1}}}]},
            {"role": "user", "parts": {"function_response": {"name": "look", "response": {}}}},
        ],
        "config": {
            "system_instruction": "Be short.",
            "tools": [{"function_declarations": [{"name": "look"}]}],
            "max_output_tokens": 100,
            "thinking_config": None,
            "http_options": {"timeout": 3},
        },
    }
    assert rules("gemini", sdk) == set()
    assert rules("gemini", {"contents": "Hello", "config": {"temperature": 3}}) == {"gemini/range"}
    assert rules("gemini", {"contents": "Hello", "model": "gemini-2.5-flash"}) == set()
    assert rules("gemini", {"contents": [], "config": {}}) == {"gemini/contents-empty"}


def test_objects_of_the_official_sdks_are_opened() -> None:
    anthropic = pytest.importorskip("anthropic.types")
    types = pytest.importorskip("google.genai.types")
    chat = pytest.importorskip("openai.types.chat")
    block = anthropic.ToolUseBlock(
        id="toolu_1", name="look", input={}, type="tool_use", caller={"type": "direct"}
    )
    calling = {**CLAUDE, "messages": [HELLO, {"role": "assistant", "content": [block]}]}
    assert rules("anthropic", calling) == {"anthropic/tool-result-missing"}

    contents = [
        types.Content(role="user", parts=[types.Part(text="Hello")]),
        types.Content(
            role="user", parts=[types.Part.from_bytes(data=b"\x89PNG", mime_type="image/png")]
        ),
    ]
    config = types.GenerateContentConfig(temperature=3.0)
    assert rules("gemini", {"contents": contents, "config": config}) == {"gemini/range"}

    message = chat.ChatCompletionMessage(role="assistant", content="Hi")
    assert rules("openai", {"model": "gpt-4o", "messages": [HELLO, message, HELLO]}) == set()


def test_an_unknown_target_is_named_with_the_nearest_right_one() -> None:
    with pytest.raises(SettingsError, match="Did you mean `openai-responses`"):
        check_payload("openai_responses", {})
    with pytest.raises(SettingsError, match="`anthropic`"):
        check_sequence("claude", [])
