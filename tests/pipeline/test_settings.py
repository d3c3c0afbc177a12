"""Settings: a dataclass or an equal mapping, refused by name while the chef is built."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import Any

import pytest

from context_chef import (
    ContextChef,
    ContextToolConfig,
    InMemoryBackend,
    JanitorConfig,
    MemoryConfig,
    OffloadConfig,
    OverflowConfig,
    PrunerConfig,
    SettingsError,
    reset,
)
from context_chef.compat.options import OLD_OPTIONS
from context_chef.errors import RenamedWarning


def test_a_bare_chef_warns_about_nothing_and_touches_no_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """W-CONF-1, W-CONF-2."""
    monkeypatch.chdir(tmp_path)
    with caplog.at_level(logging.DEBUG):
        ContextChef().append({"role": "user", "content": "hi"}).compile_sync()

    assert os.listdir(tmp_path) == []
    assert caplog.records == []


@pytest.mark.parametrize(
    ("settings", "hint"),
    [
        ({"tools": "unifed"}, "`unified`"),
        ({"skill_placement": "after-system"}, "`after_system`"),
        ({"tail": "apend"}, "`append`"),
        ({"cache": "yes"}, "`auto`"),
        ({"cache_audit": "true"}, "True or False"),
        ({"janitr": {}}, "`janitor`"),
        ({"janitor": {"context_windw": 10}}, "`context_window`"),
        ({"janitor": {"context_window": -1}}, "-1"),
        ({"janitor": 5}, "JanitorConfig"),
        ({"overflow": {"stratgy": None}}, "`strategy`"),
        ({"overflow": {"handoff": {"budget_tokens": "10"}}}, "budget_tokens"),
        ({"memory": {"alowed_keys": []}, "store": InMemoryBackend()}, "`allowed_keys`"),
        ({"memory": {}}, "store"),
        ({"vfs": {"treshold": 5}}, "`threshold`"),
        ({"pruner": {"strategy": "onion"}}, "`union`"),
        ({"context_tool": {"writeable": []}}, "`writable`"),
        ({"transform_tool_result": "upper"}, "callable"),
        ({"logger": object()}, "warning"),
        ({"model": 5}, "5"),
        ({"profiles": [5]}, "5"),
    ],
)
def test_an_unknown_value_says_the_nearest_right_one(settings: dict[str, Any], hint: str) -> None:
    with pytest.raises(SettingsError) as raised:
        ContextChef(**settings)

    assert hint in str(raised.value)


def test_a_mapping_and_the_dataclass_mean_the_same() -> None:
    as_mappings = ContextChef(
        janitor={"context_window": 5000},
        overflow={"keep": "caller"},
        memory={"default_ttl": 3},
        vfs={"threshold": 100},
        pruner={"strategy": "intersection"},
        context_tool={"writable": ["notes"]},
        store=InMemoryBackend(),
    )
    as_values = ContextChef(
        janitor=JanitorConfig(context_window=5000),
        overflow=OverflowConfig(keep="caller"),
        memory=MemoryConfig(default_ttl=3),
        vfs=OffloadConfig(threshold=100),
        pruner=PrunerConfig(strategy="intersection"),
        context_tool=ContextToolConfig(writable=["notes"]),
        store=InMemoryBackend(),
    )

    for chef in (as_mappings, as_values):
        chef.append({"role": "user", "content": "hi"})
        assert chef.compile_sync().report.budget.limit == 5000  # type: ignore[union-attr]  # counted


def test_settings_may_live_in_a_file(tmp_path: Path) -> None:
    import tomllib

    file = tmp_path / "chef.toml"
    file.write_text(
        'tools = "unified"\ncache = "auto"\n'
        "[janitor]\ncontext_window = 9000\nreserve_output = 1000\n"
        "[overflow.handoff]\nbudget_tokens = 500\n"
    )
    chef = ContextChef.from_settings(tomllib.loads(file.read_text()))

    names = [tool.name for tool in chef.visible_tools()]

    assert names == ["context", "new_context"]


def test_memory_that_is_not_configured_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="memory"):
        ContextChef().get_memory()


def test_a_logger_with_warn_alone_is_a_logger() -> None:
    lines: list[object] = []

    class Console:
        def warn(self, message: object, *args: object) -> None:
            lines.append(message)

    chef = ContextChef(logger=Console()).append({"role": "user", "content": "hi"})

    def fail(event: object) -> None:
        raise RuntimeError

    chef.on("compile:start", fail)
    chef.compile_sync()

    assert len(lines) == 1


MIGRATION = Path(__file__).resolve().parents[2] / "docs" / "migration.md"
_OLD_VALUES: dict[str, dict[str, Any]] = {
    "on_before_compile": {"on_before_compile": lambda context: "injected"},
    "transform_context": {"transform_context": lambda messages: messages},
    "context_management": {"context_management": {"strategy": "server"}},
    "janitor.strategy": {"janitor": {"strategy": reset()}},
    "janitor.archive": {"janitor": {"archive": "vfs"}},
    "janitor.compression_mode": {"janitor": {"compression_mode": "rewrite"}},
    "janitor.compression_scheduling": {"janitor": {"compression_scheduling": "background"}},
}


@pytest.mark.parametrize("name", OLD_OPTIONS)
def test_an_old_option_still_works_warns_and_is_on_the_migration_page(name: str) -> None:
    with pytest.warns(RenamedWarning, match=re.escape(f"`{name}`")):
        chef = ContextChef(**_OLD_VALUES[name])

    assert chef.append({"role": "user", "content": "hi"}).compile_sync()["messages"]
    assert f"| `{name}` |" in MIGRATION.read_text("utf-8")
