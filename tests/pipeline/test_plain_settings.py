"""Settings out of a file, old options and tools of the wrong shape, as a new user writes them."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, InputError, SettingsError, ToolError
from context_chef.testing import CharacterTokenizer, ScriptedModel

TOML = """
store = "kept"
default_target = "anthropic"
model = "house-model"

[janitor]
context_window = 100_000

[overflow]
strategy = "reset"
archive = "vfs"

[profiles.house-model]
like = "claude-sonnet-4-5"
"""


def test_a_chef_of_a_toml_file_has_its_strategy_store_and_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    chef = ContextChef.from_settings(tomllib.loads(TOML))

    chef.append({"role": "user", "content": "hi"})
    assert chef.compile_sync()["messages"]
    chef.offload_sync("words\n" * 4000)
    assert (tmp_path / "kept" / "context.db").exists()


@pytest.mark.parametrize(
    "strategy",
    [
        "reset",
        "clear",
        {"name": "clear", "keep_recent": 1},
        ["clear", {"name": "summarize"}],
        {"name": "chain", "steps": ["clear", "reset"]},
        {"name": "background", "inner": ["clear", "summarize"]},
        {"name": "server", "fallback": "reset"},
    ],
)
def test_a_strategy_is_named_alone_with_options_or_as_a_chain(strategy: Any) -> None:
    chef = ContextChef.from_settings({"overflow": {"strategy": strategy}})

    assert chef.append({"role": "user", "content": "hi"}).compile_sync()["messages"]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"overflow": {"strategy": "summarize"}},
        {"overflow": {"strategy": ["clear", {"name": "background", "inner": "anchored"}]}},
    ],
)
def test_a_model_beside_the_file_summarises_for_every_strategy_without_one(
    settings: dict[str, Any],
) -> None:
    model = ScriptedModel("<summary>what was said</summary>")
    window = {"context_window": 4_000, "tokenizer": CharacterTokenizer()}
    chef = ContextChef.from_settings({**settings, "janitor": window}, compression_model=model)
    for number in range(12):
        chef.append({"role": "user", "content": f"question {number} " + "x" * 300})
        chef.append({"role": "assistant", "content": "an answer"})

    chef.append({"role": "user", "content": "and now?"}).compile_sync()

    assert model.calls
    assert "what was said" in chef.window[0].text


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"overflow": {"strategy": "rest"}}, "Did you mean `reset`?"),
        ({"overflow": {"strategy": {"name": "clear", "keep_recents": 1}}}, "`keep_recent`"),
        ({"overflow": {"strategy": "background"}}, "`inner`"),
        ({"overflow": {"strategy": {"name": "background", "inner": "rest"}}}, "`reset`"),
        ({"overflow": {"strategy": {"name": "chain"}}}, "`steps`"),
        ({"store": " "}, "`store`"),
        ({"context_window": 1000}, 'janitor={"context_window": …}'),
        ({"threshold": 1000}, 'vfs={"threshold": …}'),
    ],
)
def test_a_wrong_setting_is_named_with_the_right_place(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingsError) as refused:
        ContextChef.from_settings(settings)

    assert hint in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [{"transform_context": lambda messages: messages}, {"janitor": {"archive": "vfs"}}],
)
def test_the_warning_of_an_old_option_points_at_the_callers_line(options: dict[str, Any]) -> None:
    for build in (lambda: ContextChef(**options), lambda: ContextChef.from_settings(options)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            build()

        assert [warning.filename for warning in caught] == [__file__]


def _tool(path: str) -> str:
    """A plain function, which is no tool definition."""
    return path


@pytest.mark.parametrize(
    ("tools", "hint"),
    [
        ({"read_file": {"description": "x"}}, "list"),
        ([_tool], "`name`, `description` and `parameters`"),
        ("read_file", "list"),
    ],
)
def test_tools_of_the_wrong_shape_are_refused_with_the_right_one(tools: Any, hint: str) -> None:
    with pytest.raises((ToolError, InputError)) as refused:
        ContextChef().register_tools(tools)

    assert hint in str(refused.value)
