"""JSON-like values that cannot be changed: what a caller handed in stays what it was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Any, Final, NoReturn, Self, cast

import msgspec
from typing_extensions import override

from context_chef.errors import InputError, shown
from context_chef.ir.text import clean_text

MAX_DEPTH: Final = 90
"""How deep JSON-like values may be nested: with what goes around them, providers take no more."""
_MAX_BITS: Final = 10_000
"""Larger integers cannot be written as digits everywhere."""


def _refuse(self: object, *args: object, **kwargs: object) -> NoReturn:
    raise TypeError(
        "This value belongs to a message and cannot be changed; take a copy with `thaw()`."
    )


class FrozenDict(dict[str, Any]):
    """A dict that cannot be changed after it is built. Equal to a plain dict with its items."""

    __slots__ = ("_hash",)
    _hash: int

    __setitem__ = __delitem__ = __ior__ = _refuse  # type: ignore[assignment]  # refusing is the point
    clear = pop = popitem = setdefault = update = _refuse  # type: ignore[assignment]  # likewise

    @override
    def __hash__(self) -> int:  # type: ignore[override]  # dict says None: this one may be a key
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (dict(self),))


class FrozenList(list[Any]):
    """A list that cannot be changed after it is built. Equal to a plain list with its items."""

    __slots__ = ("_hash",)
    _hash: int

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse  # type: ignore[assignment]  # as above
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse  # type: ignore[assignment]  # as above

    @override
    def __hash__(self) -> int:  # type: ignore[override]  # list says None: this one may be a key
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(tuple(self))
            return self._hash

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenList, (list(self),))


EMPTY: FrozenDict = FrozenDict()


def freeze(value: Any) -> Any:
    """The same JSON-like value, unchangeable all the way down.

    Texts are what every encoder takes, subclasses of plain types become plain, mapping keys become
    text, sets become lists in an order of their own. What is no JSON stays as it is. Raises
    InputError for a value that holds itself or is nested deeper than `MAX_DEPTH`.
    """
    return _freeze(value, 0)


def frozen(value: Mapping[str, Any]) -> FrozenDict:
    """`freeze` for a mapping, with the type to match. Raises InputError for anything else."""
    if not isinstance(value, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not all typed
        raise InputError(f"a mapping was expected, not {shown(value)}.")
    return cast(FrozenDict, _freeze(value, 0)) if value else EMPTY  # one for all messages


def freeze_json(value: Any, *, path: str = "$") -> Any:
    """`freeze` for what goes into a request: what is no JSON is refused, with its place.

    Structs and enums become their JSON form.
    """
    if type(value) is _Checked:
        return value
    return _checked(value, path, 0)


def native_fields(value: Any, *, path: str = "$.native") -> FrozenDict:
    """Fields by provider, frozen. Raises InputError where they are no mapping of mappings."""
    if value is EMPTY or type(value) is _Checked:
        return value
    if isinstance(value, Mapping):
        if not value:
            return EMPTY  # one for all messages
        for provider, fields in cast(Mapping[Any, Any], value).items():
            if not isinstance(fields, Mapping):
                raise InputError(
                    "`native` holds a mapping of fields under a provider's name, as in "
                    f"{{'anthropic': {{…}}}}, not {shown(fields)}.",
                    path=f"{path}.{provider}",
                )
        return cast(FrozenDict, freeze_json(value, path=path))
    raise InputError(
        "`native` is a mapping from a provider's name to its fields, as in "
        f"{{'anthropic': {{…}}}}, not {shown(value)}.",
        path=path,
    )


class _Checked(FrozenDict):
    """A frozen mapping that was found to be JSON: it need not be looked at again."""

    __slots__ = ()


def _freeze(value: Any, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is str:
        return clean_text(value)
    if value is None or kind is int or kind is bool or kind is float:
        return value
    if isinstance(value, (FrozenDict, FrozenList)):
        return cast(Any, value)
    if isinstance(value, Mapping):
        inner = deeper(depth)
        items = cast(Mapping[Any, Any], value)
        return FrozenDict({_key(key): _freeze(item, inner) for key, item in items.items()})
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        inner = deeper(depth)
        return FrozenList([_freeze(item, inner) for item in cast(Sequence[Any], value)])
    if isinstance(value, AbstractSet):
        inner = deeper(depth)
        return FrozenList(in_order([_freeze(item, inner) for item in cast(Any, value)]))
    return _plain_scalar(value)


def _checked(value: Any, path: str, depth: int) -> Any:
    kind = cast("type[Any]", type(value))
    if kind is str:
        return clean_text(value)
    if value is None or kind is bool:
        return value
    if isinstance(value, Mapping):
        inner = deeper(depth, path)
        items = cast(Mapping[Any, Any], value)
        return _Checked(
            {
                _json_key(key, path): _checked(item, f"{path}.{key}", inner)
                for key, item in items.items()
            }
        )
    if isinstance(value, (bytes, bytearray, memoryview)):
        raise InputError("JSON has no bytes; give them as text (base64, say).", path=path)
    if isinstance(value, Sequence) and not isinstance(value, str):
        inner = deeper(depth, path)
        return FrozenList(
            [
                _checked(item, f"{path}[{index}]", inner)
                for index, item in enumerate(cast(Sequence[Any], value))
            ]
        )
    if isinstance(value, AbstractSet):
        inner = deeper(depth, path)
        return FrozenList(in_order([_checked(item, path, inner) for item in cast(Any, value)]))
    if isinstance(value, msgspec.Struct):
        return _checked(msgspec.to_builtins(value), path, depth)
    if isinstance(value, (str, int, float)):
        return json_scalar(value, path=path)
    if isinstance(value, Enum):
        return _checked(value.value, path, depth)
    raise InputError(f"{shown(value)} has no form in JSON; give plain data.", path=path)


def json_scalar(value: str | float, *, path: str = "$") -> str | float:
    """The text or number as a plain one. Raises InputError for what JSON cannot write down."""
    scalar = _plain_scalar(value)
    if isinstance(scalar, float) and not math.isfinite(scalar):
        raise InputError(
            f"JSON has no number {shown(scalar)}; leave it out, or give null.", path=path
        )
    if isinstance(scalar, int) and scalar.bit_length() > _MAX_BITS:
        raise InputError("the number has too many digits for a request.", path=path)
    return scalar


def in_order(values: list[Any]) -> list[Any]:
    """The members of a set in an order that is the same in every process."""
    return sorted(values, key=_place)


def _place(value: Any) -> tuple[int, Any]:
    if isinstance(value, (bool, int, float)):
        return (0, value) if value == value else (1, "nan")
    if isinstance(value, str):
        return (2, value)
    return (3, repr(thaw(value)))


def _plain_scalar(value: Any) -> Any:
    """A subclass of a plain type as that type; anything else as it is."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, int):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, float) else value


def _key(key: Any) -> str:
    return clean_text(key if isinstance(key, str) else str(key))


def _json_key(key: Any, path: str) -> str:
    if isinstance(key, str):
        return clean_text(key)
    if isinstance(key, (int, float)):
        return str(key)
    raise InputError(f"JSON has texts as keys, not {shown(key)}.", path=path)


def deeper(depth: int, path: str = "$") -> int:
    """One level further down. Raises InputError beyond `MAX_DEPTH`, as in a value in itself."""
    if depth >= MAX_DEPTH:
        if len(path) > 60:
            path = f"{path[:60]}…"
        raise InputError(
            "nested too deeply for a request, or inside itself.",
            path=path,
        )
    return depth + 1


def thaw(value: Any) -> Any:
    """A plain, independent copy of a JSON-like value: dicts and lists, free to be changed.

    Raises InputError for a value that holds itself, or is nested too deeply to be walked.
    """
    try:
        return _thawed(value)
    except RecursionError as error:
        raise InputError("nested too deeply to be copied, or inside itself.") from error


def _thawed(value: Any) -> Any:
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return {key: _thawed(item) for key, item in items.items()}
    if isinstance(value, (list, tuple)):
        return [_thawed(item) for item in cast(Sequence[Any], value)]
    return value
