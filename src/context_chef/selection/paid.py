"""What a summarising model was paid for and no window holds yet, found again by its content.

A summary stands for the beginning of a span. When the compile behind it failed or was cancelled,
the next span mostly begins with the same messages: then only the rest is summarised.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from context_chef.bridge import settle, stepping
from context_chef.ir.message import Message
from context_chef.selection.strategy import Runner


class Beginning(NamedTuple):
    """A summary of the first `covers` messages of a span."""

    covers: int = 0
    summary: str | None = None
    accepted: bool = False
    """Whether it was judged already."""


class PaidAnswers:
    """The paid answers that concern one span, which the runner keeps.

    `read` makes a summary of a model's answer, or None where there is none.
    """

    def __init__(
        self,
        runner: Runner,
        instruction: str,
        shown: Sequence[Message],
        read: Callable[[object], str | None],
    ) -> None:
        self._runner = runner
        self._read = read
        digest = hashlib.sha256(instruction.encode("utf-8", "surrogatepass"))
        self._keys = [digest.hexdigest()]
        for message in shown:
            digest.update(msgspec.json.encode(message))
            self._keys.append(digest.hexdigest())
        self._parts: list[str] = []

    async def beginning(self) -> Beginning:
        """The longest beginning of the span that has a summary."""
        for covers in range(len(self._keys) - 1, 0, -1):
            key = self._keys[covers]
            known = self._runner.recall(key)
            if isinstance(known, str):
                return Beginning(covers, known, accepted=True)
            held = self._runner.recall(_held(key))
            summary = held if isinstance(held, str) else await self._finished(key)
            if summary is not None:
                return Beginning(covers, summary)
        return Beginning()

    def keep(self, summary: str) -> None:
        """Keep the accepted summary of the whole span; its parts have done their work."""
        self.forget_parts()
        self._runner.keep(self._keys[-1], summary)

    def hold(self, summary: str) -> None:
        """Keep a summary of the whole span whose judge was stopped: it is judged next time."""
        self._runner.keep(_held(self._keys[-1]), summary)

    def forget_parts(self) -> None:
        """Forget the parts, which led to a summary that was not accepted, or to one that was."""
        for key in self._parts:
            self._runner.keep(key, None)
        self._parts.clear()
        self._runner.keep(_held(self._keys[-1]), None)

    async def whole(self, ask: Callable[[], Any]) -> str | None:
        """The model's summary of the whole span, or of what is left of it."""
        return self._read(await self._answer(self._keys[-1], ask))

    async def part(
        self, covers: int, part: Sequence[Message], ask: Callable[[], Any]
    ) -> str | None:
        """The summary of one more part of what follows the first `covers` messages."""
        before = self._parts[-1] if self._parts else self._keys[covers]
        digest = hashlib.sha256(before.encode())
        for message in part:
            digest.update(msgspec.json.encode(message))
        key = digest.hexdigest()
        self._parts.append(key)
        summary = self._runner.recall(key)
        if not isinstance(summary, str):
            summary = await self._finished(key) or self._read(await self._answer(key, ask))
        if summary is not None:
            self._runner.keep(key, summary)
        return summary

    async def _finished(self, key: str) -> str | None:
        """What a call that a cancelled compile had made comes to, if there is one."""
        work = self._runner.recall(_working(key))
        if work is None or stepping():
            return None
        import asyncio  # loaded already: a loop runs

        if not isinstance(work, asyncio.Future):
            return None
        future = cast("asyncio.Future[Any]", work)
        if future.get_loop() is not asyncio.get_running_loop():
            return None
        try:
            answer = await asyncio.shield(future)
        except asyncio.CancelledError:
            if not future.cancelled():
                raise  # this compile is cancelled as well; the work goes on
            answer = None
        except Exception:  # noqa: BLE001  # the model failed then; it is asked again
            answer = None
        self._runner.keep(_working(key), None)
        return self._read(answer)

    async def _answer(self, key: str, ask: Callable[[], Any]) -> object:
        """The model's answer. One that is under way when the compile is cancelled is kept."""
        answer: Any = ask()
        if stepping() or not inspect.isawaitable(answer):
            return await settle(cast(object, answer))
        import asyncio  # loaded already: a loop runs

        task = asyncio.ensure_future(answer)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise RuntimeError("the model's own task was cancelled") from None
            self._runner.keep(_working(key), task)
            # An error nobody waits for is looked at here, so that asyncio does not report it.
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            raise


def _working(key: str) -> str:
    return f"{key}/working"


def _held(key: str) -> str:
    return f"{key}/held"
