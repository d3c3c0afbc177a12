"""Placement through a whole compile: what stands still, what rides behind, what stays."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from context_chef import (
    ContextChef,
    InMemoryBackend,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolCall,
)
from context_chef.testing import check_sequence

TARGETS = [
    ("openai", "gpt-4o"),
    ("openai-responses", "gpt-5.6"),
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-opus-5-5"),
    ("anthropic", None),
    ("gemini", "gemini-2.5-flash"),
    ("gemini", "gemini-3.8-flash"),
]
VOLATILE = ("dynamic_state", "<announcement", "<memory>", "turn-value")


def stable(target: str, payload: Any) -> list[Any]:
    """What stands in front of the conversation: the instructions and the tools."""
    body = payload.body
    if target == "gemini":
        return [body.get("systemInstruction"), body.get("tools")]
    if target == "anthropic":
        return [body.get("system"), body.get("tools")]
    if target == "openai":
        system = [row for row in body["messages"] if row["role"] == "system"]
        return [system, body.get("tools")]
    return [body.get("instructions"), body.get("tools")]


async def test_memory_data_is_in_the_tail_by_default() -> None:
    """W-CACHE-1: the standing instruction is in the prefix, what is remembered is not."""
    chef = ContextChef(store=InMemoryBackend(), memory={}).set_system_prompt("S")
    chef.append({"role": "user", "content": "q"})
    await chef.get_memory().set("language", "German")

    payload = await chef.compile("anthropic", model="claude-sonnet-4-5")

    assert "German" not in str(payload["system"])
    assert "German" in payload["messages"][0]["content"][-1]["text"]
    assert payload["messages"][0]["content"][0]["text"] == "q"


def test_announcements_ride_the_tail_unless_the_model_is_known() -> None:
    """W-ANN-1."""
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.announce("a", "It rains.")

    known = chef.compile_sync("anthropic", model="claude-opus-4-8")
    old = chef.compile_sync("anthropic", model="claude-sonnet-4-5")
    unknown = chef.compile_sync("anthropic")

    assert [m["role"] for m in known["messages"]] == ["user", "system"]
    assert [m["role"] for m in old["messages"]] == ["user"]
    assert [m["role"] for m in unknown["messages"]] == ["user"]


@pytest.mark.parametrize(("target", "model"), TARGETS)
def test_the_prefix_stands_still_when_only_the_turn_changed(target: str, model: str | None) -> None:
    chef = ContextChef(cache="auto", skill_placement="after_system").set_system_prompt("Rules.")
    chef.activate_skill({"name": "s", "description": "d", "instructions": "Skill text."})
    chef.register_tools([{"name": "f", "description": "d"}])
    chef.append({"role": "user", "content": "one"})
    seen = []
    for turn in range(4):
        chef.set_dynamic_state(None, {"turn": f"turn-value-{turn}"})
        chef.announce("n", f"turn-value-{turn}")
        seen.append(stable(target, chef.compile_sync(target, model=model)))
        chef.extend([{"role": "assistant", "content": "ok"}, {"role": "user", "content": "go"}])

    assert all(prefix == seen[0] for prefix in seen)
    assert not any(word in str(seen[0]) for word in VOLATILE)


def _flat(target: str, payload: Any) -> list[Any]:
    """The conversation block by block, without cache marks."""
    body = payload.body
    entries = body.get("messages") or body.get("input") or body.get("contents")
    blocks: list[Any] = []
    for entry in entries:
        content = entry.get("content", entry.get("parts"))
        if isinstance(content, list):
            for block in content:
                plain = {
                    k: v for k, v in block.items() if not k.startswith(("cache", "prompt_cache"))
                }
                blocks.append((entry.get("role"), plain))
        else:
            blocks.append((entry.get("role"), entry))
    return blocks


_STEPS = st.lists(
    st.sampled_from(["user", "answer", "call", "state", "announce", "retract"]),
    min_size=2, max_size=14,
)  # fmt: skip


@given(steps=_STEPS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@pytest.mark.parametrize(("target", "model"), [("anthropic", "claude-opus-5-5"),
                                               ("openai-responses", "gpt-5.6")])  # fmt: skip
def test_a_tail_that_was_sent_stays_where_it_was_sent(
    target: str, model: str, steps: list[str]
) -> None:
    """With `tail="append"` every request begins with the whole request before it."""
    chef = ContextChef(tail="append").append(Message.user("begin"))
    before: list[Any] = []
    for number, step in enumerate(steps):
        if step == "state":
            chef.set_dynamic_state(None, {"n": number})
        elif step == "announce":
            chef.announce("a", f"notice {number}")
        elif step == "retract":
            chef.retract_announcement("a")
        elif step == "user":
            chef.append(Message.user(f"word {number}"))
        elif step == "answer":
            chef.extend([Message.assistant(f"answer {number}"), Message.user("and?")])
        else:
            call = ToolCall(id=f"c{number}", name="f", arguments="{}")
            chef.extend([Message.assistant(tool_calls=[call]),
                         Message.tool("done", tool_call_id=f"c{number}")])  # fmt: skip
        now = _flat(target, chef.compile_sync(target, model=model))
        assert now[: len(before)] == before
        before = now


def test_thinking_is_kept_while_what_stands_before_it_stands_still() -> None:
    chef = ContextChef().append(Message.user("q"))
    chef.set_dynamic_state(None, {"n": 1})
    chef.compile_sync("anthropic", model="claude-opus-5-5")
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    chef.append(Message.assistant([thought, Text(text="a")])).append(Message.user("next"))
    chef.set_dynamic_state(None, {"n": 2})

    payload = chef.compile_sync("anthropic", model="claude-opus-5-5")

    assert payload["messages"][1]["content"][0]["type"] == "thinking"
    assert payload.report.repairs == ()


def test_thinking_that_no_longer_fits_is_dropped_and_reported() -> None:
    chef = ContextChef().set_system_prompt("one").append(Message.user("q"))
    chef.compile_sync("anthropic", model="claude-opus-5-5")
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    chef.append(Message.assistant([thought, Text(text="a")])).append(Message.user("next"))
    chef.set_system_prompt("two")

    payload = chef.compile_sync("anthropic", model="claude-opus-5-5")

    assert [block["type"] for block in payload["messages"][1]["content"]] == ["text"]
    assert [r.rule for r in payload.report.repairs] == ["anthropic/preserved-thinking"]


def test_what_was_sent_as_one_block_and_now_goes_as_two_is_another_past() -> None:
    """Generated texts of one message are one block; a handler that parts them sends two."""
    chef = ContextChef(default_target="anthropic", model="claude-opus-5-5")

    def split(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(each.replace(content=(block,)) for each in messages for block in each.content)

    chef.use("after-assemble", split)
    chef.append(Message.user("q")).set_dynamic_state(None, {"n": 1})
    first = chef.compile_sync()
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    chef.append(Message.assistant([thought, Text(text="a")])).append(Message.user("next"))

    second = chef.compile_sync()

    assert len(first["messages"][0]["content"]) < len(second["messages"][0]["content"])
    assert [block["type"] for block in second["messages"][1]["content"]] == ["text"]
    assert [r.rule for r in second.report.repairs] == ["anthropic/preserved-thinking"]
    requests = [{"model": "claude-opus-5-5", "max_tokens": 9, **each} for each in (first, second)]
    assert check_sequence("anthropic", requests) == []


def test_thinking_that_was_made_after_a_change_is_kept() -> None:
    """What fits no longer goes from every request; what is thought since then stands on that."""
    model = "claude-opus-5-5"
    chef = ContextChef(model=model).set_system_prompt("One way.")
    kept: list[int] = []
    bodies: list[dict[str, Any]] = []
    for turn in range(8):
        if turn == 3:
            chef.set_system_prompt("Another way.")
        chef.append({"role": "user", "content": f"q{turn}"})
        payload = chef.compile_sync("anthropic")
        bodies.append({"model": model, "max_tokens": 64, **payload})
        kept.append(str(payload["messages"]).count("'signature'"))
        chef.append({"role": "assistant", "content": "a", "thinking": _thought(f"s{turn}")})

    assert kept == [0, 1, 2, 0, 1, 2, 3, 4]
    assert check_sequence("anthropic", bodies) == []


def test_tools_that_another_model_gets_otherwise_are_another_past() -> None:
    """A model that nobody knows gets in full what others are left to search for."""
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.register_tools([{"name": "look", "description": "Looks.", "defer_loading": True}])
    requests: list[dict[str, Any]] = []
    for turn, model in enumerate(["claude-next", "claude-opus-5-5", "claude-opus-5-5"]):
        payload = chef.compile_sync("anthropic", model=model)
        requests.append({"model": model, "max_tokens": 64, **payload})
        chef.append({"role": "assistant", "content": "a", "thinking": _thought(f"s{turn}")})
        chef.append({"role": "user", "content": "q"})

    assert [str(body["messages"]).count("'signature'") for body in requests] == [0, 0, 1]
    assert check_sequence("anthropic", requests) == []


def test_thinking_that_a_handler_doubles_stands_where_it_was_made() -> None:
    model = "claude-opus-5-5"
    chef = ContextChef(model=model).append({"role": "user", "content": "q"})
    chef.append({"role": "assistant", "content": "a", "thinking": _thought("s1")})
    chef.append({"role": "user", "content": "q"})
    requests: list[dict[str, Any]] = []

    def doubled(context: Any) -> None:
        if not requests:
            context.payload["messages"].insert(1, context.payload["messages"][1])

    chef.use("after-adapt", doubled)
    for _ in range(2):
        payload = chef.compile_sync("anthropic")
        requests.append({"model": model, "max_tokens": 64, **payload})

    assert [str(body["messages"]).count("'signature'") for body in requests] == [1, 1]
    assert check_sequence("anthropic", requests) == []


@pytest.mark.parametrize("edited", [False, True])
def test_what_stands_before_thinking_in_its_own_turn_binds_it_too(edited: bool) -> None:
    """A summary that comes into the turn stands in front of its thinking on the wire."""
    chef = ContextChef(default_target="anthropic", model="claude-opus-5-5")
    if edited:  # then the conversation is read back from the request, where neighbours are one
        chef.use("after-adapt", lambda context: None)
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    answer = Message.assistant([thought, Text(text="a")])
    rows = [Message.user("q"), answer, Message.user("next")]
    first = chef.set_history(rows).compile_sync()
    summary = {"type": "compaction", "content": "Earlier."}
    compacted = Message.assistant([Opaque(provider="anthropic", value=summary)])

    second = chef.set_history([rows[0], compacted, *rows[1:]]).compile_sync()

    said = [block["type"] for row in second.body["messages"][1:-1] for block in row["content"]]
    assert said == ["compaction", "text"]
    assert "anthropic/preserved-thinking" in {r.rule for r in second.report.repairs}
    requests = [{"model": "claude-opus-5-5", "max_tokens": 9, **each} for each in (first, second)]
    assert check_sequence("anthropic", requests) == []


def test_the_answer_to_a_paused_turn_goes_on_that_turn_with_its_thinking() -> None:
    chef = ContextChef(default_target="anthropic", model="claude-opus-5-5")
    chef.use("after-adapt", lambda context: None)  # so that the turn is read back as one
    use = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    paused = [Opaque(provider="anthropic", value=value) for value in (use, found)]
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    chef.extend([Message.user("q"), Message.assistant(paused)]).compile_sync()
    chef.append(Message.assistant([thought, Text(text="a")])).append(Message.user("next"))

    for _ in range(2):
        payload = chef.compile_sync()
        turn = [block["type"] for row in payload.body["messages"][1:-1] for block in row["content"]]
        assert turn == ["server_tool_use", "web_search_tool_result", "thinking", "text"]
        assert payload.report.repairs == ()


def test_on_a_model_that_allows_it_the_tail_is_replaced() -> None:
    chef = ContextChef().append(Message.user("q"))
    chef.set_dynamic_state(None, {"n": 1}).compile_sync("anthropic", model="claude-sonnet-4-5")
    chef.extend([Message.assistant("a"), Message.user("b")]).set_dynamic_state(None, {"n": 2})

    payload = chef.compile_sync("anthropic", model="claude-sonnet-4-5")

    assert len(payload["messages"][0]["content"]) == 1
    assert "<n>2</n>" in payload["messages"][2]["content"][1]["text"]


def test_a_user_message_is_never_edited() -> None:
    chef = ContextChef().append(Message.user("exactly this"))
    chef.set_dynamic_state(None, {"n": 1}).with_guardrails({"prefill": "<out>"})

    for target, model in TARGETS:
        said = str(chef.compile_sync(target, model=model))
        assert "exactly this" in said
    anthropic = chef.compile_sync("anthropic", model="claude-sonnet-4-6")
    assert anthropic["messages"][0]["content"][0] == {"type": "text", "text": "exactly this"}
    assert chef.history[0] == Message.user("exactly this")


def test_an_opening_that_the_model_does_not_take_stays_where_it_was_asked_for() -> None:
    """Taking it away again would change what stands before the answer, and its thinking with it."""
    chef = ContextChef().append(Message.user("q")).with_guardrails({"prefill": "<out>"})
    first = chef.compile_sync("anthropic", model="claude-opus-5-5")
    thought = Thinking(text="hm", signature="sig", origin="anthropic")
    chef.append(Message.assistant([thought, Text(text="<out>a")])).append(Message.user("next"))

    second = chef.compile_sync("anthropic", model="claude-opus-5-5")

    assert second["messages"][0] == first["messages"][0]
    assert second["messages"][1]["content"][0]["type"] == "thinking"
    assert second.report.repairs == ()


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-opus-4-8"])
def test_an_instruction_in_the_conversation_leaves_what_was_sent_alone(model: str) -> None:
    chef = ContextChef(model=model).set_system_prompt("rules").append(Message.user("one"))
    chef.append({"role": "assistant", "content": "a", "thinking": _thought("s1")})
    chef.append(Message.user("two"))
    before = chef.compile_sync("anthropic").body
    chef.append({"role": "system", "content": "Now in French."})
    payload = chef.compile_sync("anthropic")

    assert payload.body["system"] == before["system"]
    assert payload.body["messages"][: len(before["messages"])] == before["messages"]
    assert payload.body["messages"][-1] == {
        "role": "system",
        "content": [{"type": "text", "text": "Now in French."}],
    }


def test_an_instruction_that_moves_up_takes_the_thinking_bound_to_the_old_prompt_away() -> None:
    chef = ContextChef().set_system_prompt("rules").append(Message.user("one"))
    chef.compile_sync("anthropic")
    chef.append({"role": "assistant", "content": "a", "thinking": _thought("s1")})
    chef.append(Message.user("two"))
    chef.compile_sync("anthropic")
    chef.append({"role": "system", "content": "Now in French."})
    payload = chef.compile_sync("anthropic")

    assert len(payload.body["system"]) == 2
    assert "thinking" not in str(payload.body["messages"])
    assert "anthropic/preserved-thinking" in [repair.rule for repair in payload.report.repairs]


def _thought(signature: str) -> dict[str, str]:
    return {"thinking": "hm", "signature": signature}


def test_where_tails_stay_the_rule_does_not_move_with_every_turn() -> None:
    chef = ContextChef(tail="append").append(Message.user("hi"))
    chef.with_guardrails({"enforce_xml": {"output_tag": "plan"}, "prefill": "<plan>"})
    first = chef.compile_sync("openai", model="gpt-4o").body["messages"]
    again = chef.compile_sync("openai", model="gpt-4o").body["messages"]
    chef.extend([Message.assistant("a"), Message.user("go on")])
    later = chef.compile_sync("openai", model="gpt-4o").body["messages"]

    assert again == first
    assert later[: len(first)] == first
