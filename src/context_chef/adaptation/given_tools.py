"""Tools of any shape in which people keep them become `ToolDefinition`s."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

from context_chef.adaptation.conversation import plain
from context_chef.adaptation.gemini_form import TYPES
from context_chef.errors import InputError, shown
from context_chef.given import check_text
from context_chef.ir.blocks import CacheBreakpoint, Provider
from context_chef.ir.diagnostics import Diagnostic
from context_chef.ir.tools import ToolDefinition

_FLAT_KEYS: Final = frozenset(
    {"name", "description", "parameters", "tags", "defer_loading", "deferLoading", "strict",
     "native", "extra", "cache", "cache_control"}
)  # fmt: skip
_MCP_SCHEMA: Final = "inputSchema"
_DECLARATIONS: Final = ("functionDeclarations", "function_declarations")
_FULL_SCHEMAS: Final = ("parametersJsonSchema", "parameters_json_schema")
GEMINI_TOOL: Final = "gemini_tool"
"""`ToolDefinition.extra` key: which of Gemini's tool objects a definition stood in."""


def read_tools(
    value: object, provider: Provider | None = None, *, path: str = "$"
) -> tuple[tuple[ToolDefinition, ...], tuple[Diagnostic, ...]]:
    """Definitions of a tool list, and what could not be carried.

    Each entry may be a `ToolDefinition`, our flat form (`name`, `description`, `parameters`,
    `tags`, `deferLoading`), the form of any of the four targets, an MCP tool, or an SDK object of
    these.
    `provider` says whose a provider-native tool is that does not tell by itself. Written back for
    the provider it came from, a list is the same list. Raises InputError naming the entry.
    """
    check_text(path, "path")
    if value is None:
        return (), ()
    entries = value
    if isinstance(value, (Mapping, ToolDefinition)) or hasattr(value, "model_dump"):
        entries = cast(object, [value])
    if isinstance(entries, (str, bytes)) or not isinstance(entries, Iterable):
        raise InputError(
            f"a list of tools was expected, not {shown(cast(object, value))}.", path=path
        )
    tools: list[ToolDefinition] = []
    for index, entry in enumerate(cast(Iterable[Any], entries)):
        tools.extend(_read_entry(entry, provider, f"{path}[{index}]", index))
    return tuple(tools), ()


def tool_from_dict(
    value: Any, *, provider: Provider | None = None, path: str = "$"
) -> ToolDefinition:
    """One definition of one tool in any of the shapes of `read_tools`."""
    found = _read_entry(value, provider, path, 0)
    if len(found) != 1:
        raise InputError(
            f"one tool was expected, not {len(found)}; use `read_tools()` for a list.", path=path
        )
    return found[0]


def _read_entry(
    entry: Any, provider: Provider | None, path: str, index: int
) -> list[ToolDefinition]:
    if isinstance(entry, ToolDefinition):
        return [entry]
    tool = plain(entry, path=path)
    if not isinstance(tool, dict):
        raise InputError(f"a tool is a mapping, not {shown(entry)}.", path=path)
    tool = cast(dict[str, Any], tool)
    declarations = next((key for key in _DECLARATIONS if tool.get(key) is not None), None)
    if declarations is not None or (provider == "gemini" and "name" not in tool):
        return _gemini_tool(tool, declarations, path, index)
    return [_form_of(tool, provider)(tool, provider, path)]


_Reader = Callable[[dict[str, Any], "Provider | None", str], ToolDefinition]


def _form_of(tool: Mapping[str, Any], provider: Provider | None) -> _Reader:
    kind = tool.get("type")
    if isinstance(tool.get("function"), dict) and kind in (None, "function"):
        return _chat
    if kind == "custom" and isinstance(tool.get("custom"), dict):
        return _chat_custom
    if "input_schema" in tool and kind in (None, "custom"):
        return _anthropic
    if kind == "function":
        return _responses
    if kind == "custom" and provider != "anthropic":
        return _responses_custom
    if isinstance(kind, str) and kind and kind != "custom":
        return _native
    if _MCP_SCHEMA in tool:
        return _mcp
    if provider == "gemini" or any(key in tool for key in _FULL_SCHEMAS):
        return _declaration
    return _anthropic if provider == "anthropic" else _flat


def _name(tool: Mapping[str, Any], path: str) -> str:
    name = tool.get("name")
    if not isinstance(name, str):
        said = "is missing" if name is None else f"is {name!r}"
        raise InputError(f"the tool's `name` {said}; give it as text.", path=f"{path}.name")
    return name


def _words(tool: Mapping[str, Any], path: str) -> str:
    words = tool.get("description")
    if words is None:
        return ""
    if not isinstance(words, str):
        raise InputError(f"a description is text, not {shown(words)}.", path=f"{path}.description")
    return words


def _schema(tool: Mapping[str, Any], key: str, path: str) -> dict[str, Any] | None:
    schema = tool.get(key)
    if schema is not None and not isinstance(schema, dict):
        raise InputError(f"a JSON Schema is a mapping, not {shown(schema)}.", path=f"{path}.{key}")
    return cast("dict[str, Any] | None", schema)


def _flag(tool: Mapping[str, Any], key: str, path: str) -> bool | None:
    value = tool.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise InputError(f"{key} is true or false, not {shown(value)}.", path=f"{path}.{key}")


def _rest(tool: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What only that provider knows. A description that is there but empty is kept apart."""
    rest = {key: value for key, value in tool.items() if key not in known}
    if not tool.get("description", "x"):
        rest["description"] = tool["description"]
    return rest


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _flat(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    tags = tool.get("tags") or ()
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(
            f"tags are a list of texts, not {shown(tool['tags'])}.", path=f"{path}.tags"
        )
    deferred = _flag(tool, "defer_loading", path)
    if deferred is None:
        deferred = _flag(tool, "deferLoading", path)
    unknown = {key: value for key, value in tool.items() if key not in _FLAT_KEYS}
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        parameters=_schema(tool, "parameters", path),
        tags=tuple(tags),
        defer_loading=bool(deferred),
        strict=_flag(tool, "strict", path),
        cache=_cache(tool, path),
        native=_schema(tool, "native", path) or {},
        extra={**(_schema(tool, "extra", path) or {}), **unknown},
    )


def _cache(tool: Mapping[str, Any], path: str) -> CacheBreakpoint | None:
    """A breakpoint behind the tool: `cache` is our word for it, `cache_control` Anthropic's."""
    key = "cache" if tool.get("cache") is not None else "cache_control"
    value = tool.get(key)
    if value is None or value is False or isinstance(value, CacheBreakpoint):
        return value or None
    if value is True:
        return CacheBreakpoint()
    ttl = cast(Mapping[str, Any], value).get("ttl") if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping) or ttl not in (None, "5m", "1h"):
        raise InputError(
            "a breakpoint is true or a mapping with a `ttl` of '5m' or '1h', not "
            f"{shown(cast(object, value))}.",
            path=f"{path}.{key}",
        )
    return CacheBreakpoint(ttl=ttl)


def _mcp(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        parameters=_schema(tool, _MCP_SCHEMA, path),
        cache=_cache(tool, path),
        extra={
            key: value
            for key, value in tool.items()
            if key not in ("name", "description", _MCP_SCHEMA, "cache", "cache_control")
            and value is not None
        },
    )


def _chat(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    function = cast(dict[str, Any], tool["function"])
    where = f"{path}.function"
    inner = _rest(function, "name", "description", "parameters", "strict")
    native = _rest(
        tool, "type", "function", "description", "tags", "deferLoading", "defer_loading",
        "cache_control",
    )  # fmt: skip
    if inner:
        native["function"] = inner
    return ToolDefinition(
        name=_name(function, where),
        description=_words(function, where),
        parameters=_schema(function, "parameters", where),
        strict=_flag(function, "strict", where),
        tags=tuple(tool.get("tags") or ()),
        defer_loading=bool(tool.get("defer_loading") or tool.get("deferLoading")),
        cache=_cache(tool, path),
        native={"openai": native} if native else {},
    )


def _responses(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    native = _rest(tool, "type", "name", "description", "parameters", "strict", "defer_loading")
    # The entry is there even when empty: this definition came over that wire, where a `strict`
    # that is absent has a meaning of its own.
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        parameters=_schema(tool, "parameters", path),
        strict=_flag(tool, "strict", path),
        defer_loading=bool(_flag(tool, "defer_loading", path)),
        native={"openai-responses": native},
    )


def _chat_custom(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    custom = cast(dict[str, Any], tool["custom"])
    flat = {"type": "custom", **custom}
    form = _mapping(flat.get("format"))
    if isinstance(form.get("grammar"), dict):
        flat["format"] = {"type": "grammar", **form["grammar"]}
    return ToolDefinition(
        name=_name(custom, f"{path}.custom"),
        description=_words(custom, f"{path}.custom"),
        native={"openai": {"definition": tool}, "openai-responses": {"definition": flat}},
    )


def _responses_custom(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    custom = {key: value for key, value in tool.items() if key in ("name", "description", "format")}
    form = _mapping(custom.get("format"))
    if form.get("type") == "grammar":
        grammar = {key: value for key, value in form.items() if key != "type"}
        custom["format"] = {"type": "grammar", "grammar": grammar}
    chat = {"type": "custom", "custom": custom}
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        native={"openai-responses": {"definition": tool}, "openai": {"definition": chat}},
    )


def _anthropic(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    native = _rest(tool, "name", "description", "input_schema", "strict", "defer_loading")
    native["read"] = True  # it came over this wire: nothing is added to the list on its account
    if tool.get("defer_loading") is False:
        native["defer_loading"] = False
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        parameters=_schema(tool, "input_schema", path),
        strict=_flag(tool, "strict", path),
        defer_loading=bool(_flag(tool, "defer_loading", path)),
        native={"anthropic": native},
    )


def _native(tool: dict[str, Any], provider: Provider | None, path: str) -> ToolDefinition:
    """A tool that its provider runs, or knows by type: its whole wire form is kept."""
    kind = str(tool["type"])
    dated = kind.rpartition("_")[2]
    owner: Provider = "openai-responses"
    if provider is not None:
        owner = provider
    elif (len(dated) == 8 and dated.isdigit()) or kind == "mcp_toolset":
        owner = "anthropic"
    name = tool.get("name")
    return ToolDefinition(
        name=name if isinstance(name, str) and name else kind,
        native={owner: {"definition": tool}},
    )


# Gemini ----------------------------------------------------------------------------------------


def _gemini_tool(
    tool: dict[str, Any], declarations: str | None, path: str, index: int
) -> list[ToolDefinition]:
    found: list[ToolDefinition] = []
    for key, value in tool.items():
        if value is None:
            continue
        if key == declarations:
            entries = cast(list[Any], value) if isinstance(value, list) else [value]
            for number, entry in enumerate(entries):
                where = f"{path}.{key}[{number}]"
                if not isinstance(entry, dict):
                    raise InputError(f"a declaration is a mapping, not {shown(entry)}.", path=where)
                found.append(_declaration(cast(dict[str, Any], entry), "gemini", where, index))
        else:
            found.append(
                ToolDefinition(
                    name=_camel(key),
                    native={"gemini": {"definition": {_camel(key): value}}},
                    extra={GEMINI_TOOL: index},
                )
            )
    return found


def _camel(key: str) -> str:
    head, *rest = key.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def _declaration(
    tool: dict[str, Any], provider: Provider | None, path: str, index: int | None = None
) -> ToolDefinition:
    native = {
        _camel(key): value
        for key, value in _rest(tool, "name", "description", "parameters", *_FULL_SCHEMAS).items()
        if value is not None
    }
    full = next((key for key in _FULL_SCHEMAS if tool.get(key) is not None), None)
    parameters = _schema(tool, full or "parameters", path)
    if full is None and parameters is not None:
        native["parameters"] = parameters
        parameters = json_schema_of(parameters)
    return ToolDefinition(
        name=_name(tool, path),
        description=_words(tool, path),
        parameters=parameters,
        native={"gemini": native} if native else {},
        extra={} if index is None else {GEMINI_TOOL: index},
    )


# Protocol buffers also write an enum's number.
def json_schema_of(schema: Any) -> Any:
    """JSON Schema of Gemini's own schema form (upper-case types, `nullable`, `example`)."""
    if not isinstance(schema, Mapping):
        return schema
    given = cast(Mapping[str, Any], schema)
    out: dict[str, Any] = {}
    for key, value in given.items():
        name = _camel(key)
        if name in ("propertyOrdering", "nullable") or value is None:
            continue
        if name == "type":
            kind = TYPES.get(value, value) if isinstance(value, int) else value
            if isinstance(kind, str) and kind.upper() == "TYPE_UNSPECIFIED":
                continue
            out["type"] = kind.lower() if isinstance(kind, str) else kind
        elif name == "properties" and isinstance(value, Mapping):
            named = cast(Mapping[str, Any], value)
            out["properties"] = {field: json_schema_of(sub) for field, sub in named.items()}
        elif name == "items":
            out["items"] = json_schema_of(value)
        elif name == "anyOf" and isinstance(value, list):
            out["anyOf"] = [json_schema_of(sub) for sub in cast(list[Any], value)]
        elif name == "example":
            out["examples"] = [value]
        elif name.startswith(("min", "max")) and isinstance(value, str) and value.isdigit():
            out[name] = int(value)  # proto JSON writes 64-bit integers as text
        else:
            out[name] = value
    if given.get("nullable") is True and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
        if isinstance(out.get("enum"), list) and None not in out["enum"]:
            out["enum"] = [*out["enum"], None]
    return out
