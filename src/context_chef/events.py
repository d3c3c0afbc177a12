"""What observers can watch: one Struct per event, and the emitter that keeps observers apart."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, Literal, Protocol, TypeAlias, TypeVar, cast

import msgspec

from context_chef.bridge import MaybeAwaitable, settle
from context_chef.errors import AsyncRequiredError, SettingsError, nearest, shown
from context_chef.given import check_instance
from context_chef.ir.message import Message


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened. Observers cannot change it."""

    topic: ClassVar[str] = ""


class CompileStarted(Event, frozen=True, kw_only=True):
    """A compile began, with these inputs."""

    topic: ClassVar[str] = "compile:start"
    system_prompt: tuple[Message, ...]
    history: tuple[Message, ...]


class CompileDone(Event, frozen=True, kw_only=True):
    """A compile succeeded. `payload` is an observer's own copy."""

    topic: ClassVar[str] = "compile:done"
    payload: Any


class CompressStarted(Event, frozen=True, kw_only=True):
    """The window is over its trigger, or was asked to close. `limit` is the trigger, in tokens."""

    topic: ClassVar[str] = "compress:start"
    history_length: int
    current_tokens: float
    limit: float


class Compressed(Event, frozen=True, kw_only=True):
    """An overflow pass landed: `truncated_count` messages are represented by `summary`."""

    topic: ClassVar[str] = "compress"
    summary: Message
    truncated_count: int
    compressed_messages: tuple[Message, ...]


class CompressEnded(Event, frozen=True, kw_only=True):
    """The overflow stage is over, in every compile."""

    topic: ClassVar[str] = "compress:end"
    compressed: bool


class FoldDropped(Event, frozen=True, kw_only=True):
    """An edit or a rewind reached into folded history: the original messages are back."""

    topic: ClassVar[str] = "fold:dropped"
    window_id: str
    end: int
    changed_at: int


class OffloadCreated(Event, frozen=True, kw_only=True):
    """Something large went to the store and left a marker."""

    topic: ClassVar[str] = "offload:created"
    uri: str


class ToolBlocked(Event, frozen=True, kw_only=True):
    """The gate refused a tool call."""

    topic: ClassVar[str] = "pruner:tool-blocked"
    name: str


class InvariantBroken(Event, frozen=True, kw_only=True):
    """Something that should hold between stages does not. Reported, never enforced."""

    topic: ClassVar[str] = "pipeline:invariant"
    phase: str
    message: str


class MemoryChanged(Event, frozen=True, kw_only=True):
    """A memory entry was written, deleted or expired."""

    topic: ClassVar[str] = "memory:changed"
    type: Literal["set", "delete", "expire"]
    key: str
    value: str | None = None
    old_value: str | None = None


class MemoryExpired(Event, frozen=True, kw_only=True):
    """A memory entry outlived its time and is about to be deleted."""

    topic: ClassVar[str] = "memory:expired"
    entry: Any


class Repaired(Event, frozen=True, kw_only=True):
    """Something in the request was changed so that the provider accepts it."""

    topic: ClassVar[str] = "repair"
    rule: str
    where: str
    message: str


EVENTS: Final[dict[str, type[Event]]] = {
    event.topic: event
    for event in (
        CompileStarted,
        CompileDone,
        CompressStarted,
        Compressed,
        CompressEnded,
        FoldDropped,
        OffloadCreated,
        ToolBlocked,
        InvariantBroken,
        MemoryChanged,
        MemoryExpired,
        Repaired,
    )
}

E = TypeVar("E", bound=Event)
Observer: TypeAlias = Callable[..., MaybeAwaitable[object]]
Unsubscribe: TypeAlias = Callable[[], None]


class Logger(Protocol):
    """Where warnings go. `logging.Logger` is one."""

    def warning(self, msg: object, *args: object) -> None: ...


class LibraryLog:
    """The standard library's logger `context_chef`, loaded when there is something to say."""

    def warning(self, msg: object, *args: object) -> None:
        import logging  # a tenth of what importing us costs, and mostly nothing is said

        logging.getLogger("context_chef").warning(msg, *args, stacklevel=2)


class Emitter:
    """Observers by topic. A failing observer is logged and the rest are still told."""

    def __init__(self, logger: Logger) -> None:
        self._observers: dict[str, list[Observer]] = {}
        self._logger = logger

    def on(self, event: type[Event] | str, observer: Observer) -> Unsubscribe:
        """Watch `event` from now on. The same function counts once. Answers the way off."""
        topic = topic_of(event)
        if not callable(cast(Any, observer)):
            raise SettingsError(
                f"An observer of `{topic}` is a function of the event, not {shown(observer)}."
            )
        observers = self._observers.setdefault(topic, [])
        if observer not in observers:
            observers.append(observer)
        return lambda: self.off(topic, observer)

    def off(self, event: type[Event] | str, observer: Observer) -> None:
        """Stop watching. Nothing happens when the observer was not there."""
        observers = self._observers.get(topic_of(event), [])
        if observer in observers:
            observers.remove(observer)

    def adopt(self, other: Emitter) -> None:
        """Tell who another emitter tells as well; later changes stay where they are."""
        self._observers = {topic: list(told) for topic, told in other._observers.items()}

    def watched(self, event: type[Event]) -> bool:
        """Whether anybody watches `event`."""
        return bool(self._observers.get(event.topic))

    async def emit(self, event: Event, signal: object = None) -> None:
        """Tell the observers of `event`, one after another, in the order they came.

        An observer that takes two arguments is given the compile's cancellation token as well.
        Observers that come or go while an event is told count from the next one on.
        """
        for observer in tuple(self._observers.get(event.topic, ())):
            try:
                await settle(observer(event, signal) if _takes_two(observer) else observer(event))
            except AsyncRequiredError:
                raise
            except Exception as error:  # noqa: BLE001  # an observer never fails a compile
                self._logger.warning("An observer of `%s` failed: %r", event.topic, error)


def log_line(event: Event) -> str:
    """The event in one line, as `topic name=value …`, fit for a log.

    Nothing that a person, a model or a tool said is in it: of texts, messages and payloads only
    the size is told. Names, addresses, keys and figures are.
    """
    check_instance(event, "event", Event)
    told = [f"{name}={_in_short(name, getattr(event, name))}" for name in event.__struct_fields__]
    return " ".join((event.topic, *told))


_SAID: Final = frozenset({"value", "old_value", "summary"})


def _in_short(name: str, value: Any) -> str:
    if name in _SAID and isinstance(value, str):
        return f"<{len(value)} characters>"
    if isinstance(value, Message):
        return f"<{value.role} of {len(value.text)} characters>"
    if isinstance(value, (tuple, list, dict)):
        return f"<{len(cast(Sequence[Any], value))} items>"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return f"{value:g}"
    if value is None or isinstance(value, (bool, int)):
        return str(value).lower()
    return json.dumps(str(getattr(value, "key", type(value).__name__)), ensure_ascii=False)


def topic_of(event: type[Event] | str) -> str:
    """The event's name. Raises SettingsError for a name that no event has."""
    if isinstance(event, str):
        if event not in EVENTS:
            raise SettingsError(f"There is no event {shown(event)}. {nearest(event, EVENTS)}")
        return event
    kind: Any = event  # callers are not all typed
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event:
        return kind.topic
    raise SettingsError(f"An event is one of the classes or its name, not {shown(event)}.")


def _takes_two(observer: Observer) -> bool:
    try:
        parameters = inspect.signature(observer).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = [p for p in positional if p.default is p.empty]
    return len(required) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in parameters)
