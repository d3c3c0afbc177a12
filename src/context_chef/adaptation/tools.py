"""Tool definitions become the target's own tool list, one that is never refused."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from context_chef.adaptation.anthropic_body import cache_control
from context_chef.adaptation.gemini_form import gemini_form_fault, with_named_types
from context_chef.adaptation.given_tools import (
    GEMINI_TOOL,
    json_schema_of,
    read_tools,
    tool_from_dict,
)
from context_chef.adaptation.model_profile import ModelProfile
from context_chef.adaptation.own_calls import original_arguments
from context_chef.adaptation.strict_schema import StrictBudget
from context_chef.adaptation.tool_memo import mended_schema
from context_chef.adaptation.tool_names import is_legal_name, map_names, wire_name
from context_chef.adaptation.tool_schema import SchemaResult
from context_chef.ir.blocks import Provider
from context_chef.ir.canonical import compact_json
from context_chef.ir.diagnostics import Diagnostic, Repair
from context_chef.ir.frozen import EMPTY, thaw
from context_chef.ir.tools import ToolDefinition

__all__ = [
    "ConvertedTools",
    "convert_tools",
    "is_legal_name",
    "map_names",
    "read_tools",
    "tool_from_dict",
    "wire_name",
]

OPENAI_TOOL_LIMIT: Final = 128
_FUNCTION: Final = frozenset({"name", "description", "parameters", "strict"})
_TYPE: Final = frozenset({"type"})
"""What OpenAI knows of a function of Chat Completions, and beside it."""
_SEARCH_TOOL: Final = {
    "type": "tool_search_tool_bm25_20251119",
    "name": "tool_search_tool_bm25",
}
_SCHEMA_RULES: Final[Mapping[Provider, str]] = {
    "anthropic": "tool-schema",
    "openai": "function-schema",
    "openai-responses": "function-schema",
    "gemini": "schema",
}
_OWN: Final = frozenset(
    {"context", "new_context", "create_memory", "modify_memory", "recall_context"}
)
"""Without these the model cannot reach back: they are the last to go when a list is too long."""


class ConvertedTools(msgspec.Struct, frozen=True, kw_only=True):
    """A target's tool list and what happened on the way there."""

    wire: list[dict[str, Any]]
    """The body's `tools`, built freshly: the receiver may change it. Empty when there are none."""
    names: Mapping[str, str] = EMPTY
    """The caller's name of every tool on the list, and the one on the wire."""
    back: Mapping[str, str] = EMPTY
    """The other way round: the name the model calls, and the caller's."""
    arguments: Mapping[str, Mapping[str, str]] = EMPTY
    """By wire name: argument names that had to change, wire to original."""
    tool_config: Mapping[str, Any] = EMPTY
    """Keys that the body's `toolConfig` needs with this list (Gemini)."""
    repairs: tuple[Repair, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    def original_call(self, name: str, arguments: str) -> tuple[str, str]:
        """The caller's own tool name and argument text of a call that the model made."""
        own = self.back.get(name, name)
        return own, original_arguments(arguments, self.arguments.get(name, EMPTY))


def convert_tools(
    tools: Sequence[ToolDefinition], *, target: Provider, profile: ModelProfile | None = None
) -> ConvertedTools:
    """The list that `target` takes. Never raises for something that a provider would refuse.

    Names are made legal and unique, schemas are mended, definitions that exist only on another
    provider are left out: each with a `Repair` or a `Diagnostic`. Of two equal definitions one is
    kept; of two different ones with one name the first, since calls could not be told apart.
    """
    return _Conversion(target, profile).convert(tools)


def held_back(
    tool: ToolDefinition,
    target: str,
    profile: ModelProfile | None,
    tools: Iterable[ToolDefinition] = (),
) -> bool:
    """Whether the model hears of the tool only when it searches for it.

    A model that nobody knows is not asked to search, unless the caller put the provider's own
    search tool among the `tools`; a definition that stood in a request of the same provider goes
    back as it was.
    """
    if not tool.defer_loading or target not in ("anthropic", "openai-responses"):
        return False
    if profile is not None:
        return profile.tool_search
    return target in tool.native or any(_searches(other, target) for other in tools)


def _searches(tool: ToolDefinition, target: str) -> bool:
    """Whether this is the provider's own tool that finds tools."""
    definition = cast(Mapping[str, Any], tool.native.get(target) or EMPTY).get("definition")
    kind = cast(Mapping[str, Any], definition).get("type") if definition else None
    return isinstance(kind, str) and kind.startswith("tool_search")


class _Conversion:
    """One conversion. Holds what it reports."""

    def __init__(self, target: Provider, profile: ModelProfile | None) -> None:
        self._target: Provider = target
        self._profile = profile
        self._official = target == "openai" and profile is not None and profile.openais_own
        self._repairs: list[Repair] = []
        self._diagnostics: list[Diagnostic] = []
        self._arguments: dict[str, Mapping[str, str]] = {}

    def convert(self, tools: Sequence[ToolDefinition]) -> ConvertedTools:
        target = self._target
        kept = self._unique(self._available(tools))
        if target in ("openai", "openai-responses"):
            kept = self._within_limit(kept)
        native = {self._identity(tool) for _, tool in kept if self._definition(tool) is not None}
        functions = (tool.name for _, tool in kept if self._definition(tool) is None)
        names = map_names(functions, target, taken=native)
        budget = StrictBudget(target)
        deferred = self._deferral(kept)
        entries: list[tuple[ToolDefinition, dict[str, Any]]] = []
        for where, tool in kept:
            definition = self._definition(tool)
            if definition is not None:
                entries.append((tool, thaw(definition)))
                names.setdefault(tool.name, str(definition.get("name") or tool.name))
                continue
            name = names[tool.name]
            if name != tool.name:
                rule = "function-name" if target == "gemini" else "tool-name"
                self._repair(rule, where, f"the tool {tool.name!r} goes as {name!r}")
            schema = self._schema(tool, name, where)
            strict = self._strict(tool, schema.schema, budget, where)
            entries.append((tool, self._write(tool, name, schema, strict, tool.name in deferred)))
        wire = self._listed(entries)
        self._search_tool(wire, kept, deferred)
        return ConvertedTools(
            wire=wire,
            names=names,
            back={wire_name: name for name, wire_name in names.items()},
            arguments=self._arguments,
            tool_config=self._tool_config(entries),
            repairs=tuple(self._repairs),
            diagnostics=tuple(self._diagnostics),
        )

    def _repair(self, rule: str, where: str, message: str) -> None:
        self._repairs.append(Repair(rule=f"{self._target}/{rule}", where=where, message=message))

    def _diagnose(self, code: str, where: str, message: str) -> None:
        self._diagnostics.append(Diagnostic(code=code, where=where, message=message))

    def _only(self, known: frozenset[str], fields: Mapping[str, Any], name: str) -> dict[str, Any]:
        for key in sorted(fields.keys() - known):
            self._diagnose("field-dropped", name, f"OpenAI takes no `{key}` with a tool")
        return {key: value for key, value in fields.items() if key in known}

    def _is_known(self, definition: Mapping[str, Any]) -> bool:
        """Whether it is no tool that only another server of the same format has."""
        return not self._official or definition.get("type") in ("function", "custom")

    def _definition(self, tool: ToolDefinition) -> Mapping[str, Any] | None:
        own = tool.native.get(self._target)
        definition = cast(Mapping[str, Any], own).get("definition") if own else None
        return cast(Mapping[str, Any], definition) if isinstance(definition, Mapping) else None

    # Which tools ---------------------------------------------------------------------------

    def _available(self, tools: Iterable[ToolDefinition]) -> list[tuple[str, ToolDefinition]]:
        kept: list[tuple[str, ToolDefinition]] = []
        target, refused = self._target, self._profile.refused_tools if self._profile else ()
        for index, tool in enumerate(tools):
            where = f"tools[{index}]"
            definition = self._definition(tool)
            elsewhere = [
                provider
                for provider, fields in tool.native.items()
                if isinstance(fields, Mapping) and "definition" in fields
            ]
            if definition is None and elsewhere:
                self._diagnose(
                    "tool-dropped",
                    where,
                    f"the tool {tool.name!r} exists only on {', '.join(elsewhere)}",
                )
            elif definition is not None and not self._is_known(definition):
                kind = definition.get("type")
                self._diagnose(
                    "tool-dropped", where, f"OpenAI has no tools of type {kind!r}: {tool.name!r}"
                )
            elif definition is not None and definition.get("type") in refused:
                self._repair("tool-refused", where, f"this model does not take {tool.name!r}")
            elif self._profile and not self._profile.tool_search and _searches(tool, target):
                self._repair(
                    "tool-search-model", where, f"this model does not search with {tool.name!r}"
                )
            else:
                kept.append((where, tool))
        if self._target == "gemini" and self._profile and not self._profile.tool_combination:
            functions = [entry for entry in kept if self._definition(entry[1]) is None]
            if functions and len(functions) < len(kept):
                for where, tool in kept:
                    if self._definition(tool) is not None:
                        self._repair(
                            "tool-combination",
                            where,
                            f"{tool.name!r} cannot be offered beside functions on this model",
                        )
                return functions
        return kept

    def _unique(self, tools: list[tuple[str, ToolDefinition]]) -> list[tuple[str, ToolDefinition]]:
        first: dict[str, ToolDefinition] = {}
        kept: list[tuple[str, ToolDefinition]] = []
        for where, tool in tools:
            identity = self._identity(tool)
            earlier = first.get(identity)
            if earlier is None:
                first[identity] = tool
                kept.append((where, tool))
            elif earlier == tool:
                self._repair(
                    "tool-name-duplicate", where, f"the tool {tool.name!r} is there already"
                )
            else:
                self._repair(
                    "tool-name-duplicate",
                    where,
                    f"another tool is called {tool.name!r}; the first is kept, this one left out",
                )
        return kept

    def _identity(self, tool: ToolDefinition) -> str:
        definition = self._definition(tool)
        if definition is None:
            return tool.name
        name = (
            definition.get("name")
            or definition.get("server_label")
            or definition.get("mcp_server_name")
        )
        if not name and isinstance(custom := definition.get("custom"), Mapping):
            name = cast(Mapping[str, Any], custom).get("name")
        # Provider tools without a name are one of a kind, unless they differ.
        return str(name) if name else compact_json(thaw(definition))

    def _within_limit(
        self, tools: list[tuple[str, ToolDefinition]]
    ) -> list[tuple[str, ToolDefinition]]:
        """The first 128: deferred tools go first, ours last."""
        limit = OPENAI_TOOL_LIMIT
        listed = [tool for _, tool in tools]
        if any(held_back(tool, self._target, self._profile, listed) for tool in listed):
            limit -= 1  # for the search tool
        excess = len(tools) - limit
        if excess <= 0:
            return tools
        order = sorted(
            range(len(tools)),
            key=lambda i: (tools[i][1].name in _OWN, not tools[i][1].defer_loading, -i),
        )
        out = set(order[:excess])
        for index in sorted(out):
            where, tool = tools[index]
            self._repair(
                "tools-limit",
                where,
                f"{tool.name!r} is left out: {self._target} takes {OPENAI_TOOL_LIMIT} tools",
            )
        return [entry for index, entry in enumerate(tools) if index not in out]

    # Deferral ------------------------------------------------------------------------------

    def _deferral(self, tools: list[tuple[str, ToolDefinition]]) -> frozenset[str]:
        deferred: list[str] = []
        listed = [tool for _, tool in tools]
        for where, tool in tools:
            if held_back(tool, self._target, self._profile, listed):
                deferred.append(tool.name)
            elif tool.defer_loading and self._definition(tool) is None:
                self._diagnose(
                    "defer-loading-dropped",
                    where,
                    f"{self._unable()}, so {tool.name!r} is sent in full",
                )
        return frozenset(deferred)

    def _unable(self) -> str:
        if self._target in ("openai", "gemini"):
            return f"{self._target} cannot hold tools back"
        if self._profile is None:
            return "whether the model can search for tools is not known (give `model`)"
        return f"{self._profile.name} cannot search for tools"

    def _search_tool(
        self,
        wire: list[dict[str, Any]],
        tools: list[tuple[str, ToolDefinition]],
        deferred: frozenset[str],
    ) -> None:
        """What is held back has to be findable."""
        if not deferred:
            return
        kinds = [str(tool.get("type")) for tool in wire]
        if self._target == "openai-responses":
            if "tool_search" not in kinds:
                wire.append({"type": "tool_search"})
                self._repair("tool-search", "tools", "a search tool finds the tools held back")
            return
        if any(kind.startswith("tool_search_tool_") for kind in kinds):
            return
        ours = [
            tool
            for _, tool in tools
            if tool.name in deferred and not tool.native.get("anthropic", EMPTY).get("read")
        ]
        if ours or len(deferred) == len(wire):
            wire.append(dict(_SEARCH_TOOL))
            self._repair("defer-all", "tools", "a search tool finds the tools held back")

    # One tool ------------------------------------------------------------------------------

    def _schema(self, tool: ToolDefinition, name: str, where: str) -> SchemaResult:
        result = mended_schema(tool, self._target)
        if result.notes:
            rule = _SCHEMA_RULES[self._target]
            self._repair(rule, f"{where}.parameters", "; ".join(result.notes))
        if result.renamed:
            self._arguments[name] = result.renamed
        return result

    def _strict(
        self, tool: ToolDefinition, schema: dict[str, Any], budget: StrictBudget, where: str
    ) -> bool | None:
        if not tool.strict:
            return tool.strict
        if self._target == "gemini":
            self._diagnose("strict-dropped", where, f"Gemini has no strict mode for {tool.name!r}")
            return None
        fault = budget.fault(schema)
        if fault is None:
            return True
        self._repair("strict-schema", where, f"{tool.name!r} is not sent as strict: {fault}")
        return False

    def _write(
        self,
        tool: ToolDefinition,
        name: str,
        schema: SchemaResult,
        strict: bool | None,
        deferred: bool,
    ) -> dict[str, Any]:
        native: dict[str, Any] = thaw(tool.native.get(self._target) or {})
        words = {"description": tool.description} if tool.description else {}
        if self._target == "openai":
            fields = native.pop("function", {})
            if self._official:
                fields = self._only(_FUNCTION, fields, name)
                native = self._only(_TYPE, native, name)
            function: dict[str, Any] = {"name": name, **fields, **words}
            function["parameters"] = schema.schema
            if strict is not None:
                function["strict"] = strict
            return {"type": "function", "function": function, **native}
        if self._target == "gemini":
            schemas = self._gemini_schemas(tool, name, schema, native)
            return {"name": name, **native, **words, **schemas}
        if self._target == "openai-responses":
            entry = {
                "type": "function",
                "name": name,
                **native,
                **words,
                "parameters": schema.schema,
            }
            if strict is not None or "openai-responses" not in tool.native:
                # Unsaid, this wire would make a lenient schema strict where it can.
                entry["strict"] = bool(strict)
        else:
            native.pop("read", None)
            if tool.cache is not None:
                native.setdefault("cache_control", cache_control(tool.cache))
            if deferred and native.pop("cache_control", None):
                self._repair("defer-cache-control", name, "a tool held back carries no breakpoint")
            entry = {"name": name, **native, **words, "input_schema": schema.schema}
            if strict is not None:
                entry["strict"] = strict
        if deferred:
            entry["defer_loading"] = True
        return entry

    def _gemini_schemas(
        self, tool: ToolDefinition, name: str, schema: SchemaResult, native: dict[str, Any]
    ) -> dict[str, Any]:
        """Schemas in Gemini's own form as they were given, where they keep to it."""
        found: dict[str, Any] = {}
        answer = with_named_types(native.pop("response", None))
        if answer is not None and not self._keeps_to_geminis_form(answer, f"{name}.response"):
            found["responseJsonSchema"] = json_schema_of(answer)
        elif answer is not None:
            found["response"] = answer
        own = with_named_types(native.pop("parameters", None))
        if (
            own is not None
            and thaw(json_schema_of(own)) == thaw(tool.parameters)
            and self._keeps_to_geminis_form(own, f"{name}.parameters", of_a_call=True)
        ):
            found["parameters"] = own
        elif tool.parameters is not None:
            found["parametersJsonSchema"] = schema.schema
        return found

    def _keeps_to_geminis_form(self, schema: Any, where: str, *, of_a_call: bool = False) -> bool:
        fault = gemini_form_fault(schema, of_a_call=of_a_call)
        if fault is not None:
            self._repair("schema", where, f"it is sent as JSON Schema: {fault}")
        return fault is None

    # The list ------------------------------------------------------------------------------

    def _listed(self, entries: list[tuple[ToolDefinition, dict[str, Any]]]) -> list[dict[str, Any]]:
        if self._target != "gemini":
            return [entry for _, entry in entries]
        groups: dict[Any, dict[str, Any]] = {}
        for number, (tool, entry) in enumerate(entries):
            native = self._definition(tool) is not None
            group = tool.extra.get(GEMINI_TOOL, ("built-in", number) if native else "functions")
            holder = groups.setdefault(group, {})
            if native:
                holder.update(entry)
            else:
                holder.setdefault("functionDeclarations", []).append(entry)
        return list(groups.values())

    def _tool_config(self, entries: list[tuple[ToolDefinition, dict[str, Any]]]) -> dict[str, Any]:
        if self._target != "gemini" or not self._profile or not self._profile.tool_combination:
            return {}
        native = [self._definition(tool) is not None for tool, _ in entries]
        return {"includeServerSideToolInvocations": True} if len(set(native)) == 2 else {}
