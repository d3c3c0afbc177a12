"""Decide whether a tool call may run: what it would really run is looked at, not only its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.ir.blocks import ToolCall
from context_chef.ir.tools import ToolRequest
from context_chef.prompts.tools import LOAD_TOOLKIT
from context_chef.selection.tool_groups import ToolGroup, read_arguments
from context_chef.selection.words import fold_name

_SEPARATORS: Final = (".", "/")


class ToolVerdict(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the gate says of one call."""

    allowed: bool
    name: str | None = None
    """The tool called, as `namespace.action` where that is what it means; None without a name."""
    reason: str | None = None
    """Why not, in words that may be handed to the model."""
    blocked: bool = False
    """Refused by the blocklist, as against a call that cannot be read."""


class _Read(msgspec.Struct, frozen=True, kw_only=True):
    """What a call would run, under every name a blocklist may have for it."""

    name: str
    names: tuple[str, ...]
    group: ToolGroup | None = None
    """The namespace called, when its action could not be made out."""


def judge_call(
    call: Any,
    *,
    blocked: Sequence[str],
    namespaces: Sequence[ToolGroup] = (),
    toolkits: Sequence[ToolGroup] = (),
    flat: Iterable[str] = (),
) -> ToolVerdict:
    """Whether the call may run.

    A name on the blocklist refuses a tool of that name, an action of that name in any namespace,
    a whole namespace, and a whole toolkit: the loading of it, and its tools once they are loaded,
    as flat tools or as actions. `namespace.action` and `namespace/action` refuse one action of one
    namespace, `toolkit.tool` one tool of a toolkit. Upper and lower case are the same, as in
    pruning. A namespace call whose action cannot be made out is refused as soon as any of its
    actions is blocked. A bare name that none of the `flat` tools has is taken for an action of
    every namespace that has one of that name.
    """
    name, arguments, has_arguments = call_parts(call)
    if name is None or not name.strip():
        given = "no call" if call is None else "no name" if name is None else f"the name {name!r}"
        return ToolVerdict(
            allowed=False, reason=f"A tool call needs the name of a tool; got {given}."
        )
    rules = {fold_name(entry) for entry in blocked}
    read = _read(name, arguments, namespaces, toolkits, flat)
    if any(fold_name(known) in rules for known in read.names):
        reason = f"The tool `{read.name}` is blocked and was not run. Go on without it."
        return ToolVerdict(allowed=False, name=read.name, reason=reason, blocked=True)
    if read.group is not None and (hidden := _blocked_actions(read.group, toolkits, rules)):
        missing = "cannot be read" if has_arguments else "were not given"
        reason = (
            f"The tool `{name}` has blocked actions ({', '.join(hidden)}), and the arguments of "
            f"this call {missing}, so it was not run. Name an allowed `action`."
        )
        return ToolVerdict(allowed=False, name=name, reason=reason, blocked=True)
    return ToolVerdict(allowed=True, name=read.name)


def call_parts(call: Any) -> tuple[str | None, Any, bool]:
    """Name and arguments of a call in any of the providers' shapes."""
    if isinstance(call, (ToolRequest, ToolCall)):
        return call.name, call.arguments, call.arguments is not None
    if callable(dump := getattr(call, "model_dump", None)):
        call = dump()  # an SDK's object
    if not isinstance(call, Mapping):
        return None, None, False
    fields = cast(Mapping[str, Any], call)
    for wrapper in ("function", "functionCall", "function_call"):
        inner = fields.get(wrapper)
        if "name" not in fields and isinstance(inner, Mapping):
            fields = cast(Mapping[str, Any], inner)
    name = fields.get("name")
    key = next((key for key in ("arguments", "input", "args") if key in fields), None)
    arguments = fields[key] if key is not None else None
    return (name if isinstance(name, str) else None), arguments, arguments is not None


def _read(
    name: str,
    arguments: Any,
    namespaces: Sequence[ToolGroup],
    toolkits: Sequence[ToolGroup],
    flat: Iterable[str],
) -> _Read:
    folded = fold_name(name)
    if folded == fold_name(LOAD_TOOLKIT):
        toolkit = (read_arguments(arguments) or {}).get("toolkit_name")
        if isinstance(toolkit, str):
            return _Read(name=f"{name}.{toolkit}", names=(name, *_spellings(name, toolkit)))
        return _Read(name=name, names=(name,))
    if (group := _group(namespaces, name)) is not None:
        action = (read_arguments(arguments) or {}).get("action")
        if not isinstance(action, str):
            return _Read(name=name, names=(name,), group=group)
        unknown = not any(tool.name == action for tool in group.tools)
        return _Read(
            name=f"{name}.{action}",
            names=(name, *_spellings(group.name, action), *_holders(toolkits, action)),
            group=group if unknown else None,
        )
    names = [name, *_holders(toolkits, name)]
    for separator in _SEPARATORS:
        prefix, found, action = name.partition(separator)
        if found and (group := _group(namespaces, prefix)) is not None:
            names += [prefix, *_spellings(prefix, action), *_holders(toolkits, action)]
        if found and (kit := _group(toolkits, prefix)) is not None:
            names += [kit.name, *_spellings(kit.name, action)]
    if not any(fold_name(known) == folded for known in flat):
        names += _holders(namespaces, name)
    return _Read(name=name, names=tuple(names))


def _holders(groups: Iterable[ToolGroup], name: str) -> list[str]:
    """The groups that hold a tool of that name, and the tool as theirs."""
    wanted = fold_name(name)
    return [
        rule
        for group in groups
        if any(fold_name(tool.name) == wanted for tool in group.tools)
        for rule in (group.name, *_spellings(group.name, name)[1:])
    ]


def _spellings(group: str, action: str) -> tuple[str, ...]:
    return (action, *(f"{group.strip()}{separator}{action.strip()}" for separator in _SEPARATORS))


def _group(groups: Iterable[ToolGroup], name: str) -> ToolGroup | None:
    wanted = fold_name(name)
    return next((group for group in groups if fold_name(group.name) == wanted), None)


def _blocked_actions(group: ToolGroup, toolkits: Sequence[ToolGroup], rules: set[str]) -> list[str]:
    return [
        tool.name
        for tool in group.tools
        if any(
            fold_name(name) in rules
            for name in (*_spellings(group.name, tool.name), *_holders(toolkits, tool.name))
        )
    ]
