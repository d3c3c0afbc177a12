"""A list that is given whole every time: rows that are what they were are not read again.

A caller's dict may have been changed in place since, so that it is held against a copy of what it
was, which for rows of texts is one comparison in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from context_chef.ir.alike import is_of_words, same_json
from context_chef.ir.message import Message
from context_chef.ir.rows import read_message, read_messages
from context_chef.ir.running import Messages, equal_start

_WORDS: Final = frozenset({str, type(None)})
_NEVER: Final = object()
"""What stands for a row that is always read anew."""


class KnownRows:
    """Reads lists of rows, each nearly the same as the last one. Keeps nothing of the caller's."""

    def __init__(self) -> None:
        self._rows: list[Any] = []
        """Copies of the rows that were read last."""
        self._exact: list[int] = []
        """Rows whose values compare equal to values that are read otherwise, as `1` and `True`."""
        self._messages: Messages = ()
        self.same = 0
        """How many messages at the beginning of the last answer were those of the one before."""

    @property
    def known(self) -> Messages:
        """What was read last."""
        return self._messages

    def read(self, rows: object) -> tuple[Message, ...]:
        """What `read_messages` makes of them. Raises InputError naming index and field."""
        self.same = 0
        if not isinstance(rows, (list, tuple)):
            return read_messages(rows)
        given = list(cast("list[Any]", rows))
        same = self._same(given)
        known = self._messages
        new = tuple(self._read(index, given[index]) for index in range(same, len(given)))
        self._keep(given, same)
        self._messages = known[:same] + new
        self.same = same
        return self._messages

    def settle(self, messages: tuple[Message, ...]) -> None:
        """Where these messages are equal to those that were read, they are the ones to keep."""
        if messages is not self._messages and messages == self._messages:
            self._messages = messages

    def forget(self) -> None:
        """Know nothing any more."""
        self._rows, self._exact, self._messages, self.same = [], [], (), 0

    def _same(self, given: list[Any]) -> int:
        try:
            same = equal_start(self._rows, given)
        except Exception:  # noqa: BLE001  # a row may hold anything, also what compares to nothing
            return 0
        for index in self._exact:
            if index >= same:
                break
            if not _is_exactly(self._rows[index], given[index]):
                return index
        return same

    def _read(self, index: int, row: Any) -> Message:
        if index < len(self._rows):
            known = self._rows[index]
            if type(known) is dict and _is_exactly(known, row):
                return self._messages[index]
        return read_message(row, path=f"$[{index}]")

    def _keep(self, given: list[Any], same: int) -> None:
        self._exact = [index for index in self._exact if index < same]
        del self._rows[same:]
        for index in range(same, len(given)):
            plain = True

            def odd() -> None:
                nonlocal plain
                plain = False

            row = given[index]
            copied = _NEVER
            if isinstance(row, Message):
                copied, plain = row, is_of_words(row)
            elif type(row) is dict:
                copied = _copied(cast(Any, row), odd)
            self._rows.append(copied)
            if not plain:
                self._exact.append(index)


def _copied(value: Any, odd: Callable[[], None]) -> Any:
    """A copy that stays what it is, and `odd()` for what has to be compared more closely."""
    if type(value) is str or value is None:
        return value
    if type(value) is dict:
        fields = cast("dict[Any, Any]", value)
        if _WORDS.issuperset(map(type, fields.values())):
            return fields.copy()
        return {
            key: item if item is None or type(item) is str else _copied(item, odd)
            for key, item in fields.items()
        }
    if type(value) is list:
        return [_copied(item, odd) for item in cast("list[Any]", value)]
    odd()
    return value if type(value) in (bool, int, float) else _NEVER


def _is_exactly(known: Any, given: Any) -> bool:
    """Whether both are read the same: types and the order of keys count."""
    if type(known) is not type(given):
        return False
    if type(known) is dict:
        one, two = cast("dict[Any, Any]", known), cast("dict[Any, Any]", given)
        return list(one) == list(two) and all(map(_is_exactly, one.values(), two.values()))
    if type(known) is list:
        first, second = cast("list[Any]", known), cast("list[Any]", given)
        return len(first) == len(second) and all(map(_is_exactly, first, second))
    if type(known) is Message:
        return same_json(known, given)
    return known is given or (known == given and repr(known) == repr(given))
