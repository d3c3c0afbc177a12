"""Targets by name: what is registered, replaced, taken away and found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from context_chef.adaptation.adapter import WireAdapter
from context_chef.adaptation.anthropic import AnthropicAdapter
from context_chef.adaptation.registry import AdapterRegistry, builtin_registry, get_adapter
from context_chef.errors import SettingsError
from context_chef.ir.message import Message

BUILT_IN = ["openai", "anthropic", "gemini", "openai-responses"]


class Plain:
    """The least that a custom adapter has to offer."""

    def compile(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        return {"count": len(messages)}


class Waiting:
    async def compile(self, messages: Sequence[Message]) -> Mapping[str, Any]:
        return {"count": len(messages)}


def test_the_built_in_targets_are_there_in_order() -> None:
    registry = builtin_registry()

    assert registry.names() == registry.list() == BUILT_IN
    assert all(isinstance(registry.get(name), WireAdapter) for name in BUILT_IN)


def test_registries_share_nothing() -> None:
    builtin_registry().register("mine", Plain())

    assert not builtin_registry().has("mine")


def test_a_custom_adapter_may_be_sync_or_async() -> None:
    registry = AdapterRegistry()
    plain, waiting = Plain(), Waiting()

    registry.register("plain", plain)
    registry.register("waiting", waiting)

    assert registry.get("plain") is plain
    assert registry.get("waiting") is waiting
    assert registry.names() == ["plain", "waiting"]


def test_a_replacement_keeps_the_place_and_taking_it_away_brings_back_what_it_replaced() -> None:
    registry = builtin_registry()
    mine = Plain()

    registry.register("openai", mine, "me")
    assert registry.get("openai") is mine
    assert registry.names() == BUILT_IN

    registry.unregister("openai")
    assert isinstance(registry.get("openai"), WireAdapter)


def test_a_source_goes_as_a_whole_and_what_it_replaced_is_back() -> None:
    registry = builtin_registry()
    registry.register("anthropic", Plain(), "me")
    registry.register("mine", Plain(), "me")

    registry.unregister_by_source("me")

    assert registry.names() == BUILT_IN
    assert isinstance(registry.get("anthropic"), AnthropicAdapter)


def test_a_replacement_outlives_the_built_in_adapter_under_it() -> None:
    registry = builtin_registry()
    mine = Plain()
    registry.register("gemini", mine, "me")

    registry.unregister_by_source("builtin")

    assert registry.names() == ["gemini"]
    assert registry.get("gemini") is mine


def test_taking_away_what_is_not_there_changes_nothing() -> None:
    registry = builtin_registry()

    registry.unregister("nobody")
    registry.unregister_by_source("nobody")

    assert registry.names() == BUILT_IN


def test_an_unknown_target_is_refused_by_name_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match=r"'opanai'.*`openai`, `anthropic`, `gemini`"):
        builtin_registry().get("opanai")
    with pytest.raises(SettingsError, match=r"\(none\)"):
        AdapterRegistry().get("openai")


@pytest.mark.parametrize(("name", "adapter"), [("", Plain()), ("  ", Plain()), ("x", object())])
def test_what_cannot_be_an_adapter_is_refused_at_once(name: str, adapter: Any) -> None:
    with pytest.raises(SettingsError):
        AdapterRegistry().register(name, adapter)


def test_the_shorthand_finds_built_in_adapters() -> None:
    assert isinstance(get_adapter("anthropic"), AnthropicAdapter)
    with pytest.raises(SettingsError, match="nobody"):
        get_adapter("nobody")
