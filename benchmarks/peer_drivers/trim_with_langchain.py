"""LangChain: `trim_messages`, as its documentation recommends it and bare, and the middleware."""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import (
    SystemMessage,
    convert_to_messages,
    convert_to_openai_messages,
    trim_messages,
)
from langchain_core.messages.utils import count_tokens_approximately
from trimming import Row, drive


def recommended(rows: list[Row], room: float) -> Any:
    """The settings that its documentation gives for a history that goes to a chat model."""
    return _trimmed(rows, room, include_system=True, start_on="human", end_on=("human", "tool"))


def bare(rows: list[Row], room: float) -> Any:
    """The newest messages that fit, and the system prompt."""
    return _trimmed(rows, room, include_system=True)


def _trimmed(rows: list[Row], room: float, **settings: Any) -> Any:
    messages = convert_to_messages(rows)
    most = _room(messages, room)
    kept = trim_messages(
        messages, max_tokens=most, token_counter="approximate", strategy="last", **settings
    )
    return convert_to_openai_messages(kept)


def _room(messages: list[Any], room: float) -> int:
    """Tokens for the system prompt, and for that part of the rest."""
    system = [message for message in messages[:1] if isinstance(message, SystemMessage)]
    around = count_tokens_approximately(system)
    return around + int(count_tokens_approximately(messages[len(system) :]) * room)


def summarised(rows: list[Row], room: float) -> Any:
    """`SummarizationMiddleware`, which folds all but the newest; a stand-in writes the summary."""
    from langchain.agents.middleware import SummarizationMiddleware
    from langgraph.graph.message import add_messages

    messages = convert_to_messages(rows)
    system = [message for message in messages[:1] if isinstance(message, SystemMessage)]
    state: dict[str, Any] = {"messages": add_messages([], messages[len(system) :])}
    most = _room(messages[len(system) :], room)
    middleware = SummarizationMiddleware(
        FakeListChatModel(responses=["What was said so far."]),
        trigger=("tokens", most),
        keep=("tokens", max(1, most // 2)),
    )
    update = middleware.before_model(state, None)
    if update:
        state["messages"] = add_messages(state["messages"], update["messages"])
    return convert_to_openai_messages([*system, *state["messages"]])


if __name__ == "__main__":
    which = sys.argv.pop(1)
    ways = {"recommended": recommended, "bare": bare, "summarised": summarised}
    drive(("langchain-core", "langchain"), ways[which])
