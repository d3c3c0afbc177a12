"""The short form of two long scripts: `crashes` kills writers, `races` lets them collide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"tests.persistence.{module}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("backend", ["files", "sqlite"])
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="writers are forked")
def test_a_killed_writer_loses_nothing_it_was_told_is_stored(backend: str) -> None:
    done = run("crashes", "--rounds", "12", "--backend", backend)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("backend", ["files", "sqlite"])
def test_processes_that_change_one_entry_lose_no_change(backend: str) -> None:
    done = run("races", "--processes", "4", "--edits", "40", "--backend", backend)

    assert done.returncode == 0, done.stdout + done.stderr
