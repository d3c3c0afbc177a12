"""`Wiring`: the parts of one chef, made of its options and joined to each other."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from context_chef.adaptation.own_calls import OwnCalls, wire_names
from context_chef.adaptation.profiles import read_profiles
from context_chef.adaptation.registry import builtin_registry
from context_chef.adaptation.tools import tool_from_dict
from context_chef.bridge import MaybeAwaitable, stepping
from context_chef.compat.options import use_old_hooks
from context_chef.errors import InputError, SettingsError, shown
from context_chef.events import Emitter, Logger
from context_chef.ir.message import Message
from context_chef.ir.tools import ToolDefinition
from context_chef.persistence.in_memory import InMemoryBackend
from context_chef.persistence.memory_config import (
    MemoryConfig,
)
from context_chef.persistence.namespace import NamespaceView
from context_chef.persistence.notices import log_of_library
from context_chef.persistence.offload_config import VFS_NAMESPACE, OffloadConfig
from context_chef.persistence.offloader import Offloader
from context_chef.persistence.store import Store
from context_chef.pipeline.made_before import MadeBefore
from context_chef.pipeline.turn import ChefParts, CompileSettings, TransformCache
from context_chef.placement.skills import SkillShelf
from context_chef.prompts.vocabulary import resolve_vocabulary
from context_chef.retrieval.context_tool import (
    NATIVE_MEMORY_NAME,
    get_context_tool_definition,
    get_native_memory_tool_definition,
)
from context_chef.retrieval.policy import ContextToolConfig
from context_chef.selection.janitor import Janitor
from context_chef.selection.janitor_config import JanitorConfig, OverflowConfig
from context_chef.selection.pruner import Pruner, PrunerConfig
from context_chef.selection.tool_groups import LIBRARY_TOOL_NAMES
from context_chef.slots import SlotBoard
from context_chef.wiring.checks import configured
from context_chef.wiring.options import ChefOptions

# Parts that not every chef has are loaded by the chefs that have them.
if TYPE_CHECKING:
    from context_chef.persistence.known_offloads import KnownOffloads
    from context_chef.persistence.memory import Memory
    from context_chef.persistence.offloading import OffloadedMessages
    from context_chef.retrieval.host import ContextHost


class Wiring:
    """The parts of one chef, made of its options and joined to each other.

    `warned` options have been warned of already, by the chef that this one is forked from.
    """

    def __init__(self, options: ChefOptions, *, warned: bool = False) -> None:
        self._warned = warned
        self.options = options
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
        janitor = self._janitor(overflow)
        self.parts = ChefParts(
            settings=self._settings(overflow),
            registry=builtin_registry(),
            emitter=self._emitter,
            slots=SlotBoard(),
            logger=self._logger,
            vocabulary=self._vocabulary,
            janitor=janitor,
            memory=self._memory(),
            offload=self._offload if self.offloader.config.automatic else None,
            transforms=TransformCache(),
            warned=set(),
            made=MadeBefore(janitor.starts),
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
        from context_chef.retrieval.host import ContextHost

        return ContextHost(
            store=self.store or self.offloader.store,
            offloader=self.offloader,
            memory=self.parts.memory,
            config=self.context_tool,
            request_new_context=request_new_context,
            logger=self._logger,
        )

    def use_option_handlers(self) -> None:
        """Hooks that were given as options take the first place in their slots."""
        use_old_hooks(
            self.parts.slots,
            on_before_compile=self.options.on_before_compile,
            transform_context=self.options.transform_context,
        )

    def namespace(self, ns: str) -> NamespaceView:
        """A namespace of the store, where this chef keeps it."""
        if ns == VFS_NAMESPACE:
            return self.offloader.view
        return (self.store or self.offloader.store).namespace(ns)

    def now(self) -> int:
        """Milliseconds since the epoch, by the chef's clock."""
        clock = self.options.clock
        return clock() if clock is not None else time.time_ns() // 1_000_000

    def _settings(self, overflow: OverflowConfig) -> CompileSettings:
        options = self.options
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
        if self.options.memory is None:
            return None
        from context_chef.persistence.memory import Memory

        return Memory(
            self.store,
            configured(MemoryConfig, self.options.memory, name="memory"),
            clock=self.options.clock,
            vocabulary=self._vocabulary,
            emit=self._emitter.emit,
            logger=self._logger,
        )

    def _janitor(self, overflow: OverflowConfig) -> Janitor:
        options = self.options
        clock = options.clock
        config = configured(JanitorConfig, options.janitor, name="janitor")
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
        from context_chef.persistence.archive import Archive

        archive = Archive(self.offloader)
        return archive.store_sync(span) if stepping() else archive.store(span)

    async def _offload(
        self, messages: tuple[Message, ...], known: KnownOffloads
    ) -> OffloadedMessages:
        from context_chef.persistence.offloading import offload_messages

        return await offload_messages(self.offloader, messages, keep_on_failure=True, known=known)

    def _own_tools(self) -> tuple[ToolDefinition, ...]:
        memory = self.parts.memory
        if self.options.tools != "unified":
            return tuple(memory.get_tool_definitions()) if memory is not None else ()
        own = (get_context_tool_definition(),)
        if self.context_tool.native_memory:
            own = (*own, get_native_memory_tool_definition())
        if not self._handoff:
            return own
        from context_chef.retrieval.new_context import get_new_context_tool_definition

        return (*own, get_new_context_tool_definition())


def _store(store: Any, clock: Callable[[], int] | None) -> Store | None:
    return None if store is None else Store.wrap(store, **_clocked(clock))


def _clocked(clock: Callable[[], int] | None) -> dict[str, Any]:
    return {} if clock is None else {"clock": clock}


def _read_tool(value: Any, path: str) -> list[ToolDefinition]:
    if callable(value) and not callable(getattr(value, "model_dump", None)):
        raise InputError(
            f"{shown(value)} is a function; a tool is what the model is told about it: a mapping "
            "with `name`, `description` and `parameters` (a JSON Schema), and you run the function "
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
    raise SettingsError(
        f"`logger` needs a method `warning(message, *args)`; {shown(logger)} has none."
    )
