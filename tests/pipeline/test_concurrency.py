"""A chef may be shared: compiles queue, each with the inputs it was called with."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from context_chef import AsyncRequiredError, ContextChef, ContextChefError


def chef(text: str = "q") -> ContextChef:
    return ContextChef().set_history([{"role": "user", "content": text}])


async def test_overlapping_compiles_queue() -> None:
    """W-CONC-1."""
    one, running, most = chef(), 0, 0

    async def slow(context: object) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.005)
        running -= 1

    one.use("before-assemble", slow)

    payloads = await asyncio.gather(*(one.compile() for _ in range(5)))

    assert most == 1
    assert len({payload.to_json() for payload in payloads}) == 1


async def test_each_compile_has_the_inputs_it_was_called_with() -> None:
    one = chef("AAA")

    async def slow(context: object) -> None:
        await asyncio.sleep(0.005)

    one.use("before-assemble", slow)
    first = asyncio.ensure_future(one.compile())
    await asyncio.sleep(0)
    one.set_history([{"role": "user", "content": "BBB"}])
    second = asyncio.ensure_future(one.compile())

    texts = [(await task)["messages"][0]["content"] for task in (first, second)]

    assert texts == ["AAA", "BBB"]
    assert (await one.compile())["messages"][0]["content"] == "BBB"


async def test_what_a_handler_changes_counts_from_the_next_compile_on() -> None:
    """W-STATE-3: system prompt and history are fixed at the same moment."""
    one = chef("old").set_system_prompt("old")

    def change(event: object) -> None:
        one.set_history([{"role": "user", "content": "new"}]).set_system_prompt("new")

    off = one.on("compile:start", change)

    before = await one.compile()
    off()
    after = await one.compile()

    assert [m["content"] for m in before["messages"]] == ["old", "old"]
    assert [m["content"] for m in after["messages"]] == ["new", "new"]


async def test_a_handlers_own_compile_runs_at_once() -> None:
    one, inner = chef(), []

    async def nested(context: object) -> None:
        if not inner:
            inner.append(None)
            inner[0] = await asyncio.wait_for(one.compile(), 5)

    one.use("before-assemble", nested)

    outer = await one.compile()

    assert inner[0] == outer


async def test_a_task_left_behind_by_a_handler_queues_like_anybody() -> None:
    one, tasks, order = chef(), [], []

    async def leave_a_task(context: object) -> None:
        if not tasks:
            tasks.append(asyncio.ensure_future(later()))

    async def later() -> None:
        await asyncio.sleep(0.02)
        order.append("later starts")
        await one.compile()
        order.append("later ends")

    async def slow(context: object) -> None:
        order.append("compile starts")
        await asyncio.sleep(0.03)
        order.append("compile ends")

    one.use("before-assemble", leave_a_task)
    await one.compile()
    one.use("before-assemble", slow)
    await asyncio.gather(one.compile(), *tasks)

    assert order.index("compile ends") < order.index("later ends")


async def test_a_compile_that_fails_does_not_poison_the_queue() -> None:
    one = chef()
    failures = [True]

    def fail_once(context: object) -> None:
        if failures:
            failures.pop()
            raise RuntimeError("once")

    one.use("before-assemble", fail_once)

    outcomes = await asyncio.gather(one.compile(), one.compile(), return_exceptions=True)

    assert [type(outcome).__name__ for outcome in outcomes] == ["RuntimeError", "Payload"]


async def test_giving_up_a_place_in_the_queue_passes_the_turn_on() -> None:
    one = chef()

    async def slow(context: object) -> None:
        await asyncio.sleep(0.01)

    one.use("before-assemble", slow)
    tasks = [asyncio.ensure_future(one.compile()) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()
    tasks[2].cancel()

    outcomes = await asyncio.gather(*tasks, return_exceptions=True)

    assert [isinstance(outcome, dict) for outcome in outcomes] == [True, False, False, True]
    assert await asyncio.wait_for(one.compile(), 5)


def test_threads_queue_too() -> None:
    one, errors, payloads = chef(), [], []

    def work() -> None:
        try:
            for _ in range(20):
                payloads.append(one.compile_sync().to_json())
        except Exception as error:  # noqa: BLE001  # reported below
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(payloads) == 80
    assert len(set(payloads)) == 1


async def test_a_sync_compile_inside_a_waiting_async_one_says_so() -> None:
    one = chef()
    said: list[Exception] = []

    async def slow(context: object) -> None:
        await asyncio.sleep(0.01)

    one.use("before-assemble", slow)
    task = asyncio.ensure_future(one.compile())
    await asyncio.sleep(0)
    try:
        one.compile_sync()
    except ContextChefError as error:
        said.append(error)
    await task

    assert "await `compile()`" in str(said[0])


def test_a_sync_compile_refuses_an_async_part_by_name() -> None:
    one = chef()

    async def fetch_documents(context: Any) -> None:
        await asyncio.sleep(0)

    one.use("before-assemble", fetch_documents)

    with pytest.raises(AsyncRequiredError, match="fetch_documents"):
        one.compile_sync()


async def test_a_sync_compile_works_inside_a_running_loop() -> None:
    assert chef().compile_sync() == await chef().compile()
