"""openai-agents: the filter that shortens old tool outputs before a model call."""

from __future__ import annotations

from typing import Any

from agents import Agent
from agents.extensions import ToolOutputTrimmer
from agents.run import CallModelData, ModelInputData
from session import Row, Step, drive


def items_of(row: Row) -> list[Any]:
    if row["role"] == "tool":
        output = row["content"]
        return [{"type": "function_call_output", "call_id": row["tool_call_id"], "output": output}]
    items: list[Any] = []
    if row["content"]:
        items.append({"role": row["role"], "content": row["content"]})
    for call in row.get("tool_calls", ()):
        items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return items


def opened(system: str, rows: list[Row], room: float) -> Step:
    """`ToolOutputTrimmer`; it knows no window, so there is no case of one that is full."""
    items = [item for row in rows for item in items_of(row)]
    trimmer = ToolOutputTrimmer()
    agent = Agent(name="stand-in")

    def step(row: Row | None) -> Any:
        if row is not None:
            items.extend(items_of(row))
        data = ModelInputData(input=list(items), instructions=system)
        return trimmer(CallModelData(model_data=data, agent=agent, context=None))

    return step


if __name__ == "__main__":
    drive("openai-agents", {"ToolOutputTrimmer": (opened, ("cold", "turn"))})
