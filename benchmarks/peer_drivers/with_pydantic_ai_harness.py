"""pydantic-ai-harness: its sliding window before a model request."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext
from pydantic_ai.usage import RunUsage
from pydantic_ai_harness.compaction import SlidingWindowCompaction
from session import ALL, ROOMY, Row, Step, drive


def message_of(row: Row) -> Any:
    if row["role"] == "assistant":
        parts: list[Any] = [TextPart(row["content"])] if row["content"] else []
        for call in row.get("tool_calls", ()):
            function = call["function"]
            parts.append(ToolCallPart(function["name"], function["arguments"], call["id"]))
        return ModelResponse(parts=parts)
    if row["role"] == "tool":
        name = row.get("name") or "tool"
        return ModelRequest(parts=[ToolReturnPart(name, row["content"], row["tool_call_id"])])
    return ModelRequest(parts=[UserPromptPart(row["content"])])


def opened(system: str, rows: list[Row], room: float) -> Step:
    """`SlidingWindowCompaction.before_model_request`; what it drops is dropped from the run."""
    messages: list[Any] = [ModelRequest(parts=[SystemPromptPart(system)])]
    messages += map(message_of, rows)
    most = ROOMY if room > 1 else int(sum(len(row["content"]) for row in rows) / 4 * room)
    window = SlidingWindowCompaction(max_tokens=most, keep_tokens=most // 2)
    model = TestModel()
    context = RunContext(deps=None, model=model, usage=RunUsage(), messages=messages)
    loop = asyncio.new_event_loop()

    def step(row: Row | None) -> Any:
        if row is not None:
            messages.append(message_of(row))
        request = ModelRequestContext(
            model=model,
            messages=list(messages),
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        return loop.run_until_complete(window.before_model_request(context, request)).messages

    return step


if __name__ == "__main__":
    drive("pydantic-ai-harness", {"SlidingWindowCompaction": (opened, ALL)})
