"""Adapters that callers bring: what they may be called."""

import pytest

from context_chef import ContextChef
from context_chef.adaptation.openai_chat import OpenAIAdapter
from context_chef.errors import SettingsError


def test_a_wire_adapter_under_a_name_without_wire_rules_is_refused_with_the_way_out() -> None:
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.register_tools([{"name": "read_file"}])
    chef.adapters.register("azure", OpenAIAdapter())

    with pytest.raises(SettingsError, match="Register it under the name of that one"):
        chef.compile_sync("azure")


def test_a_wire_adapter_under_the_name_of_its_target_compiles() -> None:
    chef = ContextChef().append({"role": "user", "content": "q"})
    chef.register_tools([{"name": "read_file"}])
    chef.adapters.register("openai", OpenAIAdapter())

    assert chef.compile_sync("openai")["tools"]
