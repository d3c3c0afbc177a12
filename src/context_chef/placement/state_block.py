"""Typed task state, checked when it is set and shown as one block."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

import msgspec
from typing_extensions import is_typeddict

from context_chef.errors import (
    ContextChefError,
    InputError,
    MissingExtraError,
    SettingsError,
    nearest,
    shown,
)
from context_chef.ir.blocks import Text
from context_chef.ir.canonical import builtin_form
from context_chef.ir.frozen import freeze_json, json_scalar
from context_chef.ir.message import Message
from context_chef.prompts.placement import STATE_HEADING
from context_chef.prompts.xml import object_to_xml

StatePlacement: TypeAlias = Literal["last_user", "system"]
PLACEMENTS: tuple[StatePlacement, ...] = ("last_user", "system")
ROOT = "dynamic_state"


class DynamicState(msgspec.Struct, frozen=True, kw_only=True):
    """A checked state. `value` is JSON-like and cannot be changed."""

    value: Any = None
    placement: StatePlacement = "last_user"
    xml: str = ""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The state as a system message of its own; nothing when it is shown in the tail."""
        if self.placement != "system" or not self.xml:
            return ()
        text = Text(text=f"{STATE_HEADING}\n{self.xml}", source="dynamic_state")
        return (Message(role="system", content=(text,)),)


def dynamic_state(schema: Any, value: Any, *, placement: str = "last_user") -> DynamicState:
    """Check `value` against `schema` and render it.

    `schema` is a pydantic model or TypeAdapter, a dataclass, Struct or TypedDict type, a JSON
    Schema as a mapping (needs the extra `schema`), a function that answers the checked value, or
    None for no check. Raises InputError naming the field, SettingsError for an unknown placement.
    """
    if placement not in PLACEMENTS:
        raise SettingsError(
            f"`placement` cannot be {shown(placement)}. {nearest(placement, PLACEMENTS)}"
        )
    try:
        checked = freeze_json(_builtins(_check(schema, value)))
    except RecursionError as error:
        raise InputError("the state is nested too deeply, or inside itself.") from error
    return DynamicState(
        value=checked,
        placement=placement,
        xml=object_to_xml(checked, ROOT),
    )


def _check(schema: Any, value: Any) -> Any:
    if schema is None:
        return value
    if isinstance(schema, Mapping):
        _check_json_schema(cast(Mapping[str, Any], schema), value)
        return value
    for method in ("model_validate", "validate_python", "parse"):
        check = getattr(schema, method, None)
        if callable(check):
            return _call(cast(Callable[[Any], Any], check), value)
    kind: Any = schema
    if isinstance(schema, type) and (
        dataclasses.is_dataclass(kind) or issubclass(kind, msgspec.Struct) or is_typeddict(kind)
    ):
        try:
            return msgspec.convert(value, kind, from_attributes=True)
        except msgspec.ValidationError as error:
            said, _, where = str(error).partition(" - at `")
            raise InputError(
                f"the state does not fit: {said}.", path=where.rstrip("`") or "$"
            ) from error
    if callable(kind):
        return _call(kind, value)
    raise SettingsError(
        f"A state is checked by a model, a dataclass, a TypedDict, a JSON Schema or a function, "
        f"not by {shown(schema)}."
    )


def _call(check: Callable[[Any], Any], value: Any) -> Any:
    try:
        return check(value)
    except ContextChefError:
        raise
    except (ValueError, TypeError, AssertionError) as error:
        errors = getattr(error, "errors", None)
        if not callable(errors):
            said = str(error) or type(error).__name__
            raise InputError(f"the state does not fit: {said}.") from error
        first = cast(list[dict[str, Any]], errors())[0]
        path = "$" + "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in first["loc"])
        raise InputError(f"the state does not fit: {first['msg']}.", path=path) from error


def _check_json_schema(schema: Mapping[str, Any], value: Any) -> None:
    try:
        import jsonschema
    except ImportError as error:
        raise MissingExtraError("Checking state against a JSON Schema", "schema") from error
    try:
        jsonschema.validate(_builtins(value), dict(schema))
    except jsonschema.SchemaError as error:
        raise SettingsError(f"The state's `schema` is no JSON Schema: {error.message}.") from error
    except jsonschema.ValidationError as error:
        raise InputError(
            f"the state does not fit: {error.message}.", path=error.json_path
        ) from error


def _builtins(value: Any) -> Any:
    try:
        plain = builtin_form(
            value, str_keys=True, enc_hook=_foreign, builtin_types=(bytes, bytearray, memoryview)
        )
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        raise InputError(f"the state is not JSON-like: {error}.") from error
    _refuse_bytes(plain, "$")
    return plain


def _refuse_bytes(value: Any, path: str) -> None:
    """Bytes are no text: as base64 they would cost tokens and come back as something else."""
    if isinstance(value, dict):
        for key, item in cast(dict[str, Any], value).items():
            _refuse_bytes(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(cast(list[Any], value)):
            _refuse_bytes(item, f"{path}[{index}]")
    elif isinstance(value, (bytes, bytearray, memoryview)):
        raise InputError(
            "a state holds JSON-like values, not bytes; encode them as text, or keep them in the "
            "store and name their address.",
            path=path,
        )


def _foreign(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, Mapping):
        return dict(cast(Mapping[str, Any], value))
    if isinstance(value, (str, int, float)):
        return json_scalar(value)
    if isinstance(value, Sequence):
        return list(cast(Sequence[Any], value))
    raise InputError(
        "a state holds JSON-like values, dates, dataclasses and models, not "
        f"{type(value).__name__}."
    )
