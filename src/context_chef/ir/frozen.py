"""JSON-like values that cannot be changed: what a caller handed in stays what it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self, cast

from typing_extensions import override

from context_chef.ir.text import clean_text


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
        return (FrozenDict, (dict(self),))


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
    """The same JSON-like value, unchangeable all the way down. Mapping keys become text."""
    if isinstance(value, (FrozenDict, FrozenList)):
        return value
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return FrozenDict({clean_text(str(key)): freeze(item) for key, item in items.items()})
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray, memoryview)):
        return FrozenList([freeze(item) for item in cast(Sequence[Any], value)])
    return clean_text(value) if isinstance(value, str) else cast(Any, value)


def frozen(value: Mapping[str, Any]) -> FrozenDict:
    """`freeze` for a mapping, with the type to match."""
    return cast(FrozenDict, freeze(value))


def thaw(value: Any) -> Any:
    """A plain, independent copy of a JSON-like value: dicts and lists, free to be changed."""
    if isinstance(value, Mapping):
        items = cast(Mapping[Any, Any], value)
        return {key: thaw(item) for key, item in items.items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in cast(Sequence[Any], value)]
    return value
