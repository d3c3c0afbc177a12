"""Doubles for tests: scripted models, counting tokenizers, numbered windows, a clock to move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from context_chef.events import EVENTS, Event
from context_chef.ir.message import Message
from context_chef.ir.turns import pinned_indexes
from context_chef.ir.window import Budget, OverflowInput, WindowLineage
from context_chef.persistence.backend import ListedEntry, StoredEntry


class ScriptedModel:
    """A compression model that answers a script, the last answer for ever after.

    An exception in the script is raised. `calls` holds the messages of every call.
    """

    def __init__(self, *answers: Any) -> None:
        self._answers = answers or ("summary",)
        self.calls: list[list[Message]] = []

    def __call__(self, messages: Sequence[Message]) -> Any:
        self.calls.append(list(messages))
        answer = self._answers[min(len(self.calls), len(self._answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class HeldModel(ScriptedModel):
    """A scripted model whose calls wait until `release()`."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self._gates: list[asyncio.Event] = []

    async def __call__(self, messages: Sequence[Message]) -> Any:
        gate = asyncio.Event()
        self._gates.append(gate)
        number = len(self.calls)
        self.calls.append(list(messages))
        await gate.wait()
        answer = self._answers[min(number + 1, len(self._answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    async def release(self) -> None:
        """Let the calls that wait answer, and what waits for them go on."""
        gates, self._gates = self._gates, []
        for gate in gates:
            gate.set()
        for _ in range(20):
            await asyncio.sleep(0)


class CharacterTokenizer:
    """One token for each character: figures that a test can do in its head."""

    def __init__(self) -> None:
        self.counted = 0
        """Characters that were really counted, so that a test sees what was known already."""

    def count(self, text: str) -> int:
        self.counted += len(text)
        return len(text)


class RecordingLogger:
    """Keeps warnings as text."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warning(self, msg: object, *args: object) -> None:
        self.warnings.append(str(msg) % args if args else str(msg))


class RecordingObserver:
    """Keeps every event it is told. Give it to `chef.on(…)`, or all at once with `watch`."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def watch(self, chef: Any) -> RecordingObserver:
        """Watch every event of a chef."""
        for topic in EVENTS:
            chef.on(topic, self)
        return self

    @property
    def topics(self) -> list[str]:
        """What happened, by name, in order."""
        return [event.topic for event in self.events]


class FourMethodsBackend:
    """A backend with the four methods that one has to have, and no further ability."""

    def __init__(self) -> None:
        self._entries: dict[str, dict[str, StoredEntry]] = {}

    def read(self, ns: str, path: str) -> StoredEntry | None:
        return self._entries.get(ns, {}).get(path)

    def write(self, ns: str, path: str, entry: StoredEntry) -> None:
        self._entries.setdefault(ns, {})[path] = entry

    def delete(self, ns: str, path: str) -> bool:
        return self._entries.get(ns, {}).pop(path, None) is not None

    def list(self, ns: str, prefix: str = "") -> Sequence[ListedEntry]:
        return [
            ListedEntry(path=path, meta=entry.meta)
            for path, entry in self._entries.get(ns, {}).items()
            if path.startswith(prefix)
        ]


class MovableClock:
    """A clock that stands until it is moved. Answers seconds.

    A chef, a store and memory want milliseconds: give them `milliseconds`.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def milliseconds(self) -> int:
        """The same moment, as the `clock` of a chef answers it."""
        return round(self.now * 1000)

    def __call__(self) -> float:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += seconds


def numbered_windows(prefix: str = "w") -> Callable[[], str]:
    """A source of window ids: `w1`, `w2`, …"""
    number = 0

    def next_id() -> str:
        nonlocal number
        number += 1
        return f"{prefix}{number}"

    return next_id


def characters(messages: Sequence[Message]) -> int:
    """A tokenizer on messages: the characters of their texts and of the arguments of calls."""
    return sum(
        len(message.text) + sum(len(call.arguments) for call in message.tool_calls)
        for message in messages
    )


def overflow_input(
    history: Sequence[Message],
    *,
    limit: float = 1_000,
    trigger: float | None = None,
    tokenizer: Callable[[Sequence[Message]], float] = characters,
    **fields: Any,
) -> OverflowInput:
    """What a strategy is asked, for a history and a window of so many tokens."""
    messages = tuple(history)
    over = fields.pop("current", None)
    budget = Budget(
        limit=limit,
        current=tokenizer(messages) if over is None else over,
        trigger=limit * 0.7 if trigger is None else trigger,
    )
    return OverflowInput(
        history=messages,
        budget=budget,
        tokenizer=tokenizer,
        measured=True,
        pinned=pinned_indexes(messages),
        window=fields.pop("window", WindowLineage.begin("w1")),
        **fields,
    )
