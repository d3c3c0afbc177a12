"""Compaction for callers who keep their own history."""

from __future__ import annotations

from typing import Any, cast

import pytest

from context_chef import (
    Message,
    SettingsError,
    compact_history_sync,
    plan_compaction,
    summarize_history_sync,
)
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
