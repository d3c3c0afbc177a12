"""The built-in strategies keep the promises that `OverflowStrategySuite` holds everybody to."""

from __future__ import annotations

import pytest

from context_chef import anchored, background, chain, clear, reset, server, summarize
from context_chef.selection import OverflowStrategy
from context_chef.testing.doubles import ScriptedModel
from context_chef.testing.strategies import OverflowStrategySuite


class TestSummarize(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return summarize(compression_model=ScriptedModel("S"))


class TestDropping(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return summarize()


class TestAnchored(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return anchored(compression_model=ScriptedModel("S"))


class TestReset(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return reset()


class TestClear(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return clear(keep_recent=1)


class TestServer(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return server(fallback=summarize(compression_model=ScriptedModel("S")))


class TestChain(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return chain(clear(), summarize(compression_model=ScriptedModel("S")), reset())


class TestBackground(OverflowStrategySuite):
    @pytest.fixture
    def strategy(self) -> OverflowStrategy:
        return background(summarize(compression_model=ScriptedModel("S")))
