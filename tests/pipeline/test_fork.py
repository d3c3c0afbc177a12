"""`fork()`: a chef of its own that goes on from here."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import CompileDone, ContextChef, InMemoryBackend, Message
from context_chef.errors import RenamedWarning
from context_chef.testing import CharacterTokenizer, RecordingLogger

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")


class Plain:
    def compile(self, messages: Any) -> dict[str, Any]:
        return {"messages": [message.text for message in messages]}


def make(**settings: Any) -> ContextChef:
    settings = {"store": InMemoryBackend(), "memory": {}, "clock": lambda: 1_700_000, **settings}
    return ContextChef(**settings)


async def busy(**settings: Any) -> ContextChef:
    chef = make(**settings).set_system_prompt("Rules.").append(Message.user("q"))
    chef.register_tools([{"name": "f"}, {"name": "g"}]).announce("a", "A")
    chef.register_skills([{"name": "s", "instructions": "I"}]).activate_skill("s")
    await chef.get_memory().set("k", "v", ttl={"turns": 5})
    await chef.compile("openai")
    return chef


async def test_a_fork_compiles_to_the_same_bytes() -> None:
    chef = await busy()

    fork = await chef.fork()

    for target in TARGETS:
        assert (await fork.compile(target)).to_json() == (await chef.compile(target)).to_json()
    assert fork.window_id == chef.window_id


async def test_neither_side_sees_what_the_other_does_next() -> None:
    chef = await busy()
    expected = (await (await chef.fork()).compile("openai")).to_json()
    fork = await chef.fork()
    fork.append(Message.user("other")).register_tools([{"name": "h"}]).activate_skill(None)
    await fork.get_memory().set("k", "changed")
    await fork.get_memory().delete("k")
    await fork.get_store().namespace("notes").put("n", "fork")

    assert (await chef.compile("openai")).to_json() == expected
    assert await chef.get_store().namespace("notes").get("n") is None

    await chef.get_memory().set("k", "later")
    chef.append(Message.user("later"))
    assert await fork.get_memory().get("k") is None
    assert [message.text for message in fork.history] == ["q", "other"]


async def test_the_store_below_is_read_and_never_written() -> None:
    backend = InMemoryBackend()
    chef = await busy(store=backend)
    await chef.get_store().namespace("notes").put("n", "below")
    fork = await chef.fork()
    notes = fork.get_store().namespace("notes")
    entry = await notes.get("n")
    assert entry is not None
    assert entry.content == "below"

    assert await notes.delete("n")

    assert await notes.get("n") is None
    assert list(await notes.list()) == []
    assert [listed.path for listed in backend.list("notes")] == ["n"]


async def test_offloaded_output_is_found_from_a_fork_and_stays_its_own() -> None:
    chef = ContextChef()
    await chef.offload("below " * 5_000)
    [path] = await chef.get_offloader().view.entries()

    fork = await chef.fork()
    await fork.offload("above " * 5_000)

    assert await fork.get_offloader().view.get(path) is not None
    assert len(await fork.get_offloader().view.entries()) == 2
    assert len(await chef.get_offloader().view.entries()) == 1


async def test_handlers_and_observers_come_along_when_asked_for() -> None:
    chef = await busy()
    seen: list[str] = []
    chef.use("before-assemble", lambda context: seen.append("handler"))
    chef.on(CompileDone, lambda event: seen.append("observer"))
    chef.adapters.register("mine", Plain())

    await (await chef.fork()).compile("mine")
    assert seen == []
    await (await chef.fork(handlers=True, observers=True)).compile("mine")
    assert seen == ["handler", "observer"]


async def test_a_fork_counts_only_what_is_new() -> None:
    """Its cost is that of the change, not of the conversation."""
    tokenizer = CharacterTokenizer()
    chef = make(janitor={"tokenizer": tokenizer}).extend(
        Message.user("x" * 500) for _ in range(200)
    )
    await chef.compile("openai")
    counted = tokenizer.counted

    fork = (await chef.fork()).append(Message.user("y" * 50))
    await fork.compile("openai")

    assert fork.history[0] is chef.history[0]
    assert tokenizer.counted - counted < 3_000  # of 100,000


def test_a_fork_without_an_event_loop() -> None:
    chef = make().append(Message.user("q"))

    assert chef.fork_sync().compile_sync().to_json() == chef.compile_sync().to_json()


def test_a_fork_repeats_no_warning_of_settings() -> None:
    logger = RecordingLogger()
    janitor = {"context_window": 1000, "compression_mode": "summarize"}
    with pytest.warns(RenamedWarning):
        chef = ContextChef(janitor=janitor, on_before_compile=lambda _: None, logger=logger)
    assert len(logger.warnings) == 1

    for _ in range(3):
        chef = chef.fork_sync()

    assert len(logger.warnings) == 1
