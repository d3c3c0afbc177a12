"""Reads request bodies of the four providers, alone or in a row, with what was answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.conversation import Conversation
from context_chef.adaptation.read_anthropic import from_anthropic
from context_chef.adaptation.read_gemini import from_gemini
from context_chef.adaptation.read_openai import from_openai
from context_chef.adaptation.read_recording import read_recording
from context_chef.adaptation.read_responses import from_openai_responses
from context_chef.costs import Usage, read_usage
from context_chef.errors import InputError
from context_chef.ir.message import Message
from context_chef.replay.lines import Loaded, RecordingError, row_of
from context_chef.replay.moments import seconds
from context_chef.replay.session import (
    AskedAt,
    RecordedSession,
    SessionRequest,
    from_zero,
    requests_of,
    uncached,
)

_BODY_KEYS: Final = ("messages", "contents", "input")
_TIMES: Final = ("at", "timestamp", "time", "created_at", "date")
_ROLES: Final = ("role", "parts")


def is_body(value: Any) -> bool:
    """Whether this is a request body, or a container of one."""
    if not isinstance(value, Mapping):
        return False
    row = cast(Mapping[str, Any], value)
    if isinstance(row.get("request"), Mapping):
        return is_body(row["request"])
    return any(isinstance(row.get(key), (list, str)) for key in _BODY_KEYS) and "type" not in row


def read_bodies(loaded: Loaded, name: str, format: str) -> list[RecordedSession]:
    """The sessions in a file of bodies: one body, a list of them, or one a line.

    Bodies that go on from one another are one session; what goes on from nothing begins another.
    """
    values: Sequence[Any] = loaded.values
    numbers: Sequence[int | None] = loaded.numbers if loaded.lines else [None] * len(values)
    if not loaded.lines:
        only = values[0]
        if isinstance(only, list) and only and all(is_body(item) for item in cast(list[Any], only)):
            values = cast(list[Any], only)
            numbers = [None] * len(values)
        else:
            session = _whole(only, name, format, loaded.notes)
            return [session] if session.requests else []
    elif all(any(key in value for key in _ROLES) for value in values):
        session = _whole(list(values), name, format, loaded.notes)  # one message a line
        return [session] if session.requests else []
    lineages: list[_Lineage] = []
    for value, line in zip(values, numbers, strict=True):
        row = cast(Mapping[str, Any], value)
        if not is_body(row):
            raise RecordingError(
                name, "this is no request body: `messages`, `input` or `contents` is missing.",
                line=line,
            )  # fmt: skip
        try:
            conversation, found = read_recording(row, format)
        except InputError as error:
            raise RecordingError(name, str(error), line=line) from error
        history = tuple(uncached(message) for message in conversation.history)
        lineage = next((known for known in lineages if known.goes_on(conversation, history)), None)
        if lineage is None:
            lineage = _Lineage(found)
            lineages.append(lineage)
        lineage.add(conversation, history, row)
    sessions = [
        lineage.session(name if number == 0 else f"{name}#{number + 1}", loaded.notes)
        for number, lineage in enumerate(lineages)
    ]
    return [session for session in sessions if session.requests]


class _Lineage:
    """Bodies of one session, each held against the one before."""

    def __init__(self, format: str) -> None:
        self.format = format
        self.said: tuple[Message, ...] = ()
        self.requests: list[SessionRequest] = []
        self.answer: tuple[Message, ...] = ()
        self.model: str | None = None
        self._system: tuple[Message, ...] = ()
        self._tools: Any = None

    def goes_on(self, conversation: Conversation, history: Sequence[Message]) -> bool:
        """Whether this body is a later one of this session."""
        if _common(self.said, history):
            return True
        same = conversation.system == self._system and conversation.tools == self._tools
        return same and bool(conversation.system) and len(history) > 2

    def add(
        self, conversation: Conversation, history: tuple[Message, ...], row: Mapping[str, Any]
    ) -> None:
        whole_history, history = history, _without_answer(history)
        if not history:
            return
        same = _common(self.said, history)
        system = tuple(uncached(message) for message in conversation.system)
        first = not self.requests
        if first and len(history) > 1:
            # The bodies before this one were not recorded: what it holds says where they were.
            earlier, _ = requests_of(history, system=system, tools=conversation.tools)
            self.requests.extend(earlier[:-1])
            same = sum(len(request.add) for request in self.requests)
            first = not self.requests
        model = row.get("model") or conversation.request.get("model")
        self.model = self.model or (model if isinstance(model, str) else None)
        whole = same == len(self.said) or not self.said
        self.requests.append(
            SessionRequest(
                keep=None if whole else same,
                add=history[same:],
                system=system if first or system != self._system else None,
                tools=conversation.tools if first or conversation.tools != self._tools else None,
                at=_time(row),
                usage=usage_in(row),
                model=model if isinstance(model, str) else None,
            )
        )
        self.said = history
        self._system, self._tools = system, conversation.tools
        # What was written down after the answer holds the answer itself.
        self.answer = answer_of(row.get("response")) or whole_history[len(history) :]

    def session(self, name: str, notes: tuple[str, ...]) -> RecordedSession:
        return RecordedSession(
            name=name,
            format=self.format,
            target=self.format,
            requests=from_zero(self.requests),
            rest=self.answer,
            model=self.model,
            notes=notes,
        )


def _whole(value: Any, name: str, format: str, notes: tuple[str, ...]) -> RecordedSession:
    """One body that holds the whole conversation; the container may list usage by message."""
    try:
        conversation, found = read_recording(value, format)
    except InputError as error:
        raise RecordingError(name, str(error)) from error
    row = row_of(value)
    requests, rest = requests_of(
        [uncached(message) for message in conversation.history],
        system=[uncached(message) for message in conversation.system],
        tools=conversation.tools,
        asked=_asked(row, found),
    )
    if requests and (usage := usage_in(row)) is not None:
        requests = (*requests[:-1], msgspec.structs.replace(requests[-1], usage=usage))
    model = row.get("model") or conversation.request.get("model")
    return RecordedSession(
        name=name,
        format=found,
        target=found,
        requests=requests,
        rest=(*rest, *answer_of(row.get("response"))),
        model=model if isinstance(model, str) else None,
        notes=(*notes, *(f"{note.where}: {note.message}" for note in conversation.diagnostics)),
    )


def _asked(row: Mapping[str, Any], format: str) -> dict[int, AskedAt]:
    """Usage rows by the number of the answer that they belong to."""
    rows, messages = row.get("usage"), row.get("messages")
    if not isinstance(rows, list) or not isinstance(messages, list):
        return {}
    marks = [_is_answer(item, format) for item in cast(list[Any], messages)]
    asked: dict[int, AskedAt] = {}
    for item in cast(list[Any], rows):
        usage = read_usage(item)
        at = row_of(item).get("message")
        if usage is not None and isinstance(at, int):
            asked[sum(marks[:at])] = AskedAt(usage=usage)
    return asked


def _is_answer(message: Any, format: str) -> bool:
    return row_of(message).get("role") == ("model" if format == "gemini" else "assistant")


def usage_in(row: Mapping[str, Any]) -> Usage | None:
    """What the provider counted: beside the request, or in its answer."""
    for place in (row, row_of(row.get("response"))):
        for key in ("usage", "usageMetadata", "usage_metadata"):
            if (usage := read_usage(place.get(key))) is not None:
                return usage
    return None


def _time(row: Mapping[str, Any]) -> float | None:
    return next((at for key in _TIMES if (at := seconds(row.get(key))) is not None), None)


def answer_of(response: Any) -> tuple[Message, ...]:
    """The message in a provider's answer; nothing when there is none that can be read."""
    if not isinstance(response, Mapping):
        return ()
    body = cast(Mapping[str, Any], response)
    try:
        if isinstance(body.get("choices"), list) and body["choices"]:
            read = from_openai([body["choices"][0]["message"]])
        elif isinstance(body.get("output"), list):
            read = from_openai_responses({"input": body["output"]})
        elif isinstance(body.get("candidates"), list) and body["candidates"]:
            read = from_gemini([body["candidates"][0]["content"]])
        elif isinstance(body.get("content"), list):
            read = from_anthropic([{"role": "assistant", "content": body["content"]}])
        elif isinstance(body.get("message"), Mapping):
            read = from_openai([body["message"]])  # one of the `choices`
        elif body.get("role") == "assistant":
            read = from_openai([body])  # the message of one
        else:
            return ()
    except (InputError, KeyError, TypeError):
        return ()
    return tuple(uncached(message) for message in read.messages)


def _without_answer(history: tuple[Message, ...]) -> tuple[Message, ...]:
    end = len(history)
    while end and history[end - 1].role == "assistant":
        end -= 1
    return history[:end]


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    length = min(len(one), len(other))
    return next((at for at in range(length) if one[at] != other[at]), length)
