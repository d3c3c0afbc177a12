"""Sessions: what a later request must keep of an earlier one."""

from __future__ import annotations

from typing import Any

from context_chef.adaptation.wire_rules import check_sequence

HELLO: dict[str, Any] = {"role": "user", "content": "Hello"}
MORE: dict[str, Any] = {"role": "user", "content": "More"}
STATE: dict[str, Any] = {"role": "user", "content": "<state>1</state>"}
BOUND = "anthropic/preserved-thinking"
DROPPED = "openai-responses/reasoning-dropped"


def thought(words: str = "Hi", signature: str = "c2ln") -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": signature},
            {"type": "text", "text": words},
        ],
    }


def said(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": words}]}


def asking(*messages: Any, **settings: Any) -> dict[str, Any]:
    settings.setdefault("model", "claude-opus-5-5")
    return {"max_tokens": 100, "messages": list(messages), **settings}


def broken(*payloads: Any, target: str = "anthropic") -> list[str]:
    return [fault.rule for fault in check_sequence(target, payloads)]


def test_a_session_that_only_grows_is_fine() -> None:
    assert broken(asking(HELLO), asking(HELLO, thought(), MORE)) == []


def test_a_tail_that_was_sent_cannot_be_taken_back_once_a_thought_followed() -> None:
    assert broken(asking(HELLO, STATE), asking(HELLO, STATE, thought(), MORE)) == []
    assert broken(asking(HELLO, STATE), asking(HELLO, thought(), MORE)) == [BOUND]


def test_a_changed_system_prompt_or_tool_breaks_a_later_thought() -> None:
    first = asking(HELLO, system="Be short.")
    assert broken(first, asking(HELLO, thought(), MORE, system="Be long.")) == [BOUND]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    assert broken(asking(HELLO), asking(HELLO, thought(), MORE, tools=tools)) == [BOUND]


def test_an_edit_long_before_is_noticed_and_named_by_payload_and_path() -> None:
    faults = check_sequence(
        "anthropic",
        [
            asking(HELLO),
            asking(HELLO, thought(), MORE),
            asking(STATE, thought(), MORE, said("Ho"), HELLO),
        ],
    )
    assert [(fault.rule, fault.path) for fault in faults] == [(BOUND, "[2].messages[1].content[0]")]


def test_a_thought_dropped_with_the_change_is_fine() -> None:
    assert (
        broken(asking(HELLO), asking(HELLO, thought(), MORE), asking(STATE, said("Hi"), MORE)) == []
    )


def test_a_dropped_thought_is_a_change_for_the_next_one() -> None:
    kept = asking(HELLO, thought("Hi", "MQ=="), MORE, thought("Ho", "Mg=="), HELLO)
    without = asking(HELLO, said("Hi"), MORE, thought("Ho", "Mg=="), HELLO)
    start = (asking(HELLO), asking(HELLO, thought("Hi", "MQ=="), MORE))
    assert broken(*start, kept) == []
    assert broken(*start, kept, without) == [BOUND]


def test_cache_marks_may_move_and_text_may_become_a_block() -> None:
    marked = {"type": "text", "text": "Hello", "cache_control": {"type": "ephemeral"}}
    first = asking({"role": "user", "content": [marked]}, system="Be short.")
    then = asking(HELLO, thought(), MORE, system=[{"type": "text", "text": "Be short."}])
    assert broken(first, then) == []


def test_the_provider_may_be_asked_to_drop_such_blocks() -> None:
    lenient = {
        "thinking": {
            "type": "adaptive",
            "block_binding": {"prefix_mismatch_behavior": "drop_block"},
        },
        "betas": ["thinking-binding-controls-2026-08-01"],
    }
    assert broken(asking(HELLO), asking(STATE, thought(), MORE, **lenient)) == []


def test_models_whose_thinking_is_not_bound_do_not_mind() -> None:
    for model in ("claude-sonnet-4-5", "claude-opus-5", "nobody-knows"):
        assert broken(asking(HELLO, model=model), asking(STATE, thought(), MORE, model=model)) == []


REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": []}
CALL: dict[str, Any] = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look",
    "arguments": "{}",
}
OUTPUT: dict[str, Any] = {"type": "function_call_output", "call_id": "call_1", "output": "done"}


def response(*items: Any, **settings: Any) -> dict[str, Any]:
    return {"model": "gpt-5", "input": list(items), **settings}


def test_an_item_keeps_its_reasoning_or_loses_its_id() -> None:
    first = response(HELLO, REASONING, CALL, OUTPUT)
    bare = {key: value for key, value in CALL.items() if key != "id"}
    for then, found in (
        (response(HELLO, REASONING, CALL, OUTPUT, MORE), []),
        (response(HELLO, CALL, OUTPUT, MORE), [DROPPED]),
        (response(HELLO, bare, OUTPUT, MORE), []),
        (response(CALL, OUTPUT, MORE, previous_response_id="resp_1"), []),
    ):
        assert broken(first, then, target="openai-responses") == found


def test_every_payload_is_judged_on_its_own_too() -> None:
    faults = check_sequence("anthropic", [asking(HELLO), asking(), "nonsense", asking(HELLO)])
    assert [(fault.rule, fault.path) for fault in faults] == [
        ("anthropic/messages-empty", "[1].messages"),
        ("anthropic/shape", "[2]"),
    ]
