"""Judge tools as they are registered: what cannot work is refused, what is plain is mended."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, cast

import msgspec

from context_chef.errors import InputError, ToolError, shown
from context_chef.ir.diagnostics import Repair
from context_chef.ir.frozen import thaw
from context_chef.ir.tools import ToolDefinition
from context_chef.selection.words import fold_name

ToolLike: TypeAlias = ToolDefinition | Mapping[str, Any]
"""A definition, or a plain mapping with its fields in snake_case or camelCase."""
ToolReader: TypeAlias = Callable[[Any, str], Sequence[ToolDefinition]]
"""Reads one entry of a tool list; is given the entry and its path, raises InputError."""

_SCHEMA_KEYS: Final = ("parameters", "inputSchema", "input_schema")
_SPELLINGS: Final = {"deferLoading": "defer_loading"}
_FIELDS: Final = frozenset({"name", "description", "tags", "defer_loading", "strict", "native"})
_OBJECT_WORDS: Final = frozenset({"object", "dict", "map"})
_SCHEMA_WORDS: Final = frozenset(
    {"properties", "$ref", "anyOf", "oneOf", "allOf", "additionalProperties", "patternProperties",
     "$defs", "definitions", "$schema", "title", "description", "required"}
)  # fmt: skip
_MAX_DEPTH: Final = 64


class ReadTools(NamedTuple):
    """Judged definitions, and what was mended on the way."""

    tools: tuple[ToolDefinition, ...]
    repairs: tuple[Repair, ...]


def read_definitions(values: Any, *, path: str, reader: ToolReader | None = None) -> ReadTools:
    """The definitions of a tool list, judged. Raises ToolError naming the tool and the way out.

    Refused: a tool without a name, a name twice, parameters that describe something else than an
    object, values no JSON text can hold. Mended, with a Repair: parameters that are the bare
    properties are wrapped in an object schema, a missing or foreign word for the type `object` is
    replaced; tags that are blank are dropped. The tools of a set come in the order of their names,
    since its own would be another in every process.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise ToolError(f"`{path}` is a list of tools, not {shown(cast(object, values))}.")
    read = reader or _read_entry
    tools: list[ToolDefinition] = []
    repairs: list[Repair] = []
    for index, entry in enumerate(cast(Iterable[Any], values)):
        where = f"{path}[{index}]"
        try:
            found = [entry] if isinstance(entry, ToolDefinition) else read(entry, where)
        except InputError as error:
            raise ToolError(f"A tool cannot be read: {error}") from error
        tools += [_judged(tool, where, repairs) for tool in found]
    if is_unordered(cast(object, values)):
        tools.sort(key=lambda tool: tool.name)
    _refuse_duplicates(tools, path)
    return ReadTools(tuple(tools), tuple(repairs))


def is_unordered(values: object) -> bool:
    """Whether that is a set, whose order depends on the hash seed of the process."""
    return isinstance(values, (set, frozenset))


def _read_entry(entry: Any, path: str) -> Sequence[ToolDefinition]:
    if not isinstance(entry, Mapping):
        raise InputError(
            f"a tool is a `ToolDefinition` or a mapping, not {shown(entry)}.", path=path
        )
    tool = {_SPELLINGS.get(key, key): item for key, item in cast(Mapping[str, Any], entry).items()}
    if tool.get("type") == "function":
        # The wire form of Chat Completions and Responses.
        tool.pop("type")
        inner = tool.pop("function", None)
        tool |= dict(cast(Mapping[str, Any], inner)) if isinstance(inner, Mapping) else {}
    schema_key = next((key for key in _SCHEMA_KEYS if tool.get(key) is not None), "parameters")
    parameters = tool.pop(schema_key, None)
    fields = {key: tool[key] for key in tool if key in _FIELDS and tool[key] is not None}
    extra = {key: tool[key] for key in tool if key not in _FIELDS and key not in _SCHEMA_KEYS}
    kept = extra.pop("extra", None)
    extra = {**extra, **cast(Mapping[str, Any], kept)} if isinstance(kept, Mapping) else extra
    name = fields.pop("name", None)
    if not isinstance(name, str):
        said = "has no `name`" if name is None else f"has the `name` {name!r}"
        raise InputError(f"the tool {said}; give it as text.", path=path)
    _check_fields(fields, name, path)
    if "tags" in fields:
        fields["tags"] = tuple(fields["tags"])
    if parameters is not None and not isinstance(parameters, Mapping):
        raise _no_object(name, shown(parameters))
    schema = cast("Mapping[str, Any] | None", parameters)
    return [ToolDefinition(name=name, parameters=schema, extra=extra, **fields)]


def _check_fields(fields: Mapping[str, Any], name: str, path: str) -> None:
    for field, kind, words in (
        ("description", str, "text"),
        ("defer_loading", bool, "true or false"),
        ("strict", bool, "true or false"),
        ("native", Mapping, "a mapping by provider"),
    ):
        if field in fields and not isinstance(fields[field], kind):
            raise InputError(
                f"`{field}` of the tool {shown(name)} is {words}, not {shown(fields[field])}.",
                path=path,
            )
    tags = fields.get("tags", ())
    if not isinstance(tags, (list, tuple, set, frozenset)) or not all(
        isinstance(tag, str) for tag in cast(Iterable[Any], tags)
    ):
        raise InputError(
            f"`tags` of the tool {shown(name)} is a list of texts, not "
            f"{shown(cast(object, tags))}.",
            path=path,
        )


def is_native(tool: ToolDefinition) -> bool:
    """Whether the definition is a provider's own tool, whole and not to be judged."""
    return any(
        isinstance(value, Mapping) and "definition" in value for value in tool.native.values()
    )


def _judged(tool: ToolDefinition, path: str, repairs: list[Repair]) -> ToolDefinition:
    if is_native(tool):
        return tool
    if not tool.name.strip():
        raise ToolError(f"`{path}`: a tool needs a name, {shown(tool.name)} is blank.")
    tags = tuple(tag for tag in tool.tags if tag.strip())
    if tags != tool.tags:
        message = f"blank tags of the tool {tool.name!r} were dropped"
        repairs.append(Repair(rule="tool-blank-tag", where=f"{path}.tags", message=message))
        tool = msgspec.structs.replace(tool, tags=tags)
    if tool.parameters is None:
        return tool
    _refuse_foreign(tool.name, thaw(tool.parameters), "parameters", 0)
    schema, message = _as_object(tool.name, tool.parameters)
    if message:
        where = f"{path}.parameters"
        repairs.append(Repair(rule="tool-schema", where=where, message=message))
        tool = msgspec.structs.replace(tool, parameters=schema)
    return tool


def _as_object(name: str, schema: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The schema as one of an object, and what had to be done for it."""
    kind = schema.get("type")
    properties = schema.get("properties")
    if kind == "object" or not schema:
        _check_properties(name, properties)
        return schema, ""
    if isinstance(kind, (str, list, tuple)):
        kinds = [kind] if isinstance(kind, str) else list(cast(Sequence[Any], kind))
        if not any(isinstance(word, str) and word.lower() in _OBJECT_WORDS for word in kinds):
            raise _no_object(name, f"type {shown(cast(object, kind))}")
        _check_properties(name, properties)
        message = f"`type` of the parameters of {name!r} was {thaw(kind)!r} and is 'object' now"
        return {**schema, "type": "object"}, message
    if isinstance(properties, Mapping) or not _SCHEMA_WORDS.isdisjoint(
        key for key, value in schema.items() if _speaks_schema(key, value)
    ):
        _check_properties(name, properties)
        return {"type": "object", **schema}, f"the parameters of {name!r} had no `type`"
    wrapped = {key: _property(value) for key, value in schema.items()}
    message = (
        f"the parameters of {name!r} were bare properties; an object schema is around them now"
    )
    return {"type": "object", "properties": wrapped}, message


def _speaks_schema(key: str, value: Any) -> bool:
    """Whether this is a keyword with a value that fits it, and not a property of that name."""
    if key in ("$ref", "$schema", "title", "description"):
        return isinstance(value, str)
    if key in ("anyOf", "oneOf", "allOf", "required"):
        return isinstance(value, (list, tuple))
    return isinstance(value, (Mapping, bool))


def _property(value: Any) -> Any:
    """A property's schema. Mere words are its description."""
    if isinstance(value, (Mapping, bool)):
        return cast(Any, value)
    return {"description": value} if isinstance(value, str) else {}


def _check_properties(name: str, properties: Any) -> None:
    if properties is not None and not isinstance(properties, Mapping):
        raise ToolError(
            f"`properties` in the parameters of the tool {shown(name)} is a mapping from names to "
            f"schemas, not {shown(properties)}."
        )


def _no_object(name: str, found: str) -> ToolError:
    return ToolError(
        f"The parameters of the tool {shown(name)} are {found}, and a tool takes an object. Give "
        "a JSON "
        'Schema such as {"type": "object", "properties": {"value": …}}, or None for no parameters.'
    )


def _refuse_foreign(name: str, value: Any, path: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ToolError(
            f"`{path}` of the tool {shown(name)} is nested deeper than {_MAX_DEPTH} levels."
        )
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            _refuse_foreign(name, item, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(cast(list[Any], value)):
            _refuse_foreign(name, item, f"{path}[{index}]", depth + 1)
    elif not (value is None or isinstance(value, (str, bool, int, float))) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise ToolError(
            f"`{path}` of the tool {shown(name)} is {shown(value)}, which no request can carry; "
            "use JSON values in a schema."
        )


def _refuse_duplicates(tools: Sequence[ToolDefinition], path: str) -> None:
    seen: dict[str, str] = {}
    for tool in tools:
        if is_native(tool):
            continue
        folded = fold_name(tool.name)
        if (earlier := seen.get(folded)) is not None:
            both = f"{earlier!r} and {tool.name!r}" if earlier != tool.name else repr(earlier)
            raise ToolError(
                f"Two tools in `{path}` are called {both}, which is one name, since case does not "
                "count. A model could not tell them apart: rename one, or put them in namespaces."
            )
        seen[folded] = tool.name


def plain_definition(tool: ToolDefinition) -> dict[str, Any]:
    """A definition as plain JSON-able data. Raises ToolError where it holds anything else."""
    plain: dict[str, Any] = {}
    for field in tool.__struct_fields__:
        value = getattr(tool, field)
        if value is None or value is False or (not value and field != "name"):
            continue
        thawed = list(cast(tuple[str, ...], value)) if field == "tags" else thaw(value)
        _refuse_unsaved(tool.name, thawed, field)
        plain[field] = thawed
    if tool.strict is False:
        plain["strict"] = False
    if tool.parameters is not None:
        plain["parameters"] = thaw(tool.parameters)
    return plain


def _refuse_unsaved(name: str, value: Any, path: str) -> None:
    try:
        _refuse_foreign(name, value, path, 0)
    except ToolError:
        raise ToolError(
            f"The tool {shown(name)} cannot be part of a snapshot: `{path}` holds something that "
            "is not "
            "plain data, such as a function. Keep handlers outside of the definition, by its name."
        ) from None
