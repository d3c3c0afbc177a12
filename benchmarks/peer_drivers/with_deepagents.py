"""deepagents: its summarising middleware round a model call that answers at once."""

from __future__ import annotations

from typing import Any

from deepagents.backends.filesystem import FilesystemBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, SystemMessage, convert_to_messages
from langchain_core.messages.utils import count_tokens_approximately
from session import ALL, ROOMY, Row, Step, drive

ANSWER = ModelResponse(result=[AIMessage("")])


def messages_of(rows: list[Row]) -> list[Any]:
    return convert_to_messages(
        [{key: value for key, value in row.items() if value is not None} for row in rows]
    )


def opened(system: str, rows: list[Row], room: float) -> Step:
    """`wrap_model_call`; what it folds is written to a folder, the state keeps everything."""
    import tempfile

    state: dict[str, Any] = {"messages": messages_of(rows)}
    counted = count_tokens_approximately
    most = ROOMY if room > 1 else int(counted(state["messages"]) * room)
    model = FakeListChatModel(responses=["What was said so far."])
    middleware = SummarizationMiddleware(
        model,
        backend=FilesystemBackend(root_dir=tempfile.mkdtemp(), virtual_mode=True),
        trigger=("tokens", most),
        keep=("tokens", most // 2),
    )
    instructions = SystemMessage(system)
    sent: list[Any] = []

    def handler(request: Any) -> Any:
        sent[:] = [request.messages]
        return ANSWER

    def step(row: Row | None) -> Any:
        if row is not None:
            state["messages"].extend(messages_of([row]))
        request = ModelRequest(
            model=model,
            messages=state["messages"],
            system_message=instructions,
            tools=[],
            state=state,
            runtime=None,
        )
        response = middleware.wrap_model_call(request, handler)
        if isinstance(response, ExtendedModelResponse) and response.command is not None:
            state.update(response.command.update)
        return sent[0]

    return step


if __name__ == "__main__":
    drive("deepagents", {"SummarizationMiddleware": (opened, ALL)})
