"""Tool definitions: static, shared, and the same bytes in every request."""

from __future__ import annotations

import msgspec
import pytest

from context_chef.ir.frozen import thaw
from context_chef.persistence import InMemoryBackend, Memory, MemoryConfig
from context_chef.retrieval import (
    CONTEXT_COMMANDS,
    CONTEXT_TOOL_NAMES,
    get_context_tool_definition,
    get_native_memory_tool_definition,
    get_new_context_tool_definition,
    get_recall_tool_definition,
    is_context_tool_name,
)


def test_the_context_tool_is_one_unchangeable_object() -> None:
    tool = get_context_tool_definition()

    assert tool is get_context_tool_definition()
    with pytest.raises(AttributeError):
        tool.name = "other"  # type: ignore[misc]
    assert tool.parameters is not None
    with pytest.raises(TypeError):
        tool.parameters["properties"]["path"]["type"] = "integer"


def test_its_parameters_are_those_of_the_contract() -> None:
    parameters = thaw(get_context_tool_definition().parameters)

    assert list(parameters) == ["type", "properties", "required"]
    assert parameters["required"] == ["command", "path"]
    assert parameters["properties"]["command"]["enum"] == list(CONTEXT_COMMANDS)
    assert [
        (name, schema["type"], "enum" in schema)
        for name, schema in parameters["properties"].items()
    ] == [
        ("command", "string", True),
        ("path", "string", False),
        ("file_text", "string", False),
        ("old_str", "string", False),
        ("new_str", "string", False),
        ("insert_line", "integer", False),
        ("insert_text", "string", False),
        ("new_path", "string", False),
        ("query", "string", False),
        ("description", "string", False),
    ]


def test_its_text_is_small_and_says_what_a_model_needs() -> None:
    tool = get_context_tool_definition()
    encoded = msgspec.json.encode({"d": tool.description, "p": thaw(tool.parameters)})

    assert len(encoded) < 3_600
    for word in ("memory/", "notes/", "vfs/", "Error:", "#L", "read-only"):
        assert word in encoded.decode()
    assert "archive/" not in encoded.decode()


def test_new_context_takes_no_parameters() -> None:
    assert get_new_context_tool_definition() is get_new_context_tool_definition()
    assert get_new_context_tool_definition().parameters is None


def test_recall_is_a_dict_of_the_hosts_own() -> None:
    mine = get_recall_tool_definition()
    mine["name"] = "fetch"

    assert get_recall_tool_definition()["name"] == "recall_context"
    assert get_recall_tool_definition()["parameters"]["required"] == ["uri"]


def test_the_native_tool_is_anthropics_own_form() -> None:
    native = get_native_memory_tool_definition().native

    assert native == {"anthropic": {"definition": {"type": "memory_20250818", "name": "memory"}}}


def test_names_are_told_apart_exactly() -> None:
    assert all(is_context_tool_name(name) for name in CONTEXT_TOOL_NAMES)
    for name in ("Context", "context ", "", None, 5, ["context"], "memory"):
        assert not is_context_tool_name(name)
    assert is_context_tool_name("memory", native_memory=True)


def test_memory_tools_offer_allowed_keys_only_where_there_are_some() -> None:
    def keys(allowed: list[str] | None) -> object:
        memory = Memory(InMemoryBackend(), MemoryConfig(allowed_keys=allowed))
        create, modify = memory.get_tool_definitions()
        assert create.parameters is not None
        assert modify.parameters is not None
        assert "enum" not in modify.parameters["properties"]["key"]
        assert memory.get_tool_definitions()[0] is create
        return create.parameters["properties"]["key"].get("enum")

    assert keys(["a", "b"]) == ["a", "b"]
    assert keys([]) is None
    assert keys(None) is None
