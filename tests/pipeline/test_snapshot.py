"""Snapshots: everything that the next compile depends on, out and back in."""

from __future__ import annotations

import json

import pytest

from context_chef import ChefSnapshot, ContextChef, InMemoryBackend, InputError, Message
from tests.pipeline.test_events import characters
from tests.pipeline.test_overflow_stage import history

TARGETS = ("openai", "openai-responses", "anthropic", "gemini")


def make() -> ContextChef:
    return ContextChef(
        janitor={"context_window": 10_000, "trigger_ratio": 0.1, "tokenizer": characters,
                 "compression_model": lambda messages: "<summary>sum</summary>"},
        store=InMemoryBackend(), memory={}, clock=lambda: 1_700_000_000_000,
    )  # fmt: skip


async def busy() -> ContextChef:
    chef = make().set_system_prompt("Rules.").set_history(history(4))
    chef.set_dynamic_state(None, {"n": 1}).announce("a", "A").with_guardrails({"prefill": "<o>"})
    chef.register_tools([{"name": "f", "description": "d"}])
    chef.register_skills([{"name": "s", "description": "d", "instructions": "I"}])
    chef.activate_skill("s")
    await chef.get_memory().set("10", "ten")
    await chef.get_memory().set("9", "nine")
    return chef


async def test_a_restored_chef_compiles_to_the_same_bytes() -> None:
    chef = await busy()
    await chef.compile("anthropic", model="claude-opus-5-5")
    snapshot = await chef.snapshot("here")
    expected = {target: (await chef.compile(target)).to_json() for target in TARGETS}

    other = await make().restore(ChefSnapshot.from_json(snapshot.to_json()))

    assert {t: (await other.compile(t)).to_json() for t in TARGETS} == expected
    assert other.window == chef.window
    assert other.window_id == chef.window_id


async def test_what_happens_later_does_not_reach_a_snapshot() -> None:
    chef = await busy()
    snapshot = await chef.snapshot()
    expected = (await chef.compile("openai")).to_json()
    chef.append(Message.user("later")).set_dynamic_state(None, {"n": 2}).retract_announcement("a")
    await chef.get_memory().set("9", "changed")
    chef.register_tools([])

    await chef.restore(snapshot)

    assert (await chef.compile("openai")).to_json() == expected


async def test_a_snapshot_survives_json() -> None:
    snapshot = await (await busy()).snapshot("label")

    data = snapshot.to_json()

    assert ChefSnapshot.from_json(data) == snapshot
    assert json.loads(data)["label"] == "label"


async def test_a_pending_request_is_part_of_the_snapshot() -> None:
    """W-SNAP-1."""
    chef = await busy()
    before = await chef.snapshot()
    chef.request_new_context()
    pending = await chef.snapshot()

    await chef.restore(before)
    assert not chef.new_context_requested
    await chef.restore(pending)
    assert chef.new_context_requested


async def test_folds_are_part_of_the_snapshot() -> None:
    chef = await busy()
    await chef.compile()
    folded = chef.window

    other = await make().restore(await chef.snapshot())
    other.set_history(history(4))

    assert other.window == folded


@pytest.mark.parametrize("data", [b"nonsense", b"{}", b'{"created_at": 1, "version": 99}'])
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    with pytest.raises(InputError):
        ChefSnapshot.from_json(data)


async def test_a_snapshot_has_the_same_bytes_after_it_was_stored() -> None:
    chef = await busy()
    chef.report_token_usage(900)
    await chef.compile("openai")
    limit = {"error": {"code": "context_length_exceeded", "message":
             "This model's maximum context length is 8192 tokens. However, your messages "
             "resulted in 9000 tokens."}}  # fmt: skip
    assert chef.recover(limit)

    kept = (await chef.snapshot()).to_json()

    assert ChefSnapshot.from_json(kept).to_json() == kept
    other = await make().restore(ChefSnapshot.from_json(kept), skills="snapshot")
    assert (await other.snapshot()).to_json() == kept


async def test_a_paid_summary_that_reached_no_window_is_part_of_the_snapshot() -> None:
    asked: list[int] = []

    def model(messages: object) -> str:
        asked.append(1)
        return f"<summary>answer {len(asked)}</summary>"

    def chef() -> ContextChef:
        return ContextChef(
            janitor={"context_window": 10_000, "trigger_ratio": 0.1, "tokenizer": characters,
                     "compression_model": model},
            clock=lambda: 1_700_000_000_000,
        )  # fmt: skip

    first = chef().set_history(history(4))

    def fails(context: object) -> None:
        raise OSError("the disk is full")

    off = first.use("after-adapt", fails)
    with pytest.raises(OSError, match="disk"):
        await first.compile("openai")
    off()
    snapshot = ChefSnapshot.from_json((await first.snapshot()).to_json())

    second = await chef().restore(snapshot)
    there, here = await second.compile("openai"), await first.compile("openai")

    assert asked == [1]
    assert "answer 1" in there.to_json().decode()
    assert "answer 1" in here.to_json().decode()
    assert b"answer 1" in (await second.snapshot()).to_json()  # in the window now
    assert "paid" not in (await second.snapshot()).janitor
