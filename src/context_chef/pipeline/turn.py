"""The scratch of one compile: what it works with, kept only if it succeeds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import field

from context_chef.adaptation.adapter import Adapted, AdaptRequest
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.registry import AdapterRegistry
from context_chef.bridge import MaybeAwaitable
from context_chef.events import Emitter, Event, Logger
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.message import Message
from context_chef.ir.payload import Payload
from context_chef.ir.running import Messages, Starts
from context_chef.ir.transcript import Fold, Transcript
from context_chef.ir.window import Budget, OverflowResult
from context_chef.pipeline.last_request import LastRequest
from context_chef.pipeline.made_before import MadeBefore
from context_chef.pipeline.sent_request import SentRequest, ToolChange
from context_chef.pipeline.sources import Sources
from context_chef.pipeline.state import ChefState, CompileInputs
from context_chef.placement.announcements import Announcement
from context_chef.placement.tail import TailParts
from context_chef.prompts.vocabulary import Vocabulary
from context_chef.selection.janitor import Janitor
from context_chef.selection.janitor_turn import JanitorTurn
from context_chef.selection.learnt import Sent
from context_chef.slots import SlotBoard

if TYPE_CHECKING:
    from context_chef.persistence.known_offloads import KnownOffloads
    from context_chef.persistence.memory import Memory, MemoryArtifacts
    from context_chef.persistence.offloading import OffloadedMessages

TailMode: TypeAlias = Literal["auto", "replace", "append"]
ToolChanges: TypeAlias = Literal["report", "inline"]
DeferredTools: TypeAlias = Literal["send", "omit"]
CacheSetting: TypeAlias = Literal["auto"] | None
TransformToolResult: TypeAlias = Callable[[str, "ToolResultInfo"], MaybeAwaitable[str]]
Offload: TypeAlias = "Callable[[tuple[Message, ...], KnownOffloads], Awaitable[OffloadedMessages]]"


class ToolResultInfo(msgspec.Struct, frozen=True):
    """Whose result `transform_tool_result` is given."""

    tool_name: str | None
    tool_call_id: str | None


class CompileSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings that a compile reads, checked when the chef was built."""

    default_target: object = None
    model: str | None = None
    profiles: Any = ()
    tail: TailMode = "auto"
    cache: CacheSetting = None
    tool_changes: ToolChanges = "report"
    deferred_tools: DeferredTools = "send"
    cache_audit: bool = False
    pipeline_checks: bool = False
    skill_placement: Literal["after_system", "tail"] = "after_system"
    memory_placement: Literal["after_system", "before_history_tail"] = "before_history_tail"
    preserve_thinking_as_text: bool = False
    transform_tool_result: TransformToolResult | None = None
    handoff_channel: Literal["auto", "system", "user_tail"] = "auto"
    keep: Literal["chef", "caller"] = "chef"


class CompileWatcher(Protocol):
    """Is told when a compile and each of its stages begin and end, for tracing and timing.

    Both methods answer a context manager that is entered before and left after, with the error
    when there was one. It watches: what it raises itself fails the compile.
    """

    def compiling(self, turn: CompileTurn, /) -> AbstractContextManager[object]: ...

    def stage(self, name: str, turn: CompileTurn, /) -> AbstractContextManager[object]: ...


class ChefParts(msgspec.Struct, frozen=True, kw_only=True):
    """What outlives a compile: the parts that a chef wires together."""

    settings: CompileSettings
    registry: AdapterRegistry
    emitter: Emitter
    slots: SlotBoard
    logger: Logger
    vocabulary: Vocabulary
    janitor: Janitor
    memory: Memory | None
    offload: Offload | None
    transforms: TransformCache
    warned: set[str]
    watchers: list[CompileWatcher] = field(default_factory=list["CompileWatcher"])
    made: MadeBefore = field(default_factory=MadeBefore)

    def forget(self) -> None:
        """Let go of the conversation, wherever something was kept of it."""
        self.made.forget()
        self.transforms.forget()
        for name in self.registry.names():
            forget = getattr(self.registry.get(name), "forget", None)
            if callable(forget):
                forget()

    def warn_once(self, cause: str, message: str, *args: object) -> None:
        """Say it the first time that this chef meets `cause`."""
        if cause not in self.warned:
            self.warned.add(cause)
            self.logger.warning(message, *args)


class TransformCache:
    """Transformed tool results by message, so that an unchanged result is transformed once."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Message, str | None], tuple[Message, Message]] = {}
        self._current: dict[tuple[Message, str | None], tuple[Message, Message]] = {}
        self._items: Messages = ()
        self._names: dict[str, str] = {}
        self._last: tuple[Messages, Messages] = (), ()
        """The history of the last compile, and what it became."""
        self._next: tuple[Messages, Messages] = (), ()
        self._grows = False

    def begin(
        self, history: Messages, items: Messages, starts: Starts
    ) -> tuple[Messages, bool, dict[str, str]]:
        """What the beginning of this history became, whether that is what it was, and the tools
        of calls by their id."""
        before, answer = self._last
        self._grows = (
            self._names_of(items, starts)
            and bool(before)
            and starts.same(before, history) >= len(before)
        )
        known = answer if self._grows else ()
        return known, not known or answer is before, self._names

    def _names_of(self, items: Messages, starts: Starts) -> bool:
        """Read the names. False where a call that was met before goes by another name now."""
        same = starts.same(self._items, items)
        stands = same >= len(self._items)
        if not stands:
            self._names, same = {}, 0
        names = self._names
        for message in items[same:]:
            for call in message.tool_calls:
                stands = stands and names.get(call.id, call.name) == call.name
                names[call.id] = call.name
        self._items = items
        return stands

    def end(self, history: Messages, answer: Messages, starts: Starts) -> None:
        """What this history became: known in the next compile, if this one succeeds."""
        before = self._last[1]
        if self._grows and answer is not history:
            starts.note(before, answer, len(before))
        self._next = history, answer

    def get(self, message: Message, name: str | None) -> Message | None:
        """What this result became the last time, or what an equal one says now."""
        known = self._seen.get((message, name))
        if known is None:
            return None
        of, became = known
        # Each message stands for itself: where it comes from is told by which one it is.
        return became if of is message else with_words(message, became.text)

    def put(self, message: Message, name: str | None, transformed: Message) -> None:
        """Remember it until a compile no longer meets it."""
        self._current[message, name] = message, transformed

    def adopt(self, other: TransformCache) -> None:
        """Know what another cache knows."""
        self._seen = dict(other._seen)

    def keep_current(self) -> None:
        """Forget the results that this compile did not meet."""
        if self._grows:
            self._seen.update(self._current)
        else:
            self._seen = self._current
        self._current, self._last, self._grows = {}, self._next, False

    def forget(self) -> None:
        """Know no list any more; what became of a result is known until a compile lacks it."""
        self._items, self._names = (), {}
        self._last = self._next = (), ()


def with_words(message: Message, text: str) -> Message:
    """The message with this text; itself where it says that already."""
    return message if text == message.text else message.with_text(text)


class CompileTurn(msgspec.Struct, kw_only=True):
    """What the stages hand on. Nothing here is seen outside before the last stage succeeded."""

    parts: ChefParts
    inputs: CompileInputs
    publish: Callable[[CompileTurn], None]
    """Hands the new state over: the chef's own, called once, when nothing can fail any more."""
    base: ChefState
    """The state that the compile began with."""
    state: ChefState
    """The state that will be published: the inputs' state with what this compile changed."""
    again: LastRequest | None = None
    """The request that this one repeats: nothing was changed since."""

    target_name: str = ""
    window_id: str = ""
    adapter: Any = None
    profile: ModelProfile | None = None
    server_managed: bool = False

    history: tuple[Message, ...] = ()
    """The conversation as it will be sent, so far."""
    sources: Sources = field(default_factory=Sources)
    """Where a message came from."""
    generated: bool = False
    """Messages of ours stand among those of the conversation."""
    handoff: Announcement | None = None
    overflow: OverflowResult | None = None
    janitor_turn: JanitorTurn | None = None
    standing: Fold | None = None
    """The emergency cut of an earlier compile, laid aside for the strategy."""
    standing_head: tuple[Message, ...] = ()
    """Its messages as this compile would send them."""
    unlanded: tuple[tuple[Message, ...], ChefState] = ((), ChefState())
    """History and state before the pass, so that it can land anew when it is fitted once more."""
    fixed_overhead: float = 0
    """Tokens around the history that were known before the window was put together."""
    compacting: bool = False
    """The request asks the server for a summary, not for an answer."""
    left_to_server: int = 0
    """Messages that are not sent because a compaction item of the provider stands for them."""
    sent: Sent | None = None
    """The request as it was counted."""
    budget: Budget | None = None
    injected: list[str] = field(default_factory=list[str])
    injected_by: list[str] = field(default_factory=list[str])
    """The handler of each of them."""
    memory: MemoryArtifacts | None = None
    messages: tuple[Message, ...] = ()
    history_start: int = 0
    stable_until: int = 0
    marks_tools: bool = False
    tail: TailParts = field(default_factory=TailParts)
    request: AdaptRequest | None = None
    """What was written down, for an explanation to follow it to its place."""
    adapted: Adapted | None = None
    handled: list[tuple[str, bytes]] = field(default_factory=list[tuple[str, bytes]])
    """The arguments as each `after-adapt` handler left them, behind those that none had seen."""
    payload: Payload | None = None
    sent_before: SentRequest | None = None
    """What the last request for this target began with."""
    tool_changes: tuple[ToolChange, ...] = ()
    """What of the tools is said in the conversation."""
    settled_changes: int = 0
    """How many of these stand in front of an answer already."""
    tool_names: Mapping[str, str] = field(default_factory=dict[str, str])
    repairs: list[Repair] = field(default_factory=list[Repair])
    diagnostics: list[Diagnostic] = field(default_factory=list[Diagnostic])
    originals: dict[int, Message] = field(default_factory=dict[int, Message])
    _followed: list[tuple[Messages, Messages]] = field(
        default_factory=list[tuple[Messages, Messages]]
    )
    """Lists of which the second was made of the first, not looked at yet."""
    evicted: list[tuple[Message, str, str, str | None]] = field(
        default_factory=list[tuple[Message, str, str, "str | None"]]
    )

    @property
    def transcript(self) -> Transcript:
        return self.state.transcript

    def follow(self, before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
        """Remember which message each changed one was made of, so that folds speak of originals."""
        if before is not after:
            self._followed.append((before, after))
            self.sources.follow(before, after)

    def succeed(self, old: Message, new: Message) -> None:
        """`new` stands for what `old` was, and comes from where it came from."""
        if new is not old:
            self.originals[id(new)] = self.original(old)
            self.sources.succeed(old, new)

    def original(self, message: Message) -> Message:
        """The transcript's own message behind a transformed or offloaded one."""
        while self._followed:
            for old, new in zip(*self._followed.pop(0), strict=True):
                if new is not old:
                    self.originals.setdefault(id(new), self.originals.get(id(old), old))
        return self.originals.get(id(message), message)

    def report_evicted(
        self, messages: tuple[Message, ...], *, reason: str, uri: str | None
    ) -> None:
        """Remember for the report what left the window in this compile."""
        for message in messages:
            source = self.sources.get(id(message), "history")
            self.evicted.append((message, source, reason, uri))

    def credit(self, messages: tuple[Message, ...], source: str) -> None:
        """Remember who brought these messages, for the report."""
        self.sources.credit(messages, source)

    async def emit(self, event: Event) -> None:
        """Tell observers, with this compile's token."""
        await self.parts.emitter.emit(event, self.inputs.signal)
