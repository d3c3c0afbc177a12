"""Where a call points: namespace, path, and the part of the entry that is meant."""

from __future__ import annotations

import re
from typing import Any, Final, cast

import msgspec

from context_chef.patterns import regex
from context_chef.persistence.address import SCHEME, build_uri, fault_of_namespace, fault_of_path
from context_chef.prompts import replies
from context_chef.retrieval.arguments import BLANKS, Mistake, whole_number

_CONTROL: Final = regex(r"[\x00-\x1f\x7f]")
_PART: Final = regex(
    r"(?s)(?P<path>.*)#(?P<unit>[LlCc])(?P<first>[0-9]{1,15})"
    r"(?:\s*-\s*[LlCc]?(?P<last>[0-9]{1,15})?)?"
)


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of an entry, both ends included and counted from 1; `last` None is the end."""

    first: int
    last: int | None = None
    unit: str = "line"


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """A checked address. Nothing about it says that something is there."""

    ns: str
    path: str
    untrimmed: str | None = None
    """The path with the blanks at its end, where it was sent with some."""

    @property
    def address(self) -> str:
        """The full, canonical address."""
        return build_uri(self.ns, self.path)

    @property
    def is_directory(self) -> bool:
        """Whether it can only name a directory."""
        return self.path == "" or self.path.endswith("/")

    @property
    def root(self) -> str:
        """The address of the namespace."""
        return build_uri(self.ns, "")

    def without_part(self) -> tuple[Location, Part] | None:
        """The location before a `#L10-L20` at its end, and that part; None without one."""
        cut = cut_part(self.path)
        return None if cut is None else (Location(ns=self.ns, path=cut[0]), cut[1])


def parse_location(given: str) -> Location:
    """Read an address in any of the forms a model writes it in."""
    text = given.strip(BLANKS)
    rest = text.removeprefix(SCHEME).lstrip("/")
    ns, _, path = rest.partition("/")
    if fault := _namespace_fault(ns):
        raise Mistake(replies.bad_address(given, fault))
    check_model_path(path, given)
    kept = given.lstrip(BLANKS).removeprefix(SCHEME).lstrip("/").partition("/")[2]
    untrimmed = kept if kept != path and not _CONTROL.search(kept) else None
    return Location(ns=ns, path=path, untrimmed=untrimmed)


def check_model_path(path: str, given: str) -> None:
    """Refuse a path that a model must not use. An empty one is the namespace itself."""
    if not path:
        return
    if fault := fault_of_model_path(path):
        raise Mistake(replies.bad_address(given, fault))


def cut_part(path: str) -> tuple[str, Part] | None:
    """The path before a `#L10-L20` or `#C100` at its end, and that part; None without one."""
    found = _PART.fullmatch(path)
    if found is None:
        return None
    part = Part(
        first=int(found["first"]),
        last=int(found["last"]) if found["last"] else None,
        unit="character" if found["unit"] in "Cc" else "line",
    )
    return found["path"], part


def parse_view_range(value: object) -> Part | None:
    """`[first, last]` as editors use it, -1 being the end; also written as text."""
    if value is None or value == "" or value == []:
        return None
    items: list[Any]
    if isinstance(value, str):
        items = [item for item in re.split(r"[\s,:\[\]]+|(?<=[0-9])-", value) if item]
    elif isinstance(value, (list, tuple)):
        items = list(cast("list[Any]", value))
    else:
        items = [value]
    numbers = [whole_number(item) for item in items]
    if not 1 <= len(numbers) <= 2 or numbers[0] is None or numbers[-1] is None:
        raise Mistake(replies.wrong_view_range(items))
    first, last = numbers[0], numbers[-1] if len(numbers) == 2 else -1
    if first < 1 or (last != -1 and last < first):
        raise Mistake(replies.wrong_view_range(items))
    return Part(first=first, last=None if last == -1 else last)


def _namespace_fault(ns: str) -> str | None:
    if not ns:
        return "it names no namespace"
    if ns in (".", ".."):
        return f"{replies.quoted(ns)} cannot be a namespace"
    if "\\" in ns:
        return "a backslash is not allowed"
    if ":" in ns:
        return f"{replies.quoted(ns)} is not a namespace, and the only scheme is {SCHEME}"
    if _CONTROL.search(ns):
        return "control characters are not allowed"
    return fault_of_namespace(ns)


def fault_of_model_path(path: str) -> str | None:
    """Why a model must not use this path, or None when it may."""
    if "\\" in path:
        return "a backslash is not allowed"
    if _CONTROL.search(path):
        return "control characters are not allowed"
    *segments, last = path.split("/")
    for segment in (*segments, last):
        if segment in (".", ".."):
            return f"{replies.quoted(segment)} is not allowed as a part of a path"
    if "" in segments:
        return "an empty part (two slashes in a row) is not allowed"
    return fault_of_path(path)
