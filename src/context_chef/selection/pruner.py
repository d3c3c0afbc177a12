"""Which tools the model is shown: flat ones, namespaces and toolkits, less what was pruned."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import msgspec

from context_chef.bridge import run_sync
from context_chef.errors import SettingsError, ToolError, nearest, shown
from context_chef.given import check_callable, check_instance, read_list
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import thaw
from context_chef.ir.tools import ToolDefinition, ToolRequest
from context_chef.prompts.tools import LOAD_TOOLKIT
from context_chef.selection.gate import ToolVerdict, call_parts, judge_call
from context_chef.selection.prune_rules import (
    PrunedTools,
    PruneStrategy,
    is_list_of_texts,
    kept_tools,
    listed,
    spoken_of,
)
from context_chef.selection.tool_definitions import (
    ToolLike,
    ToolReader,
    is_native,
    plain_definition,
    read_definitions,
)
from context_chef.selection.tool_groups import (
    LIBRARY_TOOL_NAMES,
    GroupLike,
    ResolvedCall,
    ToolGroup,
    directory_xml,
    find_toolkit,
    loader_tools,
    namespace_tools,
    plain_group,
    read_groups,
    resolve_call,
)
from context_chef.selection.tool_selector import Embedder, ToolIndex, ranked
from context_chef.selection.words import fold_name


@dataclass(frozen=True, kw_only=True)
class PrunerConfig:
    """How two rules go together: `union` keeps what either keeps, `intersection` what both do."""

    strategy: PruneStrategy = "union"

    def __post_init__(self) -> None:
        if self.strategy not in ("union", "intersection"):
            raise SettingsError(
                f"`pruner.strategy` cannot be {shown(self.strategy)}. "
                f"{nearest(self.strategy, ('union', 'intersection'))}"
            )


class CompiledTools(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a compile, and the directory that belongs into its prefix (or is empty)."""

    tools: tuple[ToolDefinition, ...] = ()
    directory_xml: str = ""


class Pruner:
    """Holds the tools of a session and decides which are shown.

    What goes in and comes out is frozen or a copy. Registering puts the new list in place of the
    old one; a list that is refused changes nothing. `reader` reads entries that are neither
    definitions nor plain mappings of their fields; `reserved` are names no tool may have.
    `wire_names` answers the names that providers may be told instead of a tool's own, without that
    itself, so that a call by one of them is known for what it is.
    """

    def __init__(
        self,
        config: PrunerConfig | None = None,
        *,
        reader: ToolReader | None = None,
        reserved: Iterable[str] = LIBRARY_TOOL_NAMES,
        wire_names: Callable[[str], Iterable[str]] | None = None,
    ) -> None:
        check_instance(config, "config", PrunerConfig, optional=True)
        check_callable(reader, "reader")
        check_callable(wire_names, "wire_names")
        self.config = config or PrunerConfig()
        self._reader = reader
        self._reserved = frozenset(read_list(reserved, "reserved", str))
        self._wire_names = wire_names
        self._flat: tuple[ToolDefinition, ...] = ()
        self._namespaces: tuple[ToolGroup, ...] = ()
        self._toolkits: tuple[ToolGroup, ...] = ()
        self._repairs: dict[str, tuple[Repair, ...]] = {}
        self._blocked: tuple[str, ...] = ()
        self._applied: frozenset[str] | None = None
        self._index: ToolIndex | None = None
        self._grouped: tuple[ToolDefinition, ...] | None = None
        self._told: Mapping[str, str] = {}
        self._own_names: Mapping[str, str] = {}

    # Registration

    def register_tools(self, tools: Sequence[ToolLike]) -> None:
        """The flat tools. An applied pruning ends, since it was made for the old list."""
        read = read_definitions(tools, path="tools", reader=self._reader)
        self._refuse_clashes(read.tools, self._namespaces)
        self._flat = read.tools
        self._tell(tool.name for tool in read.tools)
        self._repairs = {**self._repairs, "tools": read.repairs}
        self._applied = None
        self._index = None

    def register_namespaces(self, namespaces: Sequence[GroupLike]) -> None:
        """Groups that are one tool each: the model names an action and its arguments."""
        read = read_groups(namespaces, path="namespaces", reader=self._reader)
        self._refuse_clashes(self._flat, read.groups)
        self._namespaces = read.groups
        self._tell(group.name for group in read.groups)
        self._repairs = {**self._repairs, "namespaces": read.repairs}
        self._grouped = None

    def register_toolkits(self, toolkits: Sequence[GroupLike]) -> None:
        """Groups that stay out until the model asks for one by `load_toolkit`."""
        read = read_groups(toolkits, path="toolkits", reader=self._reader)
        seen: dict[str, str] = {}
        for group in read.groups:
            folded = fold_name(group.name)
            if (earlier := seen.get(folded)) is not None:
                raise ToolError(
                    f"Two toolkits are called {shown(earlier)} and {shown(group.name)}, which is "
                    "one name, "
                    "since case does not count. Rename one of them."
                )
            seen[folded] = group.name
        self._toolkits = read.groups
        self._tell(tool.name for group in read.groups for tool in group.tools)
        self._repairs = {**self._repairs, "toolkits": read.repairs}
        self._grouped = None

    def _refuse_clashes(
        self, flat: Sequence[ToolDefinition], namespaces: Sequence[ToolGroup]
    ) -> None:
        reserved = {fold_name(name): name for name in self._reserved}
        names = {fold_name(tool.name): tool.name for tool in flat if not is_native(tool)}
        for folded in sorted(names.keys() & reserved.keys()):
            raise ToolError(
                f"The tool name {shown(names[folded])} belongs to the library, which answers "
                "calls of "
                f"`{reserved[folded]}`; case does not count. Rename the tool."
            )
        for group in namespaces:
            folded = fold_name(group.name)
            if folded in reserved:
                raise ToolError(
                    f"The name {shown(group.name)} belongs to the library, which answers calls of "
                    f"`{reserved[folded]}`; case does not count. Rename the namespace."
                )
            if folded in names:
                raise ToolError(
                    f"The namespace {shown(group.name)} has the name of another tool or namespace, "
                    f"{shown(names[folded])}, since case does not count, and a model could not "
                    "tell "
                    "them apart. Rename one of them."
                )
            names[folded] = group.name

    def _tell(self, names: Iterable[str]) -> None:
        """Keep what providers may be told instead, also when the tools are gone: calls stay."""
        if self._wire_names is not None:
            found = {wire: name for name in names for wire in self._wire_names(name)}
            self._told = {**found, **self._told} if found else self._told
        own = {tool.name for tool in self._flat} | {group.name for group in self._namespaces}
        self._own_names = {wire: name for wire, name in self._told.items() if wire not in own}

    # What is there

    @property
    def own_names(self) -> Mapping[str, str]:
        """A tool's own name, by each other name that a provider may have been told for it.

        Holds every tool that was ever registered, since conversations outlive registrations. A name
        that some tool really has stands for that tool.
        """
        return self._own_names

    @property
    def all_tools(self) -> tuple[ToolDefinition, ...]:
        """The flat tools in the order of registration, pruned or not."""
        return self._flat

    @property
    def namespaces(self) -> tuple[ToolGroup, ...]:
        return self._namespaces

    @property
    def toolkits(self) -> tuple[ToolGroup, ...]:
        return self._toolkits

    @property
    def repairs(self) -> tuple[Repair, ...]:
        """What was mended in the definitions that are registered now."""
        return tuple(repair for found in self._repairs.values() for repair in found)

    @property
    def directory_xml(self) -> str:
        """The `<available_toolkits>` directory, escaped; empty without toolkits."""
        return directory_xml(self._toolkits)

    def visible_tools(self) -> tuple[ToolDefinition, ...]:
        """What a compile shows, always in this order: flat tools that the applied pruning keeps,
        namespaces, the toolkit loader. A namespace without actions is left out.
        """
        applied = self._applied
        flat = self._flat
        if applied is not None:
            flat = tuple(tool for tool in flat if tool.name in applied)
        if self._grouped is None:
            self._grouped = namespace_tools(self._namespaces) + loader_tools(self._toolkits)
        return (*flat, *self._grouped)

    def compile(self) -> CompiledTools:
        """The visible tools, and the directory of toolkits for the prefix."""
        return CompiledTools(tools=self.visible_tools(), directory_xml=self.directory_xml)

    # Pruning: questions about the flat tools, which change nothing

    def prune_by_task(self, task: str) -> PrunedTools:
        """The tools that the task speaks of: by name, or by a tag, as whole words.

        Word forms and spellings do not matter (`read_file` is in "read the files"), parts of words
        do (`file` is not in "profile"). A tool without tags is kept for every task. A name in the
        task scores 2, each tag in it 1.
        """
        return kept_tools(self._flat, [spoken_of(task)], strategy="union")

    def allow_only(self, names: Sequence[str]) -> PrunedTools:
        """The tools of these names, whatever their case."""
        return kept_tools(self._flat, [listed(names)], strategy="union")

    def prune_by_task_and_allowlist(self, task: str, names: Sequence[str]) -> PrunedTools:
        """Both rules, put together as the strategy of the settings says."""
        rules = [spoken_of(task), listed(names)]
        return kept_tools(self._flat, rules, strategy=self.config.strategy)

    async def select_tools(
        self, task: str, k: int, *, embedder: Embedder | None = None
    ) -> PrunedTools:
        """The `k` flat tools that fit the task best, best first. See `select_tools()`."""
        tools = self._flat
        if self._index is None:
            self._index = ToolIndex(tools)
        return await ranked(task, k, tools, index=self._index, embedder=embedder)

    def select_tools_sync(
        self, task: str, k: int, *, embedder: Embedder | None = None
    ) -> PrunedTools:
        """`select_tools` without an event loop; AsyncRequiredError where a part waits."""
        return run_sync(self.select_tools(task, k, embedder=embedder))

    # Pruning applied

    def apply(self, result: PrunedTools) -> None:
        """Show only these flat tools from the next compile on, until `clear()`.

        Their order stays that of registration, whatever the order of the result. Raises ToolError
        for a result that was made for other tools.
        """
        if not isinstance(cast(Any, result), PrunedTools):
            raise ToolError(f"`apply()` takes what pruning answered, not {shown(result)}.")
        known = {tool.name for tool in self._flat}
        names = frozenset(tool.name for tool in result.tools)
        for name in sorted(names - known):
            raise ToolError(
                f"The result holds the tool {shown(name)}, which is not registered (any more). "
                "Prune again, and apply that result."
            )
        self._applied = names

    def clear(self) -> None:
        """Show every flat tool again."""
        self._applied = None

    # Groups

    def extract_toolkit(self, name: str) -> tuple[ToolDefinition, ...]:
        """The tools of a toolkit, whatever the case of its name. Raises ToolError naming those
        there are.
        """
        if not isinstance(cast(Any, name), str):
            raise ToolError(f"A toolkit has a text for its name, not {shown(name)}.")
        return find_toolkit(self._toolkits, name).tools

    def is_toolkit_loader(self, call: Any) -> bool:
        """Whether the call, in any provider's form, is one of `load_toolkit`."""
        return self._called(call).name == LOAD_TOOLKIT

    def is_namespace_call(self, call: Any) -> bool:
        """Whether the call, in any provider's form, is one of a namespace.

        Case counts, as it does for every tool's name.
        """
        name = self._called(call).name
        return any(group.name == name for group in self._namespaces)

    def resolve_namespace(self, call: Any) -> ResolvedCall:
        """The action that a namespace's call means, and its arguments.

        `call` is one call in any provider's form. Arguments for the action that are no object count
        as none. Raises ToolError in words that may be handed to the model.
        """
        called = self._called(call)
        return resolve_call(self._namespaces, called.name, called.arguments)

    def _called(self, call: Any) -> ToolRequest:
        """The call under the tool's own name; the empty name for what is no call."""
        name, arguments, _ = call_parts(call)
        return ToolRequest(name=self._own_name(name) if name else "", arguments=arguments)

    def _own_name(self, name: str) -> str:
        """The name a tool was registered under, of the one that a provider was told."""
        return self._own_names.get(name, name)

    # The gate

    def set_blocked_tools(self, names: Sequence[str]) -> None:
        """The blocklist, in place of the one before. What entries may look like: `judge_call`."""
        if isinstance(names, str) or not is_list_of_texts(names):
            raise ToolError(f"`names` is a list of tool names, not {shown(names)}.")
        self._blocked = tuple(names)

    def get_blocked_tools(self) -> list[str]:
        """The names on the blocklist, in order, as a list of the caller's own."""
        return list(self._blocked)

    def check_tool_call(self, call: Any) -> ToolVerdict:
        """Whether a call may run. The tools that are shown stay the same either way."""
        name, _, _ = call_parts(call)
        called = self._called(call) if name else None
        verdict = judge_call(
            called if called is not None else call,
            blocked=self._blocked,
            namespaces=self._namespaces,
            toolkits=self._toolkits,
            flat=[tool.name for tool in self._flat],
        )
        if name and called is not None and called.name != name and verdict.reason:
            # The model is told in the name that it knows.
            reason = verdict.reason.replace(f"`{called.name}", f"`{name}")
            verdict = msgspec.structs.replace(verdict, reason=reason)
        return verdict

    # Snapshot

    def snapshot_state(self) -> dict[str, Any]:
        """Everything the next compile depends on, as plain JSON-able data.

        Raises ToolError for a definition that holds something else, such as a function.
        """
        state: dict[str, Any] = {
            "flat_tools": [plain_definition(tool) for tool in self._flat],
            "namespaces": [plain_group(group) for group in self._namespaces],
            "lazy_toolkits": [plain_group(group) for group in self._toolkits],
            "blocked_tools": list(self._blocked),
            "applied": None if self._applied is None else sorted(self._applied),
        }
        if self._told:
            state["told_names"] = dict(sorted(self._told.items()))
        return state

    def adopt(self, other: Pruner) -> None:
        """Hold what another pruner holds. Nothing is copied: all of it is immutable."""
        self.__dict__.update(other.__dict__)

    def restore_state(self, state: Mapping[str, Any]) -> None:
        """Take up a snapshot. One that is refused changes nothing; an absent part is empty."""
        fresh = Pruner(self.config, reserved=self._reserved, wire_names=self._wire_names)
        fresh.register_tools(_saved(state.get("flat_tools"), ToolDefinition))
        fresh.register_namespaces(_saved(state.get("namespaces"), ToolGroup))
        fresh.register_toolkits(_saved(state.get("lazy_toolkits"), ToolGroup))
        fresh.set_blocked_tools(list(state.get("blocked_tools") or ()))
        fresh._told = {**fresh._told, **_saved_names(state.get("told_names"))}
        fresh._tell(())
        applied = state.get("applied")
        if applied is not None:
            fresh.apply(fresh.allow_only(list(applied)))
        fresh._reader = self._reader
        self.__dict__.update(fresh.__dict__)


T = TypeVar("T", ToolDefinition, ToolGroup)


def _saved_names(value: Any) -> dict[str, str]:
    try:
        return msgspec.convert(thaw(value or {}), dict[str, str])
    except msgspec.ValidationError as error:
        raise ToolError(f"`told_names` of this snapshot cannot be read: {error}.") from error


def _saved(values: Any, kind: type[T]) -> list[T]:
    """What a snapshot holds of one kind; absent is empty. Raises ToolError naming the place."""
    try:
        return [
            value if isinstance(value, kind) else msgspec.convert(value, kind)
            for value in values or ()
        ]
    except (msgspec.ValidationError, TypeError) as error:
        raise ToolError(f"The tools of this snapshot cannot be read: {error}.") from error
