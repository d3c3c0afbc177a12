"""`ContextChef`: what an agent knows goes in, the best request that fits comes out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import msgspec

from context_chef.adaptation.profiles import Profiles
from context_chef.adaptation.registry import AdapterRegistry
from context_chef.bridge import run_sync
from context_chef.errors import InputError, SettingsError, UnknownToolError, shown
from context_chef.events import Event, Logger, Observer, ToolBlocked, Unsubscribe
from context_chef.ir.message import Message, MessageLike
from context_chef.ir.payload import Payload
from context_chef.ir.rows import read_system
from context_chef.ir.text import clean_text
from context_chef.ir.tools import ToolDefinition
from context_chef.persistence.backend import StorageBackend
from context_chef.persistence.memory_config import MemoryConfig
from context_chef.persistence.offload_config import OffloadConfig
from context_chef.persistence.offloader import Offloader
from context_chef.persistence.store import Store
from context_chef.pipeline.cancellation import check_token
from context_chef.pipeline.session import Session
from context_chef.pipeline.state import ChefState, CompileInputs
from context_chef.pipeline.turn import (
    CacheSetting,
    CompileWatcher,
    DeferredTools,
    TailMode,
    ToolChanges,
    TransformToolResult,
)
from context_chef.placement.announcements import Announcement, announcement
from context_chef.placement.skills import Skill, SkillLike
from context_chef.placement.state_block import dynamic_state
from context_chef.retrieval.context_tool import is_context_tool_name
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.selection.janitor_config import (
    CompressionModel,
    JanitorConfig,
    OverflowConfig,
)
from context_chef.selection.pruner import Pruner, PrunerConfig
from context_chef.selection.tool_groups import GroupLike
from context_chef.slots import Handler, Slot
from context_chef.wiring.options import ChefOptions
from context_chef.wiring.parts import Wiring

# What a chef can do beside compiling is loaded by the methods that do it: most programs use little
# of it, and each pays for what it uses.
if TYPE_CHECKING:
    from context_chef.persistence.memory import Memory
    from context_chef.placement.guardrails import Guardrails
    from context_chef.selection.gate import ToolVerdict
    from context_chef.snapshot import ChefSnapshot
    from context_chef.wiring.moments import SkillSource

Section = Mapping[str, Any]


class ContextChef:
    """Compiles what an agent knows into the best request that fits.

    A chef holds one conversation. Setters answer the chef, so that they chain; `compile()` answers
    a `Payload` for the official SDK call. Nothing here calls a provider, and nothing touches a
    disk unless a store is given.

    Every section of settings is its dataclass or an equal plain mapping. Raises SettingsError for
    unknown names and meaningless values while it is built, never later.
    """

    def __init__(
        self,
        *,
        janitor: JanitorConfig | Section | None = None,
        overflow: OverflowConfig | Section | None = None,
        memory: MemoryConfig | Section | None = None,
        vfs: OffloadConfig | Section | None = None,
        pruner: PrunerConfig | Section | None = None,
        store: Store | StorageBackend | None = None,
        tools: Literal["legacy", "unified"] = "legacy",
        context_tool: ContextToolConfig | Section | None = None,
        skill_placement: Literal["after_system", "tail"] = "after_system",
        default_target: object = None,
        model: str | None = None,
        profiles: Profiles = (),
        tail: TailMode = "auto",
        cache: CacheSetting = None,
        tool_changes: ToolChanges = "report",
        deferred_tools: DeferredTools = "send",
        cache_audit: bool = False,
        pipeline_checks: bool = False,
        preserve_thinking_as_text: bool = False,
        transform_tool_result: TransformToolResult | None = None,
        logger: Logger | None = None,
        clock: Callable[[], int] | None = None,
        new_window_id: Callable[[], str] | None = None,
        **unknown: Any,
    ) -> None:
        options = {key: value for key, value in locals().items() if key not in _NOT_OPTIONS}
        self._wire(Wiring(ChefOptions.read({**options, **unknown})), ChefState())

    @classmethod
    def from_settings(
        cls,
        settings: Mapping[str, Any],
        *,
        compression_model: CompressionModel | None = None,
        **parts: Any,
    ) -> ContextChef:
        """A chef of plain settings, as they stand in a TOML or JSON file.

        Beyond what the constructor takes, `store` may be a path (a folder, or a `.db` file: SQLite)
        and `overflow.strategy` a name (`"reset"`), a mapping with `name` and options, or a list of
        these (a chain); `inner` of `background` and `fallback` of `server` are such strategies.
        `profiles` is best a mapping here. What a file cannot hold comes beside it:
        `compression_model` summarises for every strategy that has no model of its own, and `parts`
        (`store`, `logger`, `clock`, …) take the place of settings. Raises SettingsError.
        """
        from context_chef.wiring.plain_settings import settings_of_file

        made = settings_of_file(settings, compression_model=compression_model)
        return cls(**{**made, **parts})

    def _wire(self, wiring: Wiring, state: ChefState) -> None:
        self._wiring = wiring
        self._parts = wiring.parts
        self._session = Session(wiring.parts, state)
        wiring.use_option_handlers()

    # What the agent knows

    def set_system_prompt(self, prompt: str | MessageLike | Iterable[MessageLike]) -> ContextChef:
        """The instructions: a string, a message, or messages of any role in the order given.

        Raises InputError naming index and field.
        """
        self._session.change(system_prompt=read_system(prompt))
        return self

    def set_history(self, messages: Iterable[MessageLike]) -> ContextChef:
        """The conversation, whole. Understood as what it is now, compared with what it was.

        The unchanged beginning keeps what was folded of it, messages at the end are new, and a
        change inside folded history brings the original messages back. Nothing that is passed in
        is kept or changed. Calls by a name that a provider was told instead of a tool's own are
        kept under the tool's own name. Raises InputError naming index and field.
        """
        self._session.set_history(messages, own=self._wiring.own_calls)
        return self

    def append(self, message: MessageLike) -> ContextChef:
        """One more message. Costs what is new."""
        return self.extend([message])

    def extend(self, messages: Iterable[MessageLike]) -> ContextChef:
        """More messages. Costs what is new. Raises InputError naming index and field."""
        self._session.extend(messages, own=self._wiring.own_calls)
        return self

    def clear_history(self) -> ContextChef:
        """No conversation any more, in a fresh window. Everything else stays."""
        self._session.clear_history()
        return self

    def set_dynamic_state(
        self, schema: Any, state: Any, *, placement: Literal["last_user", "system"] = "last_user"
    ) -> ContextChef:
        """Typed task state, shown in every compile until it is replaced.

        `schema` checks it: a pydantic model, a dataclass, Struct or TypedDict type, a JSON Schema
        (extra `schema`), a function, or None. Raises InputError naming the field; the state that
        was there then stays.
        """
        self._session.change(dynamic_state=dynamic_state(schema, state, placement=placement))
        return self

    def with_guardrails(self, options: Guardrails | Section | None) -> ContextChef:
        """How the answer has to look; None takes it back."""
        from context_chef.placement.guardrails import guardrails

        self._session.change(guardrails=guardrails(options))
        return self

    def announce(
        self, id: str, content: str, *, channel: Literal["auto", "system", "user_tail"] = "auto"
    ) -> ContextChef:
        """Say something in every compile until it is retracted. The same id replaces in place."""
        self._session.announce(announcement(id, content, channel))
        return self

    def retract_announcement(self, id: str) -> bool:
        """Stop saying it. Answers whether it was said."""
        return self._session.retract(id)

    def get_announcements(self) -> tuple[Announcement, ...]:
        """What is announced, in the order in which it was."""
        return self._session.state.announcements

    @property
    def system_prompt(self) -> tuple[Message, ...]:
        """The instructions as they were set."""
        return self._session.state.system_prompt

    @property
    def history(self) -> tuple[Message, ...]:
        """What was said, whole; never rewritten."""
        return self._session.state.transcript.items

    @property
    def window(self) -> tuple[Message, ...]:
        """What is sent of the conversation: folds in place of what they stand for.

        Callers who keep the compacted form store this; feeding it back is recognised.
        """
        return self._session.state.transcript.window

    @property
    def window_id(self) -> str:
        """The opaque id of the current window."""
        return self._parts.janitor.lineage.current

    # Tools

    def register_tools(self, tools: Iterable[ToolDefinition | Section]) -> ContextChef:
        """The flat tools, in place of those registered before. Raises ToolError."""
        self._wiring.pruner.register_tools(cast(Any, tools))
        self._session.reread(self._wiring.own_calls)
        return self

    def register_namespaces(self, groups: Iterable[GroupLike]) -> ContextChef:
        """Groups of tools that are shown as one tool each. Raises ToolError."""
        self._wiring.pruner.register_namespaces(cast(Any, groups))
        self._session.reread(self._wiring.own_calls)
        return self

    def register_toolkits(self, groups: Iterable[GroupLike]) -> ContextChef:
        """Groups of tools that the model loads when it needs them. Raises ToolError."""
        self._wiring.pruner.register_toolkits(cast(Any, groups))
        self._session.reread(self._wiring.own_calls)
        return self

    def visible_tools(self) -> tuple[ToolDefinition, ...]:
        """The tools of the next compile: registered and not pruned, then the chef's own."""
        return self._wiring.visible_tools()

    async def check_tool_call(self, call: Any) -> ToolVerdict:
        """Whether this call may run, with the reason when not. Never changes what is compiled.

        `call` is one call of a provider's answer, in the forms of `handle_tool`. A call without a
        usable name, which a model may well send, and what is no call at all may not run either:
        the reason says what a call is. Only a blocked call is an event.
        """
        from context_chef.adaptation.read_calls import read_tool_call
        from context_chef.selection.gate import ToolVerdict

        try:
            request = read_tool_call(call)
        except InputError as error:
            return ToolVerdict(allowed=False, reason=str(error))
        verdict = self._wiring.pruner.check_tool_call(request)
        if verdict.blocked:
            await self._parts.emitter.emit(ToolBlocked(name=verdict.name or ""))
        return verdict

    def check_tool_call_sync(self, call: Any) -> ToolVerdict:
        """`check_tool_call()` without an event loop. Raises AsyncRequiredError as needed."""
        return run_sync(self.check_tool_call(call))

    def owns_tool(self, name: object) -> bool:
        """Whether `handle_tool` answers calls of this name, whatever the tools mode."""
        return is_context_tool_name(name, native_memory=self._wiring.context_tool.native_memory)

    async def handle_tool(self, call: Any) -> str:
        """Run a call of one of the chef's own tools: the text to give back to the model.

        `call` is one call as a provider's answer has it, SDK object or mapping (an entry of
        `tool_calls`, a `function_call` item, a `tool_use` block, a Gemini `functionCall`), or a
        `ToolCall` of `chef.history`. What the model got wrong comes back as text that begins with
        `Error:`. Raises InputError for what is no call, and UnknownToolError for a name that is
        not ours: ask `owns_tool` first.
        """
        from context_chef.adaptation.read_calls import read_tool_call
        from context_chef.retrieval.dispatch import dispatch_context_tool

        request = read_tool_call(call)
        if not self.owns_tool(request.name):
            raise UnknownToolError(
                f"The chef has no tool {shown(request.name)}; ask `owns_tool` before "
                "`handle_tool`, and "
                "run your own tools yourself."
            )
        return await dispatch_context_tool(
            self._wiring.tool_host(self.request_new_context), request
        )

    def handle_tool_sync(self, call: Any) -> str:
        """`handle_tool()` without an event loop. Raises AsyncRequiredError naming what waits."""
        return run_sync(self.handle_tool(call))

    # Skills

    def register_skills(self, skills: Sequence[SkillLike]) -> ContextChef:
        """The skills that can be activated by name, in place of those registered before."""
        self._wiring.skills.register(skills)
        return self

    def get_registered_skills(self) -> tuple[Skill, ...]:
        """What is registered, in order."""
        return self._wiring.skills.skills

    def activate_skill(self, skill: str | SkillLike | None) -> ContextChef:
        """Show this skill's instructions: by registered name, as given, or none.

        Raises SkillError for an unknown name, naming those that are registered.
        """
        self._wiring.skills.activate(skill)
        return self

    def get_active_skill(self) -> Skill | None:
        """The skill that is shown."""
        return self._wiring.skills.active

    # Store

    def get_pruner(self) -> Pruner:
        """The tool pruner."""
        return self._wiring.pruner

    def get_memory(self) -> Memory:
        """Memory. Raises SettingsError when it was not configured."""
        if self._parts.memory is None:
            raise SettingsError("Memory is not configured; build the chef with `memory=`.")
        return self._parts.memory

    def get_offloader(self) -> Offloader:
        """What keeps large outputs."""
        return self._wiring.offloader

    def get_store(self) -> Store:
        """The shared store, or the offloader's own."""
        return self._wiring.store or self._wiring.offloader.store

    async def offload(self, content: str, **options: Any) -> str:
        """The text, or a marker between its head and tail with the whole stored.

        Options are those of `Offloader.offload`.
        """
        return (await self._wiring.offloader.offload(content, **options)).content

    def offload_sync(self, content: str, **options: Any) -> str:
        """`offload` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.offload(content, **options))

    async def resolve_recall(
        self, uri: str, *, format: Literal["raw", "text"] = "raw"
    ) -> str | None:
        """What is stored at a cited address, or None. `text` renders archived spans."""
        stored = await self._wiring.offloader.resolve(uri)
        if stored is None or format == "raw":
            return stored
        from context_chef.retrieval.recall import render_recalled_content

        return render_recalled_content(stored)

    def resolve_recall_sync(
        self, uri: str, *, format: Literal["raw", "text"] = "raw"
    ) -> str | None:
        """`resolve_recall` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.resolve_recall(uri, format=format))

    # Overflow

    def report_token_usage(self, tokens: float) -> ContextChef:
        """What the provider counted for the last request; the next budget reading uses it."""
        self._session.report_usage(tokens)
        return self

    def recover(self, error: object) -> bool:
        """Learn from a provider's answer that the last request was too large.

        `error` is the exception of an SDK or of what wraps one, or the body of the HTTP answer.
        True: the next compile fits what the provider takes; retry once. The limit and the size that
        the answer names are kept, also in snapshots. False: it says something else, or no shorter
        request would help; raise it on.
        """
        return self._session.recover(error)

    def request_new_context(self) -> ContextChef:
        """Close the window in the next compile, whatever room is left."""
        self._session.request_new_context()
        return self

    @property
    def new_context_requested(self) -> bool:
        """Whether the next compile closes the window."""
        return self._session.state.new_context_requested

    # Taking part

    def use(self, slot: Slot[Any, Any] | str, handler: Handler) -> Unsubscribe:
        """Take part in every compile from the next one on, after the handlers already there."""
        return self._parts.slots.use(slot, handler)

    def unuse(self, slot: Slot[Any, Any] | str, handler: Handler) -> ContextChef:
        """Take the first registration of this handler off."""
        self._parts.slots.unuse(slot, handler)
        return self

    def on(self, event: type[Event] | str, observer: Observer) -> Unsubscribe:
        """Watch. What an observer answers changes nothing, and its errors are only logged."""
        return self._parts.emitter.on(event, observer)

    def off(self, event: type[Event] | str, observer: Observer) -> ContextChef:
        """Stop watching."""
        self._parts.emitter.off(event, observer)
        return self

    def watch_stages(self, watcher: CompileWatcher) -> Unsubscribe:
        """Be told when a compile and each of its stages begin and end. Answers the way off.

        For tracing and timing; `context_chef.integrations.otel` is made of it. Costs nothing while
        nobody watches.
        """
        if not callable(getattr(watcher, "compiling", None)):
            raise InputError(f"a watcher has a method `compiling`; {shown(watcher)} has none.")
        watchers = self._parts.watchers
        watchers.append(watcher)

        def off() -> None:
            if watcher in watchers:
                watchers.remove(watcher)

        return off

    @property
    def adapters(self) -> AdapterRegistry:
        """This chef's own registry of targets."""
        return self._parts.registry

    # Compiling

    def compile(
        self, target: object = None, *, model: str | None = None, signal: object = None
    ) -> Coroutine[Any, Any, Payload]:
        """The request for `target`, from what the chef knows at this moment.

        `target` is a name (`openai`, `openai-responses`, `anthropic`, `gemini`, or one that was
        registered) or an adapter; None means `default_target`, else `openai`. `model` decides what
        may be sent; without it the safe choice is made. `signal` is a `CancelToken` or an event
        with `is_set()`.

        Calls queue behind each other, each with the inputs it was called with. An error or a
        cancellation leaves the chef as it was.
        """
        check_token(signal)
        if model is not None:
            model = _model_id(model)
        session, wiring = self._session, self._wiring
        with session.changing:
            inputs = CompileInputs(
                state=msgspec.structs.replace(session.state, skill=wiring.skills.active),
                tools=wiring.visible_tools(),
                registered_tools=wiring.pruner.all_tools,
                tool_repairs=wiring.pruner.repairs,
                toolkit_directory=wiring.toolkit_directory(),
                target=target,
                model=model if model is not None else self._parts.settings.model,
                signal=signal,
                revision=session.revision,
                epoch=session.epoch,
            )
        return session.compile(inputs)

    def compile_sync(
        self, target: object = None, *, model: str | None = None, signal: object = None
    ) -> Payload:
        """`compile()` without an event loop. Raises AsyncRequiredError naming a part that waits."""
        return run_sync(self.compile(target, model=model, signal=signal))

    # Snapshots

    async def snapshot(
        self, label: str | None = None, *, include: Sequence[str] = ()
    ) -> ChefSnapshot:
        """Everything that the next compile depends on, as plain data of its own.

        `include` names further namespaces of the store that go with it, such as `notes` and `vfs`.
        """
        from context_chef.wiring.moments import take_snapshot

        return await take_snapshot(self._wiring, self._session.state, label, include)

    def snapshot_sync(
        self, label: str | None = None, *, include: Sequence[str] = ()
    ) -> ChefSnapshot:
        """`snapshot` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.snapshot(label, include=include))

    async def restore(
        self, snapshot: ChefSnapshot, *, skills: SkillSource = "registry"
    ) -> ContextChef:
        """Go back to a snapshot, also one of another chef or process, once compiles are through.

        Namespaces that are part of the snapshot are replaced, others stay. `skills="registry"`
        takes a skill that is registered here with its present words, `"snapshot"` with those that
        were saved. What fails leaves the chef as it was.
        """
        from context_chef.snapshot import ChefSnapshot
        from context_chef.wiring.moments import restore_parts

        if not isinstance(cast(Any, snapshot), ChefSnapshot):
            raise InputError(
                f"a `ChefSnapshot` is what is restored, not {shown(snapshot)}; read a stored one "
                "with `ChefSnapshot.from_json()`."
            )
        await self._session.restore(lambda: restore_parts(self._wiring, snapshot, skills=skills))
        return self

    def restore_sync(
        self, snapshot: ChefSnapshot, *, skills: SkillSource = "registry"
    ) -> ContextChef:
        """`restore` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.restore(snapshot, skills=skills))

    async def fork(self, *, handlers: bool = False, observers: bool = False) -> ContextChef:
        """A chef of its own that goes on from here, with the same settings.

        What is immutable is shared, so a fork costs what memory holds and nothing for the
        conversation, and messages that were counted stay counted. Memory is the fork's own. What
        it writes to the store stays in this process and never reaches this chef; what this chef
        writes there later shows in the fork, but for memory. Slot handlers and event observers
        come along when asked for; targets that were registered always do.
        """
        from context_chef.wiring.moments import branch

        forked = object.__new__(type(self))
        state = self._session.state
        forked._wire(await branch(self._wiring), state)
        if handlers:
            forked._parts.slots.adopt(self._parts.slots)
        if observers:
            forked._parts.emitter.adopt(self._parts.emitter)
        return forked

    def fork_sync(self, *, handlers: bool = False, observers: bool = False) -> ContextChef:
        """`fork` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.fork(handlers=handlers, observers=observers))


_NOT_OPTIONS = frozenset({"self", "unknown", "__class__"})


def _model_id(model: Any) -> str:
    if isinstance(model, str):
        return clean_text(model)
    raise SettingsError(f"`model` is a model's id, not {shown(model)}.")
