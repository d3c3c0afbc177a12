"""openai-agents: a run on a session that is limited to its newest items, up to the model call."""

from __future__ import annotations

import asyncio
from typing import Any

from agents import (
    Agent,
    Model,
    RunConfig,
    Runner,
    SessionSettings,
    SQLiteSession,
    set_tracing_disabled,
)
from trimming import Row, drive


class _Asked(Exception):
    """The model was asked; its input is the argument."""


class _StandIn(Model):
    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> Any:
        raise _Asked(input)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


def items_of(row: Row) -> list[Any]:
    if row["role"] == "tool":
        output = row["content"]
        return [{"type": "function_call_output", "call_id": row["tool_call_id"], "output": output}]
    items: list[Any] = []
    if row.get("content"):
        items.append({"role": row["role"], "content": row["content"]})
    for call in row.get("tool_calls") or ():
        items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return items


async def limited(rows: list[Row], room: float) -> Any:
    """The items of Responses that the model would be given. The last row is the run's input."""
    system = [row for row in rows[:1] if row["role"] == "system"]
    items = [item for row in rows[len(system) : -1] for item in items_of(row)]
    session = SQLiteSession("one", ":memory:")
    await session.add_items(items)
    limit = SessionSettings(limit=max(1, int(len(items) * room)))
    agent = Agent(name="stand-in", model=_StandIn())
    try:
        await Runner.run(
            agent, items_of(rows[-1]), session=session, run_config=RunConfig(session_settings=limit)
        )
    except _Asked as asked:
        return asked.args[0]
    finally:
        session.close()
    raise AssertionError("the model was not asked")


def trimmed(rows: list[Row], room: float) -> Any:
    return asyncio.run(limited(rows, room))


if __name__ == "__main__":
    set_tracing_disabled(True)
    drive(("openai-agents",), trimmed)
