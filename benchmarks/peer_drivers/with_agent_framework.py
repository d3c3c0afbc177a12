"""agent-framework: its truncation strategy with its four-characters estimate."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import Content, Message
from agent_framework._compaction import (
    CharacterEstimatorTokenizer,
    TruncationStrategy,
    apply_compaction,
)
from session import ALL, ROOMY, Row, Step, drive


def message_of(row: Row) -> Any:
    if row["role"] == "tool":
        result = Content.from_function_result(row["tool_call_id"], result=row["content"])
        return Message("tool", [result])
    contents = [Content.from_text(row["content"])] if row["content"] else []
    for call in row.get("tool_calls", ()):
        function = call["function"]
        contents.append(
            Content.from_function_call(
                call["id"], function["name"], arguments=function["arguments"]
            )
        )
    return Message(row["role"], contents)


def opened(system: str, rows: list[Row], room: float) -> Step:
    """`apply_compaction`; the list is the caller's, its messages keep their marks."""
    messages = [message_of({"role": "system", "content": system}), *map(message_of, rows)]
    tokenizer = CharacterEstimatorTokenizer()
    most = ROOMY if room > 1 else int(sum(len(row["content"]) for row in rows) / 4 * room)
    strategy = TruncationStrategy(max_n=most, compact_to=most // 2, tokenizer=tokenizer)
    loop = asyncio.new_event_loop()

    def step(row: Row | None) -> Any:
        if row is not None:
            messages.append(message_of(row))
        return loop.run_until_complete(
            apply_compaction(messages, strategy=strategy, tokenizer=tokenizer)
        )

    return step


if __name__ == "__main__":
    drive("agent-framework-core", {"TruncationStrategy": (opened, ALL)})
