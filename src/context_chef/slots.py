"""Where handlers take part in a compile: one constant per slot, with its contract as text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

import msgspec

from context_chef.bridge import MaybeAwaitable
from context_chef.errors import SettingsError, nearest, shown
from context_chef.ir.message import Message
from context_chef.ir.window import Budget, OverflowResult

C = TypeVar("C")
A = TypeVar("A")


class Slot(msgspec.Struct, Generic[C, A], frozen=True):
    """A place in the pipeline. `C` is what a handler is given, `A` what it may answer."""

    name: str
    contract: str


class BeforeOverflow(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `before_overflow` handlers."""

    history: tuple[Message, ...]
    budget: Budget


class AfterOverflow(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `after_overflow` handlers. `result` is None when the stage was skipped."""

    history: tuple[Message, ...]
    result: OverflowResult | None


class BeforeAssemble(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `before_assemble` handlers. Call `inject(text)` to add implicit context."""

    system_prompt: tuple[Message, ...]
    history: tuple[Message, ...]
    dynamic_state: tuple[Message, ...]
    dynamic_state_xml: str
    inject: Callable[[str], None]


class BeforeAdapt(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `before_adapt` handlers."""

    messages: tuple[Message, ...]
    target: str


class AfterAdapt(msgspec.Struct, frozen=True, kw_only=True):
    """Given to `after_adapt` handlers. Changes to `payload` reach the caller."""

    payload: dict[str, Any]
    target: str


Handler: TypeAlias = Callable[[Any], MaybeAwaitable[Any]]

before_overflow: Final[Slot[BeforeOverflow, bool | None]] = Slot(
    "before-overflow", "Answer False to leave history alone in this compile."
)
after_overflow: Final[Slot[AfterOverflow, None]] = Slot(
    "after-overflow", "See the window's history after the overflow stage, and what it did."
)
before_assemble: Final[Slot[BeforeAssemble, None]] = Slot(
    "before-assemble", "Call `inject(text)` to add context that lives for one compile."
)
after_assemble: Final[Slot[tuple[Message, ...], Any]] = Slot(
    "after-assemble",
    "Answer the message list to go on with; None leaves it as it is. Handlers form a chain.",
)
before_adapt: Final[Slot[BeforeAdapt, None]] = Slot(
    "before-adapt", "See the final messages before they become the provider's."
)
after_adapt: Final[Slot[AfterAdapt, None]] = Slot(
    "after-adapt", "Change the finished request. It is checked again afterwards."
)

SLOTS: Final[Mapping[str, Slot[Any, Any]]] = {
    slot.name: slot
    for slot in (
        before_overflow,
        after_overflow,
        before_assemble,
        after_assemble,
        before_adapt,
        after_adapt,
    )
}


class SlotBoard:
    """Handlers by slot, in the order they came; the same handler twice runs twice."""

    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {name: [] for name in SLOTS}

    def use(self, slot: Slot[Any, Any] | str, handler: Handler) -> Callable[[], None]:
        """Take part from the next compile on. Answers the way off."""
        name = slot_name(slot)
        if not callable(cast(Any, handler)) or not _takes_one(handler):
            raise SettingsError(
                f"A handler of `{name}` is a function of its context, not {shown(handler)}."
            )
        self._handlers[name].append(handler)
        return lambda: self.unuse(name, handler)

    def unuse(self, slot: Slot[Any, Any] | str, handler: Handler) -> None:
        """Take the first registration of `handler` off; nothing happens when there is none."""
        handlers = self._handlers[slot_name(slot)]
        if handler in handlers:
            handlers.remove(handler)

    def adopt(self, other: SlotBoard) -> None:
        """Run what another board runs as well, in its order; later changes stay where they are."""
        self._handlers = {name: list(handlers) for name, handlers in other._handlers.items()}

    def handlers(self, slot: Slot[Any, Any]) -> tuple[Handler, ...]:
        """The handlers of a slot as they are now: later changes count from the next run on."""
        return tuple(self._handlers[slot.name])


def name_of(handler: object) -> str:
    """What a handler is called in reports: the function's own name, or its type's."""
    return getattr(handler, "__qualname__", None) or type(handler).__qualname__


def _takes_one(handler: Handler) -> bool:
    """Whether the handler can be called with its context; yes where that cannot be told."""
    try:
        signature = inspect.signature(handler)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(None)
    except TypeError:
        return False
    return True


def slot_name(slot: Slot[Any, Any] | str) -> str:
    """The slot's name, from the constant or its string in either spelling."""
    if isinstance(slot, str):
        name = slot.replace("_", "-")
        if name not in SLOTS:
            raise SettingsError(f"There is no slot {shown(slot)}. {nearest(name, SLOTS)}")
        return name
    if isinstance(cast(Any, slot), Slot):
        return slot.name
    raise SettingsError(f"A slot is one of the constants or its name, not {shown(slot)}.")
