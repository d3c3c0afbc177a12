"""The suites run under any pytest, whatever it knows of async tests."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from context_chef.testing import OverflowStrategySuite, StorageBackendSuite, TargetAdapterSuite

SUITES = """
import pytest
from context_chef import reset
from context_chef.testing import OverflowStrategySuite


class TestStrategy(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self):
        return reset()
"""


@pytest.mark.parametrize("suite", [OverflowStrategySuite, StorageBackendSuite, TargetAdapterSuite])
def test_no_test_of_a_suite_waits_for_a_plugin(suite: type) -> None:
    tests = [value for name, value in vars(suite).items() if name.startswith("test_")]

    assert tests
    assert not any(map(inspect.iscoroutinefunction, tests))


def test_a_suite_runs_without_any_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(SUITES)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio",
         "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert "failed" not in run.stdout
