"""LangChain: `trim_messages` with its approximate counter, and the middleware that summarises."""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import convert_to_messages, trim_messages
from langchain_core.messages.utils import count_tokens_approximately
from session import ALL, ROOMY, Row, Step, drive


def messages_of(rows: list[Row]) -> list[Any]:
    return convert_to_messages(
        [{key: value for key, value in row.items() if value is not None} for row in rows]
    )


def trimmed(system: str, rows: list[Row], room: float) -> Step:
    """`trim_messages`: the newest messages that fit; it is given all of them each turn."""
    messages = messages_of([{"role": "system", "content": system}, *rows])
    most = ROOMY if room > 1 else int(count_tokens_approximately(messages) * room)

    def step(row: Row | None) -> Any:
        if row is not None:
            messages.extend(messages_of([row]))
        return trim_messages(
            messages,
            max_tokens=most,
            token_counter="approximate",
            strategy="last",
            include_system=True,
            start_on="human",
        )

    return step


def summarised(system: str, rows: list[Row], room: float) -> Step:
    """`SummarizationMiddleware.before_model`; its summary replaces the messages in the state."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langgraph.graph.message import add_messages

    state = {"messages": messages_of(rows)}
    counted = count_tokens_approximately
    most = ROOMY if room > 1 else int(counted(state["messages"]) * room)
    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=["What was said so far."]),
        trigger=("tokens", most),
        keep=("tokens", most // 2),
    )

    def step(row: Row | None) -> Any:
        if row is not None:
            state["messages"].extend(messages_of([row]))
        update = middleware.before_model(state, None)
        if update:
            state["messages"] = add_messages(state["messages"], update["messages"])
        return [system, *state["messages"]]

    return step


if __name__ == "__main__":
    which = sys.argv.pop(1)
    if which == "trim":
        drive("langchain-core", {"trim_messages": (trimmed, ALL)})
    else:
        drive("langchain", {"SummarizationMiddleware": (summarised, ALL)})
