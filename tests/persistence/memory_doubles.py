"""Memory for tests: a clock that stands still, a log of everything that is told."""

from __future__ import annotations

from typing import Any

from context_chef.events import Event
from context_chef.persistence import InMemoryBackend, Memory, MemoryConfig

START = 1_700_000_000_000


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now


class Log:
    """Collects events and warnings."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.warnings: list[str] = []

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def warning(self, msg: object, *args: object) -> None:
        self.warnings.append(str(msg) % args if args else str(msg))


def memory(
    backend: Any = None, *, clock: Clock | None = None, log: Log | None = None, **config: Any
) -> Memory:
    clock, log = clock or Clock(), log or Log()
    return Memory(
        backend or InMemoryBackend(clock=clock),
        MemoryConfig(**config),
        clock=clock,
        emit=log.emit,
        logger=log,
    )


async def compiled(of: Memory) -> tuple[str, ...]:
    """One compile: the keys that were shown."""
    artifacts = await of.compile_artifacts()
    await of.commit(artifacts)
    return artifacts.injected_keys
