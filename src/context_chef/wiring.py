"""Settings become parts: every section may be its dataclass or an equal plain mapping."""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast

import msgspec

from context_chef.adaptation.own_calls import OwnCalls, wire_names
from context_chef.adaptation.profiles import read_profiles
from context_chef.adaptation.registry import builtin_registry
from context_chef.adaptation.tools import tool_from_dict
from context_chef.bridge import MaybeAwaitable, stepping
from context_chef.errors import InputError, RenamedWarning, SettingsError, nearest
from context_chef.events import Emitter, Logger
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.persistence.archive import Archive
from context_chef.persistence.in_memory import InMemoryBackend
from context_chef.persistence.memory import Memory
from context_chef.persistence.memory_config import (
    MEMORY_NAMESPACE,
    MemoryConfig,
    MemorySnapshot,
)
from context_chef.persistence.memory_order import in_shown_order, with_places, without_places
from context_chef.persistence.memory_turns import TURNS_NAMESPACE
from context_chef.persistence.namespace import NamespaceView
from context_chef.persistence.notices import log_of_library
from context_chef.persistence.offload_config import VFS_NAMESPACE, OffloadConfig
from context_chef.persistence.offload_messages import OffloadedMessages, offload_messages
from context_chef.persistence.offloader import Offloader
from context_chef.persistence.sqlite import SQLiteBackend
from context_chef.persistence.store import Store
from context_chef.persistence.whole_namespace import read_whole, replace_whole
from context_chef.pipeline.state import ChefState
from context_chef.pipeline.turn import ChefParts, CompileSettings, TransformCache
from context_chef.placement.skills import SkillShelf
from context_chef.prompts.vocabulary import resolve_vocabulary
from context_chef.retrieval.context_tool import (
    NATIVE_MEMORY_NAME,
    get_context_tool_definition,
    get_native_memory_tool_definition,
)
from context_chef.retrieval.host import ContextHost
from context_chef.retrieval.new_context import get_new_context_tool_definition
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.selection.anchored import anchored
from context_chef.selection.background import background
from context_chef.selection.chain import chain
from context_chef.selection.clear import clear
from context_chef.selection.janitor import Janitor
from context_chef.selection.janitor_config import (
    CompressionModel,
    JanitorConfig,
    OverflowConfig,
)
from context_chef.selection.pruner import Pruner, PrunerConfig
from context_chef.selection.reset import reset
from context_chef.selection.server import server
from context_chef.selection.strategy import OverflowStrategy
from context_chef.selection.summarize import summarize
from context_chef.selection.tool_groups import LIBRARY_TOOL_NAMES
from context_chef.slots import BeforeAssemble, Handler, SlotBoard
from context_chef.snapshot import ChefSnapshot

T = TypeVar("T")
SkillSource: TypeAlias = Literal["registry", "snapshot"]

OLD_OPTIONS: Final[Mapping[str, str]] = {
    "on_before_compile": "`chef.use(before_assemble, handler)`, where `context.inject(text)` adds",
    "transform_context": "`chef.use(after_assemble, handler)`",
    "context_management": "`overflow={'strategy': server(config, fallback=…)}`",
    "janitor.strategy": "`overflow={'strategy': …}`",
    "janitor.archive": "`overflow={'archive': …}`",
    "janitor.compression_mode": "`overflow={'strategy': summarize(…)}` or `anchored(…)`",
    "janitor.compression_scheduling": "`overflow={'strategy': background(…)}`",
}
"""Options of earlier versions and what to write instead. Each still works and warns."""


@dataclass(frozen=True, kw_only=True)
class ChefOptions:
    """Every setting of a chef, checked."""

    janitor: JanitorConfig | Mapping[str, Any] | None = None
    overflow: OverflowConfig | Mapping[str, Any] | None = None
    memory: MemoryConfig | Mapping[str, Any] | None = None
    vfs: OffloadConfig | Mapping[str, Any] | None = None
    pruner: PrunerConfig | Mapping[str, Any] | None = None
    store: Any = None
    tools: str = "legacy"
    context_tool: ContextToolConfig | Mapping[str, Any] | None = None
    skill_placement: str = "after_system"
    default_target: object = None
    model: str | None = None
    profiles: Any = ()
    tail: str = "auto"
    cache: str | None = None
    tool_changes: str = "report"
    deferred_tools: str = "send"
    cache_audit: bool = False
    pipeline_checks: bool = False
    preserve_thinking_as_text: bool = False
    transform_tool_result: Any = None
    logger: Any = None
    clock: Callable[[], int] | None = None
    new_window_id: Callable[[], str] | None = None
    on_before_compile: Any = None
    transform_context: Any = None
    context_management: Mapping[str, Any] | None = None

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> ChefOptions:
        """Options by name. Raises SettingsError with the nearest right name for an unknown one."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in options:
            if name not in known:
                raise SettingsError(
                    f"`ContextChef` has no setting {name!r}. {_right_place(name, known)}"
                )
        return cls(**options)

    def __post_init__(self) -> None:
        one_of("tools", self.tools, ("legacy", "unified"))
        one_of("skill_placement", self.skill_placement, ("after_system", "tail"))
        one_of("tail", self.tail, ("auto", "replace", "append"))
        one_of("cache", self.cache, (None, "auto"))
        one_of("tool_changes", self.tool_changes, ("report", "inline"))
        one_of("deferred_tools", self.deferred_tools, ("send", "omit"))
        for name in ("cache_audit", "pipeline_checks", "preserve_thinking_as_text"):
            flag(name, getattr(self, name))
        for name in (
            "transform_tool_result", "clock", "new_window_id", "on_before_compile",
            "transform_context",
        ):  # fmt: skip
            callable_or_none(name, getattr(self, name))
        if self.model is not None and not isinstance(self.model, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # may come from TOML
            raise SettingsError(f"`model` is a model's id, not {self.model!r}.")


_SECTIONS: Final[Mapping[str, type[Any]]] = {
    "janitor": JanitorConfig,
    "overflow": OverflowConfig,
    "memory": MemoryConfig,
    "vfs": OffloadConfig,
    "context_tool": ContextToolConfig,
}


def _right_place(name: str, known: Sequence[str]) -> str:
    """The hint for a name that is no setting of the chef, or one of a section of it."""
    for section, kind in _SECTIONS.items():
        if any(field.name == name for field in dataclasses.fields(kind)):
            return f'Write `{section}={{"{name}": …}}`.'
    return nearest(name, known)


class Wiring:
    """The parts of one chef, made of its options and joined to each other.

    `warned` options have been warned of already, by the chef that this one is forked from.
    """

    def __init__(self, options: ChefOptions, *, warned: bool = False) -> None:
        self._options = options
        self._warned = warned
        for name in ("on_before_compile", "transform_context", "context_management"):
            if getattr(options, name) is not None and not warned:
                warn_of_old_option(name)
        self._logger = _logger(options.logger)
        self._emitter = Emitter(self._logger)
        self._vocabulary = resolve_vocabulary(options.tools)
        clock = options.clock
        self.store = _store(options.store, clock)
        self.offloader = Offloader(
            self.store or Store.wrap(InMemoryBackend(), **_clocked(clock)),
            configured(OffloadConfig, options.vfs, name="vfs"),
            clock=clock,
            vocabulary=self._vocabulary,
            emit=self._emitter.emit,
            logger=self._logger,
        )
        self.context_tool = configured(ContextToolConfig, options.context_tool, name="context_tool")
        native = {NATIVE_MEMORY_NAME} if self.context_tool.native_memory else set[str]()
        self.pruner = Pruner(
            configured(PrunerConfig, options.pruner, name="pruner"),
            reader=_read_tool,
            reserved=LIBRARY_TOOL_NAMES | native,
            wire_names=wire_names,
        )
        self._own_calls: tuple[Mapping[str, str], OwnCalls] | None = None
        self.skills = SkillShelf()
        overflow = configured(OverflowConfig, options.overflow, name="overflow")
        self._handoff = overflow.handoff is not None
        self.parts = ChefParts(
            settings=self._settings(overflow),
            registry=builtin_registry(),
            emitter=self._emitter,
            slots=SlotBoard(),
            logger=self._logger,
            vocabulary=self._vocabulary,
            janitor=self._janitor(overflow),
            memory=self._memory(),
            offload=self._offload if self.offloader.config.automatic else None,
            transforms=TransformCache(),
            warned=set(),
        )
        self._library_tools = self._own_tools()

    def visible_tools(self) -> tuple[ToolDefinition, ...]:
        """The tools of a compile: those registered and not pruned, then the chef's own."""
        registered = self.pruner.visible_tools()
        names = {tool.name for tool in registered}
        return (*registered, *(tool for tool in self._library_tools if tool.name not in names))

    def own_calls(self) -> OwnCalls:
        """How the model's calls read under the names that the registered tools have."""
        names, tools = self.pruner.own_names, self.pruner.all_tools
        if self._own_calls is None or self._own_calls[0] is not names:
            self._own_calls = (names, OwnCalls(names, tools))
        return self._own_calls[1]

    def toolkit_directory(self) -> str:
        """The directory of toolkits for the prefix; empty when there are none."""
        return self.pruner.directory_xml

    def tool_host(self, request_new_context: Callable[[], object]) -> ContextHost:
        """What a tool call works on."""
        return ContextHost(
            store=self.store or self.offloader.store,
            offloader=self.offloader,
            memory=self.parts.memory,
            config=self.context_tool,
            request_new_context=request_new_context,
            logger=self._logger,
        )

    def use_option_handlers(self) -> None:
        """The two deprecated hooks take the first place in their slots."""
        options, slots = self._options, self.parts.slots
        if options.on_before_compile is not None:
            slots.use("before-assemble", _injecting(options.on_before_compile))
        if options.transform_context is not None:
            slots.use("after-assemble", options.transform_context)

    async def snapshot(
        self, state: ChefState, label: str | None, include: Sequence[str]
    ) -> ChefSnapshot:
        """The state and the parts' own state as one value. What is not stored is read at once."""
        here = ChefSnapshot(
            created_at=self._now(),
            label=label,
            system_prompt=state.system_prompt,
            transcript=state.transcript,
            dynamic_state=state.dynamic_state,
            guardrails=state.guardrails,
            announcements=state.announcements,
            skill=self.skills.snapshot_state(),
            tools=self.pruner.snapshot_state(),
            janitor=self.parts.janitor.snapshot_state(),
            new_context_requested=state.new_context_requested,
            handoff_noticed=state.handoff_noticed,
            sent_tails=state.sent_tails,
            sent_prefixes=state.sent_prefixes,
            sent_requests=state.sent_requests,
            last_volatile_tokens=state.last_volatile_tokens,
            cache_anchor=state.cache_anchor,
            cache_anchor_before=state.cache_anchor_before,
        )
        stores = {ns: await read_whole(self._namespace(ns)) for ns in _included(include)}
        return msgspec.structs.replace(here, memory=await self._memory_now(), stores=stores)

    async def restore(self, snapshot: ChefSnapshot, *, skills: SkillSource) -> ChefState:
        """Give the parts their state back; answer the chef's. What fails changes no part."""
        pruner, shelf = Pruner(self.pruner.config), SkillShelf()
        pruner.adopt(self.pruner)
        shelf.adopt(self.skills)
        janitor = self.parts.janitor.snapshot_state()
        try:
            self.pruner.restore_state(snapshot.tools)
            self.skills.restore_state(snapshot.skill, prefer=skills)
            self.parts.janitor.restore_state(snapshot.janitor)
            await self._restore_stored(snapshot)
        except BaseException:
            self.pruner.adopt(pruner)
            self.skills.adopt(shelf)
            self.parts.janitor.restore_state(janitor)
            raise
        return ChefState(
            system_prompt=snapshot.system_prompt,
            transcript=snapshot.transcript.in_words_of(self.own_calls().messages),
            dynamic_state=snapshot.dynamic_state,
            guardrails=snapshot.guardrails,
            announcements=snapshot.announcements,
            new_contexts_requested=int(snapshot.new_context_requested),
            handoff_noticed=snapshot.handoff_noticed,
            sent_tails=snapshot.sent_tails,
            sent_prefixes=snapshot.sent_prefixes,
            sent_requests=snapshot.sent_requests,
            last_volatile_tokens=snapshot.last_volatile_tokens,
            cache_anchor=snapshot.cache_anchor,
            cache_anchor_before=snapshot.cache_anchor_before,
        )

    async def branch(self) -> Wiring:
        """Parts of their own that know what these know; what they store stays with them."""
        remembered = await self._memory_now()
        owned = {} if remembered is None else {MEMORY_NAMESPACE: remembered.entries}
        branches: dict[int, Store] = {}

        def branched(store: Store) -> Store:
            kept = {**owned, TURNS_NAMESPACE: {}} if store is memory_store else None
            return branches.setdefault(id(store), store.branch(kept))

        memory = self.parts.memory
        memory_store = memory.store if memory is not None else None
        changes: dict[str, Any] = {}
        if self.store is not None:
            changes["store"] = branched(self.store)
        if memory is not None and memory_store is not self.store:
            changes["memory"] = dataclasses.replace(memory.config, store=branched(memory.store))
        if self.offloader.store is not self.store:
            changes["vfs"] = dataclasses.replace(
                self.offloader.config,
                store=branched(self.offloader.store),
                storage_dir=None,
                adapter=None,
            )
        wiring = Wiring(dataclasses.replace(self._options, **changes), warned=True)
        if remembered is not None and wiring.parts.memory is not None:
            await wiring.parts.memory.restore_turn(remembered)
        self._share_with(wiring)
        return wiring

    def _share_with(self, other: Wiring) -> None:
        other.pruner.adopt(self.pruner)
        other.skills.adopt(self.skills)
        other.parts.janitor.adopt(self.parts.janitor)
        other.parts.registry.adopt(self.parts.registry)
        other.parts.transforms.adopt(self.parts.transforms)
        other.parts.warned.update(self.parts.warned)

    async def _memory_now(self) -> MemorySnapshot | None:
        memory = self.parts.memory
        if memory is None:
            return None
        entries = in_shown_order(await read_whole(memory.view))
        return MemorySnapshot(entries=without_places(entries), turn_count=memory.turn_count)

    async def _restore_stored(self, snapshot: ChefSnapshot) -> None:
        memory, remembered = self.parts.memory, snapshot.memory
        if memory is not None and remembered is not None:
            await _restore_memory(memory, remembered)
        elif remembered is not None and remembered.entries:
            self._logger.warning(
                "The snapshot holds %d memory entries, and this chef has no memory: they are left "
                "out. Build it with `memory=`.",
                len(remembered.entries),
            )
        for ns, entries in snapshot.stores.items():
            await replace_whole(self._namespace(ns), entries)

    def _namespace(self, ns: str) -> NamespaceView:
        if ns == VFS_NAMESPACE:
            return self.offloader.view
        return (self.store or self.offloader.store).namespace(ns)

    def _now(self) -> int:
        clock = self._options.clock
        return clock() if clock is not None else time.time_ns() // 1_000_000

    def _settings(self, overflow: OverflowConfig) -> CompileSettings:
        options = self._options
        memory = configured(MemoryConfig, options.memory, name="memory")
        return CompileSettings(
            default_target=options.default_target,
            model=options.model,
            profiles=read_profiles(options.profiles),
            tail=cast(Any, options.tail),
            cache=cast(Any, options.cache),
            tool_changes=cast(Any, options.tool_changes),
            deferred_tools=cast(Any, options.deferred_tools),
            cache_audit=options.cache_audit,
            pipeline_checks=options.pipeline_checks,
            skill_placement=cast(Any, options.skill_placement),
            memory_placement=memory.memory_placement,
            preserve_thinking_as_text=options.preserve_thinking_as_text,
            transform_tool_result=options.transform_tool_result,
            keep=overflow.keep,
        )

    def _memory(self) -> Memory | None:
        if self._options.memory is None:
            return None
        return Memory(
            self.store,
            configured(MemoryConfig, self._options.memory, name="memory"),
            clock=self._options.clock,
            vocabulary=self._vocabulary,
            emit=self._emitter.emit,
            logger=self._logger,
        )

    def _janitor(self, overflow: OverflowConfig) -> Janitor:
        options = self._options
        clock = options.clock
        config = configured(JanitorConfig, options.janitor, name="janitor")
        for name in ("strategy", "archive", "compression_mode", "compression_scheduling"):
            if getattr(config, name) is not None and not self._warned:
                warn_of_old_option(f"janitor.{name}")
        return Janitor(
            config,
            overflow,
            context_management=options.context_management,
            vfs=self._store_span,
            vocabulary=self._vocabulary,
            clock=time.time if clock is None else (lambda: clock() / 1000),
            new_window_id=options.new_window_id,
            logger=self._logger,
            warn_at_construction=not self._warned,
        )

    def _store_span(self, span: Sequence[Message]) -> MaybeAwaitable[str]:
        """A span into the store: at once where nothing may wait."""
        archive = Archive(self.offloader)
        return archive.store_sync(span) if stepping() else archive.store(span)

    async def _offload(self, messages: tuple[Message, ...]) -> OffloadedMessages:
        return await offload_messages(self.offloader, messages, keep_on_failure=True)

    def _own_tools(self) -> tuple[ToolDefinition, ...]:
        memory = self.parts.memory
        if self._options.tools != "unified":
            return tuple(memory.get_tool_definitions()) if memory is not None else ()
        own = (get_context_tool_definition(),)
        if self.context_tool.native_memory:
            own = (*own, get_native_memory_tool_definition())
        return (*own, get_new_context_tool_definition()) if self._handoff else own


def _injecting(hook: Callable[[BeforeAssemble], Any]) -> Handler:
    """The old hook, whose answer is injected, as a handler: plain where the hook is plain."""

    async def when_it_comes(context: BeforeAssemble, answer: Any) -> None:
        text = await answer
        if text:
            context.inject(text)

    def inject(context: BeforeAssemble) -> Any:
        answer = hook(context)
        if inspect.isawaitable(answer):
            return when_it_comes(context, answer)
        if answer:
            context.inject(answer)
        return None

    return inject


def warn_of_old_option(name: str) -> None:
    """Say once a place in the caller's code what has taken the option's place."""
    warnings.warn(
        f"The option `{name}` goes away in 2.0; use {OLD_OPTIONS[name]}.",
        RenamedWarning,
        stacklevel=_callers_level(),
    )


def _callers_level() -> int:
    """How far up the first frame outside this library is, as `stacklevel` counts for our caller."""
    package, level = os.path.dirname(__file__) + os.sep, 1
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  # `inspect` reads source files
    while frame.f_back is not None and (
        frame.f_code.co_filename.startswith(package) or frame.f_code.co_filename == "<string>"
    ):
        frame, level = frame.f_back, level + 1
    return level


_NAMED_STRATEGIES: Final[Mapping[str, Callable[..., OverflowStrategy]]] = {
    "reset": reset,
    "summarize": summarize,
    "anchored": anchored,
    "clear": clear,
    "server": server,
    "background": background,
}
"""Strategies that plain settings can name, alone or as `{"name": …, option: …}`; and `chain`."""

_STRATEGY_OPTIONS: Final = ("inner", "fallback")
"""Options of a strategy that are strategies themselves."""


def settings_of_file(
    settings: Mapping[str, Any], *, compression_model: CompressionModel | None = None
) -> dict[str, Any]:
    """Options as TOML or JSON has them: a strategy by name, a store by path, profiles as tables.

    `compression_model` is what summarises wherever the settings name no model of their own: a file
    cannot hold one. Everything else stays as it is. Raises SettingsError for unknown names.
    """
    if not isinstance(settings, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # comes from a file
        raise SettingsError(f"settings are a mapping of names to values, not {settings!r}.")
    options = dict(settings)
    if isinstance(options.get("store"), (str, os.PathLike)):
        options["store"] = _store_at(options["store"], "store")
    for section in ("memory", "vfs"):
        given = options.get(section)
        if isinstance(given, Mapping):
            given = dict(cast(Mapping[str, Any], given))
            if isinstance(given.get("store"), (str, os.PathLike)):
                given["store"] = _store_at(given["store"], f"{section}.store")
            options[section] = given
    overflow = options.get("overflow")
    if isinstance(overflow, Mapping):
        overflow = dict(cast(Mapping[str, Any], overflow))
        if isinstance(overflow.get("strategy"), (str, Mapping, list, tuple)):
            overflow["strategy"] = _strategy_of(overflow["strategy"], compression_model)
        options["overflow"] = overflow
    if compression_model is not None and not _names_strategy(options):
        options["janitor"] = _with_model(options.get("janitor"), compression_model)
    return options


def _names_strategy(options: Mapping[str, Any]) -> bool:
    overflow = options.get("overflow")
    if isinstance(overflow, Mapping):
        return cast(Mapping[str, Any], overflow).get("strategy") is not None
    return getattr(overflow, "strategy", None) is not None


def _with_model(janitor: Any, model: CompressionModel) -> Any:
    """The section `janitor` with this model, unless it names one or is no section."""
    if janitor is None:
        return {"compression_model": model}
    if isinstance(janitor, JanitorConfig):
        kept = janitor.compression_model or model
        return dataclasses.replace(janitor, compression_model=kept)
    if isinstance(janitor, Mapping):
        return {"compression_model": model, **cast(Mapping[str, Any], janitor)}
    return janitor


def _store_at(path: str | os.PathLike[str], name: str) -> SQLiteBackend:
    text = os.fspath(path)
    if not text.strip():
        raise SettingsError(f"`{name}` is a folder or a database file, not {text!r}.")
    is_file = text.endswith((".db", ".sqlite", ".sqlite3"))
    return SQLiteBackend(text if is_file else os.path.join(text, "context.db"))


def _strategy_of(given: Any, model: Any = None) -> OverflowStrategy:
    """A strategy by name, by a table of its name and options, or a list of these: a chain.

    `model` summarises for every strategy that names none of its own.
    """
    if _is_strategy(given):
        return given
    if isinstance(given, (list, tuple)):
        return chain(*(_strategy_of(step, model) for step in cast(Sequence[Any], given)))
    table: dict[str, Any] = {"name": given} if isinstance(given, str) else {}
    if isinstance(given, Mapping):
        table = dict(cast(Mapping[str, Any], given))
    name = table.pop("name", None)
    if name == "chain":
        return chain(*(_strategy_of(step, model) for step in _steps(table)))
    make = _NAMED_STRATEGIES.get(name) if isinstance(name, str) else None
    if make is None:
        raise SettingsError(
            f"`overflow.strategy` cannot be {given!r}. {nearest(name, _NAMED_STRATEGIES)} Give a "
            'name, a mapping `{"name": …, option: …}`, a list of these, or a strategy object.'
        )
    known = list(inspect.signature(make).parameters)
    for option in table:
        if option not in known:
            raise SettingsError(
                f"the strategy {name!r} has no setting {option!r}. {nearest(option, known)}"
            )
    for option in _STRATEGY_OPTIONS:
        if isinstance(table.get(option), (str, Mapping, list, tuple)):
            table[option] = _strategy_of(table[option], model)
    if model is not None and "compression_model" in known:
        table.setdefault("compression_model", model)
    if name == "background" and "inner" not in table:
        raise SettingsError(
            "the strategy 'background' needs `inner`, the strategy that works off the turn, as in "
            '`{"name": "background", "inner": "summarize"}`.'
        )
    return make(**table)


def _is_strategy(given: Any) -> bool:
    return isinstance(getattr(given, "name", None), str) and callable(getattr(given, "apply", None))


def _steps(table: Mapping[str, Any]) -> Sequence[Any]:
    for option in table:
        if option != "steps":
            raise SettingsError(
                f"the strategy 'chain' has no setting {option!r}. {nearest(option, ['steps'])}"
            )
    steps = table.get("steps")
    if not isinstance(steps, (list, tuple)):
        raise SettingsError(
            f"the strategy 'chain' needs `steps`, a list of strategies, not {steps!r}."
        )
    return cast(Sequence[Any], steps)


def configured(kind: type[T], value: T | Mapping[str, Any] | None, *, name: str) -> T:
    """The section as its dataclass. None gives the defaults.

    Raises SettingsError naming the section and the nearest right name for an unknown setting.
    """
    if value is None:
        return kind()
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        raise SettingsError(
            f"`{name}` is a `{kind.__name__}` or a mapping of its settings, not {value!r}."
        )
    settings = cast(Mapping[str, Any], value)
    known = [field.name for field in dataclasses.fields(cast(Any, kind))]
    for setting in settings:
        if setting not in known:
            raise SettingsError(f"`{name}` has no setting {setting!r}. {nearest(setting, known)}")
    return kind(**settings)


async def _restore_memory(memory: Memory, remembered: MemorySnapshot) -> None:
    """Entries, order and turn; the order is written down where the backend has another."""
    await replace_whole(memory.view, remembered.entries)
    if [item.path for item in await memory.view.list()] != list(remembered.entries):
        placed = with_places(remembered.entries)
        await replace_whole(memory.view, placed)
    await memory.restore_turn(remembered)


def _included(names: Sequence[str]) -> list[str]:
    if isinstance(names, str):
        raise SettingsError(f"`include` is a list of namespaces, not {names!r}.")
    for name in names:
        if name == MEMORY_NAMESPACE:
            raise SettingsError("`include` names other namespaces: memory is always part of it.")
    return list(dict.fromkeys(names))


def one_of(name: str, value: object, choices: Sequence[object]) -> None:
    """Refuse a value outside a closed set, with the nearest right one."""
    if value not in choices:
        names = [str(choice) for choice in choices if choice is not None]
        raise SettingsError(f"`{name}` cannot be {value!r}. {nearest(value, names)}")


def flag(name: str, value: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(value, bool):
        raise SettingsError(f"`{name}` is True or False, not {value!r}.")


def callable_or_none(name: str, value: object) -> None:
    """Refuse anything but None and something that can be called."""
    if value is not None and not callable(value):
        raise SettingsError(f"`{name}` must be callable, not {value!r}.")


def _store(store: Any, clock: Callable[[], int] | None) -> Store | None:
    return None if store is None else Store.wrap(store, **_clocked(clock))


def _clocked(clock: Callable[[], int] | None) -> dict[str, Any]:
    return {} if clock is None else {"clock": clock}


def _read_tool(value: Any, path: str) -> list[ToolDefinition]:
    if callable(value) and not callable(getattr(value, "model_dump", None)):
        raise InputError(
            f"{value!r} is a function; a tool is what the model is told about it: a mapping with "
            "`name`, `description` and `parameters` (a JSON Schema), and you run the function "
            "when the model calls that name.",
            path=path,
        )
    return [tool_from_dict(value, path=path)]


class _WarnOnly:
    """A logger that only knows `warn` (the contract's name for it)."""

    def __init__(self, logger: Any) -> None:
        self._logger = logger

    def warning(self, msg: object, *args: object) -> None:
        self._logger.warn(msg, *args)


def _logger(logger: Any) -> Logger:
    if logger is None:
        return log_of_library()
    if callable(getattr(logger, "warning", None)):
        return cast(Logger, logger)
    if callable(getattr(logger, "warn", None)):
        return _WarnOnly(logger)
    raise SettingsError(f"`logger` needs a method `warning(message, *args)`; {logger!r} has none.")
