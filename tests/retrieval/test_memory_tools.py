"""Memory through the tools: the same rules by every name."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef.persistence import InMemoryBackend
from tests.retrieval.hosts import Tools


def test_a_fact_lives_by_either_name() -> None:
    tools = Tools()

    tools.call("create_memory", {"key": "k", "value": "v", "description": "d"})
    assert tools("view", "memory/") == "context://memory/ (1 entry):\n- context://memory/k — d"
    tools("str_replace", "memory/k", old_str="v", new_str="w")
    tools("insert", "memory/k", insert_line=1, insert_text="x")
    assert tools("view", "memory/k") == "w\nx"
    tools.call("modify_memory", {"action": "update", "key": "k", "value": "new"})
    assert tools("view", "memory/k") == "new"
    entry = tools.memory.get_entry_sync("k")
    assert entry is not None
    assert (entry.description, entry.update_count) == ("d", 4)
    assert tools.call("modify_memory", {"action": "delete", "key": "k"}) == (
        "Deleted context://memory/k."
    )


def test_an_existing_key_is_not_overwritten_by_either_name() -> None:
    """BR-093."""
    tools = Tools()
    for value in ("v", "v", "v", "v2"):
        tools.memory.set_sync("k", value)

    for answer in (
        tools("create", "memory/k", file_text="3"),
        tools.call("create_memory", {"key": "k", "value": "3"}),
    ):
        assert answer.startswith("Error: context://memory/k exists already.")
    assert tools.memory.to_xml_sync().count("<entry ") == 1


def test_checks_come_in_the_order_of_the_contract() -> None:
    tools = Tools()
    modify = lambda **arguments: tools.call("modify_memory", arguments)  # noqa: E731  # short here

    assert "`action` is missing" in modify(key="k")
    assert "does not exist" in modify(action="zap", key="none")
    tools.memory.set_sync("k", "v")
    assert "update or delete" in modify(action="zap", key="k")
    assert "`value` is missing" in modify(action="update", key="k")
    assert "`key` is missing" in tools.call("create_memory", {"value": "v"})
    assert "`description` must be a string" in tools(
        "create", "memory/b", file_text="x", description=5
    )


@pytest.mark.parametrize("key", ["k/", "../out", "a/../../out", "/etc/x", "..\\out", "C:\\x"])
def test_keys_that_lead_elsewhere_are_refused_by_every_name(key: str) -> None:
    """BR-082."""
    tools = Tools()
    tools.memory.set_sync("good", "v")

    answers = [
        tools.call("create_memory", {"key": key, "value": "v"}),
        tools("create", f"memory/{key}", file_text="v"),
        tools("rename", "memory/good", new_path=f"memory/{key}"),
    ]

    assert all(answer.startswith("Error: ") for answer in answers)
    assert [entry.key for entry in tools.memory.get_all_sync()] == ["good"]


def test_only_allowed_keys_are_accepted_and_the_answer_names_them() -> None:
    tools = Tools(memory={"allowed_keys": ["a", "b"]})

    assert tools("create", "memory/c", file_text="v") == (
        "Error: context://memory/c is not allowed. The allowed memory keys are: a, b."
    )
    assert tools("create", "memory/a", file_text="v").startswith("Created")
    assert "not allowed" in tools("rename", "memory/a", new_path="memory/z")
    assert "no memory keys are allowed" in Tools(memory={"allowed_keys": []})(
        "create", "memory/a", file_text="v"
    )


def test_a_veto_is_told_and_changes_nothing() -> None:
    tools = Tools(memory={"on_memory_update": lambda key, value, old: value != "bad"})

    assert "the host refused" in tools("create", "memory/k", file_text="bad")
    tools("create", "memory/k", file_text="good")
    assert "the host refused" in tools("str_replace", "memory/k", old_str="good", new_str="bad")
    assert tools.memory.get_sync("k") == "good"


def test_a_rename_whose_deletion_is_vetoed_says_that_both_are_there() -> None:
    tools = Tools(memory={"on_memory_update": lambda key, value, old: value is not None})
    tools.memory.set_sync("a", "v", description="d")

    answer = tools("rename", "memory/a", new_path="memory/b")

    assert answer == (
        "Created context://memory/b, but the host refused to delete context://memory/a: "
        "the original remains."
    )


@pytest.mark.parametrize("hook", ["on_memory_update", "on_memory_changed"])
def test_a_hook_that_raises_never_breaks_a_call(hook: str) -> None:
    def fail(*arguments: Any) -> bool:
        raise RuntimeError("secret detail")

    tools = Tools(memory={hook: fail})

    answer = tools("create", "memory/k", file_text="v")

    assert "secret" not in answer
    assert "secret detail" in tools.log.warnings[0]
    if hook == "on_memory_changed":  # by then the value is stored, and the answer says so
        assert answer == "Created context://memory/k."
        assert tools.memory.get_sync("k") == "v"
    else:
        assert answer.startswith("Error: context://memory/k")
        assert tools.memory.get_sync("k") is None


def test_without_memory_every_address_of_it_is_refused() -> None:
    tools = Tools(with_memory=False, native_memory=True)

    for answer in (
        tools("view", "memory/"),
        tools("search", "memory/", query="x"),
        tools("create", "memory/k", file_text="v"),
        tools.call("create_memory", {"key": "k", "value": "v"}),
        tools.call("modify_memory", {}),
        tools.native("view", path="/memories"),
    ):
        assert answer.startswith("Error: context://memory/ is not available")
    assert "`value` is missing" in tools.call("create_memory", {"key": "k"})


def test_a_read_only_memory_is_read_only_by_every_name() -> None:
    tools = Tools(writable=["notes"], native_memory=True)
    tools.memory.set_sync("k", "v")

    for answer in (
        tools("delete", "memory/k"),
        tools.call("create_memory", {"key": "n", "value": "v"}),
        tools.call("modify_memory", {"action": "delete", "key": "k"}),
        tools.native("delete", path="/memories/k"),
    ):
        assert "is read-only for you" in answer
    assert tools("view", "memory/k") == "v"


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("asked_about", ["old", "new"])
def test_a_rename_loses_no_edit_made_meanwhile(native: bool, asked_about: str) -> None:
    backend = InMemoryBackend()
    other = Tools(backend)
    edits: list[str] = []

    def veto(key: str, value: str | None, old: str | None) -> bool:
        if key == asked_about and not edits:
            edits.append(other("str_replace", "memory/old", old_str="one", new_str="one, edited"))
        return True

    tools = Tools(backend, memory={"on_memory_update": veto}, native_memory=True)
    other.memory.set_sync("old", "one")

    if native:
        answer = tools.native("rename", old_path="/memories/old", new_path="/memories/new")
    else:
        answer = tools("rename", "memory/old", new_path="memory/new")

    assert edits[0].startswith("Replaced")
    assert "was changed by somebody else" in answer
    assert [(e.key, e.value) for e in other.memory.get_all_sync()] == [("old", "one, edited")]


def test_a_deletion_takes_only_what_the_host_was_asked_about() -> None:
    backend = InMemoryBackend()
    other, asked = Tools(backend), list[str | None]()

    def veto(key: str, value: str | None, old: str | None) -> bool:
        asked.append(old)
        other.memory.set_sync("k", "important")
        return old != "important"

    tools = Tools(backend, memory={"on_memory_update": veto})
    other.memory.set_sync("k", "v")

    assert "refused" in tools("delete", "memory/k")
    assert asked == ["v", "important"]
    assert other.memory.get_sync("k") == "important"
