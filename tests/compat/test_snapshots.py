"""A session that the TypeScript implementation saved goes on here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from context_chef import ChefSnapshot, ContextChef, InMemoryBackend, InputError, ToolError
from context_chef.compat import snapshot_from_typescript

SAVED: dict[str, Any] = {
    "systemPrompt": [{"role": "system", "content": "SYS", "_cache_breakpoint": True}],
    "history": [
        {"role": "user", "content": "q1"},
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
        {"role": "tool", "content": "r", "tool_call_id": "c1"},
        {"role": "user", "content": "q2"},
    ],
    "dynamicState": [{"role": "system", "content": "The state:\n<dynamic_state/>"}],
    "dynamicStatePlacement": "system",
    "dynamicStateXml": "<dynamic_state>\n  <n>1</n>\n</dynamic_state>",
    "modules": {
        "janitor": {
            "externalTokenUsage": 900, "suppressNextCompression": True, "consecutiveFailures": 2,
            "anchorDoc": None, "window": {"first": "w1", "current": "w2", "previous": "w1"},
        },
        "memory": {
            "entries": {"k": {"content": "v", "meta": {"createdAt": 1, "updatedAt": 2}}},
            "turnCount": 7,
        },
        "pruner": {
            "flatTools": [{"name": "t", "description": "d", "deferLoading": True, "tags": ["x"]}],
            "namespaces": [{"name": "fs", "description": "", "tools": [{"name": "ls"}]}],
            "lazyToolkits": [{"name": "kit", "description": "", "tools": [{"name": "now"}]}],
            "blockedTools": ["t", "t"],
        },
    },
    "activeSkillName": "s",
    "skillInstructions": "I",
    "guardrailOptions": {"enforceXML": {"outputTag": "o"}, "prefill": "P", "placement": "system"},
    "announcements": [{"id": "a", "content": "A", "channel": "auto"}],
    "handoffNoticedWindow": "w2",
    "label": "before",
    "createdAt": 1_700_000_000_000,
}  # fmt: skip


def fresh() -> ContextChef:
    return ContextChef(store=InMemoryBackend(), memory={}, clock=lambda: 1_700_000_000_000)


def test_everything_that_it_holds_is_taken_up() -> None:
    chef = fresh().restore_sync(snapshot_from_typescript(json.dumps(SAVED)))

    assert [message.text for message in chef.history] == ["q1", "", "r", "q2"]
    assert chef.system_prompt[0].cache is not None
    assert chef.window_id == "w2"
    assert chef.get_memory().get_sync("k") == "v"
    assert chef.get_pruner().get_blocked_tools() == ["t", "t"]
    assert chef.get_pruner().all_tools[0].defer_loading
    skill = chef.get_active_skill()
    assert skill is not None
    assert (skill.name, skill.instructions) == ("s", "I")
    snapshot = chef.snapshot_sync()
    assert snapshot.memory is not None
    assert snapshot.memory.turn_count == 7
    assert (snapshot.handoff_noticed, snapshot.janitor["consecutive_failures"]) == ("w2", 2)
    said = chef.compile_sync("openai").to_json().decode()
    assert all(part in said for part in ("SYS", "<n>1</n>", "<o>", "I", "A", "q2", "load_toolkit"))


def test_restored_it_is_a_snapshot_like_any_other() -> None:
    chef = fresh().restore_sync(snapshot_from_typescript(SAVED))
    kept = chef.snapshot_sync().to_json()

    other = fresh().restore_sync(ChefSnapshot.from_json(kept))

    assert other.snapshot_sync().to_json() == kept
    assert other.compile_sync("anthropic").to_json() == chef.compile_sync("anthropic").to_json()


def test_a_small_snapshot_is_enough() -> None:
    modules = {"janitor": {"window": None}, "memory": None, "pruner": {}}
    chef = fresh().restore_sync(snapshot_from_typescript({"createdAt": 1.0, "modules": modules}))

    assert chef.history == ()
    assert chef.window_id


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"history": [{"role": "user", "content": 7}]}, r"\$\.history\[0\]"),
        ({"history": "x"}, r"\$\.history"),
        ({"dynamicStatePlacement": "top"}, r"\$\.dynamicStatePlacement"),
        ({"guardrailOptions": {"tone": "kind"}}, r"\$\.guardrailOptions"),
        ({"announcements": [{"id": 1, "content": "A"}]}, r"\$\.announcements\[0\]"),
        ({"label": 7}, r"\$\.label"),
        ({"createdAt": "now"}, r"\$\.createdAt"),
        ({"modules": []}, r"\$\.modules"),
        ({"modules": {"memory": {"entries": {"k": 7}}}}, r"\$\.modules\.memory"),
        ({"modules": {"pruner": {"flatTools": 7}}}, r"flatTools"),
    ],
)
def test_what_cannot_be_read_is_named_by_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        snapshot_from_typescript({**SAVED, **change})


def test_a_tool_that_cannot_be_registered_is_named() -> None:
    pruner = {"flatTools": [{"name": "t"}, {"name": "t"}]}
    with pytest.raises(ToolError, match="'t'"):
        snapshot_from_typescript({**SAVED, "modules": {"pruner": pruner}})


@pytest.mark.parametrize("data", [b"{", "[]", "{}", {"version": 1}])
def test_what_is_no_such_snapshot_is_refused(data: Any) -> None:
    with pytest.raises(InputError, match=r"snapshot|object"):
        snapshot_from_typescript(data)


def test_the_reader_of_our_own_snapshots_names_this_one() -> None:
    with pytest.raises(InputError, match="snapshot_from_typescript"):
        ChefSnapshot.from_json(json.dumps(SAVED))
