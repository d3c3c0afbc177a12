"""Compaction for callers who keep their own history."""

from __future__ import annotations

from typing import Any, cast

import pytest

from context_chef import (
    InputError,
    Janitor,
    JanitorConfig,
    Message,
    SettingsError,
    compact_history_sync,
    compact_messages,
    ensure_valid_history,
    flatten_for_compression,
    group_into_turns,
    plan_compaction,
    summarize_history_sync,
)
from context_chef.ir.rows import read_messages
from context_chef.testing.doubles import ScriptedModel

TALK = [Message.system("sys"), Message.user("q1"), Message.assistant("a1"), Message.user("q2")]


def test_the_old_part_becomes_a_summary_between_system_and_kept() -> None:
    after = compact_history_sync(TALK, ScriptedModel("S"), keep_recent_turns=1)

    assert after[0] == TALK[0]
    assert "S" in after[1].text
    assert after[2:] == TALK[3:]


def test_how_much_is_kept_has_to_be_said() -> None:
    with pytest.raises(TypeError, match="keep_recent_turns"):
        cast(Any, plan_compaction)(TALK)
    with pytest.raises(SettingsError, match="NaN"):
        plan_compaction(TALK, keep_recent_turns=float("nan"))


@pytest.mark.parametrize("answer", ["", "<analysis>only</analysis>", "<summary>cut o"])
def test_no_summary_leaves_the_history_itself(answer: str) -> None:
    assert compact_history_sync(TALK, ScriptedModel(answer), keep_recent_turns=1) is TALK


def test_nothing_to_summarise_asks_nobody() -> None:
    model = ScriptedModel("S")

    assert summarize_history_sync([], model) == ""
    assert compact_history_sync(TALK, model, keep_recent_turns=9) is TALK
    assert model.calls == []


ROWS: list[Any] = [
    {"role": "system", "content": "sys"},
    {"role": "user", "content": "q1"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "found " * 50},
    {"role": "user", "content": "q2"},
]


def test_plain_dicts_are_compacted_like_messages() -> None:
    model = ScriptedModel("<summary>S</summary>")

    after = read_messages(compact_history_sync(ROWS, model, keep_recent_turns=1))
    assert [message.role for message in after] == ["system", "user", "user"]
    assert summarize_history_sync(ROWS, model) == "S"
    assert plan_compaction(ROWS, keep_recent_turns=1).to_keep[0].text == "q2"
    assert "found" not in compact_messages(ROWS, clear=["tool-result"])[3].text
    assert flatten_for_compression(ROWS)[3].role == "user"
    assert len(group_into_turns(ROWS)) == 4
    assert ensure_valid_history(ROWS).repairs == ()
    assert compact_history_sync(ROWS, ScriptedModel(""), keep_recent_turns=1) is ROWS


def test_a_janitor_by_itself_takes_plain_dicts() -> None:
    janitor = Janitor(JanitorConfig(compression_model=ScriptedModel("<summary>S</summary>")))

    assert janitor.compress_sync(ROWS) is ROWS
    assert janitor.overflow_sync(ROWS, forced=True).changed


@pytest.mark.parametrize("call", [compact_messages, flatten_for_compression, group_into_turns])
def test_what_is_no_message_is_refused_with_its_place(call: Any) -> None:
    options = {"clear": ["thinking"]} if call is compact_messages else {}
    with pytest.raises(InputError, match=r"\[1\]"):
        call([Message.user("q"), 7], **options)
