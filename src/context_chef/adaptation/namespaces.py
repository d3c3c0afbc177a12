"""Functions of OpenAI Responses that are not in the default namespace: their calls say where.

A call that does not is refused with "Missing namespace for function_call" (vercel/ai#15193,
earendil-works/pi#7709). A function that a tool search loaded is in a namespace of its own name, and
only as long as the item that loaded it is replayed (dust-tt/dust#31323).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from context_chef.ir.blocks import Opaque
from context_chef.ir.message import Message

NAMESPACED_CALLS: Final = frozenset({"function_call", "custom_tool_call"})
_LOADED: Final = "tool_search_output"


def homes_of(items: Iterable[Any], tools: Iterable[Any]) -> dict[str, str]:
    """The namespace of every function that stands in one and not in the default one too."""
    homes: dict[str, str] = {}
    default: set[str] = set()
    _enter(tools, homes, default, loaded=False)
    for item in _mappings(items):
        if item.get("type") in (_LOADED, "additional_tools"):
            _enter(item.get("tools"), homes, default, loaded=item.get("type") == _LOADED)
    return {name: home for name, home in homes.items() if name not in default}


def _enter(tools: Any, homes: dict[str, str], default: set[str], *, loaded: bool) -> None:
    for tool in _mappings(tools):
        name = str(tool.get("name"))
        if tool.get("type") == "namespace":
            for inner in _mappings(tool.get("tools")):
                homes.setdefault(str(inner.get("name")), name)
        elif tool.get("type") in ("function", "custom"):
            if loaded:
                homes.setdefault(name, name)
            elif tool.get("defer_loading") is not True:
                default.add(name)


def _mappings(values: Any) -> Iterable[Mapping[str, Any]]:
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
        return
    for value in cast("Iterable[Any]", values):
        if isinstance(value, Mapping):
            yield cast("Mapping[str, Any]", value)


def loads_tools(message: Message) -> bool:
    """Whether a tool search loaded something there."""
    return any(isinstance(block, Opaque) and block.kind == _LOADED for block in message.content)
