"""What no repair can make sendable: one error with every fault, before anything is spent."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import ContextChef, InMemoryBackend, Message, StoredEntry, UnsendableError

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")


def tools(count: int) -> list[dict[str, Any]]:
    return [{"name": f"tool_{number}"} for number in range(count)]


class WatchedStore(InMemoryBackend):
    def __init__(self, done: list[str]) -> None:
        super().__init__()
        self._done = done

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._done.append("write")
        super().write(ns, path, entry)


class Spending:
    """A chef that would summarise, archive and remember, and what it did of that."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.chef = ContextChef(
            store=WatchedStore(self.done),
            memory={},
            janitor={"context_window": 2_000, "compression_model": self._summarise},
            overflow={"archive": "vfs"},
            transform_tool_result=self._transform,
            clock=lambda: 1_700_000_000_000,
        )
        self.chef.use("before-assemble", lambda context: self.done.append("handler"))
        for number in range(40):
            call_id = f"c{number}"
            self.chef.extend(
                [
                    Message.user(f"question {number} " * 20),
                    {
                        "role": "assistant",
                        "content": "",
                        "tool_calls": [
                            {"id": call_id, "function": {"name": "tool_1", "arguments": "{}"}}
                        ],
                    },
                    Message.tool("done", tool_call_id=call_id),
                ]
            )
        self.done.clear()

    def _summarise(self, messages: Any) -> str:
        self.done.append("summary")
        return "short"

    def _transform(self, text: str, call: Any) -> str:
        self.done.append("transform")
        return text


def test_every_fault_is_in_one_error_and_nothing_was_spent() -> None:
    spending = Spending()
    spending.chef.register_tools(tools(130))
    before = spending.chef.snapshot_sync().to_json()

    with pytest.raises(UnsendableError) as caught:
        spending.chef.compile_sync("openai", model="gpt-6.1")

    assert caught.value.target == "openai"
    endpoint, many = caught.value.faults
    assert "takes no function tools" in endpoint
    assert "there are 132 tools" in many  # memory brings two of its own
    assert spending.done == []
    assert spending.chef.snapshot_sync().to_json() == before


def test_what_would_have_been_spent_is_spent_once_the_input_is_right() -> None:
    """So that the test above can fail."""
    spending = Spending()
    spending.chef.register_tools(tools(3)).compile_sync("openai", model="gpt-4o")

    assert {"summary", "transform", "write", "handler"} <= set(spending.done)


def test_an_empty_conversation_is_named_beside_the_tools() -> None:
    chef = ContextChef().register_tools(tools(129))

    with pytest.raises(UnsendableError) as caught:
        chef.compile_sync("openai", model="gpt-6.1")

    assert len(caught.value.faults) == 3
    assert "no message at all" in caught.value.faults[0]
    assert str(caught.value).count("\n- ") == 3


@pytest.mark.parametrize("target", TARGETS)
def test_a_chef_that_was_told_nothing_is_refused_on_every_target(target: str) -> None:
    seen: list[str] = []
    chef = ContextChef(transform_tool_result=lambda text, call: seen.append(text) or text)
    chef.on("compile:done", lambda event: seen.append("done"))

    with pytest.raises(UnsendableError, match="no message at all"):
        chef.compile_sync(target)

    assert seen == []


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_handler_may_still_say_is_waited_for(target: str) -> None:
    chef = ContextChef()
    chef.use("after-assemble", lambda messages: (*messages, Message.user("From a handler.")))

    assert "From a handler." in chef.compile_sync(target).to_json().decode()


@pytest.mark.parametrize("target", TARGETS)
def test_a_system_prompt_alone_is_enough(target: str) -> None:
    payload = ContextChef().set_system_prompt("Be short.").compile_sync(target)

    assert "Be short." in payload.to_json().decode()


@pytest.mark.parametrize("target", ["openai", "openai-responses"])
def test_128_tools_are_taken_and_129_are_not(target: str) -> None:
    chef = ContextChef().append(Message.user("q"))

    assert len(chef.register_tools(tools(128)).compile_sync(target)["tools"]) == 128
    with pytest.raises(UnsendableError, match="129 tools") as caught:
        chef.register_tools(tools(129)).compile_sync(target)
    assert "get_pruner" in str(caught.value)


@pytest.mark.parametrize("target", ["anthropic", "gemini"])
def test_where_there_is_no_limit_of_tools_there_is_no_fault(target: str) -> None:
    chef = ContextChef().append(Message.user("q")).register_tools(tools(200))

    assert "tool_199" in chef.compile_sync(target).to_json().decode()


def test_tools_of_another_provider_do_not_count() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    chef = ContextChef().append(Message.user("q")).register_tools([*tools(128), search])

    assert len(chef.compile_sync("openai")["tools"]) == 128
