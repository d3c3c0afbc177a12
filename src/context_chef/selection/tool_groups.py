"""Groups of tools: namespaces, which are one tool each, and toolkits, loaded on demand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, cast

import msgspec

from context_chef.errors import ToolError, shown
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import EMPTY, thaw
from context_chef.ir.tools import ToolDefinition
from context_chef.prompts.tools import (
    LOAD_TOOLKIT,
    LOAD_TOOLKIT_DESCRIPTION,
    load_toolkit_parameters,
    namespace_description,
    namespace_parameters,
    toolkit_directory,
)
from context_chef.selection.tool_definitions import (
    ToolLike,
    ToolReader,
    is_unordered,
    plain_definition,
    read_definitions,
)
from context_chef.selection.words import fold_name

LIBRARY_TOOL_NAMES: Final = frozenset(
    {"context", "new_context", "create_memory", "modify_memory", "recall_context", LOAD_TOOLKIT}
)
"""Calls by these names are answered by the library, so no tool of a caller can have them."""


class ToolGroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tools under one name."""

    name: str
    description: str = ""
    tools: tuple[ToolDefinition, ...] = ()


GroupLike: TypeAlias = ToolGroup | Mapping[str, Any]
"""A group, or a plain mapping with `name`, `description` and `tools`."""


class ResolvedCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a namespace: whose action is meant, and its arguments as a plain dict."""

    group: str
    tool_name: str
    args: Mapping[str, Any] = EMPTY


class ReadGroups(NamedTuple):
    groups: tuple[ToolGroup, ...]
    repairs: tuple[Repair, ...]


def read_groups(values: Any, *, path: str, reader: ToolReader | None = None) -> ReadGroups:
    """The groups of a list, judged like tools. Those of a set come in the order of their names.
    Raises ToolError naming the group and the tool."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ToolError(f"`{path}` is a list of groups, not {shown(cast(object, values))}.")
    groups: list[ToolGroup] = []
    repairs: list[Repair] = []
    for index, value in enumerate(cast(Iterable[Any], values)):
        where = f"{path}[{index}]"
        name, description, tools = _fields(value, where)
        read = read_definitions(tools, path=f"{where}.tools", reader=reader)
        repairs += read.repairs
        groups.append(ToolGroup(name=name, description=description, tools=read.tools))
    if is_unordered(cast(object, values)):
        groups.sort(key=lambda group: group.name)
    return ReadGroups(tuple(groups), tuple(repairs))


def _fields(value: Any, path: str) -> tuple[str, str, Sequence[ToolLike]]:
    if isinstance(value, ToolGroup):
        name, description, tools = value.name, value.description, value.tools
    elif isinstance(value, Mapping):
        group = cast(Mapping[str, Any], value)
        name, description = group.get("name"), group.get("description") or ""
        tools = group.get("tools") or ()
    else:
        raise ToolError(f"`{path}` is a `ToolGroup` or a mapping, not {shown(value)}.")
    if not isinstance(name, str) or not name.strip():
        raise ToolError(f"`{path}`: a group needs a name, not {shown(name)}.")
    if not isinstance(description, str):
        raise ToolError(
            f"`description` of the group {shown(name)} is text, not {shown(description)}."
        )
    return name, description, tools


def namespace_tools(namespaces: Sequence[ToolGroup]) -> tuple[ToolDefinition, ...]:
    """One tool for each namespace that has any action."""
    return tuple(
        ToolDefinition(
            name=group.name,
            description=namespace_description(group.description, group.tools),
            parameters=namespace_parameters(group.tools),
        )
        for group in namespaces
        if group.tools
    )


def loader_tools(toolkits: Sequence[ToolGroup]) -> tuple[ToolDefinition, ...]:
    """`load_toolkit`, when there is anything to load."""
    if not toolkits:
        return ()
    parameters = load_toolkit_parameters(group.name for group in toolkits)
    description = LOAD_TOOLKIT_DESCRIPTION
    return (ToolDefinition(name=LOAD_TOOLKIT, description=description, parameters=parameters),)


def directory_xml(toolkits: Sequence[ToolGroup]) -> str:
    """The directory that the loader's description speaks of; empty without toolkits."""
    return toolkit_directory(
        (group.name, group.description, [tool.name for tool in group.tools]) for group in toolkits
    )


def find_toolkit(toolkits: Sequence[ToolGroup], name: str) -> ToolGroup:
    """The toolkit of that name, in any case. Raises ToolError naming the ones there are."""
    wanted = fold_name(name)
    for group in toolkits:
        if fold_name(group.name) == wanted:
            return group
    raise ToolError(f"There is no toolkit {shown(name)}. Available toolkits: {_listed(toolkits)}.")


def resolve_call(namespaces: Sequence[ToolGroup], name: str, arguments: Any) -> ResolvedCall:
    """The action that a namespace's call means. Raises ToolError in words a model can act on."""
    group = next((group for group in namespaces if group.name == name), None)
    if group is None:
        raise ToolError(
            f"There is no namespace {shown(name)}. Available namespaces: {_listed(namespaces)}."
        )
    given = read_arguments(arguments)
    if given is None:
        raise ToolError(
            f"The arguments of {shown(name)} are not a JSON object. "
            f'Send {{"action": "…", "args": {{…}}}}.'
        )
    action = given.get("action")
    action = action if isinstance(action, str) else ""
    if not any(tool.name == action for tool in group.tools):
        raise ToolError(
            f'There is no action "{action}" in the namespace {shown(name)}. '
            f"Its actions: {_listed(group.tools)}."
        )
    args = given.get("args")
    if isinstance(args, str):
        args = read_arguments(args)
    plain = cast(dict[str, Any], thaw(args)) if isinstance(args, Mapping) else {}
    return ResolvedCall(group=name, tool_name=action, args=plain)


def read_arguments(arguments: Any) -> Mapping[str, Any] | None:
    """Arguments as an object, from an object or its JSON text; None where they are neither."""
    if isinstance(arguments, (str, bytes)):
        try:
            text = arguments if isinstance(arguments, str) else arguments.decode()
            arguments = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            return None
    return cast(Mapping[str, Any], arguments) if isinstance(arguments, Mapping) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def plain_group(group: ToolGroup) -> dict[str, Any]:
    """A group as plain JSON-able data."""
    return {
        "name": group.name,
        "description": group.description,
        "tools": [plain_definition(tool) for tool in group.tools],
    }


def _listed(named: Sequence[ToolGroup] | Sequence[ToolDefinition]) -> str:
    return ", ".join(item.name for item in named) or "(none)"
