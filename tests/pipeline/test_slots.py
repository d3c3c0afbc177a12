"""Handlers take part: in order, with one frozen context, and their errors fail the compile."""

from __future__ import annotations

from typing import Any

import pytest

from context_chef import ContextChef, InvariantBroken, Message, SettingsError
from context_chef.slots import after_assemble, before_adapt, before_assemble, before_overflow


class Log:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def warning(self, msg: object, *args: object) -> None:
        self.lines.append(str(msg) % args if args else str(msg))


def chef(**settings: Any) -> ContextChef:
    return ContextChef(**settings).set_history([{"role": "user", "content": "q"}])


async def test_every_slot_runs_once_in_the_order_of_the_pipeline() -> None:
    seen: list[str] = []
    one = chef()
    for name in ("before-overflow", "after-overflow", "before-assemble", "after-assemble",
                 "before-adapt", "after-adapt"):  # fmt: skip
        one.use(name, lambda context, name=name: seen.append(name))

    await one.compile()

    assert seen == ["before-overflow", "after-overflow", "before-assemble", "after-assemble",
                    "before-adapt", "after-adapt"]  # fmt: skip


def test_a_slot_is_named_by_its_constant_or_its_string() -> None:
    seen: list[str] = []
    one = chef()
    one.use(before_adapt, lambda context: seen.append("constant"))
    one.use("before_adapt", lambda context: seen.append("string"))

    one.compile_sync()

    assert seen == ["constant", "string"]
    with pytest.raises(SettingsError, match="`before-adapt`"):
        one.use("before-adopt", print)


async def test_handlers_may_be_async_and_their_errors_fail_the_compile() -> None:
    one = chef()

    async def fail(context: object) -> None:
        raise RuntimeError("from the handler")

    off = one.use(before_assemble, fail)

    with pytest.raises(RuntimeError, match="from the handler"):
        await one.compile()
    off()
    assert (await one.compile())["messages"]


def test_a_handler_registered_twice_runs_twice_and_leaves_once() -> None:
    one = chef()

    def inject(context: Any) -> None:
        context.inject("x")

    one.use(before_assemble, inject)
    one.use(before_assemble, inject)
    one.unuse(before_assemble, inject)

    assert one.compile_sync()["messages"][0]["content"].count("\nx\n") == 1


def test_a_handler_that_answers_nothing_changes_nothing() -> None:
    """W-SLOT-1."""
    one = chef()
    one.use(after_assemble, lambda messages: None)

    payload = one.compile_sync()

    assert payload["messages"] == [{"content": "q", "role": "user"}]
    assert [d.code for d in payload.report.diagnostics] == ["handler-answered-nothing"]


def test_a_handler_that_answers_nonsense_is_named() -> None:
    one = chef()

    def answers_a_number(messages: object) -> int:
        return 7

    one.use(after_assemble, answers_a_number)

    with pytest.raises(ValueError, match="answers_a_number"):
        one.compile_sync()


def test_handlers_cannot_change_what_they_are_shown() -> None:
    """W-SLOT-2: neither the payload by the way, nor the caller's own history."""
    one = chef()

    def change(messages: tuple[Message, ...]) -> tuple[Message, ...]:
        with pytest.raises(AttributeError):
            messages[0].role = "assistant"  # type: ignore[misc]  # refusing this is what is tested
        return (messages[0].with_text("changed"),)

    off = one.use(after_assemble, change)

    assert one.compile_sync()["messages"][0]["content"] == "changed"
    off()
    assert one.compile_sync()["messages"][0]["content"] == "q"


def test_only_false_is_a_veto_and_every_handler_is_asked() -> None:
    asked: list[object] = []
    one = chef(janitor={"context_window": 1000})
    for answer in (False, 0, None, ""):
        one.use(before_overflow, lambda context, answer=answer: asked.append(answer) or answer)

    one.compile_sync()

    assert asked == [False, 0, None, ""]


async def test_the_checks_see_a_lost_pin_and_a_parted_pair() -> None:
    log = Log()
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    one = ContextChef(pipeline_checks=True, logger=log).set_history(
        [
            {"role": "user", "content": "never touch prod", "pinned": True},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ]
    )
    told: list[InvariantBroken] = []
    one.on(InvariantBroken, told.append)
    one.use(after_assemble, lambda messages: [m for m in messages if m.role == "assistant"])

    await one.compile()

    assert [event.phase for event in told] == ["assemble", "assemble"]
    assert "never touch prod" in told[0].message
    assert "c" in told[1].message
    assert len(log.lines) == 2


async def test_the_checks_see_a_changed_order_of_pairs() -> None:
    """W-CHECK-1."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    one = ContextChef(pipeline_checks=True, logger=Log()).set_history(
        [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "r"},
        ]
    )
    told: list[InvariantBroken] = []
    one.on("pipeline:invariant", told.append)
    one.use(after_assemble, lambda messages: list(reversed(messages)))

    payload = await one.compile()

    assert "order" in told[0].message
    assert [m["role"] for m in payload["messages"]][-2:] != ["tool", "assistant"]
