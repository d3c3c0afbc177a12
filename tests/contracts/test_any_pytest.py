"""The suites run under any pytest, whatever it knows of async tests. The others use `auto`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SUITES = """
import pytest
from context_chef import InMemoryBackend, reset
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.testing import OverflowStrategySuite, StorageBackendSuite, TargetAdapterSuite


class TestStrategy(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self):
        return reset()


class TestAdapter(TargetAdapterSuite):
    target = "openai"

    @pytest.fixture
    def adapter(self):
        return OpenAIAdapter()


class TestBackend(StorageBackendSuite):
    def make(self):
        return InMemoryBackend()
"""


@pytest.mark.parametrize(
    "options",
    [
        ("-p", "no:asyncio"),
        ("-o", "asyncio_mode=strict", "-o", "asyncio_default_fixture_loop_scope=function"),
    ],
    ids=["no plugin", "strict"],
)
def test_the_suites_need_no_plugin_and_no_mode_of_one(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "test_mine.py").write_text(SUITES)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), "-k", "Strategy or Adapter or read_back", *options, "."],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    assert "failed" not in run.stdout
