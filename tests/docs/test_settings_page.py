"""The settings page lists every setting there is, with its real default, and no other."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

from context_chef.persistence.memory_config import MemoryConfig
from context_chef.persistence.offload_config import OffloadConfig
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.selection.janitor_config import HandoffConfig, JanitorConfig, OverflowConfig
from context_chef.selection.pruner import PrunerConfig
from context_chef.wiring import ChefOptions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "settings.md"
SECTIONS: dict[str, type[Any]] = {
    "ContextChef": ChefOptions,
    "JanitorConfig": JanitorConfig,
    "OverflowConfig": OverflowConfig,
    "HandoffConfig": HandoffConfig,
    "MemoryConfig": MemoryConfig,
    "OffloadConfig": OffloadConfig,
    "PrunerConfig": PrunerConfig,
    "ContextToolConfig": ContextToolConfig,
}


def _default(field: Field[Any]) -> str:
    return "required" if field.default is MISSING else f"`{field.default!r}`"


@pytest.mark.parametrize("section", SECTIONS)
def test_a_table_names_every_setting_with_its_default_and_no_other(section: str) -> None:
    page = PAGE.read_text("utf-8")
    table = page.split(f"<!-- {section}: begin -->")[1].split(f"<!-- {section}: end -->")[0]
    rows = [re.split(r"\s*\|\s*", line.strip("| ")) for line in table.strip().splitlines()[2:]]

    found = [(row[0], row[1]) for row in rows]

    assert found == [(f"`{field.name}`", _default(field)) for field in fields(SECTIONS[section])]
    assert all(len(row) == 4 and row[2] and row[3] for row in rows)
