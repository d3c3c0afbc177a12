"""Lists of a request whose rows are shared until somebody looks at them, and then the looker's own.

A conversation is compiled again for every turn, and its rows are nearly all the same each time. A
row is sealed once, which nobody can change, and keeps its JSON. A list that is handed out holds
sealed rows; whoever takes one out of it gets a plain copy, which is in the list from then on. So
encoders read what is shared, and what is changed was copied before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Self, SupportsIndex, cast, overload

from typing_extensions import override

from context_chef.ir.canonical import compact_json
from context_chef.ir.frozen import FrozenDict, FrozenList, thaw


class Sealed(FrozenDict):
    """A finished row that cannot be changed, all the way down. Knows its JSON once it was asked."""

    __slots__ = ("_http", "_json", "http_of", "sdk")
    _http: Sealed
    _json: bytes
    sdk: Sealed | None
    """The row as the official SDK takes it, where that is another; set by who makes the row."""
    http_of: Callable[[Sealed], Sealed]
    """Makes `http`: on rows for an SDK that are not the same in the HTTP body."""

    @property
    def http(self) -> Sealed:
        """The row as it stands in the HTTP body. AttributeError where it is the same there."""
        try:
            return self._http
        except AttributeError:
            self._http = self.http_of(self)
            return self._http

    @property
    def json(self) -> bytes:
        """The row as compact JSON."""
        try:
            return self._json
        except AttributeError:
            self._json = _encoded(self)
            return self._json


def sealed(row: Mapping[str, Any]) -> Sealed:
    """The row, sealed. Takes finished JSON; what is frozen in there is shared."""
    if type(row) is Sealed:
        return row
    return Sealed(
        {key: value if type(value) is str else _frozen(value) for key, value in row.items()}
    )


def _frozen(value: Any) -> Any:
    if type(value) is dict:
        items = cast("dict[str, Any]", value).items()
        return FrozenDict(
            {key: item if type(item) is str else _frozen(item) for key, item in items}
        )
    if type(value) is list:
        return FrozenList([_frozen(item) for item in cast("list[Any]", value)])
    return value


def _encoded(value: Any) -> bytes:
    return compact_json(value).encode("utf-8")


class HandedOut(list[Any]):
    """A list of rows that is its receiver's own: changing it or what is in it changes nothing else.

    Equal to a plain list of plain dicts, and written by every encoder as one.
    """

    __slots__ = ()

    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Any]: ...
    @override
    def __getitem__(self, index: SupportsIndex | slice, /) -> Any:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        row = super().__getitem__(index)
        if type(row) is Sealed:
            row = thaw(row)
            super().__setitem__(index, row)
        return row

    @override
    def __iter__(self) -> Iterator[Any]:
        at = 0
        while at < len(self):
            yield self[at]
            at += 1

    @override
    def __reversed__(self) -> Iterator[Any]:
        for at in range(len(self) - 1, -1, -1):
            yield self[at]

    @override
    def pop(self, index: SupportsIndex = -1, /) -> Any:
        row = super().pop(index)
        return thaw(row) if type(row) is Sealed else row

    @override
    def copy(self) -> list[Any]:
        return list(self)

    @override
    def __add__(self, other: Any, /) -> list[Any]:
        return list(self) + other

    def as_shared(self) -> Iterator[Any]:
        """The rows as they stand, sealed ones too: for readers, who change nothing."""
        return super().__iter__()

    def __radd__(self, other: Any, /) -> list[Any]:
        return other + list(self)

    @override
    def __mul__(self, times: SupportsIndex, /) -> list[Any]:
        return list(self) * times

    @override
    def __rmul__(self, times: SupportsIndex, /) -> list[Any]:
        return list(self) * times

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        from copy import deepcopy

        return [thaw(row) if type(row) is Sealed else deepcopy(row, memo) for row in self.raw()]

    @override
    def __reduce__(self) -> tuple[Any, ...]:
        return (list, (list(self),))

    @override
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        return self.__reduce__()

    # For those who hand it on

    def raw(self) -> Iterator[Any]:
        """The rows as they stand: sealed, or somebody's own. Not to be changed."""
        return super().__iter__()

    def apart(self, own: Callable[[Any], Any] = thaw) -> Self:
        """Another list of the same rows: sealed ones are shared, all others become `own(row)`."""
        return type(self)(row if type(row) is Sealed else own(row) for row in self.raw())

    def to_json(self) -> bytes:
        """The list as compact JSON: what sealed rows know of it already is joined."""
        rows = self.raw()
        return b"[%b]" % b",".join(
            row.json if type(row) is Sealed else _encoded(row) for row in rows
        )


def handed_out(rows: Iterable[Mapping[str, Any]]) -> HandedOut:
    """Rows to hand out, sealed where they are not yet."""
    if type(rows) is HandedOut:
        return rows.apart(sealed)
    return HandedOut(map(sealed, rows))


def apart(body: Mapping[str, Any]) -> dict[str, Any]:
    """The same body with lists of its own: looking into them touches nobody else's."""
    return {
        key: value.apart() if type(value) is HandedOut else value for key, value in body.items()
    }


def rows_of(rows: list[Any]) -> Iterator[Any]:
    """The rows of a list as they stand, to be read and not to be changed."""
    return rows.raw() if type(rows) is HandedOut else iter(rows)


def row_at(rows: Any, index: int) -> Any:
    """One row of a list as it stands, to be read and not to be changed."""
    return cast(Any, list).__getitem__(rows, index)


def json_of(body: Mapping[str, Any]) -> bytes:
    """A body as compact JSON, the same bytes as of an equal plain dict."""
    parts: list[bytes] = []
    for key, value in body.items():
        json_value = value.to_json() if type(value) is HandedOut else _encoded(value)
        parts.append(b"%b:%b" % (_encoded(key), json_value))
    return b"{%b}" % b",".join(parts)
