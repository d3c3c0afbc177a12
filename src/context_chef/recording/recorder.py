"""`Recorder`: what goes into every compile and what is answered, one line each, as it happens."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast
from weakref import WeakKeyDictionary

import msgspec

from context_chef.adaptation.conversation import plain
from context_chef.chef import ContextChef
from context_chef.errors import InputError, SettingsError, shown
from context_chef.events import Logger, Unsubscribe
from context_chef.given import file_path
from context_chef.ir.frozen import thaw
from context_chef.ir.message import Message
from context_chef.ir.rows import flat_row
from context_chef.ir.tools import ToolDefinition
from context_chef.persistence.notices import log_of_library
from context_chef.pipeline.turn import CompileTurn
from context_chef.recording.lines import LineFile
from context_chef.recording.redaction import Redact, redacted, redaction
from context_chef.selection.tool_groups import LIBRARY_TOOL_NAMES
from context_chef.selection.warning_log import log_of

RECORDING_VERSION: Final = 1


class Recorder:
    """Writes sessions to a file of JSON Lines that `context-chef replay` plays.

    `attach(chef)` records every compile of a chef: what was said since the last one, instructions
    and tools where they changed, state, announcements and injected context, and the size and
    digest of what came out. `answered(response)` adds what the provider answered and counted.
    `request(body)` records the request of an agent that has no chef.

    An existing file is gone on with; while another recorder writes to it, one beside it is taken
    (`path` says which). Every line is one write; `durable` waits until it is on the
    disk. `redact` (a function from text to text, or patterns) sees every text before it reaches the
    file. A new file can be read by its owner only. Safe between threads; a process that is forked
    off writes nothing, and needs a recorder of its own. Recording never fails the agent: what
    cannot be written is logged once, and kept in `error`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        redact: Redact | None = None,
        durable: bool = False,
        name: str | None = None,
        clock: Callable[[], float] = time.time,
        logger: Logger | None = None,
    ) -> None:
        """`clock` answers seconds. Raises OSError when the file cannot be opened, SettingsError
        for a `redact` that is none, for what can name no file, and for a file that holds something
        else than a recording."""
        if not callable(clock):
            raise SettingsError(f"`clock` is a function that answers seconds, not {shown(clock)}.")
        if name is not None and not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise SettingsError(f"`name` is text, not {shown(name)}.")
        if not isinstance(durable, bool):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise SettingsError(f"`durable` is True or False, not {shown(durable)}.")
        wanted = Path(file_path(path))
        self.error: Exception | None = None
        """Why something could not be written, the newest reason."""
        self._redact = redaction(redact, failed=self._failed)
        self._clock = clock
        self._logger = log_of_library() if logger is None else log_of(logger)
        self._lock = threading.RLock()
        self._process = os.getpid()
        self._closed = False
        self._sessions = 0
        self._number = 0
        self._latest: tuple[int, int] | None = None
        self._latest_here: WeakKeyDictionary[object, tuple[int, int]] = WeakKeyDictionary()
        self._bodies: int | None = None
        self._file: LineFile | None = LineFile.for_one(wanted, durable=durable)
        self.path = self._file.path
        """Where it is written: beside the file that was named, when another recorder is at it."""
        self._off: list[Unsubscribe] = []
        if self._file.torn:
            self._logger.warning(
                "%s ended in a torn line; its %d bytes were cut off.", self.path, self._file.torn
            )
        if self.path != wanted:
            self._logger.warning(
                "Another recorder writes to %s; this one writes to %s.", wanted, self.path
            )
        self._write_head(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop recording: every chef is let go of, and the file is closed."""
        with self._held():
            self._closed = True
            for off in self._off:
                off()
            self._off.clear()
            if self._file is not None:
                self._file.close()
                self._file = None

    def attach(self, chef: ContextChef) -> Unsubscribe:
        """Record every compile of this chef from now on. Answers the way off.

        Several chefs may be attached: each is a session of its own in the file. Raises
        SettingsError for what is no chef, and when the recorder is closed.
        """
        if not isinstance(chef, ContextChef):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
            raise SettingsError(f"`attach` takes a ContextChef, not {shown(chef)}.")
        with self._held():
            if self._closed:
                raise SettingsError(
                    f"The recorder of {shown(str(self.path))} is closed; open another."
                )
            self._sessions += 1
            off = chef.watch_stages(_Watcher(self, self._sessions))
            self._off.append(off)
        return off

    def answered(self, response: Any = None, *, usage: Any = None) -> None:
        """What the provider answered: its response object, or its usage.

        It goes with the newest request of the same task or thread, or of all where that one made
        none. Takes what the SDKs hand out, or plain data; of a stream, what was put together from
        it, since reading it here would take it from the agent. Without a request before it,
        nothing is recorded.
        """
        with self._held():
            latest = self._latest_here.get(_place(), self._latest)
            if latest is None or (response is None and usage is None):
                return
            row: dict[str, Any] = {"kind": "answer", "session": latest[0], "number": latest[1]}
            try:
                row["at"] = self._now()
                if response is not None:
                    row["response"] = _plain(response)
                if usage is not None:
                    row["usage"] = _plain(usage)
            except Exception as error:  # noqa: BLE001  # recording never fails the agent
                self._failed(error)
                return
            self._write(row)

    def request(self, body: Mapping[str, Any], *, usage: Any = None, response: Any = None) -> None:
        """Record a request that no chef compiled: the body, or the arguments of the SDK call.

        Successive bodies are one session; a replay works out what each of them added.
        """
        with self._held():
            if self._bodies is None:
                self._sessions += 1
                self._bodies = self._sessions
            try:
                row = self._request_row(self._bodies)
                row["request"] = _plain(body)
            except Exception as error:  # noqa: BLE001  # recording never fails the agent
                self._failed(error)
                return
            self._write(row)
            if usage is not None or response is not None:
                self.answered(response, usage=usage)

    def record(self, session: int, told: _Told, turn: CompileTurn) -> _Told:
        """Write down a compile that succeeded; answers what has been told of its session."""
        with self._held():
            if self._file is None:
                return told
            try:
                row = self._request_row(session)
                now = told.with_changes(turn, row)
                _tell_outcome(turn, row)
            except Exception as error:  # noqa: BLE001  # recording never fails the agent
                self._failed(error)
                return told
            # What was not written is not told: the next line that can be brings it.
            return now if self._write(row) else told

    def _held(self) -> threading.RLock:
        """The lock of this process. After a fork the file is the parent's alone: two writers with
        the same numbers would make one conversation of two, and the lock may be held by a thread
        that the child does not have."""
        if os.getpid() != self._process:
            self._process, self._lock = os.getpid(), threading.RLock()
            if self._file is not None:
                self._file.close(inherited=True)
                self._file = None
                self._failed(
                    SettingsError(
                        "The process was forked; a recorder writes for the process that opened it. "
                        "Open one with a file of its own."
                    )
                )
        return self._lock

    def _request_row(self, session: int) -> dict[str, Any]:
        self._number += 1
        self._latest = (session, self._number)
        self._latest_here[_place()] = self._latest
        return {
            "kind": "request",
            "session": session,
            "number": self._number,
            "at": self._now(),
        }

    def _now(self) -> float:
        return round(self._clock(), 3)

    def _write_head(self, name: str | None) -> None:
        """A head line is there in any case, since a reader knows a recording by it."""
        head: dict[str, Any] = {"context_chef": "recording", "version": RECORDING_VERSION}
        if name is not None:
            head["name"] = name if self._redact is None else self._redact(name)
        self._write({**head, "at": self._now()}, clean=True)

    def _write(self, row: dict[str, Any], *, clean: bool = False) -> bool:
        """Whether it was written."""
        if self._file is None:
            return False
        try:
            if self._redact is not None and not clean:
                row = redacted(row, self._redact)
            self._file.append(msgspec.json.encode(row))
        except Exception as error:  # noqa: BLE001  # a full disk stops no agent
            self._failed(error)
            return False
        return True

    def _failed(self, error: Exception) -> None:
        if self.error is None:
            self._logger.warning("A line could not be recorded in %s: %r", self.path, error)
        self.error = error


def _place() -> object:
    """Where the caller is: its task, or its thread."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.current_thread() if task is None else task


def _plain(value: Any) -> Any:
    """Plain data. Raises InputError for a stream, which can be read only once."""
    if isinstance(value, Iterator):
        raise InputError(
            f"{shown(cast(Any, value))} can be read only once, and the agent needs it; give the "
            "answer that was put together from it.",
            path="$",
        )
    return plain(value)


class _Told(msgspec.Struct, frozen=True):
    """What the file says of a session already."""

    items: tuple[Message, ...] = ()
    system: tuple[Message, ...] | None = None
    tools: tuple[ToolDefinition, ...] | None = None
    state: dict[str, Any] | None = None

    def with_changes(self, turn: CompileTurn, row: dict[str, Any]) -> _Told:
        """Add what is new to the row; answers what has been told then."""
        state = turn.base
        items, before = state.transcript.items, self.items
        same = _common(before, items)
        if same < len(before):
            row["keep"] = same
        row["messages"] = [flat_row(message) for message in items[same:]]
        if state.system_prompt != self.system:
            row["system"] = [flat_row(message) for message in state.system_prompt]
        tools = tuple(t for t in turn.inputs.tools if t.name not in LIBRARY_TOOL_NAMES)
        if tools != self.tools:
            row["tools"] = [msgspec.to_builtins(tool) for tool in tools]
        volatile = _volatile(turn)
        if volatile != (self.state or {}):
            row["state"] = volatile
        return _Told(items, state.system_prompt, tools, volatile)


def _tell_outcome(turn: CompileTurn, row: dict[str, Any]) -> None:
    """Who the request is for, and how large it became."""
    row["target"] = turn.target_name
    if turn.inputs.model is not None:
        row["model"] = turn.inputs.model
    if turn.budget is not None:
        row["tokens"] = round(turn.budget.current)
    row["window"] = turn.window_id
    row["folds"] = len(turn.transcript.folds)
    if turn.payload is not None:
        body = turn.payload.to_json()
        row["size"] = len(body)
        row["digest"] = hashlib.sha256(body).hexdigest()[:16]


def _volatile(turn: CompileTurn) -> dict[str, Any]:
    """What the tail and the skill say, as far as there is any."""
    state = turn.base
    found: dict[str, Any] = {}
    if state.dynamic_state.xml:
        dynamic = state.dynamic_state
        found["dynamic_state"] = {"value": thaw(dynamic.value), "placement": dynamic.placement}
    if state.announcements:
        found["announcements"] = [msgspec.to_builtins(item) for item in state.announcements]
    if state.skill is not None:
        found["skill"] = {
            "name": state.skill.name,
            "description": state.skill.description,
            "instructions": state.skill.instructions,
        }
    if state.guardrails is not None:
        found["guardrails"] = msgspec.to_builtins(state.guardrails)
    injected = list(turn.injected)
    if turn.memory is not None and turn.memory.block:
        injected.append(turn.memory.block)
    if injected:
        found["injected"] = injected
    return found


def _common(one: Sequence[Message], other: Sequence[Message]) -> int:
    length = min(len(one), len(other))
    for at in range(length):
        if one[at] is not other[at] and one[at] != other[at]:
            return at
    return length


class _Watcher:
    """Hands every compile of one chef that succeeds to the recorder."""

    def __init__(self, recorder: Recorder, session: int) -> None:
        self._recorder = recorder
        self._session = session
        self._told = _Told()

    def compiling(self, turn: CompileTurn) -> AbstractContextManager[object]:
        return self._recorded(turn)

    def stage(self, name: str, turn: CompileTurn) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def _recorded(self, turn: CompileTurn) -> Generator[None]:
        yield
        self._told = self._recorder.record(self._session, self._told, turn)
