"""Settings out of a file, old options and tools of the wrong shape, as a new user writes them."""

from __future__ import annotations

import tomllib
import warnings
from pathlib import Path
from typing import Any

import pytest

from context_chef import ContextChef, InputError, SettingsError, ToolError

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
    ["reset", "clear", {"name": "clear", "keep_recent": 1}, ["clear", {"name": "summarize"}]],
)
def test_a_strategy_is_named_alone_with_options_or_as_a_chain(strategy: Any) -> None:
    chef = ContextChef.from_settings({"overflow": {"strategy": strategy}})

    assert chef.append({"role": "user", "content": "hi"}).compile_sync()["messages"]


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"overflow": {"strategy": "rest"}}, "Did you mean `reset`?"),
        ({"overflow": {"strategy": {"name": "clear", "keep_recents": 1}}}, "`keep_recent`"),
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
